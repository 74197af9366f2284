#include "analysis/model/disassembly.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "spirv/ir/module.h"
#include "spirv/ir/opcode.h"

namespace tally::analysis {
namespace {

struct ContextEnd {
  void operator()(spv_context context) const { spvContextDestroy(context); }
};
using ToolsContext = std::unique_ptr<spv_context_t, ContextEnd>;

struct DiagnosticEnd {
  void operator()(spv_diagnostic diagnostic) const { spvDiagnosticDestroy(diagnostic); }
};
using Diagnostic = std::unique_ptr<spv_diagnostic_t, DiagnosticEnd>;

std::string text_of(const Diagnostic& diagnostic) {
  const std::string all = diagnostic && diagnostic->error ? diagnostic->error : "no reason given";
  return all.substr(0, all.find('\n'));
}

spv_target_env environment_of(std::span<const uint32_t> words) {
  const uint32_t version = words.size() > 1 ? words[1] : 0;
  if (version <= spirv::make_version(1, 0)) return SPV_ENV_VULKAN_1_0;
  if (version <= spirv::make_version(1, 3)) return SPV_ENV_VULKAN_1_1;
  if (version <= spirv::make_version(1, 4)) return SPV_ENV_VULKAN_1_1_SPIRV_1_4;
  if (version <= spirv::make_version(1, 5)) return SPV_ENV_VULKAN_1_2;
  return SPV_ENV_VULKAN_1_3;
}

// "; Version: 1.3", as the text of a disassembler begins; else the newest.
spv_target_env environment_of(std::string_view text) {
  constexpr std::string_view kVersion = "; Version: 1.";
  const size_t found = text.find(kVersion);
  const char minor = found == text.npos || found + kVersion.size() >= text.size()
                         ? '6'
                         : text[found + kVersion.size()];
  switch (minor) {
    case '0':
      return SPV_ENV_UNIVERSAL_1_0;
    case '1':
      return SPV_ENV_UNIVERSAL_1_1;
    case '2':
      return SPV_ENV_UNIVERSAL_1_2;
    case '3':
      return SPV_ENV_UNIVERSAL_1_3;
    case '4':
      return SPV_ENV_UNIVERSAL_1_4;
    case '5':
      return SPV_ENV_UNIVERSAL_1_5;
    default:
      return SPV_ENV_UNIVERSAL_1_6;
  }
}

using spirv::Enumerant;
using spirv::Instruction;
using spirv::KindOfOperand;
using spirv::Module;
using spv::Op;

constexpr size_t kIndent = 15;  // where opcodes begin

// --- numbers

// A binary floating-point number as C's %a writes it, with the first digit 1. Infinity and NaN have
// the exponent behind the largest.
std::string hexadecimal(uint64_t bits, uint32_t exponent_bits, uint32_t fraction_bits) {
  const bool is_negative = bits >> (exponent_bits + fraction_bits) & 1;
  const auto bias = static_cast<int32_t>((1u << (exponent_bits - 1)) - 1);
  const uint64_t one = uint64_t{1} << fraction_bits;
  uint64_t fraction = bits & (one - 1);
  const auto field = static_cast<int32_t>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
  int32_t exponent = field - bias;
  const bool is_zero = field == 0 && fraction == 0;
  if (is_zero) exponent = 0;
  if (field == 0 && !is_zero) {
    for (++exponent; (fraction & one) == 0; --exponent) fraction <<= 1;
    fraction &= one - 1;
  }
  const uint32_t digits = (fraction_bits + 3) / 4;
  std::string text = fmt::format("{:0{}x}", fraction << (4 * digits - fraction_bits), digits);
  text.erase(text.find_last_not_of('0') + 1);
  return fmt::format("{}0x{}{}{}p{}{}", is_negative ? "-" : "", is_zero ? 0 : 1,
                     text.empty() ? "" : ".", text, exponent < 0 ? "" : "+", exponent);
}

template <typename Float, typename Bits>
std::string floating(Bits bits, uint32_t exponent_bits, uint32_t fraction_bits, int digits) {
  const auto value = std::bit_cast<Float>(bits);
  const int kind = std::fpclassify(value);
  if (kind != FP_ZERO && kind != FP_NORMAL) return hexadecimal(bits, exponent_bits, fraction_bits);
  return fmt::format("{:.{}g}", value, digits);
}

// What FPEncoding makes of the bits of a float.
struct Encoding {
  uint32_t value;
  std::string_view name;
  uint32_t exponent_bits, fraction_bits;
};
constexpr Encoding kEncodings[] = {
    {0, "bfloat16", 8, 7}, {4214, "fp8e4m3", 4, 3}, {4215, "fp8e5m2", 5, 2}};

const Encoding* encoding_of(const Instruction& type) {
  if (type.operand_count() < 2) return nullptr;
  const Encoding* found = std::ranges::find(kEncodings, type.operand(1), &Encoding::value);
  return found == std::end(kEncodings) ? nullptr : found;
}

// A literal of a scalar type, or its words if the type has no such literals.
std::string literal(const std::optional<Instruction>& type, std::span<const uint32_t> words) {
  const uint32_t low = words.empty() ? 0 : words[0];
  const uint64_t both = words.size() < 2 ? low : low | uint64_t{words[1]} << 32;
  const bool is_known = type && (words.size() == 1 || words.size() == 2);
  if (is_known && type->opcode() == Op::OpTypeInt) {
    if (type->operand(1) == 0) return fmt::format("{}", both);
    return words.size() == 1 ? fmt::format("{}", static_cast<int32_t>(low))
                             : fmt::format("{}", static_cast<int64_t>(both));
  }
  if (is_known && type->opcode() == Op::OpTypeFloat) {
    if (const Encoding* encoding = encoding_of(*type)) {
      const uint32_t bits = 1 + encoding->exponent_bits + encoding->fraction_bits;
      return hexadecimal(low & ((1u << bits) - 1), encoding->exponent_bits,
                         encoding->fraction_bits);
    }
    if (words.size() == 2) return floating<double>(both, 11, 52, 17);
    if (type->operand(0) == 16) return hexadecimal(low & 0xffff, 5, 10);
    return floating<float>(low, 8, 23, 9);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string string_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// --- names

std::string valid_name(std::string_view text) {
  if (text.empty()) return "_";
  std::string name(text);
  for (char& c : name) {
    const bool is_valid =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!is_valid) c = '_';
  }
  return name;
}

// As GLSL calls it, for those that have a variable there; empty for those that no name is made of.
std::string name_of_builtin(uint32_t builtin) {
  using spv::BuiltIn;
  const Enumerant* known = spirv::find_enumerant("BuiltIn", builtin);
  if (known == nullptr) return {};
  std::string name(known->name);
  switch (static_cast<BuiltIn>(builtin)) {
    case BuiltIn::VertexId:
    case BuiltIn::InstanceId:
    case BuiltIn::PrimitiveId:
    case BuiltIn::InvocationId:
    case BuiltIn::SampleId:
    case BuiltIn::LocalInvocationId:
    case BuiltIn::GlobalInvocationId:
      return "gl_" + name.substr(0, name.size() - 1) + "D";
    case BuiltIn::NumWorkgroups:
      return "gl_NumWorkGroups";
    case BuiltIn::WorkgroupSize:
      return "gl_WorkGroupSize";
    case BuiltIn::WorkgroupId:
      return "gl_WorkGroupID";
    case BuiltIn::Position:
    case BuiltIn::PointSize:
    case BuiltIn::ClipDistance:
    case BuiltIn::CullDistance:
    case BuiltIn::Layer:
    case BuiltIn::ViewportIndex:
    case BuiltIn::TessLevelOuter:
    case BuiltIn::TessLevelInner:
    case BuiltIn::TessCoord:
    case BuiltIn::PatchVertices:
    case BuiltIn::FragCoord:
    case BuiltIn::PointCoord:
    case BuiltIn::FrontFacing:
    case BuiltIn::SamplePosition:
    case BuiltIn::SampleMask:
    case BuiltIn::FragDepth:
    case BuiltIn::HelperInvocation:
    case BuiltIn::LocalInvocationIndex:
    case BuiltIn::VertexIndex:
    case BuiltIn::InstanceIndex:
    case BuiltIn::BaseInstance:
      return "gl_" + name;
    case BuiltIn::SubgroupEqMask:
    case BuiltIn::SubgroupGeMask:
    case BuiltIn::SubgroupGtMask:
    case BuiltIn::SubgroupLeMask:
    case BuiltIn::SubgroupLtMask:
      return name + "KHR";
    case BuiltIn::WorkDim:
    case BuiltIn::GlobalSize:
    case BuiltIn::EnqueuedWorkgroupSize:
    case BuiltIn::GlobalOffset:
    case BuiltIn::GlobalLinearId:
    case BuiltIn::SubgroupSize:
    case BuiltIn::SubgroupMaxSize:
    case BuiltIn::NumSubgroups:
    case BuiltIn::NumEnqueuedSubgroups:
    case BuiltIn::SubgroupId:
    case BuiltIn::SubgroupLocalInvocationId:
      return name;
    default:
      return {};
  }
}

// A unique name for each id: its OpName, else one that tells a built-in, a type or a
// constant, else its number.
class Names {
 public:
  explicit Names(const Module& module) : module_(module) {
    for (size_t i = 0; i < module.instruction_count(); ++i) add(module.instruction(i));
  }

  std::string of(uint32_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? fmt::format("{}", id) : found->second;
  }

 private:
  void add(const Instruction& instruction) {
    if (instruction.opcode() == Op::OpName) {
      return name(instruction.operand(0), instruction.string(1, kNameLimit));
    }
    if (instruction.opcode() == Op::OpDecorate &&
        static_cast<spv::Decoration>(instruction.operand(1)) == spv::Decoration::BuiltIn) {
      const std::string builtin = name_of_builtin(instruction.operand(2));
      if (!builtin.empty()) name(instruction.operand(0), builtin);
    }
    const uint32_t id = instruction.result_id();
    if (id != 0 && !names_.contains(id)) name(id, name_of(instruction));
  }

  void name(uint32_t id, std::string_view suggestion) {
    if (names_.contains(id)) return;
    const std::string base = valid_name(suggestion.substr(0, kNameLimit));
    std::string unique = base;
    while (!used_.insert(unique).second) unique = fmt::format("{}_{}", base, next_[base]++);
    names_.emplace(id, std::move(unique));
  }

  // The name of an id without OpName.
  std::string name_of(const Instruction& it) const {
    const auto enumerant = [&](std::string_view kind, uint32_t value) {
      const Enumerant* known = spirv::find_enumerant(kind, value);
      return known == nullptr ? fmt::format("{}", value) : std::string(known->name);
    };
    switch (it.opcode()) {
      case Op::OpTypeVoid:
        return "void";
      case Op::OpTypeBool:
        return "bool";
      case Op::OpTypeInt:
        return name_of_int(it.operand(0), it.operand(1) != 0);
      case Op::OpTypeFloat:
        return name_of_float(it);
      case Op::OpTypeVector:
        return fmt::format("v{}{}", it.operand(1), of(it.operand(0)));
      case Op::OpTypeMatrix:
        return fmt::format("mat{}{}", it.operand(1), of(it.operand(0)));
      case Op::OpTypeArray:
        return fmt::format("_arr_{}_{}", of(it.operand(0)), of(it.operand(1)));
      case Op::OpTypeRuntimeArray:
        return "_runtimearr_" + of(it.operand(0));
      case Op::OpTypePointer:
        return fmt::format("_ptr_{}_{}", enumerant("StorageClass", it.operand(0)),
                           of(it.operand(1)));
      case Op::OpTypePipe:
        return "Pipe" + enumerant("AccessQualifier", it.operand(0));
      case Op::OpTypeEvent:
        return "Event";
      case Op::OpTypeDeviceEvent:
        return "DeviceEvent";
      case Op::OpTypeReserveId:
        return "ReserveId";
      case Op::OpTypeQueue:
        return "Queue";
      case Op::OpTypeOpaque:
        return "Opaque_" + valid_name(it.string(0, kNameLimit));
      case Op::OpTypePipeStorage:
        return "PipeStorage";
      case Op::OpTypeNamedBarrier:
        return "NamedBarrier";
      case Op::OpTypeStruct:
        return fmt::format("_struct_{}", it.result_id());
      case Op::OpConstantTrue:
        return "true";
      case Op::OpConstantFalse:
        return "false";
      case Op::OpConstant: {
        std::string value = literal(module_.definition(it.type_id()), it.operands());
        std::ranges::replace(value, '-', 'n');
        return of(it.type_id()) + "_" + value;
      }
      default:
        break;
    }
    if (it.opcode() == spirv::newer::OpTypeUntypedPointerKHR) {
      return "_ptr_" + enumerant("StorageClass", it.operand(0));
    }
    return fmt::format("{}", it.result_id());
  }

  static std::string name_of_int(uint32_t width, bool is_signed) {
    std::string root;
    switch (width) {
      case 8:
        root = "char";
        break;
      case 16:
        root = "short";
        break;
      case 32:
        root = "int";
        break;
      case 64:
        root = "long";
        break;
      default:
        return fmt::format("{}{}", is_signed ? "i" : "u", width);
    }
    return (is_signed ? "" : "u") + root;
  }

  static std::string name_of_float(const Instruction& type) {
    const uint32_t width = type.operand(0);
    if (const Encoding* encoding = encoding_of(type)) return std::string(encoding->name);
    switch (width) {
      case 16:
        return "half";
      case 32:
        return "float";
      case 64:
        return "double";
      default:
        return fmt::format("fp{}", width);
    }
  }

  static constexpr size_t kNameLimit = 256;  // of a hostile module, where names contain names

  const Module& module_;
  std::unordered_map<uint32_t, std::string> names_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, uint32_t> next_;
};

// --- instructions

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module), names_(module) {}

