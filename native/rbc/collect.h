// Collects the distinct successors of many states, on all cores, in an order that does not depend on their number.
//
// Writing a successor down is ten times cheaper than finding out whether it is new, and the latter is cheap only in the
// cache. So chunks of parents write their successors into blocks, one chain of blocks per partition of the hash space;
// then each partition, small enough for the cache, takes its chains in the order of the chunks and keeps what it does
// not have. Fresh memory costs more than all of that, so the blocks are few and are used again: successors come in
// rounds, each over all parents and a share of the hash space, and the blocks stay for the next collection.
//
// With a cap, a state is kept only if its hash ranks low under a salt: a uniform draw of the distinct states, made
// without holding the rest. Rounds then go over parts of the parents, and the bar rises from round to round.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/hash_index.h"
#include "base/parallel.h"
#include "rbc/state_set.h"
#include "rbc/successors.h"

namespace penumbra {

// A state stays in a cut if its hash ranks low under this.
inline std::uint64_t salt_of(const Cap& cap) { return scramble(cap.seed + 0x9E3779B97F4A7C15ULL); }

// A cut must not lose `keep`, if there is such a state.
inline void keep_in(Buffer<Side>& members, const Side* keep) {
  if (keep && std::find(members.begin(), members.end(), *keep) == members.end()) members[members.size() - 1] = *keep;
}

// Successors of one chunk of parents, sorted into partitions as they come.
class Chunk {
 public:
  void start(std::size_t partitions, std::size_t expected) {
    arena_.clear();
    arena_.reserve(expected + expected / 8 + partitions * kBlock);
    chain_.clear();
    heads_.assign(partitions, kNone);
    cursors_.assign(partitions, 0);
  }

  // Inlined, so that a successor goes from registers into its block: read back from the stack by wider loads than it was
  // stored with, it would wait for the stores.
  [[gnu::always_inline]] void write(std::size_t partition, const Side& side) {
    std::uint32_t& cursor = cursors_[partition];
    if (cursor % kBlock == 0) [[unlikely]]
      open_block(partition);
    Side& place = arena_[cursor++];
    __builtin_prefetch(&place + 2, 1);
    for (int p = 0; p < 3; ++p) place.planes[p] = side.planes[p];
    place.hash = side.hash;
  }

  // About how many successors a partition has got, at most one block too many.
  std::size_t count(std::size_t partition) const {
    std::size_t blocks = 0;
    for (std::uint32_t block = heads_[partition]; block != kNone; block = chain_[block]) ++blocks;
    return blocks * kBlock;
  }

  std::size_t nbytes() const { return arena_.capacity() * sizeof(Side); }

  // visit(sides, n) for every block of a partition, in the order of writing.
  template <class Visit>
  void for_each_block(std::size_t partition, const Visit& visit) const {
    const std::uint32_t last = (cursors_[partition] - 1) / kBlock;
    for (std::uint32_t block = heads_[partition], next; block != kNone; block = next) {
      next = chain_[block];
      if (next != kNone) prefetch(next);
      visit(&arena_[std::size_t{block} * kBlock], block == last ? cursors_[partition] - block * kBlock : kBlock);
    }
  }

 private:
  static constexpr std::uint32_t kBlock = 128;  // 4 KiB
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void prefetch(std::uint32_t block) const {
    const auto* const start = reinterpret_cast<const char*>(&arena_[std::size_t{block} * kBlock]);
    for (int line = 0; line < 8; ++line) __builtin_prefetch(start + 64 * line);
  }

  [[gnu::noinline]] void open_block(std::size_t partition) {
    const auto block = static_cast<std::uint32_t>(chain_.size());
    if (heads_[partition] == kNone)
      heads_[partition] = block;
    else
      chain_[cursors_[partition] / kBlock - 1] = block;
    chain_.push_back(kNone);
    arena_.grow(arena_.size() + kBlock);
    arena_.resize(arena_.size() + kBlock);
    cursors_[partition] = block * kBlock;
  }

