// The statistics of the search: for an information state and an action, N, how often it was visited, Q, the total of its
// values, and the least of them. Nodes are keys and actions are numbers; no game is known here.
//
// The table has a fixed size. An entry lives in a small bucket; when a bucket is full, the least visited entry of the
// oldest decision in it gives way. All operations take rows in order, so results are the same however the callers' work
// is spread.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace penumbra {

enum class Rule : int { kUcb1 = 0, kAvop = 1 };

struct BanditSettings {
  double c = 1;    // exploration, on the scale of win probabilities: half of the paper's
  double m = 1;    // mixing: the policy acts with probability e^(-m n); may be infinite
  double phi = 0;  // paranoia: weight of the least value seen
  Rule rule = Rule::kUcb1;
  bool root = false;           // the root never mixes
  bool visit_all = false;      // actions without visits first, else they count with the node's own value and one visit
  double n_vl = 1;             // virtual loss: visits added to the action chosen
  double virtual_value = 0.5;  // what each of them counts: 1/2 is the paper's (0 from -1 to 1), 0 a loss
};

struct Statistics {
  double n = 0, q = 0;
  float least = 1;  // of the values seen; 1, the best, before the first
};

// What is to be added to the statistics of an action at a node; `least` is 1 where no value was seen.
struct Update {
  std::uint64_t key;
  std::int32_t action;
  double visits, value;
  float least;
};

class NodeTable {
 public:
  explicit NodeTable(std::size_t entries);

  std::size_t used() const { return used_; }
  void new_decision();  // entries touched from now on are younger

  Statistics get(std::uint64_t key, std::int32_t action) const;

  // Algorithm 1 for each row in turn: row r has the actions and priors in [offsets[r], offsets[r + 1]), its node's own
  // value in `values` (a win probability of the player to act), and three uniform numbers. Writes the action chosen,
  // adds the virtual loss to it, and says in `known` whether the node had been visited.
  void select(std::span<const std::uint64_t> keys, std::span<const std::int32_t> actions,
              std::span<const std::int64_t> offsets, std::span<const float> priors, std::span<const float> values,
              std::span<const double> uniforms, const BanditSettings& settings, std::span<std::int32_t> chosen,
              std::span<std::uint8_t> known);

  // N += visits and Q += value, in order; the least value follows.
  void add(std::span<const Update> updates);

 private:
  struct Entry {
    std::uint64_t tag = 0;
    double n = 0, q = 0;
    float least = 1;
    std::uint32_t age = 0;  // 0: empty
  };
  static constexpr std::size_t kBucket = 4;

  static std::uint64_t tag_of(std::uint64_t key, std::int32_t action);
  const Entry* find(std::uint64_t tag) const;
  Entry& claim(std::uint64_t tag);
  void prefetch(std::uint64_t tag) const;
  std::size_t choose(std::uint64_t key, std::span<const std::int32_t> actions, std::span<const float> priors,
                     float value, const double* uniforms, const BanditSettings& settings, bool& known);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t mask_ = 0, used_ = 0;
  std::uint32_t age_ = 1;
};

}  // namespace penumbra
