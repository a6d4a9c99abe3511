#include "rbc/synopsis.h"

#include <array>
#include <cmath>
#include <cstring>

#include "chess/attacks.h"
#include "rbc/counters.h"

namespace penumbra {

namespace {

Bitboard square_plane(int s) { return s == kNoSquare ? 0 : bit(s); }

void write_context(const Context& context, Bitboard* planes) {  // planes[0] is plane 32
  planes[0] = square_plane(context.last_from);
  planes[1] = square_plane(context.last_to);
  planes[2] = square_plane(context.own_capture);
  planes[3] = square_plane(context.opposing_capture);
}

constexpr int kFirstPrevious = 86;  // planes from here on are of the turn before
// Planes that stand beside shares where those replace the others: what is constant, owned or remembered.
constexpr int kBesideShares[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,  13,  14, 15,
                                 16, 17, 32, 33, 34, 35, 44, 69, 70, 79, 81, 100, 101, 102, 103};

// Squares in at least two of the sets.
Bitboard in_two(std::initializer_list<Bitboard> sets) {
  Bitboard once = 0, twice = 0;
  for (const Bitboard b : sets) {
    twice |= once & b;
    once |= b;
  }
  return twice;
}

// Squares where each feature holds in every state, and in some state.
struct Joined {
  Bitboard always[kFeatures], sometimes[kFeatures];
};

// Whether a binary plane is the AND of a feature, or its OR.
constexpr bool is_and(int feature) {
  switch (feature) {
    case kOwnWithoutKing:
    case kOwnWithoutPawns:
    case kOpposingWithoutKing:
    case kOpposingWithoutPawns:
    case kSafeKing:
    case kDestinations:
    case kCastlingRights:
    case kKingDiagonals:
    case kKingLines:
    case kQueenLines:
    case kQueenDiagonals: return false;
    default: return true;
  }
}
constexpr bool is_or(int feature) { return feature < kOwnPawnsTwice; }

// Only those that are planes.
Joined join(const InfostateView& state, const OwnPieces& own) {
  Lanes always[kFeatures], sometimes[kFeatures];
  for (int f = 0; f < kFeatures; ++f) {
    always[f] = broadcast(~Bitboard{0});
    sometimes[f] = broadcast(0);
  }
  for (int i = 0; i < state.count; i += 4)
    state_features(own, OpposingLanes(state.members, state.count, i), [&](int f, Lanes squares) {
      if (is_and(f)) always[f] &= squares;
      if (is_or(f)) sometimes[f] |= squares;
    });
  Joined joined;
  for (int f = 0; f < kFeatures; ++f) {
    joined.always[f] = always[f][0] & always[f][1] & always[f][2] & always[f][3];
    joined.sometimes[f] = sometimes[f][0] | sometimes[f][1] | sometimes[f][2] | sometimes[f][3];
  }
  return joined;
}

void write_planes(const InfostateView& state, const OwnPieces& own, const Joined& joined, Bitboards& planes) {
  const auto& always = joined.always;
  const auto& sometimes = joined.sometimes;
  constexpr Bitboard west = kFileA * 0x0F, south = 0x00000000FFFFFFFFULL;
  const Bitboard constants[10] = {~west,  west,   south,  ~south,       kRank1,
                                  kRank8, kFileA, kFileH, kDarkSquares, ~kDarkSquares};
  std::memcpy(planes, constants, sizeof constants);
  planes[10] = state.step == Step::kMove ? ~Bitboard{0} : 0;
  planes[11] = ~own.occupied;
  const Bitboard kinds[6] = {own.kinds.pawns, own.kinds.knights, own.kinds.bishops,
                             own.kinds.rooks, own.kinds.queens,  own.kinds.king};
  std::memcpy(planes + 12, kinds, sizeof kinds);
  std::memcpy(planes + 18, always, kPlacements * sizeof *always);
  std::memcpy(planes + 25, sometimes, kPlacements * sizeof *sometimes);
  write_context(*state.context, planes + 32);

  const Bitboard pawns = always[kOwnPawnCaptures], bishops = always[kOwnDiagonals], rooks = always[kOwnLines];
  planes[36] = pawns | own.knights_once | bishops | rooks | own.king;
  planes[37] = always[kOwnAttacks];
  planes[38] = sometimes[kOwnAttacks];
  planes[39] = in_two({pawns, own.knights_once, bishops, rooks, own.king}) | own.knights_twice |
               always[kOwnPawnsTwice] | always[kOwnDiagonalsTwice] | always[kOwnLinesTwice];
  planes[40] = always[kOwnDoubleAttacks];
  planes[41] = sometimes[kOwnDoubleAttacks];
  planes[42] = pawns;
  planes[43] = sometimes[kOwnPawnCaptures];
  planes[44] = own.knights_once;
  planes[45] = bishops;
  planes[46] = sometimes[kOwnDiagonals];
  planes[47] = rooks;
  planes[48] = sometimes[kOwnLines];
  planes[49] = sometimes[kOwnWithoutKing];
  planes[50] = sometimes[kOwnWithoutPawns];

  for (int i = 0; i < 6; ++i) {
    planes[51 + 2 * i] = always[kOpposingAttacks + i];
    planes[52 + 2 * i] = sometimes[kOpposingAttacks + i];
  }
  planes[63] = sometimes[kOpposingWithoutKing];
  planes[64] = sometimes[kOpposingWithoutPawns];
  planes[65] = sometimes[kSafeKing];
  planes[66] = sometimes[kDestinations];
  planes[67] = sometimes[kCastlingRights];
  planes[68] = 0;  // nobody there, own pieces aside, or always the same kind
  for (int i = 0; i < kPlacements; ++i) planes[68] |= always[i];

  const Bitboard king = own.kinds.king;
  planes[69] = king ? kKingAttacks[first(king)] : 0;
  planes[70] = king ? kKnightAttacks[first(king)] : 0;
  planes[71] = planes[20] & planes[70];
  planes[72] = planes[27] & planes[70];
  planes[73] = sometimes[kKingDiagonals];
  planes[74] = always[kBishopsNearKing];
  planes[75] = sometimes[kBishopsNearKing];
  planes[76] = sometimes[kKingLines];
  planes[77] = always[kRooksNearKing];
  planes[78] = sometimes[kRooksNearKing];
  planes[79] = own.occupied;
  planes[80] = planes[18] & planes[11];
  planes[81] = own.castling_rooks;
  planes[82] = sometimes[kMayCastle];
  planes[83] = always[kMayCastle];
  planes[84] = sometimes[kQueenLines];
  planes[85] = sometimes[kQueenDiagonals];
  std::memcpy(planes + kFirstPrevious, state.context->previous.planes, sizeof state.context->previous.planes);
}

// Rows of the shares, counted from the first. Features come in their order; two rows are derived from others.
enum ShareRow : int {
  kCommonest = kKingDiagonals,
  kKnightsNearKing,
  kFeaturesGoOn,  // with kKingDiagonals
  kPreviousShares = kFeaturesGoOn + kOwnPawnsTwice - kKingDiagonals,
  kOwnKingHangs = kPreviousShares + kPlacements,
  kOpposingKingHangs,
  kOpposingMaterial,
  kOwnMaterial,
  kNumberOfStates,
};
static_assert(kNumberOfStates + 1 == kShares && kPlacements == kRememberedShares);

constexpr int kMaterial[] = {1, 3, 3, 5, 9};  // P N B R Q
constexpr int kMostMaterial = 39;             // at the start of a game

// The mean material of `states` states whose sum is `material`.
std::uint8_t material_byte(std::int64_t material, std::int64_t states) {
  const std::int64_t most = kMostMaterial * states;
  return static_cast<std::uint8_t>(std::min<std::int64_t>(255, (510 * material + most) / (2 * most)));
}

void fill(std::uint8_t (&plane)[64], std::uint8_t value) { std::memset(plane, value, sizeof plane); }

// What is derived from the shares and from the sums of the features' counts over all squares.
void write_derived(const InfostateView& state, const OwnPieces& own, const Bitboards& planes,
                   const int (&totals)[kFeatures], ShareBytes& shares) {
  std::memcpy(shares[kCommonest], shares[kNoOpposingPiece], sizeof shares[0]);
  for (int f = kOpposingPawns; f <= kOpposingKing; ++f)
    for (int s = 0; s < 64; ++s) shares[kCommonest][s] = std::max(shares[kCommonest][s], shares[f][s]);
  fill(shares[kKnightsNearKing], 0);
  for_each(planes[70], [&](Square s) { shares[kKnightsNearKing][s] = shares[kOpposingKnights][s]; });
  std::memcpy(shares[kPreviousShares], state.context->previous.shares, sizeof state.context->previous.shares);

  const int states = std::max(1, state.count);
  fill(shares[kOwnKingHangs], own.kinds.king ? shares[kOpposingAttacks][first(own.kinds.king)] : 0);
  fill(shares[kOpposingKingHangs], share_of(totals[kOpposingKing] - totals[kSafeKing], states));
  const Bitboard kinds[] = {own.kinds.pawns, own.kinds.knights, own.kinds.bishops, own.kinds.rooks, own.kinds.queens};
  std::int64_t theirs = 0, ours = 0;
  for (int kind = 0; kind < 5; ++kind) {
    theirs += std::int64_t{kMaterial[kind]} * totals[kOpposingPawns + kind];
    ours += kMaterial[kind] * count(kinds[kind]);
  }
  fill(shares[kOpposingMaterial], material_byte(theirs, states));
  fill(shares[kOwnMaterial], material_byte(ours, 1));
  fill(shares[kNumberOfStates],
       static_cast<std::uint8_t>(std::min(255L, std::lround(std::log2(states) * 255 / std::log2(kCountedAtOnce)))));
}

}  // namespace

void Context::moved(const Outcome& outcome, const Remembered& seen) {
  const bool passed = outcome.taken == kPass;
  last_from = static_cast<std::int8_t>(passed ? kNoSquare : from_of(outcome.taken));
  last_to = static_cast<std::int8_t>(passed ? kNoSquare : to_of(outcome.taken));
  own_capture = static_cast<std::int8_t>(outcome.capture);
  previous = seen;
}

Remembered remembered(const InfostateView& state) {
  Remembered seen;
  const auto placement = [](const OpposingLanes& lanes, const auto& use) { opposing_placement(lanes, use); };
  count_features<kPlacements>(state.members, state.count, placement, [&](int kind, const auto& counts) {
    seen.planes[kind] = counts.always();
    seen.planes[kPlacements + kind] = counts.sometimes();
    counts.write_shares(seen.shares[kind]);
  });
  write_context(*state.context, seen.planes + 2 * kPlacements);
  return seen;
}

void synopsis(const InfostateView& state, Bitboards& planes) {
  const OwnPieces own(*state.own);
  write_planes(state, own, join(state, own), planes);
}

void graded_synopsis(const InfostateView& state, Bitboards& planes, ShareBytes& shares) {
  const OwnPieces own(*state.own);
  Joined joined;
  int totals[kFeatures];
  const auto features_of = [&](const OpposingLanes& lanes, const auto& use) { state_features(own, lanes, use); };
  count_features<kFeatures>(state.members, state.count, features_of, [&](int f, const auto& counts) {
    joined.always[f] = counts.always();
    joined.sometimes[f] = counts.sometimes();
    totals[f] = counts.total();
    if (f < kOwnPawnsTwice) counts.write_shares(shares[f < kKingDiagonals ? f : f - kKingDiagonals + kFeaturesGoOn]);
  });
  write_planes(state, own, joined, planes);
  write_derived(state, own, planes, totals, shares);
}

SynopsisSort synopsis_sort(const std::string& name) {
  if (name == "binary") return SynopsisSort::kBinary;
  if (name == "shares") return SynopsisSort::kShares;
  if (name == "graded") return SynopsisSort::kGraded;
  throw std::invalid_argument("there is no synopsis '" + name + "'; there are binary, shares and graded");
}

std::span<const int> binary_planes(SynopsisSort sort) {
  static constexpr auto kAll = [] {
    std::array<int, kPlanes> all{};
    for (int p = 0; p < kPlanes; ++p) all[p] = p;
    return all;
  }();
  if (sort == SynopsisSort::kShares) return kBesideShares;
  return kAll;
}

int words_of(SynopsisSort sort) {
  return static_cast<int>(binary_planes(sort).size() + (has_shares(sort) ? sizeof(ShareBytes) / 8 : 0));
}

void write_features(const InfostateView& state, SynopsisSort sort, std::uint64_t* words) {
  Bitboards planes;
  const std::span<const int> kept = binary_planes(sort);
  if (has_shares(sort)) {
    ShareBytes shares;
    graded_synopsis(state, planes, shares);
    std::memcpy(words + kept.size(), shares, sizeof shares);
  } else {
    synopsis(state, planes);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) words[i] = planes[kept[i]];
}

void write_previous(const Context& context, SynopsisSort sort, std::uint64_t* words) {
  const std::span<const int> kept = binary_planes(sort);
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i] >= kFirstPrevious) words[i] = context.previous.planes[kept[i] - kFirstPrevious];
  if (has_shares(sort))
    std::memcpy(words + kept.size() + 8 * kPreviousShares, context.previous.shares, sizeof context.previous.shares);
}

