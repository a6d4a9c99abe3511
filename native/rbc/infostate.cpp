#include "rbc/infostate.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/parallel.h"
#include "rbc/static_analysis.h"

namespace penumbra {

namespace {

// n distinct numbers below `size`, none of them `except`, each choice equally likely. n < size.
void draw_positions(std::size_t size, std::size_t n, std::size_t except, Random& random,
                    std::vector<std::size_t>& out) {
  out.clear();
  // Floyd's draw from the numbers that are left when `except` is taken out.
  const bool excludes = except < size;
  const std::size_t pool = size - (excludes ? 1 : 0);
  std::vector<std::size_t>& drawn = out;
  std::uint64_t filter[64] = {};  // a small Bloom filter spares most searches
  const auto seen = [&](std::size_t x) {
    const std::uint64_t h = scramble(x);
    return (filter[h & 63] >> ((h >> 6) & 63) & 1) && std::find(drawn.begin(), drawn.end(), x) != drawn.end();
  };
  for (std::size_t j = pool - n; j < pool; ++j) {
    std::size_t t = random.below(j + 1);
    if (seen(t)) t = j;
    drawn.push_back(t);
    const std::uint64_t h = scramble(t);
    filter[h & 63] |= std::uint64_t{1} << ((h >> 6) & 63);
  }
  if (excludes)
    for (std::size_t& x : drawn)
      if (x >= except) ++x;
}

// The memory of destroyed batches, kept for the next ones. A playout makes and drops a batch at every step; fresh pages would cost more than the
// kernels, the more so the more threads ask for them.
class Recycler {
 public:
  Buffer<Side> take(std::size_t n) {
    const std::lock_guard lock(mutex_);
    auto best = spare_.end();
    for (auto it = spare_.begin(); it != spare_.end(); ++it)
      if (it->capacity() >= n && it->capacity() <= 2 * n + kSmall &&
          (best == spare_.end() || it->capacity() < best->capacity()))
        best = it;
    if (best == spare_.end()) return {};
    Buffer<Side> found = std::move(*best);
    spare_.erase(best);
    held_ -= found.capacity();
    return found;
  }
  void give(Buffer<Side>&& buffer) {
    if (buffer.capacity() < kSmall || buffer.capacity() > kMaxStates) return;
    const std::lock_guard lock(mutex_);
    while (!spare_.empty() && held_ + buffer.capacity() > kMaxStates) {
      held_ -= spare_.front().capacity();
      spare_.erase(spare_.begin());
    }
    held_ += buffer.capacity();
    spare_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t kSmall = 256;
  static constexpr std::size_t kMaxStates = std::size_t{1} << 22;  // states, 128 MiB
  std::mutex mutex_;
  std::vector<Buffer<Side>> spare_;
  std::size_t held_ = 0;
};

Recycler& recycler() {
  static Recycler* const shared = new Recycler;  // outlives every batch
  return *shared;
}

std::string row_name(int row) { return "row " + std::to_string(row) + ": "; }

}  // namespace

void for_each_row(int rows, const std::function<void(int)>& work) {
  constexpr int kBlock = 16;
  parallel_for((rows + kBlock - 1) / kBlock, [&](int block) {
    const int stop = std::min(rows, (block + 1) * kBlock);
    for (int row = block * kBlock; row < stop; ++row) work(row);
  });
}

Infostates::Infostates(int rows, int ell)
    : own(rows), counts(rows, 0), contexts(rows), players(rows, 0), turns(rows, 0), steps(rows, 0), ell_(ell) {
  if (ell < 1)
    throw std::invalid_argument("an information state needs an ell of at least one state, not " + std::to_string(ell));
  const std::size_t n = static_cast<std::size_t>(rows) * ell;
  members_ = recycler().take(n);
  members_.resize(n);
}

Infostates::~Infostates() { recycler().give(std::move(members_)); }

World Infostates::world(int row, int i) const {
  World world;
  world.turn = turns[row];
  world.sides[players[row]] = own[row];
  world.sides[!players[row]] = members(row)[i];
  return world;
}

int Infostates::find(int row, const Side& opponent) const {
  const Side* const states = members(row);
  for (int i = 0; i < counts[row]; ++i)
    if (states[i].hash == opponent.hash && states[i] == opponent) return i;
  return -1;
}

void Infostates::copy_row(int to, const Infostates& from, int row) {
  own[to] = from.own[row];
  counts[to] = from.counts[row];
  contexts[to] = from.contexts[row];
  players[to] = from.players[row];
  turns[to] = from.turns[row];
  steps[to] = from.steps[row];
  std::copy_n(from.members(row), from.counts[row], members(to));
}

std::vector<std::uint64_t> Infostates::keys(bool with_context) const {
  std::vector<std::uint64_t> keys(own.size());
  for_each_row(size(), [&](int row) {
    std::uint64_t key = scramble(own[row].hash + players[row] * 4 + turns[row] * 2 + steps[row] + 1);
    for (const Side& side : states(row)) key += side.hash;
    if (with_context) {
      const Context& m = contexts[row];
      for (const int s : {m.last_from, m.last_to, m.own_capture, m.opposing_capture})
        key = scramble(key + static_cast<std::uint64_t>(s + 1));
      for (const Bitboard b : m.previous.planes) key = scramble(key + b);
      for (const auto& share : m.previous.shares) {
        std::uint64_t ranks[8];
        std::memcpy(ranks, share, sizeof ranks);
        for (const std::uint64_t rank : ranks) key = scramble(key + rank);
      }
    }
    keys[row] = scramble(key);
  });
  return keys;
}

void Infostates::check_rows(std::span<const std::int64_t> rows) const {
  for (const std::int64_t row : rows)
    if (row < 0 || row >= size())
      throw std::out_of_range("row " + std::to_string(row) + " is not in a batch of " + std::to_string(size()));
}

Infostates Infostates::take(std::span<const std::int64_t> rows) const {
  check_rows(rows);
  Infostates out(static_cast<int>(rows.size()), ell_);
  for_each_row(out.size(), [&](int i) { out.copy_row(i, *this, static_cast<int>(rows[i])); });
  return out;
}

Infostates Infostates::concatenate(std::span<const Infostates* const> parts) {
  int rows = 0, ell = 1;
  for (const Infostates* part : parts) {
    rows += part->size();
    ell = std::max(ell, part->ell());
  }
  Infostates out(rows, ell);
  int to = 0;
  for (const Infostates* part : parts)
    for (int row = 0; row < part->size(); ++row) out.copy_row(to++, *part, row);
  return out;
}

Infostates draw(const StateSet& set, int rows, int ell, Step step, const Context& context, const Cut& cut,
                const Infostates* truths) {
  if (rows < 0) throw std::invalid_argument("a batch cannot have " + std::to_string(rows) + " rows");
  if (truths && truths->size() != rows)
    throw std::invalid_argument("a batch of " + std::to_string(rows) + " rows was given " +
                                std::to_string(truths->size()) + " true states");
  Infostates out(rows, ell);
  const std::size_t size = set.size(), kept = std::min<std::size_t>(size, ell);
  // A keyed draw is the same for all rows, the truth apart.
  std::vector<std::size_t> keyed;
  if (cut.keyed && size > kept) {
    std::vector<std::pair<std::uint64_t, std::size_t>> ranks(size);
    for (std::size_t i = 0; i < size; ++i) ranks[i] = {salted(set.members()[i].hash, cut.row_salt(0, 0)), i};
    std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(kept), ranks.end());
    for (std::size_t i = 0; i < kept; ++i) keyed.push_back(ranks[i].second);
  }
  for_each_row(rows, [&](int row) {
    out.own[row] = set.own();
    out.players[row] = set.owner();
    out.turns[row] = set.turn();
    out.steps[row] = static_cast<std::uint8_t>(step);
    out.contexts[row] = context;
    out.counts[row] = static_cast<int>(kept);
    Side* const states = out.members(row);
    std::size_t truth = size;
    if (truths) {
      const std::size_t at = set.position(truths->own[row]);
      if (at == size) throw std::invalid_argument(row_name(row) + "the set does not hold its true state");
      truth = at;
    }
    if (size <= kept) {
      std::copy_n(set.members().data(), size, states);
      return;
    }
    static thread_local std::vector<std::size_t> positions;
    if (cut.keyed) {
      positions = keyed;
      if (truths && std::find(positions.begin(), positions.end(), truth) == positions.end()) positions.back() = truth;
    } else {
      Random random(cut.row_salt(row, 2));
      draw_positions(size, kept - (truths ? 1 : 0), truths ? truth : size, random, positions);
      if (truths) positions.push_back(truth);
    }
    for (std::size_t i = 0; i < kept; ++i) states[i] = set.members()[positions[i]];
  });
  return out;
}

LegalActions legal(const Infostates& states, bool prune) {
  const int rows = states.size();
  std::vector<std::vector<Action>> lists(rows);
  for_each_row(rows, [&](int row) {
    if (states.step(row) == Step::kMove) return list_actions(states.own[row], lists[row]);
    const Bitboard senses = prune ? useful_senses(states.states(row)) : ~Bitboard{0};
    for_each(senses, [&](Square s) { lists[row].push_back(s); });
  });
  LegalActions out;
  out.offsets.reserve(rows + 1);
  out.offsets.push_back(0);
  for (const auto& list : lists) out.offsets.push_back(out.offsets.back() + static_cast<std::int64_t>(list.size()));
  out.actions.resize(out.offsets.back());
  for_each_row(
      rows, [&](int row) { std::copy(lists[row].begin(), lists[row].end(), out.actions.begin() + out.offsets[row]); });
  return out;
}

}  // namespace penumbra
