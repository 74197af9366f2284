// The data that a stub reads on every GL call: two shared words, and a few words of thread-local
// storage where calls are counted or the process has several drivers. That storage is not of the
// initial-exec model: the dynamic linker has little room for it, and does not always get it back
// when the library is unloaded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::egl {

// The GL functions that Tally intercepts (functions.def): indices, names and the stubs that
// applications call.

// A function of any signature. Cast it back to its own type before the call.
using AnyFunction = void (*)();

enum class Fn : uint16_t {
#define GL(function, handler) function,
#include "egl/gl/functions.def"
#undef GL
};

inline constexpr size_t kFnCount = 0
#define GL(function, handler) +1
#include "egl/gl/functions.def"
#undef GL
    ;

const char* name_of(Fn function);
std::optional<Fn> find_function(std::string_view name);

// The function that the application gets in place of the driver's. It calls the driver through the
// table of the current context's driver (hot.h).
AnyFunction stub_of(Fn function);

class ApiCounts;
class GlContext;

// Replaces functions that a driver lacks: takes any arguments and returns 0 (do_nothing.cpp).
extern "C" void tally_egl_do_nothing();

// One driver's functions, indexed by Fn. Each entry is set once, possibly while other threads read
// other entries.
class GlTable {
 public:
  AnyFunction operator[](Fn function) const {
    return entries_[static_cast<size_t>(function)].real.load(std::memory_order_relaxed);
  }
  void set(Fn function, AnyFunction real) {
    entries_[static_cast<size_t>(function)].real.store(real, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<AnyFunction> real = &tally_egl_do_nothing;
  };

  std::array<Entry, kFnCount> entries_;
};

// The table of threads that have not yet made a context current through us.
extern constinit GlTable g_default_table;

struct HotThread {
  const GlTable* gl = &g_default_table;  // of the current context's driver; never null
  ApiCounts* counts = nullptr;           // this thread's counts; null until first used
  GlContext* context = nullptr;          // the current context, or null
};

extern constinit thread_local HotThread t_hot;

// The table of all threads while the process has used contexts of one driver; otherwise null.
extern constinit std::atomic<const GlTable*> g_only_table;

// Makes a driver's table the calling thread's.
void use_table(const GlTable& table);

// The data that is being collected, as bits. With 0, every stub jumps directly to the driver.
enum Collecting : uint32_t {
  kCollectApi = 1,                 // API calls are counted
  kCollectGpu = 2,                 // our queries bracket GPU work
  kCollectComputeInvocations = 4,  // dispatches query the program's work-group size
  kAwaitCall = 8,                  // the next GL call first calls g_before_first_call
};
extern constinit std::atomic<uint32_t> g_collecting;
extern constinit std::atomic<void (*)() noexcept> g_before_first_call;

inline void note_call() {
  if (g_collecting.load(std::memory_order_relaxed) & kAwaitCall) [[unlikely]]
    g_before_first_call.load(std::memory_order_acquire)();
}

// Sets what is collected. The profile alone sets kAwaitCall.
void set_collecting(uint32_t bits);

inline uint32_t collecting() { return g_collecting.load(std::memory_order_relaxed); }

// Counts of the application's GL calls. Each thread adds to its own counts, so counting takes no
// lock and no locked instruction; readers sum over all threads. Counts only grow; a reset or a
// pause is implemented by differences (Session::Window).

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
