// Modules of as many blocks as wanted, each of one shape: what shows whether a pass takes time in
// proportion to its input. Tests and a benchmark share them. Those that nest deeply are more than a
// validator accepts; a driver may get them nevertheless.
#pragma once

#include <cstdint>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <string_view>
#include <vector>

namespace tally::spirv::test {

struct LargeModule {
  std::string_view shape;
  spv::ExecutionModel stage;  // the entry point is "main"
  std::vector<uint32_t> words;
};

// "ifs in a row", "nested ifs" ...
std::span<const std::string_view> large_shapes();
// The shape `count` times.
LargeModule large_module(std::string_view shape, uint32_t count);

}  // namespace tally::spirv::test
