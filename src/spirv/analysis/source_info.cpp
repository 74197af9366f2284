#include "spirv/analysis/source_info.h"

#include <fmt/format.h>
#include <spirv/unified1/NonSemanticShaderDebugInfo100.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace tally::spirv {
namespace {

// Longer names are cut: many ids may share one string, and memory must stay proportional to the
// module.
constexpr size_t kNameLimit = 1024;

// Operands of an OpExtInst: set, instruction, then the arguments.
constexpr size_t kFirstArgument = 2;

bool has_debug_functions(ExtInstSet set) {
  return set == ExtInstSet::ShaderDebugInfo100 || set == ExtInstSet::OpenClDebugInfo100;
}

// glslang inserts comments about its options and "#line 1" before the text.
std::string_view without_preamble(std::string_view text) {
  std::string_view rest = text;
  while (rest.starts_with("// OpModuleProcessed")) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return text;
    rest.remove_prefix(end + 1);
  }
  constexpr std::string_view kLineOne = "#line 1\n";
  return rest.size() < text.size() && rest.starts_with(kLineOne) ? rest.substr(kLineOne.size())
                                                                 : text;
}

// glslang appends the parameter types to a function's name: "shade(vf4;".
std::string_view without_parameters(std::string_view name) {
  const size_t parameters = name.find('(');
  return parameters == 0 ? name : name.substr(0, parameters);
}

}  // namespace

SourceInfo::SourceInfo(const Module& module)
    : module_(&module), text_left_(module.words().size() * sizeof(uint32_t)) {
  const size_t end = module.declarations_end();
  for (size_t index = 0; index < end; ++index) read(module.instruction(index));
  for (SourceFile& file : files_) {
    const std::string_view text = without_preamble(file.text);
    if (text.size() < file.text.size()) file.text = std::string(text);
  }
  read_definitions();
}

void SourceInfo::read(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case spv::Op::OpSource:
      return read_source(instruction);
    case spv::Op::OpSourceContinued:
      if (continued_file_ != kNone) add_text(continued_file_, instruction.string(0));
      return;
    case spv::Op::OpExtInst: {
      const ExtInstSet set = module_->ext_inst_set(instruction.operand(0));
      if (has_debug_functions(set)) read_debug(instruction, set);
      return;
    }
    default:
      return;
  }
}

// Language, version, and optionally file and text.
void SourceInfo::read_source(const Instruction& source) {
  continued_file_ = source.operand_count() > 2 ? add_file(source.operand(2)) : kNone;
  if (continued_file_ == kNone || source.operand_count() <= 3) return;
  const bool is_known = !files_[continued_file_].text.empty();
  if (is_known) {
    continued_file_ = kNone;
  } else {
    add_text(continued_file_, source.string(3));
  }
}

void SourceInfo::read_debug(const Instruction& instruction, ExtInstSet set) {
  const auto argument = [&](size_t index) { return instruction.operand(kFirstArgument + index); };
  switch (instruction.operand(1)) {
    case NonSemanticShaderDebugInfo100DebugSource: {
      const uint32_t file = add_file(argument(0));
      if (file != kNone) file_by_id_[instruction.result_id()] = file;
      continued_file_ = file != kNone && files_[file].text.empty() ? file : kNone;
      if (continued_file_ != kNone) add_text(file, string_of(argument(1), text_left_));
      return;
    }
    case NonSemanticShaderDebugInfo100DebugSourceContinued:
      if (continued_file_ != kNone) add_text(continued_file_, string_of(argument(0), text_left_));
      return;
    case NonSemanticShaderDebugInfo100DebugFunction: {
      const auto source_function = static_cast<uint32_t>(source_functions_.size());
      source_functions_.push_back(string_of(argument(0), kNameLimit));
      const auto file = file_by_id_.find(argument(2));
      function_files_.push_back(file == file_by_id_.end() ? kNone : file->second);
      function_by_debug_id_[instruction.result_id()] = source_function;
      // The older set has the function as an operand; the newer one has DebugFunctionDefinition.
      if (set == ExtInstSet::OpenClDebugInfo100) function_by_id_[argument(9)] = source_function;
      return;
    }
    default:
      return;
  }
}

