#include "rbc/static_analysis.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/parallel.h"
#include "chess/attacks.h"

namespace penumbra {

namespace {

// The planes of kinds that a sense shows, for every state.
struct Shown {
  Bitboard planes[3];
};

// What a sense of one square would show, packed into 27 bits.
class Window {
 public:
  explicit Window(Square center) : mask_(mirror(window(center))) {
    if constexpr (!kHasPext) {
      const Square s = mirror(center);
      first_rank_ = std::max(rank_of(s) - 1, 0);
      ranks_ = std::min(rank_of(s) + 1, 7) - first_rank_ + 1;
      first_file_ = std::max(file_of(s) - 1, 0);
    }
  }
  std::uint32_t key(const Shown& shown) const {
    return squeeze(shown.planes[0]) | squeeze(shown.planes[1]) << 9 | squeeze(shown.planes[2]) << 18;
  }
  std::uint32_t key(const Side& side) const {
    Shown shown;
    side.visible(shown.planes);
    return key(shown);
  }
  Bitboard mask() const { return mask_; }

 private:
#if defined(__BMI2__)
  static constexpr bool kHasPext = true;
  std::uint32_t squeeze(Bitboard b) const { return static_cast<std::uint32_t>(_pext_u64(b, mask_)); }
#else
  static constexpr bool kHasPext = false;
  std::uint32_t squeeze(Bitboard b) const {
    std::uint32_t bits = 0;
    for (int i = 0; i < ranks_; ++i)
      bits |= static_cast<std::uint32_t>(((b & mask_) >> (8 * (first_rank_ + i) + first_file_)) & 7) << (3 * i);
    return bits;
  }
#endif
  Bitboard mask_;
  int first_rank_ = 0, ranks_ = 0, first_file_ = 0;
};

const std::array<Window, 64>& windows() {
  static const auto all = []<std::size_t... S>(std::index_sequence<S...>) {
    return std::array<Window, 64>{Window(static_cast<Square>(S))...};
  }(std::make_index_sequence<64>{});
  return all;
}

// A map of 27-bit keys to 32-bit values that is cleared in constant time.
class KeyMap {
 public:
  KeyMap() : slots_(256) {}
  void clear() {
    size_ = 0;
    if (++round_ == 0) {
      std::fill(slots_.begin(), slots_.end(), Slot{});
      round_ = 1;
    }
  }
  std::size_t size() const { return size_; }
  // The value of the key, which becomes `value` if the key is new.
  std::uint32_t at_or_set(std::uint32_t key, std::uint32_t value) {
    if (2 * size_ >= slots_.size()) grow();
    Slot& slot = find(key);
    if (slot.round == round_) return slot.value;
    slot = {key, value, round_};
    ++size_;
    return value;
  }

