#include "egl/gl/hot.h"

#include <mutex>

namespace tally::egl {

constinit GlTable g_default_table;
constinit thread_local HotThread t_hot;
constinit std::atomic<const GlTable*> g_only_table{nullptr};
constinit std::atomic<uint32_t> g_collecting{0};
constinit std::atomic<void (*)() noexcept> g_before_first_call{nullptr};

void use_table(const GlTable& table) {
  static constinit std::mutex mutex;
  static constinit const GlTable* first = nullptr;
  t_hot.gl = &table;
  const std::lock_guard lock(mutex);
  if (first == nullptr) {
    first = &table;
    g_only_table.store(&table, std::memory_order_release);
  } else if (first != &table) {
    g_only_table.store(nullptr, std::memory_order_release);
  }
}

void set_collecting(uint32_t bits) {
  uint32_t old = g_collecting.load(std::memory_order_relaxed);
  while (!g_collecting.compare_exchange_weak(old, bits | (old & kAwaitCall),
                                             std::memory_order_relaxed)) {
  }
}

}  // namespace tally::egl
