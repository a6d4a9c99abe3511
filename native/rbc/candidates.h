// Successors that are ranked before they are built, if they ever are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "rbc/successors.h"

namespace penumbra {

// A successor not yet built: its rank under the salt, its parent, and what moved. `from` == `to` stands for one of the
// parent's few special successors, which are counted in order.
struct Candidate {
  std::uint64_t rank;
  std::int32_t parent;
  std::int8_t code, new_code, from, to;
};

// Finds the successors whose rank is below a threshold without building any of them.
class RankSink {
 public:
  RankSink(std::uint64_t salt, std::vector<Candidate>& out) : salt_(salt), out_(out) {}

  std::uint64_t threshold = 0;
  std::int64_t generated = 0;

  // Forgets what was found, and looks for ranks up to this one.
  void begin(std::uint64_t highest) {
    out_.clear();
    threshold = highest;
    generated = 0;
  }
  void parent(int index) {
    parent_ = index;
    specials_ = 0;
  }

  template <int Code, int NewCode>
  void piece(const Side& base, Square from, Bitboard targets) {
    generated += count(targets);
    const std::uint64_t lifted = base.hash ^ kZobrist[Code][from];
    for_each(targets, [&](Square to) { offer(lifted ^ kZobrist[NewCode][to], Code, NewCode, from, to); });
  }
  template <int NewCode>
  void pawns(const Side& base, Bitboard targets, int step) {
    generated += count(targets);
    for_each(targets, [&](Square to) {
      offer(base.hash ^ kZobrist[kPawn][to - step] ^ kZobrist[NewCode][to], kPawn, NewCode, to - step, to);
    });
  }
  void state(const Side& side) {
    ++generated;
    offer(side.hash, 0, 0, specials_, specials_);
    ++specials_;
  }

 private:
  void offer(std::uint64_t hash, int code, int new_code, int from, int to) {
    const std::uint64_t rank = salted(hash, salt_);
    if (rank > threshold) return;
    out_.push_back({rank, parent_, static_cast<std::int8_t>(code), static_cast<std::int8_t>(new_code),
                    static_cast<std::int8_t>(from), static_cast<std::int8_t>(to)});
  }

  std::uint64_t salt_;
  std::vector<Candidate>& out_;
  std::int32_t parent_ = 0;
  int specials_ = 0;
};

// Finds the n-th special successor.
struct SpecialSink {
  int wanted;
  Side found;
  template <int Code, int NewCode>
  void piece(const Side&, Square, Bitboard) {}
  template <int NewCode>
  void pawns(const Side&, Bitboard, int) {}
  void state(const Side& side) {
    if (wanted-- == 0) found = side;
  }
};

// Rebuilds a candidate from its parent.
inline Side build(const Candidate& candidate, const Side& parent, const ObservedMove& seen) {
  if (candidate.from == candidate.to) {
    SpecialSink sink{candidate.from, {}};
    seen.successors(parent, sink);
    return sink.found;
  }
  Side next = parent;
  if (candidate.code == kKing) next.unmark_rooks();
  next.toggle(candidate.code, candidate.from);
  next.toggle(candidate.new_code, candidate.to);
  return next;
}

constexpr std::uint64_t kEveryRank = ~std::uint64_t{0};

// A few parents tell how many successors there are, and so below which share of the ranks about two and a half times
// `most` of them lie: enough to find `most` distinct ones nearly always.
inline double share_for(RankSink& sink, std::span<const Side> parents, const ObservedMove& seen, std::size_t most) {
  const std::size_t stride = std::max<std::size_t>(1, parents.size() / 8);
  sink.begin(0);
  for (std::size_t i = 0; i < parents.size(); i += stride) {
    sink.parent(static_cast<int>(i));
    seen.successors(parents[i], sink);
  }
  const double expected = static_cast<double>(sink.generated) * static_cast<double>(stride);
  return expected > 0 ? 2.5 * static_cast<double>(most) / expected : 1;
}

// Finds all candidates whose rank is in this share of the ranks, the lowest, in the order of the parents.
inline void visit_below(RankSink& sink, std::span<const Side> parents, const ObservedMove& seen, double share) {
  sink.begin(share >= 1 ? kEveryRank : static_cast<std::uint64_t>(share * 18446744073709551615.0));
  for (std::size_t i = 0; i < parents.size(); ++i) {
    sink.parent(static_cast<int>(i));
    seen.successors(parents[i], sink);
  }
}

}  // namespace penumbra
