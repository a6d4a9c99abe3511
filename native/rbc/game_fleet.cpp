#include "rbc/game_fleet.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace penumbra {

namespace {

[[noreturn]] void refuse(std::int64_t place, const std::string& why) {
  throw std::invalid_argument("place " + std::to_string(place) + ": " + why);
}

// A byte for each square, 0 or `one`.
void unpack(Bitboard squares, std::uint8_t one, std::uint8_t* out) {
  for (int rank = 0; rank < 8; ++rank) {
    const std::uint64_t spread = (((squares >> (8 * rank)) & 0xFF) * 0x0101010101010101ULL) & 0x8040201008040201ULL;
    const std::uint64_t ones = ((spread + 0x7F7F7F7F7F7F7F7FULL) >> 7) & 0x0101010101010101ULL;
    const std::uint64_t bytes = ones * one;
    std::memcpy(out + 8 * rank, &bytes, sizeof bytes);
  }
}

// A row of words as planes of bytes. Bits are 255 beside shares, so that all planes have one scale.
void unpack_row(View view, const std::uint64_t* words, std::uint8_t* out) {
  const std::size_t bits = is_synopsis(view) ? binary_planes(sort_of(view)).size() : 0;
  const std::uint8_t one = view == View::kBinary ? 1 : 255;
  for (std::size_t i = 0; i < bits; ++i) unpack(words[i], one, out + 64 * i);
  std::memcpy(out + 64 * bits, words + bits, (static_cast<std::size_t>(words_of(view)) - bits) * 8);
}

}  // namespace

void GameFleet::Place::look() {
  const bool color = tracked->game().turn();
  words.resize(words_of(tracked->view(color)));
  tracked->observe(color, words.data());
  tracked->legal_actions(legal);
}

GameFleet::GameFleet(int places, const TrackingSettings& settings) : settings_(settings) {
  if (places < 1) throw std::invalid_argument("a fleet needs at least one game");
  if (settings.ell < 1 || settings.cap < 1) throw std::invalid_argument("ell and the cap must be at least one");
  places_.resize(places);
  std::vector<std::int64_t> all(places);
  for (int i = 0; i < places; ++i) all[i] = i;
  reset(all, std::vector<std::uint64_t>(places), std::vector<Seats>(places));
}

const GameFleet::Place& GameFleet::checked(std::int64_t place) const {
  if (place < 0 || place >= size())
    throw std::invalid_argument("place " + std::to_string(place) + " is not in a fleet of " + std::to_string(size()));
  return places_[place];
}

void GameFleet::check(std::span<const std::int64_t> places, std::size_t values, const char* what) const {
  if (values != places.size())
    throw std::invalid_argument(std::to_string(values) + " " + what + " for " + std::to_string(places.size()) +
                                " places");
  std::vector<bool> named(places_.size());
  for (const std::int64_t place : places) {
    checked(place);
    if (named[place]) refuse(place, "named twice");
    named[place] = true;
  }
}

void GameFleet::reset(std::span<const std::int64_t> places, std::span<const std::uint64_t> seeds,
                      std::span<const Seats> seats) {
  check(places, seeds.size(), "seeds");
  check(places, seats.size(), "pairs of seats");
  for_each_row(static_cast<int>(places.size()), [&](int i) {
    Place& place = places_[places[i]];
    place.tracked =
        std::make_unique<TrackedGame>(settings_, Random(scramble(seeds[i])), seats[i].white, seats[i].black);
    place.look();
  });
}

void GameFleet::act(std::span<const std::int64_t> places, std::span<const int> actions) {
  check(places, actions.size(), "actions");
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Game& game = places_[places[i]].tracked->game();
    if (game.over()) refuse(places[i], "the game is over");
    const bool legal =
        game.step() == Step::kSense ? actions[i] >= 0 && actions[i] < kMoveBase : is_move(game.own(), actions[i]);
    if (!legal) refuse(places[i], "action " + std::to_string(actions[i]) + " is not legal");
  }
  for_each_row(static_cast<int>(places.size()), [&](int i) {
    Place& place = places_[places[i]];
    place.tracked->act(actions[i]);
    place.look();
  });
}

void GameFleet::turn(std::int64_t place, int sense, Move request) {
  checked(place);
  TrackedGame& tracked = *places_[place].tracked;
  if (request != kPass && !is_listed(tracked.game().own(), request)) refuse(place, "the move is not legal");
  tracked.sense(sense);
  tracked.move(request);
  places_[place].look();
}

std::vector<std::int32_t> GameFleet::random_actions(std::span<const std::int64_t> places, std::uint64_t seed) const {
  std::vector<std::int32_t> actions(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::vector<Action>& legal = checked(places[i]).legal;
    if (legal.empty()) refuse(places[i], "the game is over");
    Random random(scramble(seed) ^ scramble(static_cast<std::uint64_t>(places[i]) + 1));
    actions[i] = legal[random.below(legal.size())];
  }
  return actions;
}

LegalActions GameFleet::legal(std::span<const std::int64_t> places) const {
  LegalActions out;
  out.offsets.push_back(0);
  for (const std::int64_t place : places) {
    const std::vector<Action>& legal = checked(place).legal;
    out.actions.insert(out.actions.end(), legal.begin(), legal.end());
    out.offsets.push_back(static_cast<std::int64_t>(out.actions.size()));
  }
  return out;
}

void GameFleet::mask(std::span<const std::int64_t> places, std::int8_t* masks) const {
  check(places, places.size(), "masks");
  for_each_row(static_cast<int>(places.size()), [&](int i) {
    std::int8_t* const row = masks + places[i] * kActions;
    std::memset(row, 0, kActions);
    for (const Action action : places_[places[i]].legal) row[action] = 1;
  });
}

const GameFleet::Place& GameFleet::viewed(std::int64_t place, int planes) const {
  const Place& found = checked(place);
  const Game& game = found.tracked->game();
  if (planes_of(found.tracked->view(game.turn())) != planes)
    refuse(place, "the player to act does not see " + std::to_string(planes) + " planes");
  return found;
}

void GameFleet::observe(std::span<const std::int64_t> places, int planes, std::uint8_t* out) const {
  check(places, places.size(), "rows");
  for (const std::int64_t place : places) viewed(place, planes);
  for_each_row(static_cast<int>(places.size()), [&](int i) {
    const Place& place = places_[places[i]];
    const View view = place.tracked->view(place.tracked->game().turn());
    unpack_row(view, place.words.data(), out + places[i] * planes * 64);
  });
}

std::vector<std::uint64_t> GameFleet::features(std::span<const std::int64_t> places, View view) const {
  const std::size_t words = words_of(view);
  std::vector<std::uint64_t> out(places.size() * words);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = checked(places[i]);
    if (place.tracked->view(place.tracked->game().turn()) != view)
      refuse(places[i], "the player to act has another view");
    std::copy(place.words.begin(), place.words.end(), out.begin() + static_cast<std::ptrdiff_t>(i * words));
  }
  return out;
}

void GameFleet::observe_seat(std::int64_t place, bool color, int planes, std::uint8_t* out) {
  TrackedGame& tracked = *checked(place).tracked;
  const View view = tracked.view(color);
  if (planes_of(view) != planes) refuse(place, "that player does not see " + std::to_string(planes) + " planes");
  std::vector<std::uint64_t> words(words_of(view));
  tracked.observe(color, words.data());
  unpack_row(view, words.data(), out);
}

}  // namespace penumbra
