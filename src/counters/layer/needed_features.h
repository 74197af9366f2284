// Enables what the layer itself needs of a device: features of the driver that instrumented shaders
// and the layer's own commands use.
#pragma once

#include "counters/base/physical_device.h"
#include "counters/layer/create_info_copy.h"

namespace tally::counters {

struct FeatureNeeds {
  const PhysicalDevice& gpu;
  bool regions = false;                // counters by region
  bool timestamps = false;             // emulated timestamps
  bool conditional_rendering = false;  // the layer records conditional rendering
  bool host_query_reset = false;       // the layer resets queries of the driver
  bool sm_builtins = false;            // vertex shaders read their multiprocessor
  bool cache_control = false;          // the layer asks whether pipelines are in a cache
};

void enable_needed_features(CreateInfoCopy& info, const FeatureNeeds& needs);

}  // namespace tally::counters
