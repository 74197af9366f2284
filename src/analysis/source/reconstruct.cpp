#include "analysis/source/reconstruct.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>
#include <spirv_cross_c.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/source/line_marks.h"
#include "platform/isolation.h"
#include "spirv/ir/opcode.h"

namespace tally::analysis {
namespace {

constexpr size_t kMaxWords = 1 << 20;
constexpr unsigned kGlslVersion = 460;

struct Destroyer {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};
using Context = std::unique_ptr<spvc_context_s, Destroyer>;

std::string first_line(const char* text) {
  const std::string all = text == nullptr ? "" : text;
  return all.substr(0, all.find('\n'));
}

Error error_of(const Context& context) {
  const std::string message = first_line(spvc_context_get_last_error_string(context.get()));
  return Error{"SPIRV-Cross: " + (message.empty() ? "no reason given" : message)};
}

// The capability, execution mode or decoration that an instruction declares, else nothing: the text
// may do without them.
std::pair<std::string_view, uint32_t> declaration(const spirv::Instruction& instruction) {
  switch (instruction.opcode()) {
    case spv::Op::OpCapability:
      return {"Capability", instruction.operand(0)};
    case spv::Op::OpExecutionMode:
    case spv::Op::OpExecutionModeId:
      return {"ExecutionMode", instruction.operand(1)};
    case spv::Op::OpDecorate:
    case spv::Op::OpDecorateId:
    case spv::Op::OpDecorateString:
      return {"Decoration", instruction.operand(1)};
    case spv::Op::OpMemberDecorate:
    case spv::Op::OpMemberDecorateString:
      return {"Decoration", instruction.operand(2)};
    default:
      return {};
  }
}

// SPIRV-Tools' parser of single instructions.
class ToolsParser {
 public:
  explicit ToolsParser(std::span<const uint32_t> header)
      : context_(spvContextCreate(SPV_ENV_UNIVERSAL_1_6)), header_(header) {}
  ~ToolsParser() { spvContextDestroy(context_); }
  ToolsParser(const ToolsParser&) = delete;
  ToolsParser& operator=(const ToolsParser&) = delete;

  // Returns whether it can parse the instruction, in a module of nothing else.
  bool knows(std::span<const uint32_t> instruction) const {
    std::vector<uint32_t> words(header_.begin(), header_.end());
    words.insert(words.end(), instruction.begin(), instruction.end());
    spv_diagnostic diagnostic = nullptr;
    const spv_result_t result = spvBinaryParse(context_, nullptr, words.data(), words.size(),
                                               nullptr, nullptr, &diagnostic);
    spvDiagnosticDestroy(diagnostic);
    return result == SPV_SUCCESS;
  }

 private:
  spv_context context_;
  std::span<const uint32_t> header_;
};

// The first instruction whose opcode SPIRV-Tools does not know; empty if there is none.
std::string unknown_instruction(std::span<const uint32_t> words) {
  for (size_t at = spirv::kHeaderWords; at < words.size();) {
    const uint32_t opcode = words[at] & spv::OpCodeMask;
    if (std::string_view(spvOpcodeString(opcode)) == "unknown") {
      const std::string_view name = spirv::opcode_name(static_cast<spv::Op>(opcode));
      return name.empty() ? fmt::format("opcode {}", opcode) : std::string(name);
    }
    at += std::max(1u, words[at] >> spv::WordCountShift);
  }
  return {};
}

spvc_result set_options(spvc_compiler compiler) {
  spvc_compiler_options options = nullptr;
  spvc_result result = spvc_compiler_create_compiler_options(compiler, &options);
  const auto set = [&](spvc_compiler_option option, unsigned value) {
    if (result == SPVC_SUCCESS) result = spvc_compiler_options_set_uint(options, option, value);
  };
  set(SPVC_COMPILER_OPTION_GLSL_VERSION, kGlslVersion);
  set(SPVC_COMPILER_OPTION_GLSL_ES, 0);
  set(SPVC_COMPILER_OPTION_GLSL_VULKAN_SEMANTICS, 1);
  set(SPVC_COMPILER_OPTION_EMIT_LINE_DIRECTIVES, 1);
  if (result != SPVC_SUCCESS) return result;
  return spvc_compiler_install_compiler_options(compiler, options);
}

}  // namespace

std::vector<uint32_t> without_unknown_declarations(const spirv::Module& module) {
  const std::span<const uint32_t> words = module.words();
  const ToolsParser tools(words.first(spirv::kHeaderWords));
  std::vector<uint32_t> dropped;
  std::set<std::string> needed, extensions;  // by what stays and by what is dropped
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const spirv::Instruction instruction = module.instruction(i);
    const auto [kind, value] = declaration(instruction);
    if (kind.empty()) continue;
    const bool is_known = tools.knows(instruction.words());
    if (!is_known) dropped.push_back(i);
    if (const auto* enumerant = spirv::find_enumerant(kind, value)) {
      spirv::for_each_kind(enumerant->extensions, [&](std::string_view extension, char) {
        (is_known ? needed : extensions).emplace(extension);
      });
    }
  }
  std::vector<uint32_t> kept(words.begin(), words.begin() + spirv::kHeaderWords);
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const spirv::Instruction instruction = module.instruction(i);
    if (std::ranges::binary_search(dropped, i)) continue;
    if (instruction.opcode() == spv::Op::OpExtension) {
      const std::string name = instruction.string(0);
      if (extensions.contains(name) && !needed.contains(name)) continue;
    }
    kept.insert(kept.end(), instruction.words().begin(), instruction.words().end());
  }
  return kept;
}

