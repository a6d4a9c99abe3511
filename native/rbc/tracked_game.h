// One game and what its two players know, each as far as somebody looks at it.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "rbc/game.h"
#include "rbc/knowledge.h"
#include "rbc/state_set.h"
#include "rbc/synopsis.h"

namespace penumbra {

// What is made of a player's knowledge when it is its turn: nothing, what it was told, or a synopsis of its set.
enum class View : std::uint8_t { kNothing, kKnowledge, kBinary, kShares, kGraded };
constexpr bool is_synopsis(View view) { return view >= View::kBinary; }
constexpr SynopsisSort sort_of(View view) {
  return view == View::kBinary ? SynopsisSort::kBinary
                               : (view == View::kShares ? SynopsisSort::kShares : SynopsisSort::kGraded);
}
constexpr View view_of(SynopsisSort sort) {
  return sort == SynopsisSort::kBinary ? View::kBinary
                                       : (sort == SynopsisSort::kShares ? View::kShares : View::kGraded);
}
// Words of a row: a synopsis as write_features writes it, or the bytes of KnowledgeBytes.
int words_of(View view);
int planes_of(View view);

struct TrackingSettings {
  int ell = 128;            // ℓ
  std::size_t cap = 2000;   // states tracked by a player; past it a uniform draw that keeps the truth
  int full_turn_limit = 0;  // where a game is a draw; 0: nowhere
  int reversible_limit = 100;
  bool settle = false;  // a sure capture of the king is the only legal action
};

class TrackedGame {
 public:
  // The game depends on `random` and on what is chosen alone. Whose view is kNothing is not tracked.
  TrackedGame(const TrackingSettings& settings, Random random, View white, View black);

  const Game& game() const { return game_; }
  View view(bool color) const { return seats_[color].view; }

  // What a player sees, the player to act or one that waits. Draws ℓ states, so twice is not the same.
  void observe(bool color, std::uint64_t* words);
  // Of the player to act.
  void legal_actions(std::vector<Action>& legal) const;

  // Each throws std::invalid_argument and changes nothing when the rules do not allow it.
  void act(Action action);
  void sense(int square);  // kNoSense skips
  void move(Move request);

 private:
  struct Seat {
    Seat(const World& start, bool color, View view);
    View view;
    std::optional<StateSet> set;  // at the moment of its step; before that, after its own last move
    std::optional<Knowledge> knowledge;
    Context context;
    Remembered seen;  // at the move step
  };

  void turn_begins();

  const TrackingSettings& settings_;
  Random random_;
  Game game_;
  Seat seats_[2];  // by colour
};

}  // namespace penumbra
