#include "rbc/tracked_game.h"

#include <cstring>

#include "rbc/static_analysis.h"

namespace penumbra {

int words_of(View view) {
  if (view == View::kNothing) return 0;
  return is_synopsis(view) ? words_of(sort_of(view)) : static_cast<int>(sizeof(KnowledgeBytes) / 8);
}

int planes_of(View view) {
  if (view == View::kNothing) return 0;
  if (!is_synopsis(view)) return kKnowledgePlanes;
  return static_cast<int>(binary_planes(sort_of(view)).size()) + (has_shares(sort_of(view)) ? kShares : 0);
}

TrackedGame::Seat::Seat(const World& start, bool color, View seen_as) : view(seen_as) {
  if (is_synopsis(view)) set.emplace(start, color);
  if (view == View::kKnowledge) knowledge.emplace(start.sides[color], start.sides[!color]);
}

TrackedGame::TrackedGame(const TrackingSettings& settings, Random random, View white, View black)
    : settings_(settings),
      random_(random),
      game_("", settings.reversible_limit, settings.full_turn_limit),
      seats_{Seat(game_.world(), kBlack, black), Seat(game_.world(), kWhite, white)} {
  if (Seat& first = seats_[game_.turn()]; first.knowledge) first.knowledge->turn_begins(game_.own(), kNoSquare);
}

void TrackedGame::observe(bool color, std::uint64_t* words) {
  Seat& seat = seats_[color];
  if (seat.set) {
    const Infostates drawn =
        draw(*seat.set, 1, settings_.ell, game_.step(), seat.context, {random_.next(), false}, nullptr);
    write_features(drawn.view(0), sort_of(seat.view), words);
    if (game_.step() == Step::kMove && color == game_.turn()) seat.seen = remembered(drawn.view(0));
  }
  if (seat.knowledge)
    seat.knowledge->write(game_.world().sides[color], color, game_.step(), seat.context,
                          *reinterpret_cast<KnowledgeBytes*>(words));
}

void TrackedGame::legal_actions(std::vector<Action>& legal) const {
  game_.legal_actions(legal);
  const auto& set = seats_[game_.turn()].set;
  if (!settings_.settle || !set || !set->complete() || game_.over()) return;
  const Action win =
      game_.step() == Step::kMove ? sure_capture(set->own(), set->states()) : sure_sense(set->own(), set->states());
  if (win != kNoAction) legal.assign(1, win);
}

void TrackedGame::act(Action action) {
  if (action < 0 || action >= kActions)
    throw std::invalid_argument("action " + std::to_string(action) + " is not in 0 to " + std::to_string(kActions - 1));
  action < kMoveBase ? sense(action) : move(move_of(action));
}

void TrackedGame::sense(int square) {
  game_.sense(square);
  if (square == kNoSense) return;
  Seat& seat = seats_[game_.turn()];
  if (seat.set) seat.set = seat.set->filter_sense(square, game_.other());
  if (seat.knowledge) seat.knowledge->sensed(square, game_.other());
}

void TrackedGame::move(Move request) {
  Seat& seat = seats_[game_.turn()];
  const Outcome outcome = game_.move(request);
  if (game_.over()) return;
  seat.context.moved(outcome, seat.seen);
  if (seat.set) seat.set = seat.set->apply_move(game_.last_request(), outcome);
  if (seat.knowledge) seat.knowledge->moved(outcome);
  turn_begins();
}

// The player who comes next learns of the move.
void TrackedGame::turn_begins() {
  Seat& seat = seats_[game_.turn()];
  seat.context.opponent_moved(game_.capture());
  if (seat.set) seat.set = seat.set->expand(game_.capture(), {settings_.cap, random_.next(), &game_.other()});
  if (seat.knowledge) seat.knowledge->turn_begins(game_.own(), game_.capture());
}

}  // namespace penumbra
