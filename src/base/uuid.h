// UUIDs made from names, as RFC 9562 has it for those of one's own making (version 8). The same
// name gives the same UUID on every machine and in every version, because applications store them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tally {

std::array<uint8_t, 16> uuid_of(std::string_view name);

}  // namespace tally
