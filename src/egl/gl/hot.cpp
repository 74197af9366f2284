#include "egl/gl/hot.h"

namespace tally::egl {

constinit GlTable g_default_table;
constinit thread_local HotThread t_hot TALLY_HOT_TLS;
constinit std::atomic<uint32_t> g_collecting{0};
constinit std::atomic<void (*)() noexcept> g_before_first_call{nullptr};

void set_collecting(uint32_t bits) {
  uint32_t old = g_collecting.load(std::memory_order_relaxed);
  while (!g_collecting.compare_exchange_weak(old, bits | (old & kAwaitCall),
                                             std::memory_order_relaxed)) {
  }
}

}  // namespace tally::egl
