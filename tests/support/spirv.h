// Assembles, disassembles and validates SPIR-V with SPIRV-Tools.
#pragma once

#include <spirv-tools/libspirv.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tally::test {

// Throws std::invalid_argument with the assembler's message if the text is invalid. Preserves
// numeric ids.
std::vector<uint32_t> assemble(const std::string& text,
                               spv_target_env environment = SPV_ENV_VULKAN_1_3);
std::string disassemble(std::span<const uint32_t> words);
// Returns an empty string if the module is valid in `environment`, otherwise the validator's
// message.
std::string validate(std::span<const uint32_t> words,
                     spv_target_env environment = SPV_ENV_VULKAN_1_3);

}  // namespace tally::test
