// The Python face of information states, their kernels and the examples made with them.
#include <numeric>

#include "bindings.h"
#include "rbc/examples.h"
#include "rbc/infostate.h"
#include "rbc/static_analysis.h"
#include "rbc/synopsis.h"

namespace penumbra {

namespace {

using namespace nb::literals;

using IntArray = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using RowArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PlaneArray = nb::ndarray<const std::uint64_t, nb::shape<kRemembered>, nb::c_contig, nb::device::cpu>;

std::span<const int> ints(const IntArray& a) { return {a.data(), a.shape(0)}; }

Step checked_step(int step) {
  if (step != 0 && step != 1)
    throw std::invalid_argument("a step is SENSE (0) or MOVE (1), not " + std::to_string(step));
  return static_cast<Step>(step);
}

// numpy cannot hold std::vector<uint8_t> as bool, so flags travel as uint8.
template <class T>
auto copy_of(const std::vector<T>& values) {
  const std::size_t n = values.size();
  return to_numpy(std::vector<T>(values), {n});
}

void check_row(const Infostates& states, int row) {
  if (row < 0 || row >= states.size())
    throw nb::index_error(
        ("row " + std::to_string(row) + " is not in a batch of " + std::to_string(states.size())).c_str());
}

Memory make_memory(OptionalSquare last_from, OptionalSquare last_to, OptionalSquare own_capture,
                   OptionalSquare opposing_capture, std::optional<PlaneArray> previous) {
  Memory memory;
  memory.last_from = static_cast<std::int8_t>(square_or_none(last_from));
  memory.last_to = static_cast<std::int8_t>(square_or_none(last_to));
  memory.own_capture = static_cast<std::int8_t>(square_or_none(own_capture));
  memory.opposing_capture = static_cast<std::int8_t>(square_or_none(opposing_capture));
  if (previous) std::copy_n(previous->data(), kRemembered, memory.previous);
  return memory;
}

std::vector<int> limits_of(nb::object limits, int rows) {
  if (nb::isinstance<nb::int_>(limits)) return std::vector<int>(rows, nb::cast<int>(limits));
  const auto array = nb::cast<IntArray>(limits);
  return {array.data(), array.data() + array.shape(0)};
}

nb::tuple settlements(std::vector<Settlement>&& settled) {
  const std::size_t n = settled.size();
  std::vector<std::uint64_t> senses(n);
  std::vector<std::int32_t> wins(n), losses(n);
  for (std::size_t i = 0; i < n; ++i) {
    senses[i] = settled[i].senses;
    wins[i] = settled[i].win;
    losses[i] = settled[i].loss;
  }
  return nb::make_tuple(to_numpy(std::move(senses), {n}), to_numpy(std::move(wins), {n}),
                        to_numpy(std::move(losses), {n}));
}

void bind_memory(nb::module_& m) {
  nb::class_<Memory>(m, "Memory", "What a player remembers beside its set, in its own view.")
      .def(
          "__init__",
          [](Memory* self, OptionalSquare last_from, OptionalSquare last_to, OptionalSquare own_capture,
             OptionalSquare opposing_capture, std::optional<PlaneArray> previous) {
            new (self) Memory(make_memory(last_from, last_to, own_capture, opposing_capture, previous));
          },
          "last_from"_a = nb::none(), "last_to"_a = nb::none(), "own_capture"_a = nb::none(),
          "opposing_capture"_a = nb::none(), "previous"_a = nb::none())
      .def_prop_ro(
          "last_from", [](const Memory& r) { return maybe(r.last_from); }, "Where the own move taken last began.")
      .def_prop_ro(
          "last_to", [](const Memory& r) { return maybe(r.last_to); }, "Where it ended.")
      .def_prop_ro(
          "own_capture", [](const Memory& r) { return maybe(r.own_capture); }, "Where it captured.")
      .def_prop_ro(
          "opposing_capture", [](const Memory& r) { return maybe(r.opposing_capture); },
          "Where the opponent's last move captured.")
      .def_prop_ro(
          "previous",
          [](const Memory& r) {
            return to_numpy(std::vector<Bitboard>(r.previous, r.previous + kRemembered), {kRemembered});
          },
          nb::rv_policy::automatic, "uint64[18]: planes 18 to 35 at the move step of the previous turn.");
}

void bind_batch(nb::module_& m) {
  nb::class_<Infostates>(
      m, "Infostates",
      "A batch of approximate information states: at most `limit` world states each, and what is remembered.")
      .def_static(
          "draw",
          [](const StateSet& set, int rows, int step, int limit, const Memory& memory, std::uint64_t seed, bool keyed,
             const Infostates* truths) {
            const Step kind = checked_step(step);
            const nb::gil_scoped_release release;
            return draw(set, rows, limit, kind, memory, {seed, keyed}, truths);
          },
          "set"_a, "rows"_a, "step"_a, "limit"_a = 128, "memory"_a = Memory(), "seed"_a = 0, "keyed"_a = false,
          "truths"_a = nb::none(),
          "Rows that draw their states from a set. With `truths`, a batch of the other player, row r holds the state "
          "that\n"
          "its row r stands in.")
      .def_static(
          "from_fens",
          [](const std::vector<std::vector<std::string>>& rows, bool player, int step, int limit,
             std::vector<Memory> memories) {
            const int n = static_cast<int>(rows.size());
            if (!memories.empty() && static_cast<int>(memories.size()) != n)
              throw std::invalid_argument("there are " + std::to_string(memories.size()) + " memories for " +
                                          std::to_string(n) + " rows");
            Infostates out(n, limit);
            const Step kind = checked_step(step);
            for (int row = 0; row < n; ++row) {
              try {
                std::vector<World> worlds;
                for (const std::string& fen : rows[row]) worlds.push_back(parse_fen(fen));
                const StateSet set = StateSet::from_worlds(worlds, player);
                if (set.size() > static_cast<std::size_t>(limit))
                  throw std::invalid_argument(std::to_string(set.size()) + " states are more than the limit");
                out.copy_row(row, draw(set, 1, limit, kind, memories.empty() ? Memory() : memories[row], {}, nullptr),
                             0);
              } catch (const std::invalid_argument& error) {
                throw std::invalid_argument("row " + std::to_string(row) + ": " + error.what());
              }
            }
            return out;
          },
          "rows"_a, "player"_a, "step"_a, "limit"_a = 128, "memories"_a = std::vector<Memory>(),
          "One list of FENs for each row.")
      .def_static(
          "concatenate", [](const std::vector<const Infostates*>& parts) { return Infostates::concatenate(parts); },
          "parts"_a)
      .def("__len__", &Infostates::size)
      .def_prop_ro("limit", &Infostates::limit)
      .def_prop_ro(
          "counts", [](const Infostates& s) { return copy_of(s.counts); }, nb::rv_policy::automatic,
          "int32[B]: states in each row.")
      .def_prop_ro(
          "players", [](const Infostates& s) { return copy_of(s.players); }, nb::rv_policy::automatic,
          "uint8[B]: colour of the player.")
      .def_prop_ro(
          "turns", [](const Infostates& s) { return copy_of(s.turns); }, nb::rv_policy::automatic,
          "uint8[B]: colour of the player to act.")
      .def_prop_ro(
          "steps", [](const Infostates& s) { return copy_of(s.steps); }, nb::rv_policy::automatic,
          "uint8[B]: SENSE or MOVE.")
      .def(
          "memory",
          [](const Infostates& s, int row) {
            check_row(s, row);
            return s.memories[row];
          },
          "row"_a)
      .def(
          "fens",
          [](const Infostates& s, int row) {
            check_row(s, row);
            std::vector<std::string> fens;
            for (int i = 0; i < s.counts[row]; ++i) fens.push_back(to_fen(s.world(row, i)));
            return fens;
          },
          "row"_a, "The states of one row.")
      .def(
          "take",
          [](const Infostates& s, const RowArray& rows) {
            const nb::gil_scoped_release release;
            return s.take({rows.data(), rows.shape(0)});
          },
          "rows"_a, "A new batch of these rows (int64), which may repeat.")
      .def("copy",
           [](const Infostates& s) {
             const Infostates* const self = &s;
             return Infostates::concatenate({&self, 1});
           })
      .def(
          "keys",
          [](const Infostates& s, bool with_memory) {
            std::vector<std::uint64_t> keys;
            {
              const nb::gil_scoped_release release;
              keys = s.keys(with_memory);
            }
            const std::size_t n = keys.size();
            return to_numpy(std::move(keys), {n});
          },
          "with_memory"_a = false, "uint64[B]: equal for equal sets of one player at one kind of step.")
      .def(
          "synopsis",
          [](const Infostates& s, const std::vector<int>& leave_out, std::optional<RowArray> rows) {
            Bitboard mask[2] = {0, 0};
            for (const int p : leave_out) {
              if (p < 0 || p >= kPlanes)
                throw std::invalid_argument("plane " + std::to_string(p) + " is not in 0 to 103");
              mask[p / 64] |= bit(p % 64);
            }
            std::vector<Bitboard> planes;
            {
              const nb::gil_scoped_release release;
              std::vector<std::int64_t> each;
              if (!rows) {
                each.resize(s.size());
                std::iota(each.begin(), each.end(), 0);
              }
              planes = synopses(s, rows ? std::span(rows->data(), rows->shape(0)) : each, mask);
            }
            const std::size_t n = planes.size() / kPlanes;
            return to_numpy(std::move(planes), {n, kPlanes});
          },
          "leave_out"_a = std::vector<int>(), "rows"_a = nb::none(),
          "uint64[B, 104], of these rows (int64), which may repeat, or of all; planes left out are zero.")
      .def(
          "legal",
          [](const Infostates& s, bool prune) {
            LegalActions out;
            {
              const nb::gil_scoped_release release;
              out = legal(s, prune);
            }
            const std::size_t actions = out.actions.size(), rows = out.offsets.size();
            return nb::make_tuple(to_numpy(std::move(out.actions), {actions}),
                                  to_numpy(std::move(out.offsets), {rows}));
          },
          "prune"_a = false,
          nb::sig("def legal(self, prune: bool = False) -> tuple[numpy.typing.NDArray[numpy.int32], "
                  "numpy.typing.NDArray[numpy.int64]]"),
          "Actions of all rows and where each row's begin, int32 and int64[B + 1]. `prune`: without dominated senses.")
      .def(
          "settle",
          [](const Infostates& s, bool senses) {
            std::vector<Settlement> settled;
            {
              const nb::gil_scoped_release release;
              settled = settle(s, senses);
            }
            return settlements(std::move(settled));
          },
          "senses"_a = true,
          nb::sig("def settle(self, senses: bool = True) -> tuple[numpy.typing.NDArray[numpy.uint64], "
                  "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"),
          "For each row: senses worth making (uint64), an action that surely wins the player to act the game (now, or "
          "after\n"
          "the sense whatever it shows), and one by which the opponent to act can take the king in every state; -1: "
          "none.");

  m.def(
      "advance",
      [](const Infostates& actor, const Infostates& other, const IntArray& actions, nb::object actor_limits,
         nb::object other_limits, std::uint64_t seed, bool keyed) {
        const auto mine = limits_of(actor_limits, actor.size()), theirs = limits_of(other_limits, actor.size());
        std::optional<Advanced> out;
        {
          const nb::gil_scoped_release release;
          out.emplace(advance(actor, other, ints(actions), mine, theirs, {seed, keyed}));
        }
        const std::size_t n = out->ended.size();
        return nb::make_tuple(std::move(out->actor), std::move(out->other), to_numpy(std::move(out->ended), {n}));
      },
      "actor"_a, "other"_a, "actions"_a, "actor_limits"_a = 128, "other_limits"_a = 128, "seed"_a = 0,
      "keyed"_a = false,
      nb::sig(
          "def advance(actor: Infostates, other: Infostates, actions: numpy.typing.NDArray[numpy.int32], actor_limits: "
          "int | numpy.typing.NDArray[numpy.int32] = 128, other_limits: int | numpy.typing.NDArray[numpy.int32] = 128, "
          "seed: int = 0, keyed: bool = False) -> tuple[Infostates, Infostates, numpy.typing.NDArray[numpy.uint8]]"),
      "Plays one action per row on the true state, which is where the two rows stand. Returns the two batches after it "
      "and\n"
      "where the actor took the king (such rows stay as they were). Limits are one number or one per row.");

  m.def(
      "settle_set",
      [](const StateSet& set, int step, bool senses) {
        const Step kind = checked_step(step);
        Settlement settled;
        {
          const nb::gil_scoped_release release;
          settled = settle(set.own(), {set.members().data(), set.size()}, set.owner() == set.turn(), kind, senses);
        }
        return nb::make_tuple(settled.senses, settled.win, settled.loss);
      },
      "set"_a, "step"_a, "senses"_a = true,
      nb::sig("def settle_set(set: StateSet, step: int, senses: bool = True) -> tuple[int, int, int]"),
      "Infostates.settle for a whole set.");
  m.def(
      "danger",
      [](const StateSet& set, const IntArray& moves) {
        if (set.owner() != set.turn()) throw std::invalid_argument("the owner of the set is not to move");
        const std::span<const Action> asked{moves.data(), moves.size()};
        for (const Action move : asked)
          if (!is_move(set.own(), move))
            throw std::invalid_argument("action " + std::to_string(move) + " is not a listed move");
        std::vector<float> shares;
        {
          const nb::gil_scoped_release release;
          shares = danger(set.own(), {set.members().data(), set.size()}, asked);
        }
        return to_numpy(std::move(shares), {moves.size()});
      },
      "set"_a, "moves"_a,
      nb::sig("def danger(set: StateSet, moves: numpy.typing.NDArray[numpy.int32]) -> "
              "numpy.typing.NDArray[numpy.float32]"),
      "Of each move of the owner's the share of the states in which it leaves the king where the opponent can take it "
      "at once, less the share in which it takes the opponent's; never below 0.");
}

template <class T>
auto column(std::vector<T>& values, std::size_t width = 0) {
  const std::size_t n = values.size();
  if (width == 0) return to_numpy(std::move(values), {n});
  return to_numpy(std::move(values), {n / width, width});
}

void bind_examples(nb::module_& m) {
  m.def(
      "make_examples",
      [](const std::vector<const GameRecord*>& records, int limit, int multiplicity, long long cap, std::uint64_t seed,
         bool settle) {
        if (cap < 1)
          throw std::invalid_argument("the cap on states is " + std::to_string(cap) + "; it must be at least one");
        Examples e;
        {
          const nb::gil_scoped_release release;
          e = make_examples(records, {limit, multiplicity, static_cast<std::size_t>(cap), seed, settle});
        }
        nb::dict out;
        out["synopses"] = column(e.synopses, kPlanes);
        out["actions"] = column(e.actions);
        out["legal"] = column(e.legal);
        out["legal_offsets"] = column(e.legal_offsets);
        out["outcomes"] = column(e.outcomes);
        out["soon_won"] = column(e.soon_won);
        out["soon_lost"] = column(e.soon_lost);
        out["piece_counts"] = column(e.piece_counts, 12);
        out["set_sizes"] = column(e.set_sizes);
        out["games"] = column(e.games);
        out["plies"] = column(e.turns);
        out["players"] = column(e.players);
        out["cut"] = column(e.cut);
        out["missed_win"] = column(e.missed_win);
        return out;
      },
      "records"_a, "limit"_a = 128, "multiplicity"_a = 1, "cap"_a = 5000, "seed"_a = 0, "settle"_a = true,
      nb::sig(
          "def make_examples(records: collections.abc.Sequence[GameRecord], limit: int = 128, multiplicity: int = 1, "
          "cap: int = 5000, seed: int = 0, settle: bool = True) -> dict[str, numpy.typing.NDArray[typing.Any]]"),
      "Every sense and move step of both players of each game, `multiplicity` rows each; see "
      "penumbra.training.examples.");
}

}  // namespace

void bind_infostates(nb::module_& m) {
  bind_memory(m);
  bind_batch(m);
  bind_examples(m);
}

}  // namespace penumbra
