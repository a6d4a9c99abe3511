// Many games that advance together, each with a tracker for both players, so that one batch of a network's policy moves
// all of them by a step.
//
// Row r of what a batch shows is what one player of one game knows: ℓ states drawn from its set, and its context.
// Past the cap a set is a uniform draw that keeps the truth, as in examples made from games. A game that ends makes room
// for the next, until all have been played.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "rbc/tracked_game.h"

namespace penumbra {

struct GameBatchSettings {
  std::int64_t games = 1;   // in all
  int at_once = 1;          // at most
  int ell = 128;            // ℓ
  std::size_t cap = 2000;   // states tracked by a player
  std::uint64_t seed = 0;   // game i depends on this and i alone, and on what is chosen
  int full_turn_limit = 0;  // where a game is a draw; 0: nowhere
  bool settle = true;       // a sure capture of the king is the only legal action
  SynopsisSort synopsis = SynopsisSort::kBinary;
};

// The games of a batch that have not ended: enough, with the settings, to go on as if it had never stopped.
struct GamesUnderWay {
  std::int64_t begun = 0;             // games, ended ones included
  std::vector<std::int64_t> numbers;  // of the rows
  std::vector<std::int32_t> actions;  // chosen so far, those of row r in [offsets[r], offsets[r + 1])
  std::vector<std::int64_t> offsets = {0};
};

class GameBatch {
 public:
  explicit GameBatch(const GameBatchSettings& settings);
  ~GameBatch();
  GameBatch(const GameBatch&) = delete;
  GameBatch& operator=(const GameBatch&) = delete;

  int rows() const { return static_cast<int>(running_.size()); }
  // Of each row: the game's number, who acts (kWhite or kBlack), and what there is to see and to choose from.
  std::vector<std::int64_t> numbers() const;
  std::vector<std::uint8_t> players() const;
  int words() const { return words_of(settings_.synopsis); }
  const std::vector<std::uint64_t>& synopses() const { return synopses_; }  // [rows, words]
  const LegalActions& legal() const { return legal_; }

  // One action for each row. Throws std::invalid_argument naming a row whose action is not among its legal ones; then
  // nothing has happened.
  void act(std::span<const int> actions);

  GamesUnderWay under_way() const;
  // Plays these games in the place of its own. Throws std::invalid_argument naming a game that cannot have been played
  // under these settings; then nothing has happened.
  void resume(const GamesUnderWay& games);

  // Games that have ended since the last call, by number.
  std::vector<std::pair<std::int64_t, GameRecord>> take_finished();

 private:
  struct NumberedGame;

  std::unique_ptr<NumberedGame> next_game();
  void observe();

  GameBatchSettings settings_;
  TrackingSettings tracking_;
  std::int64_t begun_ = 0;
  std::vector<std::unique_ptr<NumberedGame>> running_;
  std::vector<std::uint64_t> synopses_;
  LegalActions legal_;
  std::vector<std::pair<std::int64_t, GameRecord>> finished_;
};

}  // namespace penumbra
