// What stands for the pipeline layout of pipelines and shader objects with descriptor heaps
// (VK_EXT_descriptor_heap), which have none. Their push data are the same for all of them, so a
// device has one object for all shaders that leave the reserved bytes to the layer. The others,
// which read more push data than the application was told of, are rare.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>

#include "counters/objects/pipeline_layout.h"

namespace tally::counters {

class HeapLayouts {
 public:
  HeapLayouts(const LayoutRules& rules, const DeviceTable& next);

  bool enabled() const { return layouts_[0] != nullptr; }
  // For shaders that read push data up to the byte `end`. Null where heaps are not enabled.
  std::shared_ptr<PipelineLayout> find(uint32_t end) const;

 private:
  // Nothing reserved is read; only slots of shader objects are; the others are.
  std::array<std::shared_ptr<PipelineLayout>, 3> layouts_;
};

}  // namespace tally::counters
