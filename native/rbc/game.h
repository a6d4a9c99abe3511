// A game by action numbers, and the compact record from which it is replayed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rbc/rules.h"

namespace penumbra {

enum class Step : std::uint8_t { kSense = 0, kMove = 1 };
enum class Reason : std::uint8_t { kNone, kKingCapture, kTimeout, kResign, kMoveLimit, kTurnLimit };

// The names of reconchess' WinReason; empty for kNone.
std::string_view reason_name(Reason reason);
std::optional<Reason> reason_from_name(std::string_view name);

constexpr int kNoSense = -1;

// One sense and one move per turn, seen by their player. The last turn may lack its move.
struct Turn {
  std::int8_t sense = kNoSense;
  bool moved = true;
  Move request = kPass;  // as asked for: a missing promotion stays missing
};

struct GameRecord {
  std::string white_name, black_name;
  std::string start_fen;  // empty: the usual start
  std::optional<bool> winner;
  Reason reason = Reason::kNone;
  std::vector<Turn> turns;

  std::string to_bytes() const;
  static GameRecord from_bytes(std::string_view bytes);  // throws std::invalid_argument
  std::uint64_t hash() const;                            // of everything in it
};

class Game {
 public:
  explicit Game(const std::string& fen = "", int reversible_moves_limit = 100, int full_turn_limit = 0);

  bool turn() const { return world_.turn; }
  Step step() const { return step_; }
  int plies() const { return static_cast<int>(record_.turns.size()) - (step_ == Step::kMove ? 1 : 0); }
  bool over() const { return record_.reason != Reason::kNone; }
  std::optional<bool> winner() const { return record_.winner; }
  Reason reason() const { return record_.reason; }
  const World& world() const { return world_; }
  const Clocks& clocks() const { return clocks_; }
  const GameRecord& record() const { return record_; }
  const Side& own() const { return world_.sides[world_.turn]; }
  const Side& other() const { return world_.sides[!world_.turn]; }

  // Where the last move captured, seen by the player to act; kNoSquare if nowhere.
  Square capture() const { return capture_; }
  // What the last move asked for and what came of it, seen by its player.
  Move last_request() const { return last_request_; }
  const Outcome& last_outcome() const { return last_outcome_; }

  void legal_actions(std::vector<Action>& actions) const;

  // Each throws std::invalid_argument and changes nothing when the rules do not allow it.
  void sense(int square);  // kNoSense skips
  Outcome move(Move request);
  void act(Action action);
  void resign();

  std::string fen() const { return to_fen(world_, clocks_); }

  // Plays a record through; throws std::invalid_argument naming the turn that breaks the rules, or saying that the
  // board contradicts the result written in the record.
  static Game replay(const GameRecord& record);

  void set_names(std::string white, std::string black);

 private:
  void require(Step step) const;
  void finish(std::optional<bool> winner, Reason reason);

  Clocks clocks_;  // before world_: parsing the start fills both
  World world_;
  Step step_ = Step::kSense;
  Square capture_ = kNoSquare;
  Move last_request_ = kPass;
  Outcome last_outcome_;
  int reversible_moves_limit_, full_turn_limit_;  // 0: none
  GameRecord record_;
};

}  // namespace penumbra
