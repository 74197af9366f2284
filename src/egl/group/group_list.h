// All groups, in the order in which the extension numbers them. The fixed ones come first; those
// that depend on the driver follow when a context or a display of the application's shows what it
// offers.
#pragma once

#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "egl/group/api_group.h"
#include "egl/group/frame_group.h"
#include "egl/group/gpu_group.h"
#include "egl/group/process_group.h"
#include "egl/group/vulkan_group.h"

namespace tally::egl {

class GroupList {
 public:
  GroupList();

  // Adds what has become known. For the driver and API of the context that is current in the
  // calling thread, or, where nothing has been asked yet and there is none, of the latest display,
  // it asks a context of our own.
  void discover();

  VulkanGroup& vulkan() { return *vulkan_; }

  size_t size() const { return groups_.size(); }
  Group& operator[](size_t index) const { return *groups_[index]; }

 private:
  struct Offer {
    QueryKinds kinds = 0;
    DriverCounters counters;
  };

  void discover_vulkan();
  void ask_driver();
  void add_offer(Driver& driver, Offer offer);

  ProcessGroup* process_;
  std::unique_ptr<GpuGroup> unlisted_gpu_;  // until it has a counter
  GpuGroup* gpu_;
  std::unique_ptr<VulkanGroup> unlisted_vulkan_;  // until it has a counter
  VulkanGroup* vulkan_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::set<std::tuple<const Driver*, bool>> asked_;  // drivers, and whether for OpenGL ES
};

}  // namespace tally::egl
