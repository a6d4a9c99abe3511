// Games in fixed places, for environments.
#include "rbc/game_fleet.h"

#include "bindings/core.h"

namespace penumbra {

namespace {

View view_named(const std::string& name) {
  if (name.empty()) return View::kNothing;
  if (name == "knowledge") return View::kKnowledge;
  return view_of(synopsis_sort(name));
}

// Rows of which those named are written.
template <class T>
using Rows = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
T* rows_of(const Rows<T>& rows, const GameFleet& fleet, std::size_t width) {
  if (rows.ndim() < 2 || rows.shape(0) != static_cast<std::size_t>(fleet.size()) ||
      rows.size() != static_cast<std::size_t>(fleet.size()) * width)
    throw std::invalid_argument("the array has not " + std::to_string(fleet.size()) + " rows of " +
                                std::to_string(width));
  return rows.data();
}

// One value for each game.
template <class T, class Value>
auto column_of(const GameFleet& fleet, const Value& value) {
  std::vector<T> column(fleet.size());
  for (int place = 0; place < fleet.size(); ++place) column[place] = static_cast<T>(value(fleet.game(place)));
  return to_numpy(std::move(column));
}

}  // namespace

void bind_game_fleet(nb::module_& m) {
  nb::class_<GameFleet>(m, "GameFleet",
                        "Games in fixed places that are stepped together; each has a row in the arrays of its owner. A "
                        "view is 'knowledge', a sort of synopsis, or '' for a player at whom nobody looks.")
      .def(
          "__init__",
          [](GameFleet* self, int places, int ell, long long cap, int turn_limit, int reversible_moves_limit) {
            if (cap < 1) throw std::invalid_argument("the cap on states must be at least one");
            const nb::gil_scoped_release release;
            new (self) GameFleet(places, {.ell = ell,
                                          .cap = static_cast<std::size_t>(cap),
                                          .full_turn_limit = turn_limit,
                                          .reversible_limit = reversible_moves_limit});
          },
          "places"_a, "ell"_a = 128, "cap"_a = 500, "turn_limit"_a = 0, "reversible_moves_limit"_a = 100)
      .def("__len__", &GameFleet::size)
      .def(
          "reset",
          [](GameFleet& self, const Column<std::int64_t>& places, const Column<std::uint64_t>& seeds,
             const std::vector<std::pair<std::string, std::string>>& views) {
            std::vector<Seats> seats;
            for (const auto& [white, black] : views) seats.push_back({view_named(white), view_named(black)});
            const nb::gil_scoped_release release;
            self.reset(span_of(places), span_of(seeds), seats);
          },
          "places"_a, "seeds"_a, "views"_a, "New games in these places, with the views of White and of Black.")
      .def(
          "act",
          [](GameFleet& self, const Column<std::int64_t>& places, const Column<std::int32_t>& actions) {
            const nb::gil_scoped_release release;
            self.act(span_of(places), span_of(actions));
          },
          "places"_a, "actions"_a, "One action for each of these places; ValueError names one that is not legal.")
      .def(
          "turn",
          [](GameFleet& self, std::int64_t place, OptionalSquare sense, int code) {
            self.turn(place, checked_square(sense), checked_move(code));
          },
          "place"_a, "sense"_a.none(), "code"_a, "A whole turn: a sense or none, and a move code.")
      .def(
          "random_actions",
          [](const GameFleet& self, const Column<std::int64_t>& places, std::uint64_t seed) {
            return to_numpy(self.random_actions(span_of(places), seed));
          },
          "places"_a, "seed"_a, "int32[places]: a legal action of each, all equally likely.")
      .def(
          "legal",
          [](const GameFleet& self, const Column<std::int64_t>& places) {
            LegalActions legal = self.legal(span_of(places));
            return nb::make_tuple(to_numpy(std::move(legal.actions)), to_numpy(std::move(legal.offsets)));
          },
          "places"_a,
          nb::sig("def legal(self, places: numpy.typing.NDArray[numpy.int64]) -> "
                  "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int64]]"),
          "Legal actions of all of them, those of the i-th in [offsets[i], offsets[i + 1]).")
      .def(
          "mask",
          [](const GameFleet& self, const Column<std::int64_t>& places, const Rows<std::int8_t>& masks) {
            std::int8_t* const out = rows_of(masks, self, kActions);
            const nb::gil_scoped_release release;
            self.mask(span_of(places), out);
          },
          "places"_a, "masks"_a.noconvert(), "Writes these rows of int8[len, 4161]: 1 for each legal action.")
      .def(
          "observe",
          [](const GameFleet& self, const Column<std::int64_t>& places, const Rows<std::uint8_t>& out) {
            const std::size_t planes = out.ndim() < 2 ? 0 : out.shape(1);
            std::uint8_t* const rows = rows_of(out, self, 64 * planes);
            const nb::gil_scoped_release release;
            self.observe(span_of(places), static_cast<int>(planes), rows);
          },
          "places"_a, "out"_a.noconvert(),
          "Writes these rows of uint8[len, planes, 8, 8]: what the players to act see, ranks and then files.")
      .def(
          "observe_seat",
          [](GameFleet& self, std::int64_t place, bool color, const Rows<std::uint8_t>& out) {
            if (out.ndim() < 1 || out.size() != 64 * out.shape(0)) throw std::invalid_argument("not [planes, 8, 8]");
            self.observe_seat(place, color, static_cast<int>(out.shape(0)), out.data());
          },
          "place"_a, "white"_a, "out"_a.noconvert(),
          "Writes uint8[planes, 8, 8]: what White or Black sees, though it may not be its turn.")
      .def(
          "features",
          [](const GameFleet& self, const Column<std::int64_t>& places, const std::string& synopsis) {
            const View view = view_of(synopsis_sort(synopsis));
            return to_numpy(self.features(span_of(places), view),
                            {places.shape(0), static_cast<std::size_t>(words_of(view))});
          },
          "places"_a, "synopsis"_a, "uint64[places, words]: the same synopses as networks read them.")
      .def(
          "game", [](const GameFleet& self, std::int64_t place) { return Game(self.game(place)); }, "place"_a,
          "A copy of the true game.")
      .def(
          "players",
          [](const GameFleet& self) { return column_of<std::uint8_t>(self, [](const Game& g) { return g.turn(); }); },
          "uint8[len]: who is to act, 1 for White.")
      .def(
          "steps",
          [](const GameFleet& self) { return column_of<std::uint8_t>(self, [](const Game& g) { return g.step(); }); },
          "uint8[len]: SENSE or MOVE.")
      .def(
          "plies",
          [](const GameFleet& self) { return column_of<std::int32_t>(self, [](const Game& g) { return g.plies(); }); },
          "int32[len]: moves made so far.")
      .def(
          "over",
          [](const GameFleet& self) { return column_of<std::uint8_t>(self, [](const Game& g) { return g.over(); }); },
          "uint8[len]: 1 where the game has ended.")
      .def(
          "results",
          [](const GameFleet& self) {
            return column_of<std::int8_t>(
                self, [](const Game& g) { return g.winner().has_value() ? (*g.winner() ? 1 : -1) : 0; });
          },
          "int8[len]: 1 where White has won, -1 where Black has.")
      .def(
          "limited",
          [](const GameFleet& self) {
            return column_of<std::uint8_t>(self, [](const Game& g) { return g.reason() == Reason::kTurnLimit; });
          },
          "uint8[len]: 1 where the game ended by the turn limit.")
      .def_static(
          "planes", [](const std::string& view) { return planes_of(view_named(view)); }, "view"_a,
          "How many planes a view has.");
}

}  // namespace penumbra