  std::string line(const Instruction& instruction) {
    instruction_ = instruction;
    words_ = instruction.operands();
    const std::string result = instruction.result_id() == 0
                                   ? ""
                                   : fmt::format("%{} = ", names_.of(instruction.result_id()));
    const std::string_view name = spirv::opcode_name(instruction.opcode());
    out_ = fmt::format("{:>{}}", result, kIndent);
    out_ += name.empty() ? fmt::format("Op#{}", static_cast<uint32_t>(instruction.opcode())) : name;
    if (instruction.type_id() != 0) add_id(instruction.type_id());
    operands(spirv::opcode_operands(instruction.opcode()));
    while (!words_.empty()) out_ += fmt::format(" {}", next());
    return std::move(out_);
  }

 private:
  uint32_t next() {
    const uint32_t word = words_.empty() ? 0 : words_.front();
    words_ = words_.subspan(words_.empty() ? 0 : 1);
    return word;
  }

  std::span<const uint32_t> next(size_t count) {
    const auto taken = words_.first(std::min(count, words_.size()));
    words_ = words_.subspan(taken.size());
    return taken;
  }

  void add_id(uint32_t id) { out_ += " %" + names_.of(id); }

  void operands(std::string_view kinds) {
    spirv::for_each_kind(kinds, [&](std::string_view kind, char quantifier) {
      do {
        if (words_.empty()) return;
        operand(kind);
      } while (quantifier == '*');
    });
  }

