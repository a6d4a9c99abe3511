#include "rbc/game_batch.h"

#include <algorithm>
#include <string>

#include "base/parallel.h"
#include "rbc/tracked_game.h"

namespace penumbra {

struct GameBatch::NumberedGame {
  NumberedGame(const GameBatchSettings& settings, const TrackingSettings& tracking, std::int64_t number)
      : number(number),
        tracked(tracking, Random(scramble(settings.seed) ^ scramble(static_cast<std::uint64_t>(number) + 1)),
                view_of(settings.synopsis), view_of(settings.synopsis)) {}

  // What the player to act sees, and its legal actions.
  void observe(std::uint64_t* words, std::vector<Action>& legal) {
    tracked.observe(tracked.game().turn(), words);
    tracked.legal_actions(legal);
  }

  void act(Action action) {
    tracked.act(action);
    actions.push_back(action);
  }

  // Plays these actions again from the start, each where it is legal.
  void replay(std::span<const std::int32_t> chosen, int words) {
    std::vector<std::uint64_t> seen(words);
    std::vector<Action> legal;
    for (const Action action : chosen) {
      observe(seen.data(), legal);
      if (std::find(legal.begin(), legal.end(), action) == legal.end())
        throw std::invalid_argument("game " + std::to_string(number) + ": action " + std::to_string(action) +
                                    " is not legal");
      act(action);
      if (tracked.game().over()) throw std::invalid_argument("game " + std::to_string(number) + " is over");
    }
  }

  const std::int64_t number;
  TrackedGame tracked;
  std::vector<std::int32_t> actions;  // so far
};

GameBatch::GameBatch(const GameBatchSettings& settings)
    : settings_(settings),
      tracking_{.ell = settings.ell,
                .cap = settings.cap,
                .full_turn_limit = settings.full_turn_limit,
                .settle = settings.settle} {
  if (settings.games < 1 || settings.at_once < 1) throw std::invalid_argument("a batch needs at least one game");
  if (settings.ell < 1 || settings.cap < 1) throw std::invalid_argument("ell and the cap must be at least one");
  while (begun_ < settings_.games && rows() < settings_.at_once) running_.push_back(next_game());
  observe();
}

GameBatch::~GameBatch() = default;

std::unique_ptr<GameBatch::NumberedGame> GameBatch::next_game() {
  return std::make_unique<NumberedGame>(settings_, tracking_, begun_++);
}

std::vector<std::int64_t> GameBatch::numbers() const {
  std::vector<std::int64_t> numbers;
  for (const auto& each : running_) numbers.push_back(each->number);
  return numbers;
}

std::vector<std::uint8_t> GameBatch::players() const {
  std::vector<std::uint8_t> players;
  for (const auto& each : running_) players.push_back(each->tracked.game().turn());
  return players;
}

void GameBatch::observe() {
  const std::size_t n = running_.size();
  const std::size_t words = words_of(settings_.synopsis);
  synopses_.resize(n * words);
  std::vector<std::vector<Action>> legal(n);
  parallel_for(static_cast<int>(n),
               [&](int i) { running_[i]->observe(&synopses_[static_cast<std::size_t>(i) * words], legal[i]); });
  legal_.actions.clear();
  legal_.offsets.assign(1, 0);
  for (const auto& actions : legal) {
    legal_.actions.insert(legal_.actions.end(), actions.begin(), actions.end());
    legal_.offsets.push_back(static_cast<std::int64_t>(legal_.actions.size()));
  }
}

void GameBatch::act(std::span<const int> actions) {
  if (actions.size() != running_.size())
    throw std::invalid_argument(std::to_string(actions.size()) + " actions for " + std::to_string(running_.size()) +
                                " rows");
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto first = legal_.actions.begin() + legal_.offsets[i],
               last = legal_.actions.begin() + legal_.offsets[i + 1];
    if (std::find(first, last, actions[i]) == last)
      throw std::invalid_argument("row " + std::to_string(i) + ": action " + std::to_string(actions[i]) +
                                  " is not legal");
  }
  parallel_for(static_cast<int>(actions.size()), [&](int i) { running_[i]->act(actions[i]); });
  for (auto& each : running_) {
    const Game& game = each->tracked.game();
    if (!game.over()) continue;
    finished_.emplace_back(each->number, game.record());
    each = begun_ < settings_.games ? next_game() : nullptr;
  }
  std::erase(running_, nullptr);
  observe();
}

GamesUnderWay GameBatch::under_way() const {
  GamesUnderWay games;
  games.begun = begun_;
  for (const auto& each : running_) {
    games.numbers.push_back(each->number);
    games.actions.insert(games.actions.end(), each->actions.begin(), each->actions.end());
    games.offsets.push_back(static_cast<std::int64_t>(games.actions.size()));
  }
  return games;
}

void GameBatch::resume(const GamesUnderWay& games) {
  const std::size_t n = games.numbers.size();
  const auto& offsets = games.offsets;
  bool fits = offsets.size() == n + 1 && offsets.front() == 0 &&
              offsets.back() == static_cast<std::int64_t>(games.actions.size()) &&
              std::is_sorted(offsets.begin(), offsets.end()) && n <= static_cast<std::size_t>(settings_.at_once);
  for (const std::int64_t number : games.numbers) fits = fits && number >= 0 && number < games.begun;
  if (!fits) throw std::invalid_argument("these are not games under way of such a batch");
  std::vector<std::unique_ptr<NumberedGame>> running(n);
  parallel_for(static_cast<int>(n), [&](int i) {
    running[i] = std::make_unique<NumberedGame>(settings_, tracking_, games.numbers[i]);
    running[i]->replay(std::span(games.actions).subspan(offsets[i], offsets[i + 1] - offsets[i]), words());
  });
  running_ = std::move(running);
  begun_ = games.begun;
  finished_.clear();
  observe();
}

std::vector<std::pair<std::int64_t, GameRecord>> GameBatch::take_finished() { return std::exchange(finished_, {}); }

}  // namespace penumbra
