// Games and their records.
#include "bindings/board_text.h"
#include "bindings/core.h"

namespace penumbra {

namespace {

std::optional<std::string> maybe_reason(Reason reason) {
  if (reason == Reason::kNone) return std::nullopt;
  return std::string(reason_name(reason));
}

nb::list to_list(const std::vector<int>& values) {
  nb::list list = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i)
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLong(values[i]));
  return list;
}

// `White won, KING_CAPTURE`, `a draw, TURN_LIMIT` or `undecided`.
std::string result_text(std::optional<bool> winner, Reason reason) {
  if (reason == Reason::kNone) return "undecided";
  return std::string(!winner   ? "a draw"
                     : *winner ? "White won"
                               : "Black won") +
         ", " + std::string(reason_name(reason));
}

std::string record_text(const GameRecord& r) {
  const std::string names =
      (r.white_name.empty() ? "White" : r.white_name) + " v " + (r.black_name.empty() ? "Black" : r.black_name);
  return "<GameRecord: " + names + ", " + std::to_string(r.turns.size()) + " turns, " +
         result_text(r.winner, r.reason) + ">";
}

// The true position, and what comes next.
std::string game_text(const Game& g) {
  BoardLetters letters;
  const bool white = g.turn();
  for (Square s = 0; s < 64; ++s)
    letters[static_cast<std::size_t>(white ? s : mirror(s))] = content_letter(content_at(g.own(), g.other(), s), white);
  const std::string next = g.step() == Step::kSense ? " to sense" : " to move";
  const std::string state = g.over() ? result_text(g.winner(), g.reason()) : (white ? "White" : "Black") + next;
  return "<Game: " + std::to_string(g.plies()) + " moves made, " + state + ">\n" + board_text(letters);
}

