// Games that advance together.
#include "rbc/game_batch.h"

#include "bindings/core.h"

namespace penumbra {

void bind_game_batch(nb::module_& m) {
  nb::class_<GameBatch>(
      m, "GameBatch",
      "Many games that advance together, both players of each tracked; row r is what one player of one "
      "game knows, and what it may choose.")
      .def(
          "__init__",
          [](GameBatch* self, long long games, int at_once, int ell, long long cap, std::uint64_t seed, int ply_limit,
             bool settle, const std::string& synopsis) {
            if (cap < 1) throw std::invalid_argument("the cap on states must be at least one");
            const SynopsisSort sort = synopsis_sort(synopsis);
            const nb::gil_scoped_release release;
            new (self) GameBatch(
                {games, at_once, ell, static_cast<std::size_t>(cap), seed, (ply_limit + 1) / 2, settle, sort});
          },
          "games"_a, "at_once"_a = 1024, "ell"_a = 128, "cap"_a = 2000, "seed"_a = 0, "ply_limit"_a = 300,
          "settle"_a = true, "synopsis"_a = "binary")
      .def("__len__", &GameBatch::rows)
      .def(
          "numbers", [](const GameBatch& self) { return to_numpy(self.numbers()); }, "int64[rows]: which game, from 0.")
      .def(
          "players", [](const GameBatch& self) { return to_numpy(self.players()); },
          "uint8[rows]: who acts, 1 for White.")
      .def(
          "synopsis",
          [](const GameBatch& self) {
            return to_numpy(std::vector<std::uint64_t>(self.synopses()),
                            {static_cast<std::size_t>(self.rows()), static_cast<std::size_t>(self.words())});
          },
          "uint64[rows, words]: what a network reads of ℓ states drawn from the player's set; see "
          "Infostates.features.")
      .def(
          "legal",
          [](const GameBatch& self) {
            std::vector<std::int32_t> actions(self.legal().actions);
            std::vector<std::int64_t> offsets(self.legal().offsets);
            return nb::make_tuple(to_numpy(std::move(actions)), to_numpy(std::move(offsets)));
          },
          nb::sig("def legal(self) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int64]]"),
          "Legal actions of all rows, row r in [offsets[r], offsets[r + 1]).")
      .def(
          "act",
          [](GameBatch& self, const Column<std::int32_t>& actions) {
            const nb::gil_scoped_release release;
            self.act(span_of(actions));
          },
          "actions"_a, "One action for each row; games that end make room for others.")
      .def(
          "under_way",
          [](const GameBatch& self) {
            GamesUnderWay games = self.under_way();
            return nb::make_tuple(games.begun, to_numpy(std::move(games.numbers)), to_numpy(std::move(games.actions)),
                                  to_numpy(std::move(games.offsets)));
          },
          nb::sig("def under_way(self) -> tuple[int, numpy.typing.NDArray[numpy.int64], "
                  "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int64]]"),
          "How many games have begun; of each row the game's number, and what was chosen in it so far: row r's in "
          "[offsets[r], offsets[r + 1]).")
      .def(
          "resume",
          [](GameBatch& self, std::int64_t begun, const Column<std::int64_t>& numbers,
             const Column<std::int32_t>& actions, const Column<std::int64_t>& offsets) {
            const auto all = [](const auto& column) {
              return std::vector(span_of(column).begin(), span_of(column).end());
            };
            const GamesUnderWay games = {begun, all(numbers), all(actions), all(offsets)};
            const nb::gil_scoped_release release;
            self.resume(games);
          },
          "begun"_a, "numbers"_a, "actions"_a, "offsets"_a,
          "Plays games that were under way in a batch of the same settings, from where they were.")
      .def("take_finished", &GameBatch::take_finished,
           "(number, record) of the games that have ended since the last call.");
}

}  // namespace penumbra
