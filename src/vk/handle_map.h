// Maps native handles to a layer's state. Value must be cheap to copy (a pointer, a shared_ptr).
// Thread-safe. The map is sharded, so that threads that create objects rarely contend. A lookup
// never inserts.
//
// Order relative to the driver: erase before the driver frees a handle, because another thread may
// receive the same handle at once; insert after the driver has created it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
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

}  // namespace tally::vk