 private:
  struct Slot {
    std::uint32_t key = 0, value = 0, round = 0;
  };
  Slot& find(std::uint32_t key) {
    std::size_t i = (key * 0x9E3779B1U) >> (32 - std::countr_zero(slots_.size()));
    while (slots_[i].round == round_ && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.round == round_) find(slot.key) = slot;
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::uint32_t round_ = 1;
};

std::size_t classes(std::span<const Shown> states, const Window& window, KeyMap& map) {
  map.clear();
  for (const Shown& shown : states) map.at_or_set(window.key(shown), 0);
  return map.size();
}

// Does `fine` tell apart everything that `coarse` tells apart?
bool refines(std::span<const Shown> states, const Window& fine, const Window& coarse, KeyMap& map) {
  map.clear();
  for (const Shown& shown : states) {
    const std::uint32_t seen = coarse.key(shown);
    if (map.at_or_set(fine.key(shown), seen) != seen) return false;
  }
  return true;
}

// All requests that take the king of this state, in the order of their numbers.
void king_captures(const Side& own, const Side& opponent, std::vector<Move>& requests) {
  requests.clear();
  if (!opponent.king()) return;
  const Square king = mirror(first(opponent.king()));
  const Kinds k = own.kinds();
  const Bitboard ours = own.occupied(), occupied = ours | mirror(opponent.occupied());
  const Bitboard steppers =
      (kKnightAttacks[king] & k.knights) | (kKingAttacks[king] & k.king) | (pawn_attacks_down(bit(king)) & k.pawns);
  for_each(steppers, [&](Square from) { requests.push_back(make_move(from, king)); });
  const auto slide = [&](Bitboard attackers, const auto& attacks) {
    for_each(attackers, [&](Square from) {
      // As far as our own pieces let it ask for, at the king or behind it.
      for_each(attacks(from, ours) & ~ours, [&](Square to) {
        if (to == king || (kBetween[from][to] & bit(king))) requests.push_back(make_move(from, to));
      });
    });
  };
  slide(rook_attacks(king, occupied) & (k.rooks | k.queens), rook_attacks);
  slide(bishop_attacks(king, occupied) & (k.bishops | k.queens), bishop_attacks);
}

bool takes_king(const Side& own, const Side& opponent, Move request) {
  const Outcome outcome = resolve(own, Obstacles::of(opponent), request);
  return outcome.capture != kNoSquare && (opponent.king() & bit(mirror(outcome.capture)));
}

bool king_in_reach(const Side& own, const Side& opponent) {
  return opponent.king() && attacks_square(own, mirror(opponent.occupied()), mirror(first(opponent.king())));
}

}  // namespace

Bitboard useful_senses(std::span<const Side> opponents) {
  static thread_local KeyMap map;
  static thread_local std::vector<Shown> states;
  const auto& all = windows();
  states.resize(opponents.size());
  Bitboard varying = 0;
  for (std::size_t i = 0; i < opponents.size(); ++i) {
    opponents[i].visible(states[i].planes);
    for (int p = 0; p < 3; ++p) varying |= states[i].planes[p] ^ states[0].planes[p];
  }
  std::array<std::size_t, 64> parts;
  const std::span<const Shown> shown = states;
  const auto count_parts = [&](Square s, KeyMap& with) {
    parts[s] = all[s].mask() & varying ? classes(shown, all[s], with) : 1;
  };
  if (opponents.size() < 10000) {
    for (Square s = 0; s < 64; ++s) count_parts(s, map);
  } else {
    parallel_for(64, [&](int s) {
      KeyMap own_map;
      count_parts(s, own_map);
    });
  }
  // Finest first, of equals the lowest number: what is kept so far is all that may dominate what comes.
  std::array<Square, 64> order;
  for (Square s = 0; s < 64; ++s) order[s] = s;
  std::stable_sort(order.begin(), order.end(), [&](Square a, Square b) { return parts[a] > parts[b]; });
  Bitboard kept = 0;
  for (const Square s : order) {
    const Bitboard cells = all[s].mask() & varying;
    bool dominated = false;
    for (Bitboard rest = kept; rest && !dominated; rest &= rest - 1)
      dominated = (cells & ~all[first(rest)].mask()) == 0;  // another window shows all of it
    for (Bitboard rest = kept; rest && !dominated; rest &= rest - 1)
      dominated = refines(shown, all[first(rest)], all[s], map);
    if (!dominated) kept |= bit(s);
  }
  if (states.size() > 100000) std::vector<Shown>().swap(states);
  return kept;
}

Action sure_capture(const Side& own, std::span<const Side> opponents) {
  static thread_local std::vector<Move> requests;
  king_captures(own, opponents[0], requests);
  for (std::size_t i = 1; i < opponents.size() && !requests.empty(); ++i)
    std::erase_if(requests, [&](Move m) { return !takes_king(own, opponents[i], m); });
  if (requests.empty()) return kNoAction;
  Action lowest = kPassAction;
  for (const Move m : requests) lowest = std::min(lowest, action_of(m));
  return lowest;
}

Action sure_sense(const Side& own, std::span<const Side> opponents) {
  for (const Side& side : opponents)
    if (!king_in_reach(own, side)) return kNoAction;
  // For each class of a sense, the requests that still take the king in all of its states seen so far.
  static thread_local KeyMap map;
  std::vector<std::vector<Move>> sure;
  std::vector<Move> here;
  for (Square s = 0; s < 64; ++s) {
    map.clear();
    sure.clear();
    bool possible = true;
    for (std::size_t i = 0; i < opponents.size() && possible; ++i) {
      const auto fresh = static_cast<std::uint32_t>(sure.size());
      const std::uint32_t part = map.at_or_set(windows()[s].key(opponents[i]), fresh);
      if (part == fresh) {
        king_captures(own, opponents[i], here);
        sure.push_back(here);
      } else {
        std::erase_if(sure[part], [&](Move m) { return !takes_king(own, opponents[i], m); });
      }
      possible = !sure[part].empty();
    }
    if (possible) return s;
  }
  return kNoAction;
}

Action exposed_king(const Side& own, std::span<const Side> opponents) {
  for (const Side& side : opponents)
    if (!king_in_reach(side, own)) return kNoAction;
  std::vector<Move> requests;
  king_captures(opponents[0], own, requests);
  Action lowest = kPassAction;
  for (const Move m : requests) lowest = std::min(lowest, action_of(m));
  return lowest;
}

std::vector<float> danger(const Side& own, std::span<const Side> opponents, std::span<const Action> moves) {
  std::vector<float> out(moves.size());
  for (const Side& opponent : opponents) {
    const Obstacles obstacles = Obstacles::of(opponent);
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const Outcome outcome = resolve(own, obstacles, move_of(moves[i]));
      Side mover = own, other = opponent;
      play(mover, other, outcome);
      if (!other.king()) {
        --out[i];
      } else if (king_in_reach(other, mover)) {
        ++out[i];
      }
    }
  }
  for (float& share : out) share = std::max(share, 0.0f) / static_cast<float>(opponents.size());
  return out;
}

Settlement settle(const Side& own, std::span<const Side> opponents, bool to_act, Step step, bool with_senses) {
  Settlement result;
  if (opponents.empty()) return result;
  if (!to_act) {
    result.loss = exposed_king(own, opponents);
  } else if (step == Step::kMove) {
    result.win = sure_capture(own, opponents);
  } else {
    result.win = sure_sense(own, opponents);
    if (with_senses) result.senses = useful_senses(opponents);
  }
  return result;
}

std::vector<Settlement> settle(const Infostates& states, bool with_senses) {
  std::vector<Settlement> out(states.size());
  for_each_row(states.size(), [&](int row) {
    out[row] = settle(states.own[row], states.states(row), states.players[row] == states.turns[row], states.step(row),
                      with_senses);
  });
  return out;
}

}  // namespace penumbra
