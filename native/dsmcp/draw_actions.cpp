#include "dsmcp/draw_actions.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/parallel.h"

namespace penumbra {

namespace {

constexpr int kBlock = 256;

double sum(const float* priors, std::int64_t n) {
  double sums[4] = {0, 0, 0, 0};  // side by side, for each waits for the one before
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) sums[k] += priors[i + k];
  for (; i < n; ++i) sums[0] += priors[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Where the draw falls; what rounding leaves over goes to the last action.
std::int64_t position(const float* priors, std::int64_t n, double uniform) {
  const double target = uniform * sum(priors, n);
  double before = 0;
  for (std::int64_t i = 0; i < n - 1; ++i)
    if (target < (before += priors[i])) return i;
  return n - 1;
}

}  // namespace

std::vector<std::int32_t> draw_actions(std::span<const std::int32_t> actions, std::span<const std::int64_t> offsets,
                                       std::span<const float> priors, std::span<const std::int64_t> rows,
                                       std::span<const double> uniforms) {
  const std::int64_t known = static_cast<std::int64_t>(offsets.size()) - 1;
  for (const std::int64_t row : rows)
    if (row < 0 || row >= known)
      throw std::out_of_range("row " + std::to_string(row) + " is not among " + std::to_string(known));
  const int draws = static_cast<int>(rows.size());
  std::vector<std::int32_t> out(rows.size());
  parallel_for((draws + kBlock - 1) / kBlock, [&](int block) {
    const int stop = std::min(draws, (block + 1) * kBlock);
    for (int i = block * kBlock; i < stop; ++i) {
      const std::int64_t first = offsets[rows[i]], n = offsets[rows[i] + 1] - first;
      out[i] = actions[first + position(&priors[first], n, uniforms[i])];
    }
  });
  return out;
}

}  // namespace penumbra
