#include "rbc/state.h"

#include <charconv>
#include <vector>

namespace penumbra {

const std::string kStartFen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

namespace {

constexpr std::string_view kLetters = " PNBRQK";

[[noreturn]] void refuse(std::string_view fen, const std::string& why) {
  throw FenError("malformed FEN '" + std::string(fen.substr(0, 100)) + "': " + why);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    if (end > i) fields.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  return fields;
}

void parse_placement(std::string_view fen, std::string_view field, World& world) {
  int rank = 7, file = 0;
  for (const char c : field) {
    if (c == '/') {
      if (file != 8 || rank == 0) refuse(fen, "a rank does not have eight squares");
      --rank;
      file = 0;
    } else if (c >= '1' && c <= '8') {
      file += c - '0';
    } else {
      const bool white = c >= 'A' && c <= 'Z';
      const auto kind = kLetters.find(white ? c : static_cast<char>(c - 32));
      if (kind == std::string_view::npos || kind == 0 || c == ' ')
        refuse(fen, std::string("unknown piece '") + c + "'");
      if (file > 7) refuse(fen, "a rank does not have eight squares");
      if (kind == kPawn && (rank == 0 || rank == 7)) refuse(fen, "a pawn stands on the first or last rank");
      const Square s = rank * 8 + file;
      world.sides[white].toggle(static_cast<int>(kind), white ? s : mirror(s));
      ++file;
    }
    if (file > 8) refuse(fen, "a rank does not have eight squares");
  }
  if (rank != 0 || file != 8) refuse(fen, "the board does not have eight ranks of eight squares");
  for (const bool color : {kWhite, kBlack})
    if (count(world.sides[color].king()) > 1) refuse(fen, "a side has more than one king");
}

void parse_castling(std::string_view fen, std::string_view field, World& world) {
  if (field == "-") return;
  for (const char c : field) {
    if (c != 'K' && c != 'Q' && c != 'k' && c != 'q') refuse(fen, "castling rights are not '-' or made of KQkq");
    Side& side = world.sides[c == 'K' || c == 'Q'];
    const Square rook = (c == 'K' || c == 'k') ? kKingSideRook : kQueenSideRook;
    if (side.king() == bit(kKingHome) && side.code_at(rook) == kRook) side.set_code(rook, kMarked);
  }
}

void parse_en_passant(std::string_view fen, std::string_view field, World& world) {
  if (field == "-") return;
  const bool named = field.size() == 2 && field[0] >= 'a' && field[0] <= 'h' && field[1] >= '1' && field[1] <= '8';
  if (!named) refuse(fen, "the en-passant field is not '-' or a square");
  Side& stepped = world.sides[!world.turn];
  const Square target = (field[1] - '1') * 8 + (field[0] - 'a');
  const Square seen = world.turn == kWhite ? mirror(target) : target;  // in the view of the side that stepped
  if (rank_of(seen) != 2 || stepped.code_at(seen + 8) != kPawn)
    refuse(fen, "no pawn has just made a double step over the en-passant square " + std::string(field));
  stepped.set_code(seen + 8, kMarked);
}

int parse_clock(std::string_view fen, std::string_view field, const char* name, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size() || value < least || value > 100000)
    refuse(fen, std::string("the ") + name + " is not a number in range");
  return value;
}

}  // namespace

World parse_fen(std::string_view fen, Clocks* clocks) {
  const auto fields = split(fen);
  if (fields.size() < 2 || fields.size() > 6) refuse(fen, "it needs two to six fields");
  World world;
  parse_placement(fen, fields[0], world);
  if (fields[1] != "w" && fields[1] != "b") refuse(fen, "the side to move is not 'w' or 'b'");
  world.turn = fields[1] == "w";
  if (fields.size() > 2) parse_castling(fen, fields[2], world);
  if (fields.size() > 3) parse_en_passant(fen, fields[3], world);
  Clocks read;
  if (fields.size() > 4) read.halfmoves = parse_clock(fen, fields[4], "half-move clock", 0);
  if (fields.size() > 5) read.fullmove = parse_clock(fen, fields[5], "move number", 0);
  if (read.fullmove == 0) read.fullmove = 1;
  if (clocks) *clocks = read;
  return world;
}

std::string to_fen(const World& world, const Clocks& clocks) {
  std::string fen;
  fen.reserve(90);
  for (int rank = 7; rank >= 0; --rank) {
    int gap = 0;
    for (int file = 0; file < 8; ++file) {
      const Square s = rank * 8 + file;
      const int white = world.sides[kWhite].kind_at(s), black = world.sides[kBlack].kind_at(mirror(s));
      if (!white && !black) {
        ++gap;
        continue;
      }
      if (gap) fen += static_cast<char>('0' + gap);
      gap = 0;
      fen += white ? kLetters[white] : static_cast<char>(kLetters[black] + 32);
    }
    if (gap) fen += static_cast<char>('0' + gap);
    if (rank) fen += '/';
  }
  fen += world.turn ? " w " : " b ";
  const std::size_t before = fen.size();
  for (const bool color : {kWhite, kBlack}) {
    const Bitboard rooks = world.sides[color].marked_rooks();
    if (rooks & bit(kKingSideRook)) fen += color ? 'K' : 'k';
    if (rooks & bit(kQueenSideRook)) fen += color ? 'Q' : 'q';
  }
  if (fen.size() == before) fen += '-';
  fen += ' ';
  if (const Bitboard pawn = world.sides[!world.turn].marked_pawn()) {
    const Square behind = first(pawn) - 8;
    fen += square_name(world.turn ? mirror(behind) : behind);
  } else {
    fen += '-';
  }
  fen += ' ';
  fen += std::to_string(clocks.halfmoves);
  fen += ' ';
  fen += std::to_string(clocks.fullmove);
  return fen;
}

std::string square_name(Square s) { return {static_cast<char>('a' + file_of(s)), static_cast<char>('1' + rank_of(s))}; }

}  // namespace penumbra