  void operand(std::string_view kind) {
    if (kind.starts_with("Id")) return add_id(next());
    if (kind == "LiteralInteger") return void(out_ += fmt::format(" {}", next()));
    if (kind == "LiteralString") return string();
    if (kind == "LiteralFloat") return void(out_ += " " + floating<float>(next(), 8, 23, 9));
    if (kind == "LiteralContextDependentNumber") {
      const auto type = module_.definition(instruction_.type_id());
      return void(out_ += " " + literal(type, next(words_.size())));
    }
    if (kind == "LiteralExtInstInteger") return extended_instruction();
    if (kind == "LiteralSpecConstantOpInteger") return operation();
    if (kind == "PairIdRefIdRef") return operands("IdRef IdRef");
    if (kind == "PairIdRefLiteralInteger") return operands("IdRef LiteralInteger");
    if (kind == "PairLiteralIntegerIdRef") return switch_case();
    switch (spirv::kind_of_operand(kind)) {
      case KindOfOperand::Value:
        return value(kind);
      case KindOfOperand::Mask:
        return mask(kind);
      case KindOfOperand::Other:
        out_ += fmt::format(" {}", next());
    }
  }

  void string() {
    const size_t begin = instruction_.operand_count() - words_.size();
    out_ += " " + string_literal(instruction_.string(begin));
    next(instruction_.after_string(begin) - begin);
  }

