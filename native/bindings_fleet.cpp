#include "bindings.h"
#include "rbc/fleet.h"

using namespace nb::literals;

namespace penumbra {

void bind_fleet(nb::module_& m) {
  nb::class_<Fleet>(m, "Fleet",
                    "Many games that advance together, both players of each tracked; row r is what one player of one "
                    "game knows, and what it may choose.")
      .def(
          "__init__",
          [](Fleet* self, long long games, int at_once, int limit, long long cap, std::uint64_t seed, int ply_limit,
             bool settle) {
            if (cap < 1) throw std::invalid_argument("the cap on states must be at least one");
            const nb::gil_scoped_release release;
            new (self) Fleet({games, at_once, limit, static_cast<std::size_t>(cap), seed, (ply_limit + 1) / 2, settle});
          },
          "games"_a, "at_once"_a = 1024, "limit"_a = 128, "cap"_a = 2000, "seed"_a = 0, "ply_limit"_a = 300,
          "settle"_a = true)
      .def("__len__", &Fleet::rows)
      .def(
          "numbers",
          [](const Fleet& self) { return to_numpy(self.numbers(), {static_cast<std::size_t>(self.rows())}); },
          "int64[rows]: which game, from 0.")
      .def(
          "players",
          [](const Fleet& self) { return to_numpy(self.players(), {static_cast<std::size_t>(self.rows())}); },
          "uint8[rows]: who acts, 1 for White.")
      .def(
          "synopsis",
          [](const Fleet& self) {
            return to_numpy(std::vector<Bitboard>(self.synopses()),
                            {static_cast<std::size_t>(self.rows()), std::size_t{kPlanes}});
          },
          "uint64[rows, 104]: the synopsis of ℓ states drawn from the player's set.")
      .def(
          "legal",
          [](const Fleet& self) {
            std::vector<std::int32_t> actions(self.legal().actions);
            std::vector<std::int64_t> offsets(self.legal().offsets);
            const std::size_t n = actions.size(), rows = offsets.size();
            return nb::make_tuple(to_numpy(std::move(actions), {n}), to_numpy(std::move(offsets), {rows}));
          },
          nb::sig("def legal(self) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int64]]"),
          "Legal actions of all rows, row r in [offsets[r], offsets[r + 1]).")
      .def(
          "act",
          [](Fleet& self, nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu> actions) {
            const nb::gil_scoped_release release;
            self.act({actions.data(), actions.shape(0)});
          },
          "actions"_a, "One action for each row; games that end make room for others.")
      .def("take_finished", &Fleet::take_finished,
           "(number, record) of the games that have ended since the last call.");
}

}  // namespace penumbra
