#include "rbc/game.h"

#include <array>

namespace penumbra {

namespace {

constexpr std::array<std::string_view, 6> kReasonNames = {"",       "KING_CAPTURE", "TIMEOUT",
                                                          "RESIGN", "MOVE_LIMIT",   "TURN_LIMIT"};
constexpr char kRecordVersion = 1;
constexpr std::uint8_t kSkippedSense = 64;
constexpr std::uint8_t kNoMoveFlag = 128;

void put_text(std::string& out, const std::string& text) {
  if (text.size() > 65535) throw std::invalid_argument("a name in the game record is longer than 65,535 bytes");
  out += static_cast<char>(text.size() & 255);
  out += static_cast<char>(text.size() >> 8);
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::uint8_t byte() {
    if (at_ >= bytes_.size()) throw std::invalid_argument("the game record is truncated");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint16_t word() {
    const std::uint16_t low = byte();
    return static_cast<std::uint16_t>(low | (byte() << 8));
  }
  std::string text() {
    const std::size_t size = word();
    if (at_ + size > bytes_.size()) throw std::invalid_argument("the game record is truncated");
    at_ += size;
    return std::string(bytes_.substr(at_ - size, size));
  }
  bool done() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view reason_name(Reason reason) { return kReasonNames[static_cast<std::size_t>(reason)]; }

std::optional<Reason> reason_from_name(std::string_view name) {
  for (std::size_t i = 1; i < kReasonNames.size(); ++i)
    if (kReasonNames[i] == name) return static_cast<Reason>(i);
  return std::nullopt;
}

std::string GameRecord::to_bytes() const {
  std::string out(1, kRecordVersion);
  out += static_cast<char>(static_cast<int>(reason) | (winner ? (*winner ? 32 : 16) : 0));
  put_text(out, white_name);
  put_text(out, black_name);
  put_text(out, start_fen);
  if (turns.size() > 65535) throw std::invalid_argument("a game record holds at most 65,535 turns");
  out += static_cast<char>(turns.size() & 255);
  out += static_cast<char>(turns.size() >> 8);
  for (const Turn& turn : turns) {
    const int sense = turn.sense == kNoSense ? kSkippedSense : turn.sense;
    out += static_cast<char>(sense | (turn.moved ? 0 : kNoMoveFlag));
    if (!turn.moved) continue;
    out += static_cast<char>(turn.request & 255);
    out += static_cast<char>(turn.request >> 8);
  }
  return out;
}

GameRecord GameRecord::from_bytes(std::string_view bytes) {
  Reader in(bytes);
  if (in.byte() != kRecordVersion) throw std::invalid_argument("the game record has an unknown version");
  GameRecord record;
  const int head = in.byte(), reason = head & 15;
  if (reason >= static_cast<int>(kReasonNames.size()) || (head & 192) || (head & 48) == 48)
    throw std::invalid_argument("the game record's result is broken");
  record.reason = static_cast<Reason>(reason);
  if (head & 48) record.winner = (head & 32) != 0;
  record.white_name = in.text();
  record.black_name = in.text();
  record.start_fen = in.text();
  const std::size_t turns = in.word();
  for (std::size_t i = 0; i < turns; ++i) {
    const int head_byte = in.byte(), sense = head_byte & 127;
    if (sense > kSkippedSense) throw std::invalid_argument("the game record has a sense out of range");
    Turn turn;
    turn.sense = static_cast<std::int8_t>(sense == kSkippedSense ? kNoSense : sense);
    turn.moved = !(head_byte & kNoMoveFlag);
    if (!turn.moved && i + 1 != turns) throw std::invalid_argument("the game record has a turn without a move");
    if (turn.moved) turn.request = in.word();
    record.turns.push_back(turn);
  }
  if (!in.done()) throw std::invalid_argument("the game record has bytes after its end");
  return record;
}

std::uint64_t GameRecord::hash() const {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (const char c : to_bytes()) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  return scramble(h);
}

Game::Game(const std::string& fen, int reversible_moves_limit, int full_turn_limit)
    : world_(parse_fen(fen.empty() ? kStartFen : fen, &clocks_)),
      reversible_moves_limit_(reversible_moves_limit),
      full_turn_limit_(full_turn_limit) {
  for (const bool color : {kWhite, kBlack})
    if (!world_.sides[color].king()) throw FenError("a game cannot start without both kings: '" + fen + "'");
  if (fen != kStartFen) record_.start_fen = fen;
  record_.turns.reserve(128);
}

void Game::require(Step step) const {
  if (over()) throw std::invalid_argument("the game is over");
  if (step_ != step)
    throw std::invalid_argument(step_ == Step::kSense ? "it is time to sense, not to move"
                                                      : "it is time to move, not to sense");
}

void Game::finish(std::optional<bool> winner, Reason reason) {
  record_.winner = winner;
  record_.reason = reason;
}

void Game::legal_actions(std::vector<Action>& actions) const {
  actions.clear();
  if (over()) return;
  if (step_ == Step::kMove) return list_actions(own(), actions);
  for (Action a = 0; a < 64; ++a) actions.push_back(a);
}

void Game::sense(int square) {
  require(Step::kSense);
  if (square < kNoSense || square > 63)
    throw std::invalid_argument("square " + std::to_string(square) + " is not on the board (0 to 63)");
  record_.turns.push_back({static_cast<std::int8_t>(square), false, kPass});
  step_ = Step::kMove;
}

Outcome Game::move(Move request) {
  require(Step::kMove);
  if (request != kPass && !is_listed(own(), request))
    throw std::invalid_argument("move " + square_name(from_of(request)) + square_name(to_of(request)) +
                                " (seen by its player) is not on the list of moves");
  Side& mover = world_.sides[world_.turn];
  Side& other = world_.sides[!world_.turn];
  const Outcome outcome = resolve(mover, Obstacles::of(other), request);
  const bool pawn_moved = outcome.taken != kPass && mover.kind_at(from_of(outcome.taken)) == kPawn;
  penumbra::play(mover, other, outcome);
  clocks_.halfmoves = pawn_moved || outcome.capture != kNoSquare ? 0 : clocks_.halfmoves + 1;
  clocks_.fullmove += world_.turn == kBlack;
  record_.turns.back().moved = true;
  record_.turns.back().request = request;
  last_request_ = request;
  last_outcome_ = outcome;
  capture_ = outcome.capture == kNoSquare ? kNoSquare : mirror(outcome.capture);
  const bool color = world_.turn;
  world_.turn = !color;
  step_ = Step::kSense;
  if (!other.king())
    finish(color, Reason::kKingCapture);
  else if (full_turn_limit_ > 0 && clocks_.fullmove > full_turn_limit_)
    finish(std::nullopt, Reason::kTurnLimit);
  else if (reversible_moves_limit_ > 0 && clocks_.halfmoves >= reversible_moves_limit_)
    finish(std::nullopt, Reason::kMoveLimit);
  return outcome;
}

void Game::act(Action action) {
  if (action < 0 || action >= kActions)
    throw std::invalid_argument("action " + std::to_string(action) + " is not in 0 to " + std::to_string(kActions - 1));
  if (action < kMoveBase) return sense(action);
  move(move_of(action));
}

void Game::resign() {
  if (over()) throw std::invalid_argument("the game is over");
  finish(!world_.turn, Reason::kResign);
}

void Game::set_names(std::string white, std::string black) {
  record_.white_name = std::move(white);
  record_.black_name = std::move(black);
}

Game Game::replay(const GameRecord& record) {
  Game game(record.start_fen, 0, 0);
  game.set_names(record.white_name, record.black_name);
  for (const Turn& turn : record.turns) {
    const std::string where =
        "turn " + std::to_string(game.clocks_.fullmove) + " of " + (game.turn() ? "White" : "Black") + ": ";
    try {
      game.sense(turn.sense);
      if (turn.moved) game.move(turn.request);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(where + error.what());
    }
  }
  // Time and resignation come before the board: who takes the king on an overrun turn has lost.
  const bool off_board = record.reason == Reason::kTimeout || record.reason == Reason::kResign;
  const bool agrees =
      game.over() == (record.reason == Reason::kKingCapture) && (!game.over() || game.winner() == record.winner);
  if (!off_board && !agrees) throw std::invalid_argument("the result of the game record is not the one on the board");
  if (off_board || !game.over()) game.finish(record.winner, record.reason);
  return game;
}

}  // namespace penumbra