// DebugFunctionDefinition is in the entry block of its function.
void SourceInfo::read_definitions() {
  if (function_by_debug_id_.empty()) return;
  for (const Function& function : module_->functions()) {
    if (function.block_count == 0) continue;
    const BlockRange& entry = module_->blocks_of(function).front();
    for (uint32_t index = entry.begin; index < entry.end; ++index) {
      const Instruction instruction = module_->instruction(index);
      const bool is_definition =
          instruction.opcode() == spv::Op::OpExtInst &&
          instruction.operand(1) == NonSemanticShaderDebugInfo100DebugFunctionDefinition &&
          module_->ext_inst_set(instruction.operand(0)) == ExtInstSet::ShaderDebugInfo100;
      if (!is_definition) continue;
      const auto found = function_by_debug_id_.find(instruction.operand(kFirstArgument));
      if (found != function_by_debug_id_.end()) function_by_id_[function.id] = found->second;
      break;
    }
  }
}

uint32_t SourceInfo::add_file(uint32_t string_id) {
  const auto known = file_by_id_.find(string_id);
  if (known != file_by_id_.end()) return known->second;
  if (module_->opcode_of(string_id) != spv::Op::OpString) return kNone;
  std::string name = string_of(string_id, kNameLimit);
  if (name.starts_with("./")) name.erase(0, 2);
  const auto [found, is_new] =
      file_by_name_.try_emplace(name, static_cast<uint32_t>(files_.size()));
  if (is_new) files_.push_back({std::move(name), {}});
  file_by_id_[string_id] = found->second;
  return found->second;
}

void SourceInfo::add_text(uint32_t file, std::string_view text) {
  const std::string_view taken = text.substr(0, text_left_);
  files_[file].text += taken;
  text_left_ -= taken.size();
}

std::string SourceInfo::string_of(uint32_t string_id, size_t limit) const {
  const std::optional<Instruction> string = module_->definition(string_id);
  if (!string || string->opcode() != spv::Op::OpString) return {};
  return string->string(0, limit);
}

std::string SourceInfo::function_name(uint32_t function_id) const {
  const auto found = function_by_id_.find(function_id);
  if (found != function_by_id_.end() && !source_functions_[found->second].empty()) {
    return source_functions_[found->second];
  }
  std::string name(without_parameters(module_->name_of(function_id)));
  if (name.size() > kNameLimit) name.resize(kNameLimit);
  return name.empty() ? fmt::format("%{}", function_id) : name;
}

uint32_t SourceInfo::file_of_function(uint32_t function_id) const {
  const auto found = function_by_id_.find(function_id);
  return found == function_by_id_.end() ? kNone : function_files_[found->second];
}

uint32_t SourceInfo::function_of_scope(uint32_t scope) const {
  // Bounded, because the scopes of a hostile module may be cyclic.
  for (int depth = 0; depth < 256; ++depth) {
    const auto found = function_by_debug_id_.find(scope);
    if (found != function_by_debug_id_.end()) return found->second;
    const std::optional<Instruction> block = module_->definition(scope);
    if (!block || block->opcode() != spv::Op::OpExtInst) return kNone;
    switch (block->operand(1)) {
      case NonSemanticShaderDebugInfo100DebugLexicalBlock:
        scope = block->operand(kFirstArgument + 3);
        break;
      case NonSemanticShaderDebugInfo100DebugLexicalBlockDiscriminator:
        scope = block->operand(kFirstArgument + 2);
        break;
      default:
        return kNone;
    }
  }
  return kNone;
}

