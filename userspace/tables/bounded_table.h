// SPDX-License-Identifier: Apache-2.0
//
// A hash table with a fixed capacity and an order of use. When it is full, the entry that was idle
// longest makes room: the caller is told, so that no entry goes silently. Values stay where they
// are until they are erased, so a pointer is good until then. Iteration is in the order of use,
// idlest first: the same calls give the same order, whatever the hash seed.
//
// Not thread-safe. Reads no clock: "used" is the order of calls to Touch and Insert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace routelens {

template <typename Key, typename Value>
class BoundedTable {
 public:
  // A capacity of 0 is taken as 1: a table that can hold nothing has no use.
  explicit BoundedTable(size_t capacity) : capacity_(capacity == 0 ? 1 : capacity) {}

  BoundedTable(const BoundedTable&) = delete;
  BoundedTable& operator=(const BoundedTable&) = delete;

  // The value, or nullptr. Does not count as use.
  Value* Find(const Key& key) {
    auto found = index_.find(key);
    return found == index_.end() ? nullptr : &slots_[found->second].value;
  }

  const Value* Find(const Key& key) const {
    auto found = index_.find(key);
    return found == index_.end() ? nullptr : &slots_[found->second].value;
  }

  // The same, and counts as use.
  Value* Touch(const Key& key) {
    auto found = index_.find(key);
    if (found == index_.end())
      return nullptr;
    MoveToBack(found->second);
    return &slots_[found->second].value;
  }

  // A new, empty value for a key that is not in the table. When full, `on_evict(key, value)` is
  // called for the idlest entry first, which is then erased.
  template <typename OnEvict>
  Value& Insert(const Key& key, OnEvict&& on_evict) {
    if (index_.size() >= capacity_) {
      const uint32_t victim = head_;
      on_evict(slots_[victim].key, slots_[victim].value);
      EraseSlot(victim);
    }
    uint32_t slot;
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
    } else {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    }
    slots_[slot].key = key;
    index_[key] = slot;
    LinkAtBack(slot);
    return slots_[slot].value;
  }

  // False if the key was not there.
  bool Erase(const Key& key) {
    auto found = index_.find(key);
    if (found == index_.end())
      return false;
    EraseSlot(found->second);
    return true;
  }

  // The key that would make room next, or nullptr when the table is empty.
  const Key* idlest() const { return head_ == kNoSlot ? nullptr : &slots_[head_].key; }

  // visit(key, value), idlest first. The visitor must not change the table.
  template <typename Visit>
  void ForEach(Visit&& visit) {
    for (uint32_t slot = head_; slot != kNoSlot; slot = slots_[slot].next)
      visit(slots_[slot].key, slots_[slot].value);
  }

  size_t size() const { return index_.size(); }

  size_t capacity() const { return capacity_; }

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  struct Slot {
    Key key{};
    Value value{};
    uint32_t previous = kNoSlot;
    uint32_t next = kNoSlot;
  };

  void LinkAtBack(uint32_t slot) {
    slots_[slot].previous = tail_;
    slots_[slot].next = kNoSlot;
    (tail_ == kNoSlot ? head_ : slots_[tail_].next) = slot;
    tail_ = slot;
  }

  void Unlink(uint32_t slot) {
    const Slot& gone = slots_[slot];
    (gone.previous == kNoSlot ? head_ : slots_[gone.previous].next) = gone.next;
    (gone.next == kNoSlot ? tail_ : slots_[gone.next].previous) = gone.previous;
  }

  void MoveToBack(uint32_t slot) {
    if (slot == tail_)
      return;
    Unlink(slot);
    LinkAtBack(slot);
  }

  void EraseSlot(uint32_t slot) {
    Unlink(slot);
    index_.erase(slots_[slot].key);
    slots_[slot] = Slot{};
    free_.push_back(slot);
  }

  size_t capacity_;
  absl::flat_hash_map<Key, uint32_t> index_;
  std::deque<Slot> slots_;
  std::vector<uint32_t> free_;
  uint32_t head_ = kNoSlot;  // idlest
  uint32_t tail_ = kNoSlot;
};

}  // namespace routelens
