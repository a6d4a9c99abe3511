#include "rbc/examples.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "base/parallel.h"
#include "rbc/engine.h"
#include "rbc/static_analysis.h"

namespace penumbra {

namespace {

constexpr int kSoon = 5;

// One player's side of a replay: its set, and one context for each of the draws, since each draw remembers its own.
class PlayerReplay {
 public:
  PlayerReplay(const World& start, bool color, const ExampleSettings& settings, std::uint64_t seed)
      : color_(color),
        settings_(settings),
        random_(seed),
        engine_random_(scramble(seed)),
        set_(start, color),
        contexts_(settings.multiplicity) {}

  // Before the sense of this turn; the true opposing pieces decide what it will show.
  void begin_turn(bool opponent_has_moved, Square capture, int sense, const Side& truth) {
    for (Context& context : contexts_) context.opponent_moved(capture);
    before_.reset();
    const Cap cap{settings_.cap, random_.next(), &truth};
    // Not less than the cap: its size is told, and forced wins are sought in it.
    const Cap sample{settings_.cap, random_.next(), nullptr};
    if (!opponent_has_moved) {
      before_.emplace(set_.sample(set_.size(), 0));
      after_.emplace(set_.sample(set_.size(), 0));
    } else if (sense == kNoSense) {
      after_.emplace(set_.expand(capture, cap));
    } else {
      auto [before, after] = set_.expand_and_sense(capture, sense, truth, sample, cap);
      before_.emplace(std::move(before));
      after_.emplace(std::move(after));
    }
    if (!opponent_has_moved && sense != kNoSense) after_.emplace(after_->filter_sense(sense, truth));
  }

  void sense_examples(const Game& game, int sense, int ply, Examples& out) {
    write(*before_, game, Step::kSense, sense, ply, out);
  }

  void move_examples(const Game& game, Action action, int ply, Examples& out) {
    write(*after_, game, Step::kMove, action, ply, out);
  }

  void moved(Move request, const Outcome& outcome, bool ended) {
    for (int m = 0; m < settings_.multiplicity; ++m) contexts_[m].moved(outcome, remembered_[m]);
    if (!ended) set_ = after_->apply_move(request, outcome);
  }

  // Had this player a forced win with what it knew, at one of the two steps of this turn?
  bool could_win() const {
    const StateSet& before = before_ ? *before_ : *after_;  // a sense that was skipped could have been made
    if (before.complete() && sure_sense(before.own(), before.states()) != kNoAction) return true;
    return after_->complete() && sure_capture(after_->own(), after_->states()) != kNoAction;
  }

 private:
  void write(const StateSet& set, const Game& game, Step step, Action action, int ply, Examples& out) {
    static thread_local std::vector<Action> legal;
    game.legal_actions(legal);
    std::vector<std::uint64_t> words(words_of(settings_.synopsis));
    const auto [possible, truly] = chances(set, game);
    for (int m = 0; m < settings_.multiplicity; ++m) {
      // A set that fits is the same in every draw; only what is remembered differs.
      const bool whole = set.size() <= static_cast<std::size_t>(settings_.ell);
      if (m == 0 || !whole) {
        const Infostates drawn = draw(set, 1, settings_.ell, step, contexts_[m], {random_.next(), false}, nullptr);
        write_features(drawn.view(0), settings_.synopsis, words.data());
        if (step == Step::kMove) remembered_[m] = remembered(drawn.view(0));
      } else {
        write_previous(contexts_[m], settings_.synopsis, words.data());
        if (step == Step::kMove) remembered_[m] = remembered_[0];
      }
      out.synopses.insert(out.synopses.end(), words.begin(), words.end());
      out.actions.push_back(action);
      out.legal.insert(out.legal.end(), legal.begin(), legal.end());
      out.legal_offsets.push_back(static_cast<std::int64_t>(out.legal.size()));
      const Kinds own = game.own().kinds(), other = game.other().kinds();
      for (const Kinds* k : {&own, &other})
        for (const Bitboard b : {k->pawns, k->knights, k->bishops, k->rooks, k->queens, k->king})
          out.piece_counts.push_back(static_cast<std::uint8_t>(count(b)));
      out.engine.insert(out.engine.end(), {possible, truly});
      out.set_sizes.push_back(static_cast<std::int64_t>(set.size()));
      out.turns.push_back(ply);
      out.players.push_back(color_);
      out.cut.push_back(!set.complete());
    }
  }

  // The engine's chances to win: over states of the set, and in the true state.
  std::pair<float, float> chances(const StateSet& set, const Game& game) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    if (settings_.engine_states == 0) return {kNone, kNone};
    const double truly = quiet_chance(game.own(), game.other(), settings_.engine_scale);
    const auto mean = [&](std::span<const Side> states) {
      double sum = 0;
      for (const Side& other : states) sum += quiet_chance(set.own(), other, settings_.engine_scale);
      return sum / static_cast<double>(states.size());
    };
    const auto most = static_cast<std::size_t>(settings_.engine_states);
    const double possible =
        set.size() <= most ? mean(set.states()) : mean(set.sample(most, engine_random_.next()).states());
    return {static_cast<float>(possible), static_cast<float>(truly)};
  }

