// Device functions that Vulkan 1.1 and 1.2 made part of the core. A layer that raises an
// application's apiVersion to 1.2 must not hand out those of a version that the application did not
// ask for; the same functions under the names of enabled extensions stay.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally::vk {

// Whether the function is of a core version above the application's, which may be 0.
bool is_newer_than(std::string_view name, uint32_t application_version);

}  // namespace tally::vk