InlinedAt SourceInfo::inlined_at(uint32_t id) const {
  const std::optional<Instruction> at = module_->definition(id);
  if (!at || at->opcode() != spv::Op::OpExtInst ||
      at->operand(1) != NonSemanticShaderDebugInfo100DebugInlinedAt)
    return {};
  InlinedAt call{.caller = function_of_scope(at->operand(kFirstArgument + 1)),
                 .inlined_at = at->operand(kFirstArgument + 2)};
  const auto line =
      static_cast<uint32_t>(module_->constant_value(at->operand(kFirstArgument)).value_or(0));
  const uint32_t file = call.caller == kNone ? kNone : function_files_[call.caller];
  if (line != 0 && file != kNone) call.location = SourceLocation{file, line, 0, line};
  return call;
}

// --- LineCursor

void LineCursor::advance(const Instruction& instruction) {
  if (at_end_) {
    *this = LineCursor(*info_);
  }
  switch (instruction.opcode()) {
    case spv::Op::OpLine:
      return set_line(instruction);
    case spv::Op::OpNoLine:
      return withdraw(Origin::Line);
    case spv::Op::OpExtInst:
      return set_debug(instruction);
    case spv::Op::OpFunctionEnd:
      at_end_ = true;
      return;
    default:
      at_end_ = is_terminator(instruction.opcode());
  }
}

void LineCursor::withdraw(Origin origin) {
  if (origin_ != origin) return;
  place_.location.reset();
  origin_ = Origin::None;
}

void LineCursor::begin_line(Origin origin) {
  if (scope_ended_) place_ = {};
  scope_ended_ = false;
  place_.location.reset();
  origin_ = origin;
}

void LineCursor::set_line(const Instruction& line) {
  begin_line(Origin::Line);
  const uint32_t file = info_->file_of(line.operand(0));
  if (file == kNone || line.operand(1) == 0) return;
  place_.location = SourceLocation{file, line.operand(1), line.operand(2), line.operand(1)};
}

void LineCursor::set_debug(const Instruction& instruction) {
  const ExtInstSet set = info_->module().ext_inst_set(instruction.operand(0));
  if (!has_debug_functions(set)) return;
  switch (instruction.operand(1)) {
    case NonSemanticShaderDebugInfo100DebugScope:
      place_.source_function = info_->function_of_scope(instruction.operand(kFirstArgument));
      place_.inlined_at = instruction.operand(kFirstArgument + 1);
      scope_ended_ = false;
      return;
    case NonSemanticShaderDebugInfo100DebugNoScope:
      scope_ended_ = true;
      return;
    case NonSemanticShaderDebugInfo100DebugLine:
      return set_debug_line(instruction);
    case NonSemanticShaderDebugInfo100DebugNoLine:
      return withdraw(Origin::DebugLine);
    default:
      return;
  }
}

void LineCursor::set_debug_line(const Instruction& line) {
  begin_line(Origin::DebugLine);
  const auto number = [&](size_t argument) {
    const uint32_t id = line.operand(kFirstArgument + argument);
    return static_cast<uint32_t>(info_->module().constant_value(id).value_or(0));
  };
  const uint32_t file = info_->file_of(line.operand(kFirstArgument));
  const uint32_t first = number(1);
  if (file == kNone || first == 0) return;
  place_.location = SourceLocation{file, first, number(3), std::max(first, number(2))};
}

namespace {

// Empty lines that numbers may add to the texts of a module.
constexpr uint64_t kMaxAddedLines = 2 * uint64_t{kMaxNumberedLine};
// Where a line may be, if directives depend on conditions.
constexpr size_t kMaxPositions = 8;
constexpr uint32_t kOtherFile = ~0u;

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\v\f");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\v\f") - first + 1);
}

// Calls `visit(line)` for each line, without its end.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// True if the compiler may have made code of the line.
bool may_have_code(std::string_view line) {
  line = trimmed(line);
  return !line.empty() && !line.starts_with('#') && !line.starts_with("//");
}

// The text after the `#` of a directive; empty if the line is not a directive.
std::string_view after_hash(std::string_view line) {
  line = trimmed(line);
  return line.starts_with('#') ? trimmed(line.substr(1)) : std::string_view();
}

