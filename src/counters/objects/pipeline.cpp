#include "counters/objects/pipeline.h"

#include <utility>

#include "vk/boundary.h"

namespace tally::counters {

Pipeline::~Pipeline() {
  destroy_variants();
  if (owns_handle) next.DestroyPipeline(device, handle, nullptr);
}

// Variants are a cache of what the pipeline can do.
void Pipeline::make(Variant which) const {
  const std::lock_guard lock(mutex_);
  std::atomic<bool>& known = known_[static_cast<size_t>(which)];
  if (known.load(std::memory_order_relaxed)) return;
  if (maker) vk::guarded_void([&] { maker->make(const_cast<Pipeline&>(*this), which); });
  known.store(true, std::memory_order_release);
}

void Pipeline::make_ahead(Variant which, VkPipelineCache cache) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !maker) return;
  std::atomic<bool>& known = known_[static_cast<size_t>(which)];
  if (known.load(std::memory_order_relaxed)) return;
  vk::guarded_void([&] { maker->make_ahead(*this, which, cache); });
  if (variant(which) != VK_NULL_HANDLE) known.store(true, std::memory_order_release);
}

void Pipeline::destroy_variants() {
  const std::lock_guard lock(mutex_);
  maker.reset();
  for (size_t i = 0; i < kVariants; ++i) {
    known_[i].store(true, std::memory_order_relaxed);
    const VkPipeline variant = std::exchange(variants[i], VK_NULL_HANDLE);
    if (variant == VK_NULL_HANDLE || variant == handle) continue;
    next.DestroyPipeline(device, variant, nullptr);
  }
}

}  // namespace tally::counters
