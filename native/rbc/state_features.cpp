#include "rbc/state_features.h"

#include "chess/attacks.h"

namespace penumbra {

OwnPieces::OwnPieces(const Side& side) : kinds(side.kinds()), occupied(side.occupied()) {
  for_each(kinds.knights, [&](Square s) {
    knights_twice |= knights_once & kKnightAttacks[s];
    knights_once |= kKnightAttacks[s];
  });
  knights_once &= ~occupied;
  knights_twice &= ~occupied;
  if (kinds.king) king = kKingAttacks[first(kinds.king)] & ~occupied;
  castling_rooks = kinds.king == bit(kKingHome) ? side.marked_rooks() : 0;
}

}  // namespace penumbra
