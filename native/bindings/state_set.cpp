// Exact sets of world states.
#include "bindings/board_text.h"
#include "bindings/core.h"

namespace penumbra {

namespace {

Cap checked_cap(long long cap, std::uint64_t seed) {
  if (cap < 0)
    throw std::invalid_argument("the cap on states is " + std::to_string(cap) + "; it must be at least one (0: none)");
  return {static_cast<std::size_t>(cap), seed, nullptr};
}

// What all states have in common; `?` where they differ.
std::string set_text(const StateSet& set) {
  const std::vector<std::uint64_t> counts = set.marginals();
  BoardLetters letters;
  for (Square s = 0; s < 64; ++s) {
    char& letter = letters[static_cast<std::size_t>(set.owner() ? s : mirror(s))];
    letter = '?';
    for (int content = 0; content < kContents; ++content)
      if (counts[static_cast<std::size_t>(s * kContents + content)] == set.size())
        letter = content_letter(content, set.owner());
  }
  const std::string owner = set.owner() ? "White" : "Black", turn = set.turn() ? "White" : "Black";
  const std::string states = std::to_string(set.size()) + (set.size() == 1 ? " state" : " states");
  return "<StateSet of " + owner + ": " + states + (set.complete() ? "" : " of more") + ", " + turn + " to act>\n" +
         board_text(letters);
}

}  // namespace

void bind_state_set(nb::module_& m) {
  nb::exception<ImpossibleObservation>(m, "ImpossibleObservation", PyExc_ValueError).attr("__doc__") =
      "No state that was held possible agrees with what was observed.";

  const auto release = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<StateSet>(
      m, "StateSet",
      "The exact set of world states that its owner holds possible. Immutable: operations make new sets.\n\n"
      "It shows what all its states have in common, and ? where they differ:\n\n"
      "    >>> StateSet(START_FEN, False).expand(None)  # what Black knows after White's first move\n"
      "    <StateSet of Black: 21 states, Black to act>\n"
      "    8 r n b q k b n r\n"
      "    7 p p p p p p p p\n"
      "    6 . . . . . . . .\n"
      "    5 . . . . . . . .\n"
      "    4 ? ? ? ? ? ? ? ?\n"
      "    3 ? ? ? ? ? ? ? ?\n"
      "    2 ? ? ? ? ? ? ? ?\n"
      "    1 R ? B Q K B ? R\n"
      "      a b c d e f g h")
      .def(
          "__init__",
          [](StateSet* self, const std::string& fen, bool owner) { new (self) StateSet(parse_fen(fen), owner); },
          "fen"_a, "owner"_a)
      .def_static(
          "from_fens",
          [](const std::vector<std::string>& fens, bool owner) {
            return StateSet::from_worlds(parse_fens(fens), owner);
          },
          "fens"_a, "owner"_a)
      .def_prop_ro("owner", &StateSet::owner)
      .def_prop_ro("turn", &StateSet::turn, "Who is to act.")
      .def_prop_ro("complete", &StateSet::complete, "False since a cap has cut the set.")
      .def_prop_ro("generated", &StateSet::generated,
                   "Successors counted before duplicates went when this set was made.")
      .def_prop_ro("nbytes", &StateSet::nbytes)
      .def("__len__", &StateSet::size)
      .def("__repr__", &set_text)
      .def(
          "__contains__", [](const StateSet& s, const std::string& fen) { return s.contains(parse_fen(fen)); }, "fen"_a)
      .def(
          "fen",
          [](const StateSet& s, std::size_t i) {
            if (i >= s.size()) throw nb::index_error("state out of range");
            return to_fen(s.world(i));
          },
          "index"_a)
      .def("fens",
           [](const StateSet& s) {
             std::vector<std::string> fens;
             fens.reserve(s.size());
             for (std::size_t i = 0; i < s.size(); ++i) fens.push_back(to_fen(s.world(i)));
             return fens;
           })
      .def(
          "__iter__", [](nb::handle self) { return nb::iter(self.attr("fens")()); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def(
          "expand",
          [](const StateSet& s, OptionalSquare capture, long long cap, std::uint64_t seed) {
            const Cap checked = checked_cap(cap, seed);
            const Square square = checked_square(capture);
            const nb::gil_scoped_release release;
            return s.expand(square, checked);
          },
          "capture"_a.none(), "cap"_a = 0, "seed"_a = 0,
          "The opponent moved, and captured on this square or nowhere. Past `cap` states (0: no cap) a uniform draw "
          "stays.")
      .def(
          "filter_sense",
          [](const StateSet& s, int square, const std::vector<int>& contents) {
            const nb::gil_scoped_release release;
            return s.filter_sense(square, contents);
          },
          "square"_a, "contents"_a, "The owner sensed and saw these contents, in the order of Game.sense.")
      .def(
          "apply_move",
          [](const StateSet& s, int requested, int taken, OptionalSquare capture, bool ended) {
            const Outcome outcome{checked_move(taken), checked_square(capture)};
            const Move request = checked_move(requested);
            const nb::gil_scoped_release release;
            return s.apply_move(request, outcome, ended);
          },
          "requested"_a, "taken"_a, "capture"_a.none(), "ended"_a = false,
          "The owner moved: move codes, 0 the pass. `ended`: the move took the king.")
      .def(
          "prune_to_parents_of_expansion",
          [](const StateSet& s, const StateSet& next, OptionalSquare capture) {
            const Square square = checked_square(capture);
            const nb::gil_scoped_release release;
            return s.prune_to_parents_of_expansion(next, square);
          },
          "next"_a, "capture"_a.none(), "The states from which expand(capture) leads into `next`.")
      .def(
          "prune_to_parents_of_move",
          [](const StateSet& s, const StateSet& next, int requested, int taken, OptionalSquare capture, bool ended) {
            const Outcome outcome{checked_move(taken), checked_square(capture)};
            const Move request = checked_move(requested);
            const nb::gil_scoped_release release;
            return s.prune_to_parents_of_move(next, request, outcome, ended);
          },
          "next"_a, "requested"_a, "taken"_a, "capture"_a.none(), "ended"_a = false,
          "The states from which apply_move(...) leads into `next`.")
      .def("sample", &StateSet::sample, "n"_a, "seed"_a, release, "Drawn uniformly, without replacement.")
      .def(
          "marginals",
          [](const StateSet& s) {
            std::vector<std::uint64_t> counts;
            {
              const nb::gil_scoped_release release;
              counts = s.marginals();
            }
            return to_numpy(std::move(counts), {64, kContents});
          },
          "uint64[64, 13]: how many states have each content on each square.");
}

}  // namespace penumbra