  bool color_;
  const ExampleSettings& settings_;
  Random random_;
  Random engine_random_;                    // of its own, so that draws are the same with the engine and without
  StateSet set_;                            // after the own last move
  std::optional<StateSet> before_, after_;  // the sense of this turn; `before_` only where there was one
  std::vector<Context> contexts_;
  std::vector<Remembered> remembered_ = std::vector<Remembered>(settings_.multiplicity);
};

// Outcomes and what came soon: known once the game is over.
void write_results(const GameRecord& record, int index, bool missed, std::size_t first, int multiplicity,
                   Examples& out) {
  const std::size_t rows = out.actions.size();
  int left[2] = {0, 0};  // own steps from here to the end, this one included
  out.outcomes.resize(rows);
  out.left.resize(rows);
  out.soon_won.resize(rows);
  out.soon_lost.resize(rows);
  out.games.resize(rows, index);
  out.missed_win.resize(rows, missed);
  for (std::size_t row = rows; row-- > first;) {
    const bool color = out.players[row];
    if ((rows - 1 - row) % multiplicity == 0) ++left[color];
    const int result = !record.winner ? 0 : (*record.winner == color ? 1 : -1);
    out.outcomes[row] = static_cast<std::int8_t>(result);
    out.left[row] = static_cast<std::uint16_t>(std::min(left[color], 0xFFFF));
    out.soon_won[row] = result > 0 && left[color] <= kSoon;
    out.soon_lost[row] = result < 0 && left[color] <= kSoon;
  }
}

void walk(const GameRecord& record, int index, const ExampleSettings& settings, Examples& out) {
  Game game(record.start_fen, 0, 0);
  Random seeds(scramble(settings.seed) ^ record.hash());
  PlayerReplay players[2] = {PlayerReplay(game.world(), kBlack, settings, seeds.next()),
                             PlayerReplay(game.world(), kWhite, settings, seeds.next())};
  bool missed = false;
  out.legal_offsets.push_back(0);
  for (std::size_t ply = 0; ply < record.turns.size(); ++ply) {
    const Turn& turn = record.turns[ply];
    PlayerReplay& player = players[game.turn()];
    const bool color = game.turn(), loser = record.winner && *record.winner != color;
    const int number = static_cast<int>(ply);
    player.begin_turn(ply > 0, game.capture(), turn.sense, game.other());
    if (turn.sense != kNoSense) player.sense_examples(game, turn.sense, number, out);
    if (settings.settle && loser && !missed) missed = player.could_win();
    game.sense(turn.sense);
    if (!turn.moved) break;
    if (turn.request != kPass && !is_listed(game.own(), turn.request)) game.move(turn.request);  // throws, saying why
    player.move_examples(game, action_of(turn.request), number, out);
    game.move(turn.request);
    player.moved(turn.request, game.last_outcome(), game.over());
  }
  write_results(record, index, missed, 0, settings.multiplicity, out);
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
  std::vector<T>().swap(from);
}

}  // namespace

Examples make_examples(std::span<const GameRecord* const> records, const ExampleSettings& settings) {
  if (settings.multiplicity < 1)
    throw std::invalid_argument("multiplicity must be at least one, not " + std::to_string(settings.multiplicity));
  if (settings.ell < 1) throw std::invalid_argument("ell must be at least one, not " + std::to_string(settings.ell));
  if (settings.cap < 1) throw std::invalid_argument("the cap on states must be at least one");
  if (settings.engine_states < 0) throw std::invalid_argument("the engine's states must not be negative");
  if (!(settings.engine_scale > 0)) throw std::invalid_argument("the engine's scale must be positive");
  std::vector<Examples> parts(records.size());
  std::vector<int> order(records.size());  // the longest games first, so that no thread is left with one at the end
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{}, [&](int i) { return records[i]->turns.size(); });
  parallel_for(static_cast<int>(records.size()), [&](int place) {
    const int i = order[place];
    try {
      walk(*records[i], i, settings, parts[i]);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("game " + std::to_string(i) + ": " + error.what());
    }
  });
  Examples all;
  all.legal_offsets.push_back(0);
  std::size_t rows = 0;
  for (const Examples& part : parts) rows += part.actions.size();
  all.synopses.reserve(rows * words_of(settings.synopsis));
  for (Examples& part : parts) {
    const auto shift = static_cast<std::int64_t>(all.legal.size());
    for (std::size_t i = 1; i < part.legal_offsets.size(); ++i)
      all.legal_offsets.push_back(part.legal_offsets[i] + shift);
    append(all.synopses, part.synopses);
    append(all.actions, part.actions);
    append(all.legal, part.legal);
    append(all.outcomes, part.outcomes);
    append(all.soon_won, part.soon_won);
    append(all.soon_lost, part.soon_lost);
    append(all.left, part.left);
    append(all.engine, part.engine);
    append(all.piece_counts, part.piece_counts);
    append(all.set_sizes, part.set_sizes);
    append(all.games, part.games);
    append(all.turns, part.turns);
    append(all.players, part.players);
    append(all.cut, part.cut);
    append(all.missed_win, part.missed_win);
  }
  return all;
}

}  // namespace penumbra
