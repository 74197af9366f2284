// The data that a stub reads on every GL call: two shared words, and a few words of thread-local
// storage where calls are counted or the process has several drivers. That storage is not of the
// initial-exec model: the dynamic linker has little room for it, and does not always get it back
// when the library is unloaded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "egl/gl/functions.h"

namespace tally::egl {

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

}  // namespace tally::egl
