// Device functions that became core in Vulkan 1.1 and 1.2. A layer that raises an application's
// apiVersion to 1.2 must not return core functions above the version that the application
// requested. The same functions remain available under the names of enabled extensions.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally::vk {

// True if the function belongs to a core version above the application's. `application_version` may
// be 0.
bool is_newer_than(std::string_view name, uint32_t application_version);

}  // namespace tally::vk
