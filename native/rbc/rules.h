// The rules of reconnaissance blind chess as reconchess plays them, one move at a time, seen by the player who moves.
//
// A *request* is what the mover asks for, knowing only its own pieces. The *taken* move is what happens: a slide stops
// at the first opposing piece and captures it, a double step may become a single one, and what cannot happen becomes a
// pass. Moves are numbers: from | to << 6 | promotion << 12, where 0 is the pass (a1a1 is no move). Squares are the
// mover's own view.
#pragma once

#include <cstdint>
#include <vector>

#include "chess/attacks.h"
#include "rbc/state.h"

namespace penumbra {

using Move = std::uint16_t;
constexpr Move kPass = 0;

constexpr Move make_move(Square from, Square to, int promotion = 0) {
  return static_cast<Move>(from | (to << 6) | (promotion << 12));
}
constexpr Square from_of(Move m) { return m & 63; }
constexpr Square to_of(Move m) { return (m >> 6) & 63; }
constexpr int promotion_of(Move m) { return m >> 12; }
constexpr Move mirror_move(Move m) { return m == kPass ? kPass : static_cast<Move>(m ^ (56 | (56 << 6))); }

// Action numbers: 64 senses, 4,096 from-to moves (promotion to a queen), the pass.
using Action = int;
constexpr Action kMoveBase = 64;
constexpr Action kPassAction = 64 + 4096;
constexpr int kActions = kPassAction + 1;
constexpr Action action_of(Move m) { return m == kPass ? kPassAction : kMoveBase + from_of(m) * 64 + to_of(m); }
constexpr Move move_of(Action a) {
  return a == kPassAction ? kPass : make_move((a - kMoveBase) >> 6, (a - kMoveBase) & 63);
}

struct Outcome {
  Move taken = kPass;
  Square capture = kNoSquare;  // where a piece of the other side was taken; en passant: the pawn's own square
  bool operator==(const Outcome&) const = default;
};

// What the mover can see of the other side's effect on its moves, in the mover's view.
struct Obstacles {
  Bitboard occupied = 0;          // the other side's pieces
  Square en_passant = kNoSquare;  // the square behind a pawn that has just made a double step

  static Obstacles of(const Side& other) {
    const Bitboard stepped = other.marked_pawn();
    return {mirror(other.occupied()), stepped ? mirror(first(stepped)) + 8 : kNoSquare};
  }
};

// Is the move on the list a player sees, which depends on its own pieces alone? Promotion 0 stands for a queen.
bool is_listed(const Side& mover, Move request);

// Is the action such a move, or the pass?
bool is_move(const Side& mover, Action action);

// All listed moves, each from-to pair once (promotions without their piece), without the pass.
void list_requests(const Side& mover, std::vector<Move>& requests);

// What reconchess lists, in its order and with its repetitions: moves of the real board, seen by `color`.
void list_real_requests(const Side& mover, bool color, std::vector<Move>& requests);

// The listed moves as action numbers, the pass last.
void list_actions(const Side& mover, std::vector<Action>& actions);

// What a listed request becomes. A missing promotion becomes a queen.
Outcome resolve(const Side& mover, const Obstacles& others, Move request);

// Is this outcome of a listed request en passant, with the mover's king in check afterwards? The official server lets
// such a request fail; reconchess' own games do not.
bool server_refuses(const Side& mover, const Side& other, const Outcome& outcome);

// Plays a taken move or the pass. The other side loses the captured piece and, always, its en-passant mark.
void play(Side& mover, Side& other, const Outcome& outcome);

// What `play` does to the other side.
void lose(Side& other, const Outcome& outcome);

// All distinct taken moves with their captures (all four promotions), without the pass.
void list_outcomes(const Side& mover, const Obstacles& others, std::vector<Outcome>& outcomes);

// Does the mover attack this square (of its own view), whatever stands there? Pawns attack their diagonals.
bool attacks_square(const Side& mover, Bitboard other_occupied, Square s);

// Counts sequences of taken moves. As chess: king safety and castling rules of ordinary chess, no pass.
// As RBC: the pass counts too and a captured king ends the sequence.
std::uint64_t perft(const World& world, int depth, bool as_chess);

inline World after(const World& world, const Outcome& outcome) {
  World next = world;
  play(next.sides[world.turn], next.sides[!world.turn], outcome);
  next.turn = !world.turn;
  return next;
}

// Contents of a square for one viewer: 0 empty, 1-6 own kinds, 7-12 opposing kinds.
constexpr int kContents = 13;
inline int content_at(const Side& own, const Side& other, Square s) {
  if (const int kind = own.kind_at(s)) return kind;
  const int kind = other.kind_at(mirror(s));
  return kind ? kind + 6 : 0;
}

// What a sense shows of the opponent's pieces, kinds without marks.
class SenseResult {
 public:
  // Of the viewer's square `center`, where these are the opponent's pieces.
  SenseResult(Square center, const Side& opponent) : mask_(mirror(window(center))) { opponent.visible(kind_planes_); }

  // Would these pieces show the same?
  bool matches(const Side& opponent) const {
    Bitboard shown[3];
    opponent.visible(shown);
    return (((shown[0] ^ kind_planes_[0]) | (shown[1] ^ kind_planes_[1]) | (shown[2] ^ kind_planes_[2])) & mask_) == 0;
  }

 private:
  Bitboard mask_;
  Bitboard kind_planes_[3];
};

// The squares of a sense window in the order of reconchess: from the rank above to the rank below, file by file. The
// order is that of the real board, so it depends on the viewer's colour.
std::vector<Square> window_squares(Square center, bool viewer);

}  // namespace penumbra
