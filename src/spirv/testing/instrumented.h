// Shared by the tests of the passes: small shaders as text, and the pass's output for them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "spirv/testing/block_count.h"
#include "spirv/testing/testing.h"

namespace tally::spirv::test {

// A module's text up to the names.
std::string header(const std::string& entry, const std::string& extra_capabilities = "");
// Its entry point, as the parameter `header` expects it.
inline const std::string kCompute =
    "OpEntryPoint GLCompute %main \"main\"\n"
    "OpExecutionMode %main LocalSize 4 1 1\n";
inline const std::string kTypes =
    "%void = OpTypeVoid\n"
    "%bool = OpTypeBool\n"
    "%true = OpConstantTrue %bool\n"
    "%fn = OpTypeFunction %void\n";
// if (true) { return; }
inline const std::string kEarlyReturn =
    "%main = OpFunction %void None %fn\n"
    "%start = OpLabel\n"
    "OpSelectionMerge %rest None\n"
    "OpBranchConditional %true %early %rest\n"
    "%early = OpLabel\n"
    "OpReturn\n"
    "%rest = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n";

// For a device with all features, with the record pointer at byte 16 of the push constants.
BlockCountOptions compute_options();
BlockCountOptions fragment_options();

// For SPIR-V 1.3.
Words assemble_1_3(const std::string& text);
// With names for ids, which expectations can rely on.
std::string readable(std::span<const uint32_t> words);

// Instruments, requires validity and gives the result.
BlockCountResult instrument(std::span<const uint32_t> words, const BlockCountOptions& options);
std::string instrumented(const std::string& text, const BlockCountOptions& options);
// Why the pass refuses it.
std::string refusal(const std::string& text, const BlockCountOptions& options);

size_t count_of(std::string_view text, std::string_view part);

}  // namespace tally::spirv::test
