// Copies of a module with other names in it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv {

// The words of the module with another name of the entry point.
std::vector<uint32_t> with_entry_point_name(const Module& module, const EntryPoint& entry,
                                            std::string_view name);

// The words of the module in which every string `name` is `new_name`: debug information names files
// by strings.
std::vector<uint32_t> with_string(const Module& module, std::string_view name,
                                  std::string_view new_name);

}  // namespace tally::spirv