// `#line 5 "a"`, or `# 5 "a"` as preprocessors write it.
bool is_line_directive(std::string_view words) {
  if (words.empty()) return false;
  if (words[0] >= '0' && words[0] <= '9') return true;
  return words.starts_with("line") && (words.size() == 4 || words[4] == ' ' || words[4] == '\t');
}

bool has_line_directive(std::string_view text) {
  bool found = false;
  for_each_line(text, [&](std::string_view line) {
    found =
        found || (line.find('#') != std::string_view::npos && is_line_directive(after_hash(line)));
  });
  return found;
}

size_t line_count(std::string_view text) {
  const auto ends = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (!text.empty() && text.back() != '\n');
}

struct LineDirective {
  uint64_t line = 0;
  enum class Name { Same, Given, Number } kind = Name::Same;
  std::string name;
};

// The text after `#` or `#line`.
std::optional<LineDirective> parse_numbers(std::string_view rest) {
  LineDirective directive;
  rest = trimmed(rest);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), directive.line);
  if (error != std::errc()) return std::nullopt;
  rest = trimmed(rest.substr(static_cast<size_t>(end - rest.data())));
  if (rest.empty() || rest.starts_with("//")) return directive;
  if (rest.starts_with('"')) {
    const size_t close = rest.find('"', 1);
    if (close == std::string_view::npos) return std::nullopt;
    directive.kind = LineDirective::Name::Given;
    directive.name = rest.substr(1, close - 1);
    if (directive.name.starts_with("./")) directive.name.erase(0, 2);
    return directive;
  }
  const bool is_number = rest.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  directive.kind = LineDirective::Name::Number;
  return directive;
}

// "C:\\dir\\a.hlsl" as compilers of C's family read it.
std::string without_escapes(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\' && i + 1 < name.size()) ++i;
    result += name[i];
  }
  return result;
}

// Assigns the lines of all texts to files and numbers.
class LineNumbers {
 public:
  explicit LineNumbers(std::vector<SourceFile>& files) : files_(files), lines_(files.size()) {
    for (uint32_t f = 0; f < files.size(); ++f) names_.emplace(files[f].name, f);
  }

  void read(uint32_t file) {
    own_ = file;
    positions_ = {{file, 1}};
    depth_ = 0;
    in_comment_ = false;
    is_readable_ = true;
    found_.clear();
    for_each_line(files_[file].text, [this](std::string_view line) {
      if (is_readable_) read_line(line);
    });
    if (!is_readable_) return;
    for (const auto& [position, text] : found_) note(position, text);
  }

  // The texts as they are now numbered.
  void write(const std::vector<std::vector<uint32_t>>& code) {
    uint64_t left = kMaxAddedLines;
    std::vector<std::string> texts(files_.size());
    for (size_t f = 0; f < files_.size(); ++f) {
      if (!lines_[f].empty()) texts[f] = text_of(lines_[f], code[f], left);
    }
    for (size_t f = 0; f < files_.size(); ++f) files_[f].text = std::move(texts[f]);
  }

 private:
  struct Position {
    uint32_t file;
    uint64_t line;
    bool operator==(const Position&) const = default;
  };
  struct Line {
    std::string_view text;
    bool is_ambiguous = false;
  };
  using Lines = std::map<uint32_t, Line>;

  void read_line(std::string_view line) {
    const std::vector<Position> next = in_comment_ ? std::vector<Position>() : directive(line);
    for (Position& position : positions_) {
      if (next.empty() || position.file == own_) found_.emplace_back(position, line);
      ++position.line;
    }
    if (!next.empty() && depth_ == 0) positions_.clear();
    for (const Position& position : next) {
      if (std::ranges::find(positions_, position) == positions_.end())
        positions_.push_back(position);
    }
    if (positions_.size() > kMaxPositions) is_readable_ = false;
    skip_comments(line);
  }

  void note(const Position& position, std::string_view text) {
    const auto& [file, number] = position;
    if (file == kOtherFile || number == 0 || number > kMaxNumberedLine) return;
    if (text.ends_with('\r')) text.remove_suffix(1);
    const auto [known, is_new] =
        lines_[file].try_emplace(static_cast<uint32_t>(number), Line{text});
    Line& line = known->second;
    if (is_new || line.text == text || !may_have_code(text)) return;
    if (may_have_code(line.text)) {
      line.is_ambiguous = true;
    } else {
      line.text = text;
    }
  }

