// Training examples made from game records.
#include "rbc/examples.h"

#include "bindings/core.h"

namespace penumbra {

namespace {

template <class T>
auto columns(std::vector<T>&& values, std::size_t width) {
  const std::size_t rows = values.size() / width;
  return to_numpy(std::move(values), {rows, width});
}

}  // namespace

void bind_examples(nb::module_& m) {
  m.def(
      "make_examples",
      [](const std::vector<const GameRecord*>& records, int ell, int multiplicity, long long cap, std::uint64_t seed,
         bool settle, const std::string& synopsis, int engine_states, double engine_scale) {
        if (cap < 1)
          throw std::invalid_argument("the cap on states is " + std::to_string(cap) + "; it must be at least one");
        const SynopsisSort sort = synopsis_sort(synopsis);
        Examples e;
        {
          const nb::gil_scoped_release release;
          e = make_examples(records, {ell, multiplicity, static_cast<std::size_t>(cap), seed, settle, sort,
                                      engine_states, engine_scale});
        }
        nb::dict out;
        out["synopses"] = columns(std::move(e.synopses), words_of(sort));
        out["actions"] = to_numpy(std::move(e.actions));
        out["legal"] = to_numpy(std::move(e.legal));
        out["legal_offsets"] = to_numpy(std::move(e.legal_offsets));
        out["outcomes"] = to_numpy(std::move(e.outcomes));
        out["soon_won"] = to_numpy(std::move(e.soon_won));
        out["soon_lost"] = to_numpy(std::move(e.soon_lost));
        out["left"] = to_numpy(std::move(e.left));
        out["engine"] = columns(std::move(e.engine), 2);
        out["piece_counts"] = columns(std::move(e.piece_counts), 12);
        out["set_sizes"] = to_numpy(std::move(e.set_sizes));
        out["games"] = to_numpy(std::move(e.games));
        out["plies"] = to_numpy(std::move(e.turns));
        out["players"] = to_numpy(std::move(e.players));
        out["cut"] = to_numpy(std::move(e.cut));
        out["missed_win"] = to_numpy(std::move(e.missed_win));
        return out;
      },
      "records"_a, "ell"_a = 128, "multiplicity"_a = 1, "cap"_a = 5000, "seed"_a = 0, "settle"_a = true,
      "synopsis"_a = "binary", "engine_states"_a = 0, "engine_scale"_a = 1000.0,
      nb::sig("def make_examples(records: collections.abc.Sequence[GameRecord], ell: int = 128, multiplicity: int = 1, "
              "cap: int = 5000, seed: int = 0, settle: bool = True, synopsis: str = 'binary', engine_states: int = 0, "
              "engine_scale: float = 1000.0) -> dict[str, "
              "numpy.typing.NDArray[typing.Any]]"),
      "Every sense and move step of both players of each game, `multiplicity` rows each; see "
      "penumbra.training.examples.");
}

}  // namespace penumbra
