// All groups in the order of the extension's numbering. Fixed groups come first; groups that depend
// on the driver follow once a context or display of the application shows what the driver offers.
#pragma once

#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "base/live_counters.h"
#include "egl/group/group.h"
#include "egl/group/process_group.h"

namespace tally::egl {

// The application's GL calls (gl/api_counts.h), summed over all its threads and contexts.

class ApiGroup final : public Group {
 public:
  ApiGroup();
  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;
};

// Frame times, as measured by group/frames.h.

class FrameGroup final : public Group {
 public:
  FrameGroup();
  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;
  void reset_extremes() override;
};

// GPU work as measured by GL query objects (gl/gpu_queries.h). Lists the kinds that the contexts
// seen so far support.

class GpuGroup final : public Group {
 public:
  GpuGroup() : Group("GPU") {}

  // Lists the kinds of these that are not listed yet.
  void add_kinds(QueryKinds kinds);

  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;

 private:
  std::vector<QueryKind> kinds_;  // the kind of each counter
};

// The Vulkan work of a process whose GL runs on Vulkan (zink, ANGLE): the counters of the capture
// layer in the same process (base/live_counters.h). Lists nothing until the layer is loaded and has
// a device.

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
