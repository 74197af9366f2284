// What every GL call of the application reads on its way through a stub: kept to a few words of
// thread-local storage (in the initial-exec model, one instruction away) and one shared word.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "egl/gl/functions.h"

namespace tally::egl {

class ApiCounts;
class GlContext;

// Stands where a driver has no such function: takes any arguments and returns 0 (do_nothing.cpp).
extern "C" void tally_egl_do_nothing();

// One driver's own functions, by Fn. Entries are set once, possibly while other threads read
// others.
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

// The table of threads that have not made a context current through us.
extern constinit GlTable g_default_table;

struct HotThread {
  const GlTable* gl = &g_default_table;  // of the current context's driver; never null
  ApiCounts* counts = nullptr;           // where this thread counts; null until it first does
  GlContext* context = nullptr;          // current here; null if none
};

#define TALLY_HOT_TLS __attribute__((tls_model("initial-exec")))
extern constinit thread_local HotThread t_hot TALLY_HOT_TLS;

// What is collected at the moment, as bits; 0 makes every stub a plain jump to the driver.
enum Collecting : uint32_t {
  kCollectApi = 1,                 // calls are counted
  kCollectGpu = 2,                 // work of the GPU is put between queries of ours
  kCollectComputeInvocations = 4,  // dispatches ask for the program's work-group size
};
extern constinit std::atomic<uint32_t> g_collecting;

inline uint32_t collecting() { return g_collecting.load(std::memory_order_relaxed); }

}  // namespace tally::egl
