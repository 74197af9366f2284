#include "support/spirv.h"

#include <spirv-tools/libspirv.hpp>
#include <stdexcept>

namespace tally::test {
namespace {

// SPIRV-Tools with its messages collected in `text`.
struct Tools {
  explicit Tools(spv_target_env environment) : spirv(environment) {
    spirv.SetMessageConsumer([this](spv_message_level_t, const char*, const spv_position_t& at,
                                    const char* message) {
      text +=
          std::to_string(at.line + 1) + ":" + std::to_string(at.column + 1) + ": " + message + "\n";
    });
  }
  spvtools::SpirvTools spirv;
  std::string text;
};

}  // namespace

std::vector<uint32_t> assemble(const std::string& text, spv_target_env environment) {
  Tools tools(environment);
  std::vector<uint32_t> words;
  if (!tools.spirv.Assemble(text, &words, SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS)) {
    throw std::invalid_argument(tools.text);
  }
  return words;
}

std::string disassemble(std::span<const uint32_t> words) {
  Tools tools(SPV_ENV_VULKAN_1_3);
  std::string text;
  if (!tools.spirv.Disassemble(words.data(), words.size(), &text,
                               SPV_BINARY_TO_TEXT_OPTION_NO_HEADER)) {
    throw std::invalid_argument(tools.text);
  }
  return text;
}

std::string validate(std::span<const uint32_t> words, spv_target_env environment) {
  Tools tools(environment);
  if (tools.spirv.Validate(words.data(), words.size())) return {};
  return tools.text.empty() ? "invalid" : tools.text;
}

}  // namespace tally::test