  Buffer<Side> arena_;
  Buffer<std::uint32_t> chain_;         // the next block of each block
  std::vector<std::uint32_t> heads_;    // first block of each partition
  std::vector<std::uint32_t> cursors_;  // where each partition writes next
};

// Chunks between two collections.
class SpareChunks {
 public:
  static std::vector<Chunk> take() {
    SpareChunks& spare = shared();
    const std::lock_guard lock(spare.mutex_);
    return std::exchange(spare.chunks_, {});
  }
  static void give(std::vector<Chunk>&& chunks) {
    std::size_t bytes = 0;
    for (const Chunk& chunk : chunks) bytes += chunk.nbytes();
    if (bytes > kMaxBytes) return;
    SpareChunks& spare = shared();
    const std::lock_guard lock(spare.mutex_);
    spare.chunks_.swap(chunks);
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;  // beyond it, keeping them has not paid

  static SpareChunks& shared() {
    static SpareChunks spare;
    return spare;
  }

  std::mutex mutex_;
  std::vector<Chunk> chunks_;
};

class Collector {
 public:
  // `expected` successors only size the work: a few thousand are collected at once, on one core.
  Collector(std::size_t expected, const Cap& cap)
      : salt_(salt_of(cap)), cap_(cap.states), keep_(cap.keep), expected_(expected) {
    while (bits_ < kMaxBits && (expected >> bits_) > kPerPartition) ++bits_;
    partitions_.resize(std::size_t{1} << bits_);
  }

  // successors(parent, share, emit) calls emit(side) for each successor of one parent that is in the share.
  template <class Successors>
  void run(const Buffer<Side>& parents, const Successors& successors) {
    chunks_ = SpareChunks::take();
    if (cap_ && expected_ > per_capped_round())
      run_in_parts(parents, successors);
    else
      run_in_shares(parents, successors);
    SpareChunks::give(std::move(chunks_));
  }

  // Hands over the members; true if some had to go.
  bool finish(Buffer<Side>& members) {
    bool cut = threshold_ != kEverything;
    if (cap_ && total() > cap_) {
      cut = true;
      Buffer<std::uint64_t> ranks;
      ranks.reserve(total());
      for (const Buffer<Side>& part : partitions_)
        for (const Side& side : part) ranks.push_back(salted(side.hash, salt_));
      std::nth_element(ranks.begin(), ranks.begin() + cap_ - 1, ranks.end());
      tighten(ranks[cap_ - 1]);
    }
    if (partitions_.size() == 1) {
      members = std::move(partitions_[0]);
      members.shrink();
    } else {
      std::vector<std::size_t> offsets(partitions_.size() + 1, 0);
      for (std::size_t p = 0; p < partitions_.size(); ++p) offsets[p + 1] = offsets[p] + partitions_[p].size();
      members.resize(offsets.back());
      parallel_for(static_cast<int>(partitions_.size()), [&](int p) {
        std::copy(partitions_[p].begin(), partitions_[p].end(), members.begin() + offsets[p]);
        partitions_[p].release();
      });
    }
    if (cut) keep_in(members, keep_);
    return cut;
  }

  std::uint64_t generated() const { return generated_; }

 private:
  // Rounds over shares of the hash space. All end up in one piece.
  template <class Successors>
  void run_in_shares(const Buffer<Side>& parents, const Successors& successors) {
    int bits = 0;  // rounds cost time and large ones cost memory, so both grow
    while (bits < std::min(bits_, HashShare::kMaxBits) && (expected_ >> bits) > (kPerRound << bits)) ++bits;
    const std::size_t rounds = std::size_t{1} << bits;
    Buffer<Side> all;
    for (std::size_t r = 0; r < rounds; ++r) {
      write(parents, 0, parents.size(), HashShare(bits, r), bits_ - bits, expected_ / rounds, successors);
      gather_behind(all, bits_ - bits);
      if (r == 0 && rounds > 1) all.reserve((all.size() + all.size() / 16) * rounds);  // the others will be alike
    }
    partitions_.resize(1);
    partitions_[0] = std::move(all);
  }

  // Rounds over parts of the parents.
  template <class Successors>
  void run_in_parts(const Buffer<Side>& parents, const Successors& successors) {
    const std::size_t n = parents.size(), rounds = (expected_ + per_capped_round() - 1) / per_capped_round();
    for (std::size_t r = 0; r < rounds; ++r) {
      write(parents, n * r / rounds, n * (r + 1) / rounds, HashShare(), bits_, expected_ / rounds, successors);
      parallel_for(static_cast<int>(partitions_.size()), [&](int p) { gather(p, partitions_[p]); });
      while (total() > 2 * cap_ + kSlack) tighten(threshold_ / 2);
    }
  }

  std::size_t per_capped_round() const { return std::clamp(8 * cap_, kSlack * 8, kPerCappedRound); }

