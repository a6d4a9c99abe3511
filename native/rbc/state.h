// World states of reconnaissance blind chess.
//
// A `Side` is everything one player owns, seen from that player's own side of the board (own pieces start on ranks 1-2
// for both colours). It is three bit planes that give each square a 3-bit code. Codes 1-6 are the kinds of pieces; code
// 7, the *marked* piece, is a rook that may still castle where it stands on rank 1 and a pawn that may be taken en
// passant where it stands on rank 4. Castling rights and the en-passant square are thus part of the placement, a lost
// rook takes its right along, and a world state is two sides and whose turn it is. Colours appear nowhere else, so
// mirroring the board and swapping the colours cannot change anything.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "chess/bitboard.h"
#include "chess/zobrist.h"

namespace penumbra {

enum Code : int { kEmpty, kPawn, kKnight, kBishop, kRook, kQueen, kKing, kMarked };

constexpr bool kWhite = true;
constexpr bool kBlack = false;

constexpr Square kKingHome = 4;       // e1
constexpr Square kKingSideRook = 7;   // h1
constexpr Square kQueenSideRook = 0;  // a1

// Pieces by kind; a marked rook counts as a rook, a marked pawn as a pawn.
struct Kinds {
  Bitboard pawns, knights, bishops, rooks, queens, king;
};

struct Side {
  Bitboard planes[3] = {0, 0, 0};  // bit i of the code of each square
  std::uint64_t hash = 0;          // XOR of kZobrist[code][square] over the pieces, kept incrementally

  Bitboard occupied() const { return planes[0] | planes[1] | planes[2]; }
  Bitboard marked() const { return planes[0] & planes[1] & planes[2]; }
  Bitboard marked_rooks() const { return marked() & kRank1; }
  Bitboard marked_pawn() const { return marked() & kRank4; }
  Bitboard king() const { return ~planes[0] & planes[1] & planes[2]; }
  Kinds kinds() const;

  int code_at(Square s) const {
    return static_cast<int>(((planes[0] >> s) & 1) | (((planes[1] >> s) & 1) << 1) | (((planes[2] >> s) & 1) << 2));
  }
  // The kind on a square, 0 if none: a mark is not seen.
  int kind_at(Square s) const {
    const int code = code_at(s);
    return code != kMarked ? code : (rank_of(s) == 0 ? kRook : kPawn);
  }

  void toggle(int code, Square s) {
    const Bitboard b = bit(s);
    planes[0] ^= code & 1 ? b : 0;
    planes[1] ^= code & 2 ? b : 0;
    planes[2] ^= code & 4 ? b : 0;
    hash ^= kZobrist[code][s];
  }
  void remove(Square s) { toggle(code_at(s), s); }
  void set_code(Square s, int code) {
    remove(s);
    toggle(code, s);
  }
  void unmark_pawn() {
    if (const Bitboard pawn = marked_pawn()) set_code(first(pawn), kPawn);
  }
  void unmark_rooks() {
    for_each(marked_rooks(), [this](Square s) {
      toggle(kMarked, s);
      toggle(kRook, s);
    });
  }

  // The planes of kinds instead of codes: what a sense shows.
  void visible(Bitboard (&kind_planes)[3]) const {
    const Bitboard marks = marked(), rooks = marks & kRank1;
    kind_planes[0] = planes[0] ^ rooks;
    kind_planes[1] = planes[1] ^ marks;
    kind_planes[2] = planes[2] ^ (marks ^ rooks);
  }

  bool operator==(const Side& other) const {
    return planes[0] == other.planes[0] && planes[1] == other.planes[1] && planes[2] == other.planes[2];
  }
};

inline Kinds Side::kinds() const {
  const Bitboard a = planes[0], b = planes[1], c = planes[2], marks = a & b & c;
  return {(a & ~b & ~c) | (marks & kRank4), ~a & b & ~c, a & b & ~c,
          (~a & ~b & c) | (marks & kRank1), a & ~b & c,  ~a & b & c};
}

struct World {
  Side sides[2];       // by colour: sides[kWhite], sides[kBlack], each in its own view
  bool turn = kWhite;  // the player to act
};

struct Clocks {
  int halfmoves = 0;
  int fullmove = 1;
};

struct FenError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

extern const std::string kStartFen;

// Throws FenError with one clear sentence. Castling rights without their king or rook are dropped, as python-chess does.
World parse_fen(std::string_view fen, Clocks* clocks = nullptr);

// The en-passant square is written after every double step.
std::string to_fen(const World& world, const Clocks& clocks = {});

// 'a1' .. 'h8'.
std::string square_name(Square s);

}  // namespace penumbra
