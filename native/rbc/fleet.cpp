#include "rbc/fleet.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "parallel.h"
#include "rbc/static_analysis.h"
#include "rbc/synopsis.h"

namespace penumbra {

// One game and what its two players know.
class Fleet::Seat {
 public:
  Seat(const FleetSettings& settings, std::int64_t number)
      : number(number),
        game("", 100, settings.full_turn_limit),
        settings_(settings),
        random_(scramble(settings.seed) ^ scramble(static_cast<std::uint64_t>(number) + 1)),
        knowers_{Knower(game.world(), kBlack), Knower(game.world(), kWhite)} {}

  // What the player to act sees, and its legal actions.
  void observe(Bitboard (&planes)[kPlanes], std::vector<Action>& legal) {
    Knower& knower = knowers_[game.turn()];
    const Infostates drawn =
        draw(knower.set, 1, settings_.limit, game.step(), knower.memory, {random_.next(), false}, nullptr);
    synopsis(drawn.view(0), planes);
    if (game.step() == Step::kMove) std::memcpy(knower.seen, planes + kFirstRemembered, sizeof knower.seen);
    game.legal_actions(legal);
    if (!settings_.settle || !knower.set.complete()) return;
    const std::span<const Side> all{knower.set.members().data(), knower.set.size()};
    const Action win =
        game.step() == Step::kMove ? sure_capture(knower.set.own(), all) : sure_sense(knower.set.own(), all);
    if (win != kNoAction) legal.assign(1, win);
  }

  void act(Action action) {
    Knower& knower = knowers_[game.turn()];
    if (game.step() == Step::kSense) {
      std::vector<int> contents;
      for (const Square s : window_squares(action, knower.set.owner()))
        contents.push_back(content_at(game.own(), game.other(), s));
      knower.set = knower.set.filter_sense(action, contents);
      game.act(action);
      return;
    }
    game.act(action);
    if (game.over()) return;
    knower.memory.moved(game.last_outcome(), knower.seen);
    knower.set = knower.set.apply_move(game.last_request(), game.last_outcome());
    Knower& next = knowers_[game.turn()];
    next.memory.opponent_moved(game.capture());
    next.set = next.set.expand(game.capture(), {settings_.cap, random_.next(), &game.other()});
  }

  const std::int64_t number;
  Game game;

 private:
  struct Knower {
    Knower(const World& start, bool color) : set(start, color) {}
    StateSet set;  // at the moment of its step; before that, after its own last move
    Memory memory;
    Bitboard seen[kRemembered] = {};  // planes 18-35 at the move step
  };

  const FleetSettings& settings_;
  Random random_;
  Knower knowers_[2];  // by colour
};

Fleet::Fleet(const FleetSettings& settings) : settings_(settings) {
  if (settings.games < 1 || settings.at_once < 1) throw std::invalid_argument("a fleet needs at least one game");
  if (settings.limit < 1 || settings.cap < 1) throw std::invalid_argument("the limit and the cap must be at least one");
  while (begun_ < settings_.games && rows() < settings_.at_once)
    seats_.push_back(std::make_unique<Seat>(settings_, begun_++));
  observe();
}

Fleet::~Fleet() = default;

std::vector<std::int64_t> Fleet::numbers() const {
  std::vector<std::int64_t> numbers;
  for (const auto& seat : seats_) numbers.push_back(seat->number);
  return numbers;
}

std::vector<std::uint8_t> Fleet::players() const {
  std::vector<std::uint8_t> players;
  for (const auto& seat : seats_) players.push_back(seat->game.turn());
  return players;
}

void Fleet::observe() {
  const std::size_t n = seats_.size();
  synopses_.resize(n * kPlanes);
  std::vector<std::vector<Action>> legal(n);
  parallel_for(static_cast<int>(n), [&](int i) {
    Bitboard planes[kPlanes];
    seats_[i]->observe(planes, legal[i]);
    std::copy(planes, planes + kPlanes, &synopses_[static_cast<std::size_t>(i) * kPlanes]);
  });
  legal_.actions.clear();
  legal_.offsets.assign(1, 0);
  for (const auto& actions : legal) {
    legal_.actions.insert(legal_.actions.end(), actions.begin(), actions.end());
    legal_.offsets.push_back(static_cast<std::int64_t>(legal_.actions.size()));
  }
}

void Fleet::act(std::span<const int> actions) {
  if (actions.size() != seats_.size())
    throw std::invalid_argument(std::to_string(actions.size()) + " actions for " + std::to_string(seats_.size()) +
                                " rows");
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto first = legal_.actions.begin() + legal_.offsets[i],
               last = legal_.actions.begin() + legal_.offsets[i + 1];
    if (std::find(first, last, actions[i]) == last)
      throw std::invalid_argument("row " + std::to_string(i) + ": action " + std::to_string(actions[i]) +
                                  " is not legal");
  }
  parallel_for(static_cast<int>(actions.size()), [&](int i) { seats_[i]->act(actions[i]); });
  for (auto& seat : seats_) {
    if (!seat->game.over()) continue;
    finished_.emplace_back(seat->number, seat->game.record());
    seat = begun_ < settings_.games ? std::make_unique<Seat>(settings_, begun_++) : nullptr;
  }
  std::erase(seats_, nullptr);
  observe();
}

std::vector<std::pair<std::int64_t, GameRecord>> Fleet::take_finished() { return std::exchange(finished_, {}); }

}  // namespace penumbra
