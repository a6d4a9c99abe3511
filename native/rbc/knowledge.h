// What a player has been told, without any reasoning about it: its own pieces, what it saw on each square and when, and
// captures. Squares are its own view.
#pragma once

#include "rbc/infostate.h"

namespace penumbra {

constexpr int kKnowledgePlanes = 24;
using KnowledgeBytes = std::uint8_t[kKnowledgePlanes][64];

class Knowledge {
 public:
  // The start of a game is known to both; it counts as turn 0.
  Knowledge(const Side& own, const Side& opponent);

  // The player's turn begins with these pieces; the opponent has just captured there, or nowhere.
  void turn_begins(const Side& own, Square capture);
  void sensed(Square center, const Side& opponent);
  void moved(const Outcome& outcome);

  // The planes in the order of docs/environments.md. Flags are 255.
  void write(const Side& own, bool color, Step step, const Context& context, KnowledgeBytes& bytes) const;

 private:
  static constexpr int kUnknown = 6, kNobody = 7;  // beside the six kinds

  void see(Bitboard squares, int content);

  Bitboard seen_[8] = {};       // by the opposing kind seen last, kUnknown or kNobody: each square is in one of them
  std::uint8_t when_[64] = {};  // the turn in which a square was seen last
  int turn_ = 0;                // of this player, from 1, up to 255
  int taken_ = 0;               // opposing pieces
  int opposing_;                // at the start
};

}  // namespace penumbra
