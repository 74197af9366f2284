// SPIR-V as text: a listing with one line per instruction, and what SPIRV-Tools reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

// The i-th text is the module's i-th instruction, on one line, as spirv-dis prints it with friendly
// names, but for line breaks in strings, which are "\n". Enumerants that the grammar of
// src/spirv/ir does not know are numbers.
std::vector<std::string> disassemble(const spirv::Module& module);

// SPIRV-Tools: text to words. The error names the line.
Result<std::vector<uint32_t>> assemble_spirv(std::string_view text);

// Words to the text that assemble_spirv() takes.
Result<std::string> disassemble_spirv(std::span<const uint32_t> words);

// The rules of the oldest Vulkan that takes the module's version, without those on the layout of
// blocks: they depend on features of the device.
Status validate_spirv(std::span<const uint32_t> words);

}  // namespace tally::analysis
