// Counts of the application's GL calls. Each thread adds to its own counts, so counting takes no
// lock and no locked instruction; readers sum over all threads. Counts only grow; a reset or a
// pause is implemented by differences (Session::Window).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tally::egl {

// In the order of the listed counters (group/api_group.cpp describes them).
enum class ApiCounter : uint8_t {
  DrawCalls,
  Draws,
  IndirectDraws,
  Vertices,
  Primitives,
  Instances,
  Dispatches,
  WorkGroups,
  ComputeInvocations,
  IndirectDispatches,
  Clears,
  Copies,
  Mipmaps,
  StateChanges,
  ProgramSwitches,
  TextureBinds,
  BufferBinds,
  VertexArrayBinds,
  FramebufferBinds,
  UniformUpdates,
  UniformBytes,
  TextureUploads,
  TextureBytes,
  BufferUploads,
  BufferBytes,
  BufferMaps,
  BufferMapBytes,
  Compiles,
  CompileTime,
  Links,
  LinkTime,
  Errors,
  SyncCalls,
  SyncTime,
  Readbacks,
  ReadbackBytes,
  Flushes,
  Count
};

inline constexpr size_t kApiCounterCount = static_cast<size_t>(ApiCounter::Count);
using ApiTotals = std::array<uint64_t, kApiCounterCount>;

// Written by one thread at a time, read by any.
class alignas(64) ApiCounts {
 public:
  void add(ApiCounter counter, uint64_t amount) {
    std::atomic<uint64_t>& value = values_[static_cast<size_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void add_to(ApiTotals& totals) const {
    for (size_t i = 0; i < kApiCounterCount; i++) {
      totals[i] += values_[i].load(std::memory_order_relaxed);
    }
  }

 private:
  std::array<std::atomic<uint64_t>, kApiCounterCount> values_{};
};

// Returns the calling thread's counts, valid until the thread ends. Never fails: if no memory is
// left, such threads share one object and may lose counts.
ApiCounts& counts_for_this_thread();

// The sum over all threads, including those that have ended.
ApiTotals api_totals();

}  // namespace tally::egl