  // Where the next line is, if the line is a #line. Follows conditions.
  std::vector<Position> directive(std::string_view line) {
    const std::string_view words = after_hash(line);
    if (words.starts_with("if")) ++depth_;
    if (words.starts_with("endif") && depth_ > 0) --depth_;
    if (!is_line_directive(words)) return {};
    const auto parsed = parse_numbers(words.starts_with("line") ? words.substr(4) : words);
    if (!parsed) is_readable_ = false;
    return parsed ? positions_after(*parsed) : std::vector<Position>();
  }

  std::vector<Position> positions_after(const LineDirective& directive) const {
    std::vector<Position> next;
    if (directive.kind == LineDirective::Name::Given) {
      next.push_back({file_named(directive.name), directive.line});
      return next;
    }
    for (const Position& position : positions_) next.push_back({position.file, directive.line});
    if (directive.kind == LineDirective::Name::Number) next.push_back({own_, directive.line});
    return next;
  }

  uint32_t file_named(const std::string& name) const {
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.find(without_escapes(name));
    return found == names_.end() ? kOtherFile : found->second;
  }

  void skip_comments(std::string_view line) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string_view two = line.substr(i, 2);
      if (in_comment_ && two == "*/")
        in_comment_ = false, ++i;
      else if (!in_comment_ && two == "//")
        return;
      else if (!in_comment_ && two == "/*")
        in_comment_ = true, ++i;
    }
  }

  static std::string text_of(const Lines& lines, const std::vector<uint32_t>& code,
                             uint64_t& left) {
    std::string text;
    uint32_t last = 0;
    const auto add = [&](uint32_t number, std::string_view line) {
      const uint64_t added = number - last - 1;
      if (added > left) return;
      left -= added;
      text.append(added, '\n');
      text += line;
      text += '\n';
      last = number;
    };
    auto at = code.begin();
    const auto add_code_before = [&](uint32_t number) {
      for (; at != code.end() && *at < number; ++at) add(*at, kNoText);
    };
    for (const auto& [number, line] : lines) {
      add_code_before(number);
      const bool has_code = at != code.end() && *at == number;
      add(number, line.is_ambiguous ? has_code ? kNoText : std::string_view() : line.text);
      if (has_code) ++at;
    }
    add_code_before(kMaxNumberedLine + 1);
    return text;
  }

  std::vector<SourceFile>& files_;
  std::unordered_map<std::string, uint32_t> names_;
  std::vector<Lines> lines_;  // by file
  std::vector<std::pair<Position, std::string_view>> found_;
  // State of the text that is being read.
  uint32_t own_ = 0;
  std::vector<Position> positions_;  // of the next line
  int depth_ = 0;                    // of conditions
  bool in_comment_ = false, is_readable_ = true;
};

}  // namespace

void number_lines(std::vector<SourceFile>& files, std::span<const SourceLocation> code) {
  std::vector<std::vector<uint32_t>> lines(files.size());  // with code, by file
  for (const SourceLocation& location : code) {
    if (location.file < lines.size()) lines[location.file].push_back(location.line);
  }
  bool is_numbered = true;
  for (size_t f = 0; f < files.size(); ++f) {
    std::ranges::sort(lines[f]);
    lines[f].erase(std::unique(lines[f].begin(), lines[f].end()), lines[f].end());
    const std::string& text = files[f].text;
    const bool is_beyond = !text.empty() && !lines[f].empty() && lines[f].back() > line_count(text);
    is_numbered = is_numbered && !is_beyond && !has_line_directive(text);
  }
  if (is_numbered) return;
  LineNumbers numbers(files);
  for (uint32_t f = 0; f < files.size(); ++f) {
    if (!files[f].text.empty()) numbers.read(f);
  }
  numbers.write(lines);
}

}  // namespace tally::spirv
