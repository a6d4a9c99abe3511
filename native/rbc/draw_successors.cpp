#include "rbc/draw_successors.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "rbc/candidates.h"

namespace penumbra {

namespace {

// Ranks seen so far; memory is used again.
class RankSet {
 public:
  void clear(std::size_t room) {
    std::size_t size = 256;
    while (size < 2 * room) size *= 2;
    slots_.assign(size, 0);
    used_ = 0;
  }
  // Is it new?
  bool insert(std::uint64_t rank) {
    if (2 * ++used_ > slots_.size()) grow();
    return place(rank);
  }

 private:
  bool place(std::uint64_t rank) {
    const std::uint64_t mark = rank + 1;  // 0 is an empty slot; the highest rank is below it all
    std::size_t slot = scramble(rank) & (slots_.size() - 1);
    for (; slots_[slot]; slot = (slot + 1) & (slots_.size() - 1))
      if (slots_[slot] == mark) return false;
    slots_[slot] = mark;
    return true;
  }
  void grow() {
    std::vector<std::uint64_t> old(2 * slots_.size(), 0);
    old.swap(slots_);
    for (const std::uint64_t mark : old)
      if (mark) place(mark - 1);
  }

  std::vector<std::uint64_t> slots_;
  std::size_t used_ = 0;
};

}  // namespace

DrawnSuccessors draw_successors(std::span<const Side> parents, const ObservedMove& seen, std::size_t most,
                                std::uint64_t salt) {
  static thread_local std::vector<Candidate> candidates;
  static thread_local RankSet ranks;
  static thread_local std::vector<std::uint64_t> lowest;
  DrawnSuccessors drawn;
  RankSink sink(salt, candidates);
  double share = share_for(sink, parents, seen, most);
  do {
    visit_below(sink, parents, seen, share);
    ranks.clear(candidates.size());
    std::erase_if(candidates, [](const Candidate& candidate) { return !ranks.insert(candidate.rank); });
    share *= 2;
  } while (candidates.size() <= most && sink.threshold != kEveryRank);
  drawn.generated = static_cast<std::uint64_t>(sink.generated);
  drawn.cut = candidates.size() > most;
  std::uint64_t highest = kEveryRank;
  if (drawn.cut) {
    lowest.clear();
    for (const Candidate& candidate : candidates) lowest.push_back(candidate.rank);
    std::nth_element(lowest.begin(), lowest.begin() + static_cast<std::ptrdiff_t>(most) - 1, lowest.end());
    highest = lowest[most - 1];
  }
  drawn.states.reserve(std::min(most, candidates.size()));
  for (const Candidate& candidate : candidates)
    if (candidate.rank <= highest) drawn.states.push_back(build(candidate, parents[candidate.parent], seen));
  return drawn;
}

}  // namespace penumbra