  void extended_instruction() {
    const auto import = module_.definition(instruction_.operand(0));
    const uint32_t number = next();
    const bool is_import = import && import->opcode() == Op::OpExtInstImport;
    const auto* known =
        is_import ? spirv::find_extended_instruction(import->string(0), number) : nullptr;
    out_ += known == nullptr ? fmt::format(" {}", number) : fmt::format(" {}", known->name);
    operands(known == nullptr ? "IdRef*" : known->operands);
  }

  void operation() {
    const auto opcode = static_cast<Op>(next());
    const std::string_view name = spirv::opcode_name(opcode);
    out_ += name.empty() ? fmt::format(" {}", static_cast<uint32_t>(opcode))
                         : fmt::format(" {}", name.substr(2));
    operands(name.empty() ? "IdRef*" : spirv::opcode_operands(opcode));
  }

  void switch_case() {
    const auto type = module_.definition(module_.type_of(instruction_.operand(0)));
    const bool is_wide = type && type->opcode() == Op::OpTypeInt && type->operand(0) > 32;
    out_ += " " + literal(type, next(is_wide ? 2 : 1));
    if (!words_.empty()) add_id(next());
  }

  void value(std::string_view kind) {
    const uint32_t number = next();
    const Enumerant* known = spirv::find_enumerant(kind, number);
    out_ += known == nullptr ? fmt::format(" {}", number) : fmt::format(" {}", known->name);
    if (known != nullptr) operands(known->operands);
  }

