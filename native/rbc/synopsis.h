// The synopsis, as docs/synopsis.md defines it: what sums up a set of world states for a network. Binary, it is 104
// bitboards: what holds always, and what sometimes. Shares are bytes: in how many of the states.
#pragma once

#include <string>

#include "rbc/infostate.h"

namespace penumbra {

constexpr int kShares = 46;  // share planes, numbered on from the binary ones

using Bitboards = Bitboard[kPlanes];
using ShareBytes = std::uint8_t[kShares][64];

void synopsis(const InfostateView& state, Bitboards& planes);

// The same and the shares beside it.
void graded_synopsis(const InfostateView& state, Bitboards& planes, ShareBytes& shares);

// What a network reads, as one row of words: some binary planes, a word each, and then perhaps all shares, eight words each.
enum class SynopsisSort { kBinary, kShares, kGraded };
// By its name: binary, shares (beside what is constant, owned or remembered) or graded (both).
SynopsisSort synopsis_sort(const std::string& name);
std::span<const int> binary_planes(SynopsisSort sort);
constexpr bool has_shares(SynopsisSort sort) { return sort != SynopsisSort::kBinary; }
int words_of(SynopsisSort sort);
void write_features(const InfostateView& state, SynopsisSort sort, std::uint64_t* words);
// Only what is remembered of the turn before; the rest of the row stays.
void write_previous(const Context& context, SynopsisSort sort, std::uint64_t* words);

// What the next turn remembers.
Remembered remembered(const InfostateView& state);

// uint64[rows, 104] of these rows, which may repeat; planes whose bit in `leave_out` (two words) is set are zero.
std::vector<Bitboard> synopses(const Infostates& states, std::span<const std::int64_t> rows,
                               const Bitboard (&leave_out)[2]);

// uint8[rows, 46, 64] likewise.
std::vector<std::uint8_t> shares(const Infostates& states, std::span<const std::int64_t> rows);

// uint64[rows, words_of(sort)] likewise.
std::vector<std::uint64_t> features(const Infostates& states, SynopsisSort sort, std::span<const std::int64_t> rows);

}  // namespace penumbra
