// The paths of a batch of playouts through the node table: at which node each action was chosen and by whom, and which
// actions have a virtual loss pending. Two players and a node table are all that is known here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dsmcp/node_table.h"

namespace penumbra {

class Paths {
 public:
  Paths(NodeTable& table, std::size_t playouts, double n_vl, double virtual_value);

  // The actions that these playouts have just chosen; `NodeTable::select` has added the virtual loss to each.
  void append(std::span<const std::int64_t> rows, std::span<const std::uint64_t> keys,
              std::span<const std::int32_t> actions, bool ours);

  // N of the last action of each row, its virtual loss included.
  std::vector<double> visits(std::span<const std::int64_t> rows) const;

  // Adds the virtual loss, n_vl visits of the virtual value, to all actions of these rows that do not have it.
  void add_virtual_loss(std::span<const std::int64_t> rows);

  // A value q, from -1 to 1 and of our player or the other, for each row: every action on its path gets `weights`
  // visits of (1 + q) / 2 if that player chose it, else of (1 - q) / 2, and loses its virtual loss.
  void credit(std::span<const std::int64_t> rows, std::span<const float> q, bool ours, std::span<const double> weights);

  // Removes all virtual losses that are still pending.
  void cancel();

 private:
  struct Step {
    std::uint64_t key;
    std::int32_t action;
    bool ours, pending;
  };

  std::vector<Step>& path(std::int64_t row);
  const std::vector<Step>& path(std::int64_t row) const;

  NodeTable& table_;
  const double n_vl_, virtual_value_;
  std::vector<std::vector<Step>> paths_;  // [playouts][steps]
};

}  // namespace penumbra