  // Writes down the successors of some parents that are in a share, in 2^bits partitions.
  template <class Successors>
  void write(const Buffer<Side>& parents, std::size_t start, std::size_t stop, const HashShare& share, int bits,
             std::size_t expected, const Successors& successors) {
    const std::size_t n = stop - start;
    const int shift = 64 - bits_, mask = (1 << bits) - 1;
    const std::uint64_t threshold = threshold_;
    chunks_.resize(bits_ == 0 ? 1 : std::clamp<std::size_t>(n, 1, kChunks));
    std::atomic<std::uint64_t> generated{0};
    parallel_for(static_cast<int>(chunks_.size()), [&](int c) {
      Chunk& out = chunks_[c];
      out.start(std::size_t{1} << bits, expected / chunks_.size());
      std::uint64_t made = 0;
      const auto emit = [&](const Side& side) __attribute__((always_inline)) {
        ++made;
        if (threshold == kEverything || salted(side.hash, salt_) <= threshold)
          out.write(((side.hash >> 1) >> (shift - 1)) & mask, side);
      };
      const std::size_t end = start + n * (c + 1) / chunks_.size();
      for (std::size_t i = start + n * c / chunks_.size(); i < end; ++i) successors(parents[i], share, emit);
      generated.fetch_add(made, std::memory_order_relaxed);
    });
    generated_ += generated.load();
  }

  // Adds to `members` what the chunks hold of one partition and it does not have yet.
  void gather(std::size_t partition, Buffer<Side>& members) const {
    std::size_t coming = 0;
    for (const Chunk& chunk : chunks_) coming += chunk.count(partition);
    static thread_local SideIndex own;  // stays in the cache from partition to partition
    SideIndex& index = own;
    index.build(members, members.size() + coming * 5 / 8);
    members.reserve(members.size() + coming / 2);
    for (const Chunk& chunk : chunks_)
      chunk.for_each_block(partition, [&](const Side* sides, std::size_t size) { index.insert(sides, size, members); });
  }

  // Each partition is gathered in memory that stays in the cache and written behind the one before it, so that all end
  // up in one piece.
  void gather_behind(Buffer<Side>& all, int bits) {
    const std::size_t parts = std::size_t{1} << bits;
    std::size_t room = all.size();
    for (const Chunk& chunk : chunks_)
      for (std::size_t p = 0; p < parts; ++p) room += chunk.count(p);
    all.reserve(room);
    std::vector<std::atomic<std::size_t>> starts(parts + 1);
    starts[0].store(all.size(), std::memory_order_relaxed);
    for (std::size_t p = 1; p <= parts; ++p) starts[p].store(kUnknown, std::memory_order_relaxed);
    parallel_for(static_cast<int>(parts), [&](int p) {
      static thread_local Buffer<Side> members;
      members.clear();
      std::exception_ptr error;
      try {
        gather(p, members);
      } catch (...) {  // out of memory: the partitions behind must not wait for ever
        error = std::current_exception();
        members.clear();
      }
      std::size_t start;
      // Partitions are begun in order, so the one before is being worked on or done.
      while ((start = starts[p].load(std::memory_order_acquire)) == kUnknown) std::this_thread::yield();
      starts[p + 1].store(start + members.size(), std::memory_order_release);
      std::copy(members.begin(), members.end(), all.data() + start);
      if (error) std::rethrow_exception(error);
    });
    all.resize(starts[parts].load());
  }

  std::size_t total() const {
    std::size_t n = 0;
    for (const Buffer<Side>& part : partitions_) n += part.size();
    return n;
  }

  void tighten(std::uint64_t threshold) {
    threshold_ = threshold;
    parallel_for(static_cast<int>(partitions_.size()), [&](int p) {
      Buffer<Side>& members = partitions_[p];
      std::size_t kept = 0;
      for (const Side& side : members)
        if (salted(side.hash, salt_) <= threshold_) members[kept++] = side;
      members.resize(kept);
    });
  }

  static constexpr int kMaxBits = 12;
  static constexpr std::size_t kPerPartition = 1 << 15;                 // successors, about half of them distinct
  static constexpr std::size_t kPerRound = std::size_t{1} << 21;        // 64 MiB, in one round
  static constexpr std::size_t kPerCappedRound = std::size_t{1} << 24;  // every round takes up all partitions again
  static constexpr std::size_t kSlack = 4096;
  static constexpr std::size_t kChunks = 32;
  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};
  static constexpr std::size_t kUnknown = ~std::size_t{0};

  std::uint64_t salt_;
  std::size_t cap_;
  const Side* keep_;
  std::size_t expected_;
  int bits_ = 0;
  std::uint64_t threshold_ = kEverything;
  std::uint64_t generated_ = 0;
  std::vector<Buffer<Side>> partitions_;  // distinct states by their highest hash bits
  std::vector<Chunk> chunks_;
};

}  // namespace penumbra
