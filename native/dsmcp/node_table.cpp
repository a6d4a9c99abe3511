#include "dsmcp/node_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/random.h"

namespace penumbra {

namespace {

constexpr std::size_t kAhead = 8;  // look-ups asked of memory before they are needed

// An action drawn with the probabilities of the policy.
std::size_t draw(std::span<const float> priors, double uniform) {
  double total = 0;
  for (const float p : priors) total += p;
  double left = uniform * total;
  std::size_t last = 0;  // the last action with any weight: rounding may leave a little over
  for (std::size_t i = 0; i < priors.size(); ++i) {
    if (priors[i] <= 0) continue;
    last = i;
    left -= priors[i];
    if (left < 0) break;
  }
  return total > 0 ? last : static_cast<std::size_t>(uniform * static_cast<double>(priors.size()));
}

}  // namespace

NodeTable::NodeTable(std::size_t entries) {
  if (entries < kBucket) throw std::invalid_argument("a node table needs at least four entries");
  std::size_t size = kBucket;
  while (size * 2 <= entries) size *= 2;
  entries_.resize(size);
  mask_ = size / kBucket - 1;
}

std::uint64_t NodeTable::tag_of(std::uint64_t key, std::int32_t action) {
  return scramble(key + 0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(action + 1));
}

const NodeTable::Entry* NodeTable::find(std::uint64_t tag) const {
  const Entry* const bucket = &entries_[(tag & mask_) * kBucket];
  for (std::size_t i = 0; i < kBucket; ++i)
    if (bucket[i].age && bucket[i].tag == tag) return &bucket[i];
  return nullptr;
}

NodeTable::Entry& NodeTable::claim(std::uint64_t tag) {
  Entry* const bucket = &entries_[(tag & mask_) * kBucket];
  Entry* oldest = bucket;
  for (std::size_t i = 0; i < kBucket; ++i) {
    if (bucket[i].age && bucket[i].tag == tag) {
      bucket[i].age = age_;
      return bucket[i];
    }
    // Of one decision the least visited gives way, so that the root keeps its statistics when the table is full.
    if (bucket[i].age < oldest->age || (bucket[i].age == oldest->age && bucket[i].n < oldest->n)) oldest = &bucket[i];
  }
  used_ += oldest->age == 0;
  *oldest = Entry{tag, 0, 0, 1, age_};
  return *oldest;
}

// A bucket is two cache lines.
void NodeTable::prefetch(std::uint64_t tag) const {
  const Entry* const bucket = &entries_[(tag & mask_) * kBucket];
  __builtin_prefetch(bucket);
  __builtin_prefetch(bucket + 2);
}

void NodeTable::new_decision() {
  const std::lock_guard lock(mutex_);
  ++age_;
}

Statistics NodeTable::get(std::uint64_t key, std::int32_t action) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = find(tag_of(key, action));
  return entry ? Statistics{entry->n, entry->q, entry->least} : Statistics{};
}

std::size_t NodeTable::choose(std::uint64_t key, std::span<const std::int32_t> actions, std::span<const float> priors,
                              float value, const double* uniforms, const BanditSettings& settings, bool& known) {
  static thread_local std::vector<std::uint64_t> tags;
  static thread_local std::vector<Statistics> stats;
  static thread_local std::vector<double> scores;
  tags.resize(actions.size());
  stats.assign(actions.size(), {});
  scores.resize(actions.size());
  for (std::size_t i = 0; i < actions.size(); ++i) prefetch(tags[i] = tag_of(key, actions[i]));
  double n = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const Entry* const entry = find(tags[i]);
    if (!entry) continue;
    stats[i] = {entry->n, entry->q, entry->least};
    n += entry->n;
  }
  known = n > 0;
  // 0 * infinity: a node without visits always mixes.
  const double mixing = n == 0 ? 1 : std::exp(-settings.m * n);
  if (!settings.root && mixing > uniforms[0]) return draw(priors, uniforms[1]);

  const double log_n = std::log(std::max(n, 1.0)), root_n = std::sqrt(n);
  double best = -std::numeric_limits<double>::infinity();
  std::size_t choice = 0, ties = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const Statistics& s = stats[i];
    const bool visited = s.n > 0;
    double& score = scores[i];
    if (!visited && settings.visit_all) {
      score = std::numeric_limits<double>::max();
    } else {
      const double mean = visited ? s.q / s.n : value;
      const double worth = (1 - settings.phi) * mean + settings.phi * (visited ? s.least : value);
      const double explore = settings.rule == Rule::kUcb1 ? std::sqrt(log_n / std::max(s.n, 1.0)) : root_n / (1 + s.n);
      score = worth + settings.c * priors[i] * explore;
    }
    if (score > best || (score == best && priors[i] > priors[choice])) {
      best = score;
      choice = i;
      ties = 1;
    } else if (score == best && priors[i] == priors[choice]) {
      ++ties;
    }
  }
  if (ties == 1) return choice;
  // Ties go to the larger prior, then to chance, never to order.
  auto pick = static_cast<std::size_t>(uniforms[2] * static_cast<double>(ties));
  for (std::size_t i = choice; i < actions.size(); ++i)
    if (scores[i] == best && priors[i] == priors[choice] && pick-- == 0) return i;
  return choice;
}

void NodeTable::select(std::span<const std::uint64_t> keys, std::span<const std::int32_t> actions,
                       std::span<const std::int64_t> offsets, std::span<const float> priors,
                       std::span<const float> values, std::span<const double> uniforms, const BanditSettings& settings,
                       std::span<std::int32_t> chosen, std::span<std::uint8_t> known) {
  const std::lock_guard lock(mutex_);
  for (std::size_t row = 0; row < keys.size(); ++row) {
    const auto first = static_cast<std::size_t>(offsets[row]),
               size = static_cast<std::size_t>(offsets[row + 1]) - first;
    if (size == 0) throw std::invalid_argument("row " + std::to_string(row) + " has no legal action");
    bool visited = false;
    const std::size_t pick = choose(keys[row], actions.subspan(first, size), priors.subspan(first, size), values[row],
                                    &uniforms[3 * row], settings, visited);
    chosen[row] = actions[first + pick];
    known[row] = visited;
    if (settings.n_vl == 0) continue;
    Entry& entry = claim(tag_of(keys[row], chosen[row]));
    entry.n += settings.n_vl;
    entry.q += settings.n_vl * settings.virtual_value;
  }
}

void NodeTable::add(std::span<const Update> updates) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> tags(updates.size());
  for (std::size_t i = 0; i < updates.size(); ++i) tags[i] = tag_of(updates[i].key, updates[i].action);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (i + kAhead < tags.size()) prefetch(tags[i + kAhead]);
    Entry& entry = claim(tags[i]);
    entry.n += updates[i].visits;
    entry.q += updates[i].value;
    entry.least = std::min(entry.least, updates[i].least);
  }
}

}  // namespace penumbra
