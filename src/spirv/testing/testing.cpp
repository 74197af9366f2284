#include "spirv/testing/testing.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <spirv-tools/libspirv.hpp>
#include <stdexcept>

namespace tally::spirv::test {
namespace {

spv_target_env environment_of(uint32_t version) {
  switch (version) {
    case make_version(1, 0):
      return SPV_ENV_UNIVERSAL_1_0;
    case make_version(1, 1):
      return SPV_ENV_UNIVERSAL_1_1;
    case make_version(1, 2):
      return SPV_ENV_UNIVERSAL_1_2;
    case make_version(1, 3):
      return SPV_ENV_UNIVERSAL_1_3;
    case make_version(1, 4):
      return SPV_ENV_UNIVERSAL_1_4;
    case make_version(1, 5):
      return SPV_ENV_UNIVERSAL_1_5;
    default:
      return SPV_ENV_UNIVERSAL_1_6;
  }
}

Words read_words(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  Words words(bytes.size() / sizeof(uint32_t));
  std::copy_n(bytes.data(), words.size() * sizeof(uint32_t), reinterpret_cast<char*>(words.data()));
  return words;
}

std::vector<NamedModule> read_corpus() {
  std::vector<NamedModule> modules;
  for (const auto& entry : std::filesystem::directory_iterator(TALLY_SPIRV_CORPUS)) {
    if (entry.path().extension() != ".spv") continue;
    modules.push_back({entry.path().filename().string(), read_words(entry.path())});
  }
  std::ranges::sort(modules, {}, &NamedModule::name);
  return modules;
}

}  // namespace

Words assemble(std::string_view text, uint32_t version) {
  std::string message;
  spvtools::SpirvTools tools(environment_of(version));
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t& position, const char* what) {
        message += "line " + std::to_string(position.line + 1) + ": " + what + "\n";
      });
  Words words;
  if (!tools.Assemble(text.data(), text.size(), &words,
                      SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS)) {
    throw std::runtime_error("does not assemble: " + message);
  }
  return words;
}

Words assemble_shader(std::string_view text, uint32_t version) {
  return assemble(
      "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
      "OpEntryPoint GLCompute %main \"main\"\nOpExecutionMode %main LocalSize 1 1 1\n" +
          std::string(text),
      version);
}

std::string disassemble(std::span<const uint32_t> words) {
  std::string text;
  spvtools::SpirvTools tools(SPV_ENV_UNIVERSAL_1_6);
  if (!tools.Disassemble(words.data(), words.size(), &text, SPV_BINARY_TO_TEXT_OPTION_NO_HEADER)) {
    throw std::runtime_error("does not disassemble");
  }
  return text;
}

std::string validate(std::span<const uint32_t> words) {
  std::string message;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                               const char* what) { message += std::string(what) + "\n"; });
  spvtools::ValidatorOptions options;
  options.SetScalarBlockLayout(true);
  return tools.Validate(words.data(), words.size(), options) ? std::string()
                                                             : "invalid: " + message;
}

Module parsed(std::span<const uint32_t> words) {
  Result<Module> module = Module::parse(words);
  if (!module) throw std::runtime_error(module.error().message);
  return *std::move(module);
}

Words instruction(spv::Op opcode, std::initializer_list<uint32_t> operands) {
  Words words = {static_cast<uint32_t>(operands.size() + 1) << spv::WordCountShift |
                 static_cast<uint32_t>(opcode)};
  words.insert(words.end(), operands);
  return words;
}

const std::vector<NamedModule>& corpus() {
  static const std::vector<NamedModule> modules = read_corpus();
  return modules;
}

const Words& corpus_module(std::string_view name) {
  for (const NamedModule& module : corpus()) {
    if (module.name == name) return module.words;
  }
  throw std::runtime_error("no such module: " + std::string(name));
}

}  // namespace tally::spirv::test
