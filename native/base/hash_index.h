// Finds items in an array of items that carry their own 64-bit `hash`. Open addressing; a slot holds half of the hash and
// the position, so that a look-up touches the array only where the item is almost surely there, and compares it whole.
#pragma once

#include <stdexcept>

#include "base/buffer.h"

namespace penumbra {

template <class Item>
class HashIndex {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

  // Appends to `members` those of `items` that are not among them yet, in order. Whether an item is new cannot be foreseen,
  // so nothing branches on it: each is written behind the members and stays there if an empty slot comes first.
  void insert(const Item* items, std::size_t n, Buffer<Item>& members) {
    if (members.size() + n >= kAbsent) throw std::length_error("an index holds at most four billion items");
    members.grow(members.size() + n);
    make_room(members.size() + n, members);
    Item* const all = members.data();
    std::uint64_t* const end = slots_.data() + slots_.size();
    std::size_t size = members.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (i + kAhead < n) __builtin_prefetch(&slots_[slot_of(items[i + kAhead].hash)]);
      const Item item = items[i];
      all[size] = item;
      std::uint64_t* slot = slots_.data() + slot_of(item.hash);
      std::size_t at;
      for (;; slot = slot + 1 == end ? slots_.data() : slot + 1) {
        const std::uint64_t taken = -static_cast<std::uint64_t>(*slot != 0);  // all bits or none
        at = size ^ ((size ^ position(*slot)) & taken);
        if (((*slot ^ item.hash) & kTag & taken) == 0 && all[at] == item) break;
      }
      *slot = (item.hash & kTag) | (at + 1);
      size += at == size;
    }
    members.resize(size);
  }

  // Indexes an array of distinct items, with room for n members in all; memory is used again.
  void build(const Buffer<Item>& members, std::size_t n = 0) {
    slots_.clear();
    make_room(n > members.size() ? n : members.size(), members);
  }

  std::uint32_t find(const Item& item, const Buffer<Item>& members) const {
    if (slots_.empty()) return kAbsent;
    const std::uint64_t* slot = slots_.data() + slot_of(item.hash);
    const std::uint64_t* const end = slots_.data() + slots_.size();
    while (*slot) {
      if ((*slot & kTag) == (item.hash & kTag) && members[position(*slot)] == item) return position(*slot);
      if (++slot == end) slot = slots_.data();
    }
    return kAbsent;
  }

  std::size_t nbytes() const { return slots_.capacity() * sizeof(std::uint64_t); }

 private:
  static constexpr std::size_t kAhead = 12;
  static constexpr std::uint64_t kTag = 0xFFFFFFFF00000000ULL;

  static std::uint32_t position(std::uint64_t slot) { return static_cast<std::uint32_t>(slot) - 1; }

  std::size_t slot_of(std::uint64_t hash) const { return ((hash & 0xFFFFFFFF) * slots_.size()) >> 32; }

  // Keeps the load under three quarters.
  void make_room(std::size_t n, const Buffer<Item>& members) {
    if (n + n / 3 < slots_.size()) return;
    std::size_t size = slots_.size() + slots_.size() / 2 + 64;
    if (size < n + n / 2) size = n + n / 2;
    slots_.assign_zeros(size);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i + 2 * kAhead < members.size()) __builtin_prefetch(&slots_[slot_of(members[i + 2 * kAhead].hash)]);
      std::uint64_t* slot = slots_.data() + slot_of(members[i].hash);
      std::uint64_t* const end = slots_.data() + slots_.size();
      while (*slot)
        if (++slot == end) slot = slots_.data();
      *slot = (members[i].hash & kTag) | (i + 1);
    }
  }

  Buffer<std::uint64_t> slots_;
};

}  // namespace penumbra
