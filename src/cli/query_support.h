// The query types of Vulkan's chapter on queries and their support on a device, derived from what
// the device reports without and with Tally's layer.
#pragma once

#include <string>
#include <vector>

#include "cli/device_support.h"

namespace tally::cli {

struct QuerySupport {
  enum class How { Native, Emulated, No };
  std::string id;    // for scripts
  std::string type;  // for display
  How how = How::No;
  std::string detail;  // how it is emulated, or why it is not available
};

// In the order of the chapter.
std::vector<QuerySupport> query_support(const DeviceSupport& device);

std::string_view name_of(QuerySupport::How how);

}  // namespace tally::cli