Status check_decompilable(std::span<const uint32_t> words) {
  if (words.size() > kMaxWords) return Error{"the module is too large"};
  if (const std::string name = unknown_instruction(words); !name.empty()) {
    return Error{fmt::format("SPIRV-Tools {} does not know {}", spvSoftwareVersionString(), name)};
  }
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  spv_validator_options options = spvValidatorOptionsCreate();
  // Layouts of blocks depend on the device's features, which a module does not say.
  spvValidatorOptionsSetSkipBlockLayout(options, true);
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result = spvValidateWithOptions(context, options, &binary, &diagnostic);
  const std::string reason = diagnostic == nullptr ? "" : first_line(diagnostic->error);
  spvDiagnosticDestroy(diagnostic);
  spvValidatorOptionsDestroy(options);
  spvContextDestroy(context);
  if (result == SPV_SUCCESS) return {};
  return Error{fmt::format("SPIRV-Tools does not accept the module: {}", reason)};
}

Result<std::string> decompile(std::span<const uint32_t> words, const spirv::EntryPoint& entry) {
  spvc_context made = nullptr;
  if (spvc_context_create(&made) != SPVC_SUCCESS) return Error{"out of memory"};
  const Context context(made);
  spvc_parsed_ir parsed = nullptr;
  spvc_compiler compiler = nullptr;
  const char* text = nullptr;
  const bool done =
      spvc_context_parse_spirv(context.get(), words.data(), words.size(), &parsed) ==
          SPVC_SUCCESS &&
      spvc_context_create_compiler(context.get(), SPVC_BACKEND_GLSL, parsed,
                                   SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler) == SPVC_SUCCESS &&
      spvc_compiler_set_entry_point(compiler, entry.name.c_str(),
                                    static_cast<SpvExecutionModel>(entry.model)) == SPVC_SUCCESS &&
      set_options(compiler) == SPVC_SUCCESS &&
      spvc_compiler_compile(compiler, &text) == SPVC_SUCCESS;
  if (!done || text == nullptr) return error_of(context);
  return std::string(text);
}

namespace {

std::vector<uint32_t> marked_copy(const spirv::Module& module) {
  const std::vector<bool> marks = markable(module);
  std::vector<uint32_t> lines(marks.size());
  for (uint32_t i = 0; i < marks.size(); ++i) lines[i] = marks[i] ? i + 1 : 0;
  return with_lines(module, kMarkFile, lines);
}

// A request is the execution model, the size of the entry point's name, the name, and the words.

void append(std::string& request, uint32_t word) {
  request.append(reinterpret_cast<const char*>(&word), sizeof word);
}

std::string request_of(const std::vector<uint32_t>& words, const spirv::EntryPoint& entry) {
  std::string request;
  append(request, static_cast<uint32_t>(entry.model));
  append(request, static_cast<uint32_t>(entry.name.size()));
  request += entry.name;
  for (const uint32_t word : words) append(request, word);
  return request;
}

Result<std::string> decompile_request(const std::string& request) {
  std::array<uint32_t, 2> head{};
  if (request.size() < sizeof head) return Error{"no request"};
  std::memcpy(head.data(), request.data(), sizeof head);
  const size_t start = sizeof head + head[1];
  if (request.size() < start) return Error{"no request"};
  spirv::EntryPoint entry;
  entry.model = static_cast<spv::ExecutionModel>(head[0]);
  entry.name = request.substr(sizeof head, head[1]);
  std::vector<uint32_t> words((request.size() - start) / sizeof(uint32_t));
  std::memcpy(words.data(), request.data() + start, words.size() * sizeof(uint32_t));
  const auto module = TALLY_TRY(spirv::Module::parse(std::move(words)));
  const std::vector<uint32_t> known = without_unknown_declarations(module);
  TALLY_TRY(check_decompilable(known));
  return decompile(known, entry);
}

const platform::IsolatedWork kDecompile("decompile", decompile_request);

}  // namespace

Result<Reconstruction> reconstruct(const spirv::Module& module, const spirv::EntryPoint& entry,
                                   const std::string& file_name) {
  const auto glsl =
      TALLY_TRY(platform::run_isolated(kDecompile, request_of(marked_copy(module), entry)));
  GlslLines read = read_marks(module, glsl);
  const auto copy = TALLY_TRY(spirv::Module::parse(with_lines(module, file_name, read.line_of)));
  auto map =
      TALLY_TRY(spirv::BlockMap::build(copy, entry.model, entry.name, spirv::CostDetail::Kept));
  return Reconstruction{std::move(map), std::move(read.text)};
}

}  // namespace tally::analysis