  // The operands of all bits follow the mask, the lowest bit's first.
  void mask(std::string_view kind) {
    const uint32_t bits = next();
    if (bits == 0) {
      const Enumerant* none = spirv::find_enumerant(kind, 0);
      return void(out_ += none == nullptr ? " None" : fmt::format(" {}", none->name));
    }
    char separator = ' ';
    std::string_view parameters[32];
    uint32_t unknown = 0;
    for (uint32_t bit = 0; bit < 32; ++bit) {
      if ((bits >> bit & 1) == 0) continue;
      const Enumerant* known = spirv::find_enumerant(kind, 1u << bit);
      if (known == nullptr) {
        unknown |= 1u << bit;
        continue;
      }
      out_ += std::exchange(separator, '|');
      out_ += known->name;
      parameters[bit] = known->operands;
    }
    if (unknown != 0) out_ += fmt::format("{}{:#x}", separator, unknown);
    for (const std::string_view one : parameters) operands(one);
  }

  const Module& module_;
  Names names_;
  Instruction instruction_;
  std::span<const uint32_t> words_;  // operands that are not printed yet
  std::string out_;
};

}  // namespace

std::vector<std::string> disassemble(const Module& module) {
  Printer printer(module);
  std::vector<std::string> lines;
  lines.reserve(module.instruction_count());
  for (size_t i = 0; i < module.instruction_count(); ++i) {
    lines.push_back(printer.line(module.instruction(i)));
  }
  return lines;
}

Result<std::vector<uint32_t>> assemble_spirv(std::string_view text) {
  const ToolsContext context(spvContextCreate(environment_of(text)));
  spv_binary made = nullptr;
  spv_diagnostic problem = nullptr;
  const spv_result_t result =
      spvTextToBinaryWithOptions(context.get(), text.data(), text.size(),
                                 SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS, &made, &problem);
  const Diagnostic diagnostic(problem);
  if (result != SPV_SUCCESS) {
    const size_t line = diagnostic ? diagnostic->position.line + 1 : 0;
    return Error{fmt::format("line {}: {}", line, text_of(diagnostic))};
  }
  std::vector<uint32_t> words(made->code, made->code + made->wordCount);
  spvBinaryDestroy(made);
  return words;
}

Result<std::string> disassemble_spirv(std::span<const uint32_t> words) {
  const ToolsContext context(spvContextCreate(SPV_ENV_UNIVERSAL_1_6));
  spv_text made = nullptr;
  spv_diagnostic problem = nullptr;
  const spv_result_t result = spvBinaryToText(context.get(), words.data(), words.size(),
                                              SPV_BINARY_TO_TEXT_OPTION_INDENT, &made, &problem);
  const Diagnostic diagnostic(problem);
  if (result != SPV_SUCCESS)
    return Error{"SPIRV-Tools cannot read the module: " + text_of(diagnostic)};
  std::string text(made->str, made->length);
  spvTextDestroy(made);
  return text;
}

Status validate_spirv(std::span<const uint32_t> words) {
  const ToolsContext context(spvContextCreate(environment_of(words)));
  spv_validator_options options = spvValidatorOptionsCreate();
  spvValidatorOptionsSetSkipBlockLayout(options, true);
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic problem = nullptr;
  const spv_result_t result = spvValidateWithOptions(context.get(), options, &binary, &problem);
  const Diagnostic diagnostic(problem);
  spvValidatorOptionsDestroy(options);
  if (result == SPV_SUCCESS) return {};
  return Error{text_of(diagnostic)};
}

}  // namespace tally::analysis
