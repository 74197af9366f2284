// All groups in the order of the extension's numbering. Fixed groups come first; groups that depend
// on the driver follow once a context or display of the application shows what the driver offers.
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

  // Appends groups and counters that have become known. Queries the driver through a private
  // context: for the driver and API of the calling thread's current context or, if there is none
  // and no driver has been queried yet, of the latest display. `gpu_usage`: also those of the
  // kernel driver, which takes as long as a small frame.
  void discover(bool gpu_usage = true);

  VulkanGroup& vulkan() { return *vulkan_; }
  // True if the profile leaves the group to the Vulkan capture: the Vulkan group, whose reading
  // finishes the context, where the capture has the same by frame; and the GPU group where the
  // calling thread's context runs on Vulkan, since GL queries make the GL driver divide render
  // passes.
  bool is_left_to_capture(size_t index) const;

  size_t size() const { return groups_.size(); }
  Group& operator[](size_t index) const { return *groups_[index]; }

 private:
  struct Capabilities {
    QueryKinds kinds = 0;
    DriverCounters counters;
  };

  void discover_vulkan();
  void query_driver();
  void add_capabilities(Driver& driver, Capabilities capabilities);

  ProcessGroup* process_;
  std::unique_ptr<GpuGroup> unlisted_gpu_;  // until it has a counter
  GpuGroup* gpu_;
  std::unique_ptr<VulkanGroup> unlisted_vulkan_;  // until it has a counter
  VulkanGroup* vulkan_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::set<std::tuple<const Driver*, bool>> queried_;  // queried drivers, and whether for OpenGL ES
};

}  // namespace tally::egl
