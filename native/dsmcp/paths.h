// The ways of a batch of playouts: at which node each action was chosen and by whom, and which actions are lent a
// virtual loss just now. Two players and a node table are all that is known here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dsmcp/node_table.h"

namespace penumbra {

class Paths {
 public:
  Paths(NodeTable& table, std::size_t playouts, double virtual_loss, double virtual_value);

  // The actions that these playouts have just chosen, to each of which `NodeTable::select` has lent the virtual loss.
  void append(std::span<const std::int64_t> rows, std::span<const std::uint64_t> keys,
              std::span<const std::int32_t> actions, bool ours);

  // N of the last action of each row, what is lent included.
  std::vector<double> visits(std::span<const std::int64_t> rows) const;

  // Lends the virtual loss, visits of the virtual value, to all actions of these rows that do not have it.
  void lose_virtually(std::span<const std::int64_t> rows);

  // A value q, from -1 to 1 and of our player or the other, for each row: every action on its way gets so many visits
  // of (1 + q) / 2 if that player chose it, else of (1 - q) / 2, and gives back what it was lent.
  void credit(std::span<const std::int64_t> rows, std::span<const float> q, bool ours, std::span<const double> weights);

  // Takes back all that is still lent.
  void cancel();

 private:
  struct Step {
    std::uint64_t key;
    std::int32_t action;
    bool ours, lent;
  };

  std::vector<Step>& way(std::int64_t row);
  const std::vector<Step>& way(std::int64_t row) const;

  NodeTable& table_;
  const double virtual_loss_, virtual_value_;
  std::vector<std::vector<Step>> ways_;  // [playouts][steps]
};

}  // namespace penumbra
