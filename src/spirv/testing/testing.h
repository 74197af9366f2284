// Shared by the tests of src/spirv and its passes: SPIR-V text in and out, validation, and a corpus
// of real modules that glslang compiled when the tests were built. Whatever fails here fails the
// test that asked, by an exception.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv::test {

using Words = std::vector<uint32_t>;

// Text to words, for the newest SPIR-V that SPIRV-Tools knows unless `version` says less. Numeric
// ids are kept.
Words assemble(std::string_view text, uint32_t version = make_version(1, 6));
// A module of shader text: capability, memory model, an empty-handed compute entry point "main" of
// %main, and `text`.
Words assemble_shader(std::string_view text, uint32_t version = make_version(1, 6));
std::string disassemble(std::span<const uint32_t> words);
// Empty if valid for Vulkan 1.3 (what SPIRV-Tools knows of it), else what is wrong.
std::string validate(std::span<const uint32_t> words);

// A module that must parse.
Module parsed(std::span<const uint32_t> words);

// One instruction's words, the first made up of their number and the opcode.
Words instruction(spv::Op opcode, std::initializer_list<uint32_t> operands);

struct NamedModule {
  std::string name;  // "lit.frag.debug.spv"
  Words words;
};
const std::vector<NamedModule>& corpus();
const Words& corpus_module(std::string_view name);

}  // namespace tally::spirv::test
