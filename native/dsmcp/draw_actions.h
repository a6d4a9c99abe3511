// Actions drawn from policies. Actions are numbers; no game is known here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penumbra {

// An action for each draw: draw i is of row rows[i], which has the actions in [offsets[r], offsets[r + 1]), never none,
// with these priors, and takes the first one up to which more than the share uniforms[i] (below 1) of the row's priors
// lies. Rows may repeat. Throws std::out_of_range naming the first that is not a row.
std::vector<std::int32_t> draw_actions(std::span<const std::int32_t> actions, std::span<const std::int64_t> offsets,
                                       std::span<const float> priors, std::span<const std::int64_t> rows,
                                       std::span<const double> uniforms);

}  // namespace penumbra
