#include "rbc/knowledge.h"

#include <algorithm>
#include <cstring>

namespace penumbra {

namespace {

constexpr std::uint8_t kFlag = 255;
constexpr int kPerPiece = 15;  // of the number of opposing pieces: 16 are 240

void flag(std::uint8_t (&plane)[64], Bitboard squares) {
  for_each(squares, [&](Square s) { plane[s] = kFlag; });
}
void flag_square(std::uint8_t (&plane)[64], int s) {
  if (s != kNoSquare) plane[s] = kFlag;
}

}  // namespace

Knowledge::Knowledge(const Side& own, const Side& opponent) : opposing_(count(opponent.occupied())) {
  see(~Bitboard{0}, kNobody);
  for_each(opponent.occupied(), [&](Square s) { see(bit(mirror(s)), opponent.kind_at(s) - 1); });
  see(own.occupied(), kNobody);
}

void Knowledge::see(Bitboard squares, int content) {
  for (Bitboard& seen : seen_) seen &= ~squares;
  seen_[content] |= squares;
  for_each(squares, [&](Square s) { when_[s] = static_cast<std::uint8_t>(turn_); });
}

void Knowledge::turn_begins(const Side& own, Square capture) {
  turn_ = std::min(turn_ + 1, 255);
  see(own.occupied(), kNobody);
  if (capture != kNoSquare) see(bit(capture), kUnknown);
}

void Knowledge::sensed(Square center, const Side& opponent) {
  see(window(center), kNobody);
  for_each(window(center) & mirror(opponent.occupied()),
           [&](Square s) { see(bit(s), opponent.kind_at(mirror(s)) - 1); });
}

void Knowledge::moved(const Outcome& outcome) {
  if (outcome.taken != kPass) see(bit(to_of(outcome.taken)), kNobody);
  if (outcome.capture == kNoSquare) return;
  see(bit(outcome.capture), kNobody);
  ++taken_;
}

void Knowledge::write(const Side& own, bool color, Step step, const Context& context, KnowledgeBytes& bytes) const {
  std::memset(bytes, 0, sizeof bytes);
  const Kinds kinds = own.kinds();
  const Bitboard pieces[6] = {kinds.pawns, kinds.knights, kinds.bishops, kinds.rooks, kinds.queens, kinds.king};
  for (int kind = 0; kind < 6; ++kind) flag(bytes[kind], pieces[kind]);
  for (int content = 0; content < 8; ++content) flag(bytes[6 + content], seen_[content]);
  for (Square s = 0; s < 64; ++s) bytes[14][s] = static_cast<std::uint8_t>(turn_ - when_[s]);
  flag_square(bytes[15], context.last_from);
  flag_square(bytes[16], context.last_to);
  flag_square(bytes[17], context.own_capture);
  flag_square(bytes[18], context.opposing_capture);
  std::memset(bytes[19], kPerPiece * (opposing_ - taken_), sizeof bytes[19]);
  flag(bytes[20], own.marked_rooks());
  std::memset(bytes[21], step == Step::kMove ? kFlag : 0, sizeof bytes[21]);
  std::memset(bytes[22], turn_, sizeof bytes[22]);
  std::memset(bytes[23], color == kWhite ? kFlag : 0, sizeof bytes[23]);
}

}  // namespace penumbra
