#include "counters/pipelines/pipeline.h"

#include <algorithm>
#include <iterator>
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
  auto& self = const_cast<Pipeline&>(*this);
  vk::guarded_void([&] {
    if (maker) maker->make(self, which);
    if (shaders) self.take_from_shaders(which);
  });
  known.store(true, std::memory_order_release);
}

void Pipeline::take_from_shaders(Variant which) {
  if (!layout || !layout->make_own() || !shaders->has(which)) return;
  const auto i = static_cast<size_t>(which);
  if (counts_blocks(which)) programs[i] = shaders->make_program(which);
  shaders_have_[i] = true;
}

void Pipeline::make_ahead(Variant which, VkPipelineCache cache) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) try_ahead(which, cache);
}

bool Pipeline::make_ahead(Variant which, std::vector<std::string>& notices) {
  const std::lock_guard lock(mutex_);
  const bool decided = try_ahead(which, VK_NULL_HANDLE);
  std::ranges::move(std::exchange(notices_from_ahead, {}), std::back_inserter(notices));
  return decided;
}

// The variant becomes known when a recording wants it, which sends the notices.
bool Pipeline::try_ahead(Variant which, VkPipelineCache cache) {
  if (known_[static_cast<size_t>(which)].load(std::memory_order_relaxed)) return true;
  if (variant(which) != VK_NULL_HANDLE) return true;
  bool decided = false;
  vk::guarded_void([&] { decided = maker && maker->make_ahead(*this, which, cache); });
  return decided;
}

Pipeline& Pipeline::covering() {
  const std::lock_guard lock(mutex_);
  if (!covering_) {
    covering_ = std::make_unique<Pipeline>(device, next);
    covering_->original_ = this;
    covering_->instrumented = instrumented;
    covering_->handle = handle;
    covering_->maker = maker;
    covering_->facts = facts;
    covering_->layout = layout;
    if (shaders) covering_->shaders = shaders->covering();
    covering_->set_known(Variant::Plain);  // that is original()'s
  }
  return *covering_;
}

std::shared_ptr<Pipeline> Pipeline::for_alpha_to_coverage(const std::shared_ptr<Pipeline>& pipeline,
                                                          bool enabled) {
  Pipeline* original = pipeline->original_ ? pipeline->original_ : pipeline.get();
  if (!original->has_covering) return pipeline;
  return {pipeline, enabled ? &original->covering() : original};
}

void Pipeline::destroy_variants() {
  const std::lock_guard lock(mutex_);
  if (covering_) covering_->destroy_variants();
  maker.reset();
  for (size_t i = 0; i < kVariants; ++i) {
    known_[i].store(true, std::memory_order_relaxed);
    const VkPipeline variant = std::exchange(variants[i], VK_NULL_HANDLE);
    if (variant == VK_NULL_HANDLE || variant == handle) continue;
    next.DestroyPipeline(device, variant, nullptr);
  }
}

}  // namespace tally::counters
