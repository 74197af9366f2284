// The options with which the pass is tried on modules that come from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "spirv/instrument/block_count.h"

namespace tally::test {

// Every way of counting blocks. Stage and entry point are left to the caller.
std::vector<spirv::BlockCountOptions> counting_options();

// The name of what the layer sets on a device that can do everything.
inline constexpr const char* kLayerOptions = "layer";

struct NamedOptions {
  std::string name;
  spirv::BlockCountOptions options;
};
// Those, and what the layer asks for beyond: outputs, regions, packed draw indices, driver
// workarounds. Options that do not suit the stage are left out.
std::vector<NamedOptions> all_options(spv::ExecutionModel stage, const std::string& entry_point);

}  // namespace tally::test
