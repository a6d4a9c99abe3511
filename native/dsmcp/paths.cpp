#include "dsmcp/paths.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace penumbra {

Paths::Paths(NodeTable& table, std::size_t playouts, double virtual_loss, double virtual_value)
    : table_(table), virtual_loss_(virtual_loss), virtual_value_(virtual_value), ways_(playouts) {}

const std::vector<Paths::Step>& Paths::way(std::int64_t row) const {
  if (row < 0 || row >= static_cast<std::int64_t>(ways_.size()))
    throw std::out_of_range("row " + std::to_string(row) + " is not among " + std::to_string(ways_.size()) +
                            " playouts");
  return ways_[static_cast<std::size_t>(row)];
}

std::vector<Paths::Step>& Paths::way(std::int64_t row) {
  return const_cast<std::vector<Step>&>(std::as_const(*this).way(row));
}

void Paths::append(std::span<const std::int64_t> rows, std::span<const std::uint64_t> keys,
                   std::span<const std::int32_t> actions, bool ours) {
  for (std::size_t i = 0; i < rows.size(); ++i) way(rows[i]).push_back({keys[i], actions[i], ours, true});
}

std::vector<double> Paths::visits(std::span<const std::int64_t> rows) const {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const std::int64_t row : rows) {
    const std::vector<Step>& steps = way(row);
    out.push_back(steps.empty() ? 0 : table_.get(steps.back().key, steps.back().action).n);
  }
  return out;
}

void Paths::lose_virtually(std::span<const std::int64_t> rows) {
  if (virtual_loss_ == 0) return;
  std::vector<Update> updates;
  for (const std::int64_t row : rows)
    for (Step& step : way(row)) {
      if (step.lent) continue;
      updates.push_back({step.key, step.action, virtual_loss_, virtual_loss_ * virtual_value_, 1});
      step.lent = true;
    }
  table_.add(updates);
}

void Paths::credit(std::span<const std::int64_t> rows, std::span<const float> q, bool ours,
                   std::span<const double> weights) {
  std::vector<Update> updates;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (Step& step : way(rows[i])) {
      const double value = (1 + (step.ours == ours ? 1.0 : -1.0) * q[i]) / 2;
      const double back = step.lent ? virtual_loss_ : 0;
      updates.push_back({step.key, step.action, weights[i] - back, weights[i] * value - back * virtual_value_,
                         static_cast<float>(value)});
      step.lent = false;
    }
  table_.add(updates);
}

void Paths::cancel() {
  std::vector<Update> updates;
  for (std::vector<Step>& steps : ways_)
    for (Step& step : steps) {
      if (step.lent && virtual_loss_ != 0)
        updates.push_back({step.key, step.action, -virtual_loss_, -virtual_loss_ * virtual_value_, 1});
      step.lent = false;
    }
  table_.add(updates);
}

}  // namespace penumbra
