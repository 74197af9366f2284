// The Vulkan work of a process whose GL runs on Vulkan (zink, ANGLE): the counters of the capture
// layer in the same process (base/live_counters.h). Lists nothing until the layer is loaded and has
// a device.
#pragma once

#include "base/live_counters.h"
#include "egl/group/group.h"

namespace tally::egl {

class VulkanGroup final : public Group {
 public:
  VulkanGroup() : Group("Vulkan layer") {}
  ~VulkanGroup() override { collect(false); }

  // Appends the counters that the layer has begun to list.
  void discover();
  // True if the capture has frames of its own, which end at presents.
  bool is_captured_by_frame() const { return layer_ != nullptr && layer_->presents() != 0; }
  // The layer measures while this is on.
  void collect(bool on);

  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  // Finishes the calling thread's current context, then waits until the layer has counted
  // everything that any thread has submitted.
  void resolve_pending() override;
  std::vector<uint64_t> read() override;

 private:
  const TallyLiveCounters* layer_ = nullptr;
  bool collecting_ = false;
};

}  // namespace tally::egl
