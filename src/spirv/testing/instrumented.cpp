#include "spirv/testing/instrumented.h"

#include <spirv-tools/libspirv.hpp>
#include <stdexcept>

namespace tally::spirv::test {

std::string header(const std::string& entry, const std::string& extra_capabilities) {
  return "OpCapability Shader\n" + extra_capabilities + "OpMemoryModel Logical GLSL450\n" + entry;
}

BlockCountOptions compute_options() {
  BlockCountOptions options;
  options.address.push_constant_offset = 16;
  options.int64 = options.int64_atomics = true;
  options.subgroup_operations = true;
  options.max_shards_log2 = 6;
  return options;
}

BlockCountOptions fragment_options() {
  BlockCountOptions options = compute_options();
  options.stage = spv::ExecutionModel::Fragment;
  return options;
}

Words assemble_1_3(const std::string& text) { return assemble(text, make_version(1, 3)); }

std::string readable(std::span<const uint32_t> words) {
  std::string text;
  const spvtools::SpirvTools tools(SPV_ENV_UNIVERSAL_1_6);
  if (!tools.Disassemble(
          words.data(), words.size(), &text,
          SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES)) {
    throw std::runtime_error("does not disassemble");
  }
  return text;
}

BlockCountResult instrument(std::span<const uint32_t> words, const BlockCountOptions& options) {
  auto result = add_block_counts(words, options);
  if (!result) throw std::runtime_error(result.error().message);
  const std::string message = validate(result->words);
  if (!message.empty()) throw std::runtime_error(message + "\n" + readable(result->words));
  return *result;
}

std::string instrumented(const std::string& text, const BlockCountOptions& options) {
  return readable(instrument(assemble_1_3(text), options).words);
}

std::string refusal(const std::string& text, const BlockCountOptions& options) {
  const auto result = add_block_counts(assemble_1_3(text), options);
  return result ? "accepted" : result.error().message;
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace tally::spirv::test