std::vector<Bitboard> synopses(const Infostates& states, std::span<const std::int64_t> rows,
                               const Bitboard (&leave_out)[2]) {
  states.check_rows(rows);
  std::vector<Bitboard> out(rows.size() * kPlanes);
  for_each_row(static_cast<int>(rows.size()), [&](int i) {
    auto& planes = *reinterpret_cast<Bitboards*>(&out[static_cast<std::size_t>(i) * kPlanes]);
    synopsis(states.view(static_cast<int>(rows[i])), planes);
    for (int word = 0; word < 2; ++word) penumbra::for_each(leave_out[word], [&](int p) { planes[64 * word + p] = 0; });
  });
  return out;
}

std::vector<std::uint8_t> shares(const Infostates& states, std::span<const std::int64_t> rows) {
  states.check_rows(rows);
  std::vector<std::uint8_t> out(rows.size() * sizeof(ShareBytes));
  for_each_row(static_cast<int>(rows.size()), [&](int i) {
    Bitboards planes;
    auto& bytes = *reinterpret_cast<ShareBytes*>(&out[static_cast<std::size_t>(i) * sizeof(ShareBytes)]);
    graded_synopsis(states.view(static_cast<int>(rows[i])), planes, bytes);
  });
  return out;
}

std::vector<std::uint64_t> features(const Infostates& states, SynopsisSort sort, std::span<const std::int64_t> rows) {
  states.check_rows(rows);
  const std::size_t words = words_of(sort);
  std::vector<std::uint64_t> out(rows.size() * words);
  for_each_row(static_cast<int>(rows.size()), [&](int i) {
    write_features(states.view(static_cast<int>(rows[i])), sort, &out[static_cast<std::size_t>(i) * words]);
  });
  return out;
}

}  // namespace penumbra
