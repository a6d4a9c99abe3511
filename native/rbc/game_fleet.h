// Games in fixed places that are stepped together, for environments: rows of arrays are places, and a place that has
// been played to its end gets another game when its owner says so.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rbc/tracked_game.h"

namespace penumbra {

// Which of the two players of a game is looked at, and how.
struct Seats {
  View white = View::kNothing, black = View::kNothing;
};

class GameFleet {
 public:
  GameFleet(int places, const TrackingSettings& settings);
  GameFleet(const GameFleet&) = delete;
  GameFleet& operator=(const GameFleet&) = delete;

  int size() const { return static_cast<int>(places_.size()); }
  const Game& game(std::int64_t place) const { return checked(place).tracked->game(); }
  bool over(std::int64_t place) const { return game(place).over(); }

  // New games in these places, each of its own seed. All places have one from the start on, which nobody looks at.
  void reset(std::span<const std::int64_t> places, std::span<const std::uint64_t> seeds, std::span<const Seats> seats);

  // One action for each of these places. Throws std::invalid_argument naming a place whose game is over or whose action
  // is not legal; then nothing has happened.
  void act(std::span<const std::int64_t> places, std::span<const int> actions);
  // A whole turn, with a move that may promote to any piece; kNoSense for no sense.
  void turn(std::int64_t place, int sense, Move request);

  // A legal action of each of these places, all equally likely.
  std::vector<std::int32_t> random_actions(std::span<const std::int64_t> places, std::uint64_t seed) const;
  LegalActions legal(std::span<const std::int64_t> places) const;
  // Writes 1 for each legal action and 0 for the others into row `place` of int8[size, kActions]: none if it is over.
  void mask(std::span<const std::int64_t> places, std::int8_t* masks) const;

  // What the players to act see, as planes of bytes: row `place` of uint8[size, planes, 64]. Throws
  // std::invalid_argument where a view has another number of planes.
  void observe(std::span<const std::int64_t> places, int planes, std::uint8_t* out) const;
  // The same as a network reads it: uint64[places, words_of(view)].
  std::vector<std::uint64_t> features(std::span<const std::int64_t> places, View view) const;
  // What a player of one game sees, though it may not be its turn.
  void observe_seat(std::int64_t place, bool color, int planes, std::uint8_t* out);

 private:
  struct Place {
    std::unique_ptr<TrackedGame> tracked;
    std::vector<Action> legal;
    std::vector<std::uint64_t> words;  // what the player to act sees
    void look();
  };

  const Place& checked(std::int64_t place) const;
  void check(std::span<const std::int64_t> places, std::size_t values, const char* what) const;
  const Place& viewed(std::int64_t place, int planes) const;

  TrackingSettings settings_;
  std::vector<Place> places_;
};

}  // namespace penumbra
