// A uniform draw of the distinct successors of many states, without building those that are not drawn.
//
// Generating a successor and finding out whether it is new costs many times what its hash costs. So the hashes of all are
// ranked under a salt, those that rank low are kept, and only they are built.
#pragma once

#include <span>

#include "base/buffer.h"
#include "rbc/successors.h"

namespace penumbra {

struct DrawnSuccessors {
  Buffer<Side> states;          // in the order in which they are generated
  std::uint64_t generated = 0;  // successors in all, repeated ones too
  bool cut = false;             // there are more distinct ones
};

// The `most` distinct successors that rank lowest under the salt, or all if there are no more.
DrawnSuccessors draw_successors(std::span<const Side> parents, const ObservedMove& seen, std::size_t most,
                                std::uint64_t salt);

}  // namespace penumbra
