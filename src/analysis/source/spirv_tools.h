// SPIRV-Tools: text to words and back, and validation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tally::analysis {

// The error names the line.
Result<std::vector<uint32_t>> assemble_spirv(std::string_view text);

// The text that assemble_spirv() takes.
Result<std::string> disassemble_spirv(std::span<const uint32_t> words);

// The rules of the oldest Vulkan that takes the module's version, without those on the layout of
// blocks: they depend on features of the device.
Status validate_spirv(std::span<const uint32_t> words);

}  // namespace tally::analysis
