// What the binding files share: conversions between Python's None and the core's markers, and arrays Python owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "rbc/game.h"
#include "rbc/state_set.h"

namespace nb = nanobind;

namespace penumbra {

using OptionalSquare = std::optional<int>;

inline OptionalSquare maybe(Square s) { return s == kNoSquare ? OptionalSquare{} : OptionalSquare{s}; }

inline Square square_or_none(OptionalSquare s) {
  if (!s) return kNoSquare;
  if (*s < 0 || *s > 63) throw std::invalid_argument("square " + std::to_string(*s) + " is not on the board (0 to 63)");
  return *s;
}

// An array that Python owns from now on.
template <class T>
auto to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule keeper(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(owned->data(), shape, keeper);
}

void bind_infostates(nb::module_& m);
void bind_dsmcp(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_fleet(nb::module_& m);

}  // namespace penumbra
