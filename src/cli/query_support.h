// The query types of Vulkan's chapter on queries, and how a device has each: told from what it says
// of itself without Tally's layer and with it.
#pragma once

#include <string>
#include <vector>

#include "cli/device_support.h"

namespace tally::cli {

struct QuerySupport {
  enum class How { Native, Emulated, No };
  std::string id;    // for scripts
  std::string type;  // for people
  How how = How::No;
  std::string detail;  // by what it is emulated, or why it cannot be had
};

// In the order of the chapter.
std::vector<QuerySupport> query_support(const DeviceSupport& device);

std::string_view name_of(QuerySupport::How how);

}  // namespace tally::cli
