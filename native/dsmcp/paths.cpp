#include "dsmcp/paths.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace penumbra {

Paths::Paths(NodeTable& table, std::size_t playouts, double n_vl, double virtual_value)
    : table_(table), n_vl_(n_vl), virtual_value_(virtual_value), paths_(playouts) {}

const std::vector<Paths::Step>& Paths::path(std::int64_t row) const {
  if (row < 0 || row >= static_cast<std::int64_t>(paths_.size()))
    throw std::out_of_range("row " + std::to_string(row) + " is not among " + std::to_string(paths_.size()) +
                            " playouts");
  return paths_[static_cast<std::size_t>(row)];
}

std::vector<Paths::Step>& Paths::path(std::int64_t row) {
  return const_cast<std::vector<Step>&>(std::as_const(*this).path(row));
}

void Paths::append(std::span<const std::int64_t> rows, std::span<const std::uint64_t> keys,
                   std::span<const std::int32_t> actions, bool ours) {
  for (std::size_t i = 0; i < rows.size(); ++i) path(rows[i]).push_back({keys[i], actions[i], ours, true});
}

std::vector<double> Paths::visits(std::span<const std::int64_t> rows) const {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const std::int64_t row : rows) {
    const std::vector<Step>& steps = path(row);
    out.push_back(steps.empty() ? 0 : table_.get(steps.back().key, steps.back().action).n);
  }
  return out;
}

void Paths::add_virtual_loss(std::span<const std::int64_t> rows) {
  if (n_vl_ == 0) return;
  std::vector<Update> updates;
  for (const std::int64_t row : rows)
    for (Step& step : path(row)) {
      if (step.pending) continue;
      updates.push_back({step.key, step.action, n_vl_, n_vl_ * virtual_value_, 1});
      step.pending = true;
    }
  table_.add(updates);
}

void Paths::credit(std::span<const std::int64_t> rows, std::span<const float> q, bool ours,
                   std::span<const double> weights) {
  std::vector<Update> updates;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (Step& step : path(rows[i])) {
      const double value = (1 + (step.ours == ours ? 1.0 : -1.0) * q[i]) / 2;
      const double revoked = step.pending ? n_vl_ : 0;
      updates.push_back({step.key, step.action, weights[i] - revoked, weights[i] * value - revoked * virtual_value_,
                         static_cast<float>(value)});
      step.pending = false;
    }
  table_.add(updates);
}

void Paths::cancel() {
  std::vector<Update> updates;
  for (std::vector<Step>& steps : paths_)
    for (Step& step : steps) {
      if (step.pending && n_vl_ != 0) updates.push_back({step.key, step.action, -n_vl_, -n_vl_ * virtual_value_, 1});
      step.pending = false;
    }
  table_.add(updates);
}

}  // namespace penumbra
