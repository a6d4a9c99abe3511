// The synopsis: 104 bitboards that summarise a set of world states, as docs/synopsis.md defines them.
#pragma once

#include "rbc/infostate.h"

namespace penumbra {

void synopsis(const InfostateView& state, Bitboard (&planes)[kPlanes]);

// Planes 18-35 alone: what the next turn remembers.
void remembered_planes(const InfostateView& state, Bitboard (&planes)[kRemembered]);

// uint64[rows, 104] of these rows, which may repeat; planes whose bit in `leave_out` (two words) is set are zero.
std::vector<Bitboard> synopses(const Infostates& states, std::span<const std::int64_t> rows,
                               const Bitboard (&leave_out)[2]);

}  // namespace penumbra