void bind_record(nb::module_& m) {
  nb::class_<GameRecord>(
      m, "GameRecord",
      "A whole game in three bytes a turn: one sense and one requested move each, seen by their player.")
      .def(
          "__init__",
          [](GameRecord* self, std::string white, std::string black, std::string start) {
            new (self) GameRecord{std::move(white), std::move(black), std::move(start), {}, Reason::kNone, {}};
          },
          "white_name"_a = "", "black_name"_a = "", "start_fen"_a = "")
      .def_rw("white_name", &GameRecord::white_name)
      .def_rw("black_name", &GameRecord::black_name)
      .def_rw("start_fen", &GameRecord::start_fen, "Empty for the usual start.")
      .def_rw("winner", &GameRecord::winner, nb::arg().none())
      .def_prop_rw(
          "reason", [](const GameRecord& r) { return maybe_reason(r.reason); },
          [](GameRecord& r, std::optional<std::string> name) {
            if (!name) {
              r.reason = Reason::kNone;
              return;
            }
            const auto reason = reason_from_name(*name);
            if (!reason) throw std::invalid_argument("unknown reason for the end of a game: '" + *name + "'");
            r.reason = *reason;
          },
          nb::arg().none(), "KING_CAPTURE, TIMEOUT, RESIGN, MOVE_LIMIT, TURN_LIMIT, or None while undecided.")
      .def_prop_ro(
          "senses",
          [](const GameRecord& r) {
            std::vector<int> senses;
            for (const Turn& t : r.turns) senses.push_back(t.sense);
            return senses;
          },
          "One per turn; -1 where none was made.")
      .def_prop_ro(
          "moves",
          [](const GameRecord& r) {
            std::vector<int> moves;
            for (const Turn& t : r.turns)
              if (t.moved) moves.push_back(t.request);
            return moves;
          },
          "Requested moves, one per turn; the last turn may lack its own.")
      .def(
          "add_turn",
          [](GameRecord& r, OptionalSquare sense, std::optional<int> move) {
            if (!r.turns.empty() && !r.turns.back().moved)
              throw std::invalid_argument("the game ended in a turn without a move: no turn can follow");
            const Square s = checked_square(sense);
            r.turns.push_back({static_cast<std::int8_t>(s), move.has_value(), move ? checked_move(*move) : kPass});
          },
          "sense"_a.none(), "move"_a.none(), "A move of None: time ran out before it was made.")
      .def("to_bytes",
           [](const GameRecord& r) {
             const std::string bytes = r.to_bytes();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_static(
          "from_bytes", [](nb::bytes data) { return GameRecord::from_bytes({data.c_str(), data.size()}); }, "data"_a)
      .def_prop_ro("hash", &GameRecord::hash, "64 bits that stand for the whole record.")
      .def("__repr__", &record_text)
      .def("replay", &Game::replay, nb::call_guard<nb::gil_scoped_release>(),
           "The game at its end. ValueError names the turn that breaks the rules.");
}

}  // namespace

void bind_game(nb::module_& m) {
  bind_record(m);
  nb::class_<Game>(m, "Game",
                   "A game of reconnaissance blind chess by action numbers, seen by the player to act.\n\n"
                   "    >>> game = Game()\n"
                   "    >>> game.act(parse_square('e7'))  # White senses, and sees 3 x 3 squares\n"
                   "    >>> game.act(parse_action('e2e4'))\n"
                   "    >>> game\n"
                   "    <Game: 1 moves made, Black to sense>\n"
                   "    8 r n b q k b n r\n"
                   "    7 p p p p p p p p\n"
                   "    6 . . . . . . . .\n"
                   "    5 . . . . . . . .\n"
                   "    4 . . . . P . . .\n"
                   "    3 . . . . . . . .\n"
                   "    2 P P P P . P P P\n"
                   "    1 R N B Q K B N R\n"
                   "      a b c d e f g h")
      .def(
          "__init__",
          [](Game* self, std::optional<std::string> fen, std::optional<int> reversible, std::optional<int> turns) {
            new (self) Game(fen.value_or(""), reversible.value_or(0), turns.value_or(0));
          },
          "fen"_a = nb::none(), "reversible_moves_limit"_a = 100, "full_turn_limit"_a = nb::none())
      .def_prop_ro("turn", &Game::turn, "True: White is to act.")
      .def_prop_ro(
          "step", [](const Game& g) { return static_cast<int>(g.step()); }, "SENSE or MOVE.")
      .def_prop_ro("plies", &Game::plies, "Moves made so far.")
      .def_prop_ro("over", &Game::over)
      .def_prop_ro("winner", &Game::winner)
      .def_prop_ro("reason", [](const Game& g) { return maybe_reason(g.reason()); })
      .def_prop_ro(
          "capture", [](const Game& g) { return square_or_none(g.capture()); },
          "Where the opponent's last move took a piece of the player to act.")
      .def_prop_ro("last_request", [](const Game& g) { return static_cast<int>(g.last_request()); })
      .def_prop_ro("last_taken", [](const Game& g) { return static_cast<int>(g.last_outcome().taken); })
      .def_prop_ro("halfmove_clock", [](const Game& g) { return g.clocks().halfmoves; })
      .def_prop_ro("fullmove_number", [](const Game& g) { return g.clocks().fullmove; })
      .def(
          "legal_actions",
          [](const Game& g) {
            static thread_local std::vector<Action> actions;
            g.legal_actions(actions);
            return to_list(actions);
          },
          nb::sig("def legal_actions(self) -> list[int]"),
          "All 64 senses, or the listed moves and then the pass; nothing when the game is over.")
      .def("act", &Game::act, "action"_a)
      .def(
          "sense",
          [](Game& g, OptionalSquare square) {
            const Square s = checked_square(square);
            std::vector<std::pair<int, int>> result;
            g.sense(s);
            if (s == kNoSquare) return result;
            for (const Square t : window_squares(s, g.turn()))
              result.emplace_back(t, content_at(g.own(), g.other(), t));
            return result;
          },
          "square"_a.none(), "Squares of the window with their contents, in the order of reconchess; None skips.")
      .def(
          "move",
          [](Game& g, int action, int promotion) {
            if (action < kMoveBase || action > kPassAction)
              throw std::invalid_argument("action " + std::to_string(action) + " is not a move");
            if (promotion < 0 || promotion > 5) throw std::invalid_argument("promotion must be 0 or 2 to 5");
            const Outcome o =
                g.move(action == kPassAction ? kPass : static_cast<Move>(move_of(action) | (promotion << 12)));
            return std::make_pair(action_of(o.taken), square_or_none(o.capture));
          },
          "action"_a, "promotion"_a = 0, "The action that happened (the pass if it failed) and where it captured.")
      .def("resign", &Game::resign, "The player to act gives up.")
      .def("set_names", &Game::set_names, "white"_a, "black"_a)
      .def("fen", &Game::fen, "The truth, on the real board; the en-passant square is written after every double step.")
      .def("record", [](const Game& g) { return g.record(); })
      .def("copy", [](const Game& g) { return Game(g); })
      .def("__repr__", &game_text)
      .def(
          "absolute_requests",
          [](const Game& g) {
            static thread_local std::vector<Move> requests;
            list_real_requests(g.own(), g.turn(), requests);
            return to_list(std::vector<int>(requests.begin(), requests.end()));
          },
          nb::sig("def absolute_requests(self) -> list[int]"),
          "reconchess' move_actions as move codes of the real board, in its order.")
      .def(
          "absolute_sense",
          [](Game& g, OptionalSquare square) {
            const Square s = checked_square(square);
            const bool white = g.turn();
            g.sense(s == kNoSquare || white ? s : mirror(s));
            std::vector<int> contents;
            if (s != kNoSquare)
              for (const Square t : window_squares(s, kWhite))
                contents.push_back(content_at(g.world().sides[kWhite], g.world().sides[kBlack], t));
            return to_list(contents);
          },
          "square"_a.none(), nb::sig("def absolute_sense(self, square: int | None) -> list[int]"))
      .def(
          "absolute_move",
          [](Game& g, int code) {
            const bool white = g.turn();
            const Move request = checked_move(code);
            const Outcome o = g.move(white ? request : mirror_move(request));
            const Square capture = o.capture == kNoSquare || white ? o.capture : mirror(o.capture);
            return std::make_pair(static_cast<int>(white ? o.taken : mirror_move(o.taken)), capture);
          },
          "code"_a);
}

}  // namespace penumbra
