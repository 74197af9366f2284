// Maps native handles to a layer's state. Value must be cheap to copy (a pointer, a shared_ptr).
// Thread-safe. The map is sharded, so that threads that create objects rarely contend. A lookup
// never inserts.
//
// Order relative to the driver: erase before the driver frees a handle, because another thread may
// receive the same handle at once; insert after the driver has created it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace tally::vk {

template <typename Handle>
uint64_t handle_bits(Handle handle) {
  if constexpr (sizeof(Handle) == sizeof(uint64_t)) {
    return (uint64_t)handle;  // NOLINT: a pointer on 64-bit machines, an integer on others
  } else {
    return static_cast<uint64_t>((uintptr_t)handle);  // NOLINT
  }
}

template <typename Handle, typename Value>
class HandleMap {
 public:
  // Replaces an existing value: the driver has reused the handle, so the old object is gone.
  void insert(Handle handle, Value value) {
    Shard& shard = shard_of(handle);
    const std::unique_lock lock(shard.mutex);
    shard.values.insert_or_assign(handle_bits(handle), std::move(value));
  }

  // Returns Value{} if the handle is absent.
  Value find(Handle handle) const {
    const Shard& shard = shard_of(handle);
    const std::shared_lock lock(shard.mutex);
    const auto found = shard.values.find(handle_bits(handle));
    return found == shard.values.end() ? Value{} : found->second;
  }

  // Removes and returns the value; returns Value{} if the handle is absent.
  Value take(Handle handle) {
    Shard& shard = shard_of(handle);
    const std::unique_lock lock(shard.mutex);
    const auto found = shard.values.find(handle_bits(handle));
    if (found == shard.values.end()) return Value{};
    Value value = std::move(found->second);
    shard.values.erase(found);
    return value;
  }

  // A copy of all values, in unspecified order.
  std::vector<Value> values() const {
    std::vector<Value> result;
    for (const Shard& shard : shards_) {
      const std::shared_lock lock(shard.mutex);
      for (const auto& [bits, value] : shard.values) result.push_back(value);
    }
    return result;
  }

 private:
  static constexpr size_t kShards = 16;

  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<uint64_t, Value> values;
  };

  Shard& shard_of(Handle handle) { return shards_[hash_combine(0, handle_bits(handle)) % kShards]; }
  const Shard& shard_of(Handle handle) const {
    return shards_[hash_combine(0, handle_bits(handle)) % kShards];
  }

  std::array<Shard, kShards> shards_;
};

// Finds a layer's state of a VkCommandBuffer, as every command does, or of another dispatchable
// handle: without a lock and without thread-local storage. (Only its initial-exec model needs no
// call, and that takes room that the system keeps for drivers.)
//
// Insert after the driver has created an object, erase before it frees it. Vulkan's external
// synchronisation covers the rest: nobody looks up a handle while it is inserted or erased.

// Has no constructor that runs and no destructor, where std::mutex has none: applications call
// Vulkan from static destructors. Those of winpthread run when the library is loaded and after the
// program's own static destructors.
template <typename Handle, typename State>
class HandleIndex {
 public:
  // In few instructions. Null: ask find_far().
  State* find_near(Handle handle) const {
    const Slot& slot = near_[place(handle, kNearBits)];
    if (slot.handle.load(std::memory_order_acquire) != handle) return nullptr;
    return slot.state.load(std::memory_order_relaxed);
  }

  // Null: the handle is not known, or there was no memory for it. Ask the layer's own table.
  State* find_far(Handle handle) const {
    const FarTable* const far = far_.load(std::memory_order_acquire);
    if (!far) return nullptr;
    for (const Slot& slot : far->window(handle)) {
      if (slot.handle.load(std::memory_order_acquire) == handle)
        return slot.state.load(std::memory_order_relaxed);
    }
    return nullptr;
  }

  void insert(Handle handle, State* state) {
    const std::lock_guard lock(mutex_);
    // The driver has reused the handle: the old object is gone.
    if (Slot* const old = slot_with(handle, handle)) return old->set(handle, state);
    Slot* slot = slot_with(handle, VK_NULL_HANDLE);
    while (!slot) {
      if (!grow()) return;
      slot = slot_with(handle, VK_NULL_HANDLE);
    }
    slot->set(handle, state);
  }

  void erase(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (Slot* const slot = slot_with(handle, handle)) slot->set(VK_NULL_HANDLE, nullptr);
  }

 private:
  static constexpr uint32_t kNearBits = 10;
  // An entry of a far table is in one of the slots that follow the one of its hash. Entries of a
  // table do not move: threads look at those of other handles.
  static constexpr size_t kWindow = 4;
  static constexpr uint32_t kMinFarBits = 8;
  static constexpr uint32_t kMaxFarBits = 22;

  struct Slot {
    std::atomic<Handle> handle;
    std::atomic<State*> state;

    void set(Handle new_handle, State* new_state) {
      state.store(new_state, std::memory_order_relaxed);
      handle.store(new_handle, std::memory_order_release);
    }
  };
  struct FarTable {
    uint32_t bits;
    Slot* slots;              // 2^bits, and the rest of the last window
    const FarTable* smaller;  // the one before: threads may still read it

    std::span<Slot> window(Handle handle) const { return {slots + place(handle, bits), kWindow}; }
  };

  static constexpr size_t slot_count(uint32_t bits) { return (size_t{1} << bits) + kWindow; }
  static size_t place(Handle handle, uint32_t bits) {
    constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ull;
    return reinterpret_cast<uintptr_t>(handle) * kGoldenRatio >> (64 - bits);
  }

  // The first slot of those for the handle that holds `content`.
  Slot* slot_with(Handle handle, Handle content) {
    const auto holds_it = [&](const Slot& slot) {
      return slot.handle.load(std::memory_order_relaxed) == content;
    };
    if (Slot& near = near_[place(handle, kNearBits)]; holds_it(near)) return &near;
    const FarTable* const far = far_.load(std::memory_order_relaxed);
    if (!far) return nullptr;
    for (Slot& slot : far->window(handle)) {
      if (holds_it(slot)) return &slot;
    }
    return nullptr;
  }

  // Replaces the far table by a larger one. All of them together take less than twice the largest.
  bool grow() {
    const FarTable* const old = far_.load(std::memory_order_relaxed);
    for (uint32_t bits = old ? old->bits + 1 : kMinFarBits; bits <= kMaxFarBits; ++bits) {
      Slot* const slots = new (std::nothrow) Slot[slot_count(bits)]();
      auto* const table = new (std::nothrow) FarTable{bits, slots, old};
      if (slots && table && (!old || copy(*old, *table))) {
        far_.store(table, std::memory_order_release);
        return true;
      }
      delete[] slots;
      delete table;
      if (!slots || !table) return false;
    }
    return false;
  }

  // False: an entry has no slot.
  static bool copy(const FarTable& from, const FarTable& to) {
    for (const Slot& slot : std::span(from.slots, slot_count(from.bits))) {
      const Handle handle = slot.handle.load(std::memory_order_relaxed);
      if (handle == VK_NULL_HANDLE) continue;
      const auto window = to.window(handle);
      const auto free = std::ranges::find_if(window, [](const Slot& one) {
        return one.handle.load(std::memory_order_relaxed) == VK_NULL_HANDLE;
      });
      if (free == window.end()) return false;
      free->set(handle, slot.state.load(std::memory_order_relaxed));
    }
    return true;
  }

  std::array<Slot, size_t{1} << kNearBits> near_{};
  std::atomic<const FarTable*> far_ = nullptr;
  std::mutex mutex_;  // for changes
};

}  // namespace tally::vk
