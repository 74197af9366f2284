// The counterpart of a pipeline layout for pipelines and shader objects with descriptor heaps
// (VK_EXT_descriptor_heap), which have none. All bytes of push data are the application's: the
// record pointers are where its shaders read nothing, preferably at the end. The contents of a
// push-constant block there are in memory instead: the layer copies push data before draws and
// dispatches, and the variants read the copy (spirv::AddressSource::block_address). Data that
// mappings read there cannot be moved. Most shaders leave the same bytes to the layer, and share
// one object.
#pragma once

#include <vulkan/vulkan_core.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "counters/objects/pipeline_layout.h"

namespace tally::counters {

class HeapLayouts {
 public:
  HeapLayouts(const LayoutRules& rules, const DeviceTable& next);

  bool enabled() const { return enabled_; }
  // For shaders that read this. `all_slots`: also the pointers of shader objects. Null where heaps
  // are not enabled. Thread-safe.
  std::shared_ptr<PipelineLayout> find(PushReads reads, bool all_slots) const;

 private:
  const LayoutRules rules_;
  const DeviceTable& next_;
  const bool enabled_;
  mutable std::mutex mutex_;  // guards layouts_
  mutable std::map<std::pair<PushReads, bool>, std::shared_ptr<PipelineLayout>> layouts_;
};

}  // namespace tally::counters
