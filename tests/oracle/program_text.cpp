#include "oracle/program_text.h"

namespace tally::test {

std::string ProgramText::constant(uint32_t value) {
  if (value < 64) return fmt::format("%c{}", value);
  const std::string id = fresh("k");
  constants_ += fmt::format("{} = OpConstant %uint {}\n", id, value);
  return id;
}

std::string ProgramText::constant(const std::string& type, uint32_t value) {
  if (type == "%uint") return constant(value);
  const std::string id = fresh("k");
  constants_ += fmt::format("{} = OpConstant %int {}\n", id, static_cast<int32_t>(value));
  return id;
}

void ProgramText::begin_function() {
  body_.clear();
  variables_.clear();
  current_ = entry_ = fresh("entry");
}

std::string ProgramText::end_function(uint32_t index) const {
  return fmt::format(
      "%f{} = OpFunction %uint None %uint_function\n%x{} = OpFunctionParameter %uint\n"
      "{} = OpLabel\n%v{} = OpVariable %function_uint Function\n{}OpStore %v{} %x{}\n{}"
      "OpFunctionEnd\n",
      index, index, entry_, index, variables_, index, index, with_own_variable(index));
}

// Statements use the working variable %v; each function has its own.
std::string ProgramText::with_own_variable(uint32_t index) const {
  std::string text;
  for (size_t at = 0; at < body_.size();) {
    const size_t found = body_.find("%v", at);
    if (found == std::string::npos) return text + body_.substr(at);
    const size_t after = found + 2;
    text += body_.substr(at, after - at);
    if (after < body_.size() && (body_[after] == ' ' || body_[after] == '\n')) {
      text += std::to_string(index);
    }
    at = after;
  }
  return text;
}

void ProgramText::label(const std::string& id) {
  line("{} = OpLabel", id);
  current_ = id;
}

std::string ProgramText::new_variable(const std::string& type) {
  const std::string variable = fresh("n");
  variables_ += fmt::format("{} = OpVariable %function_{} Function\n", variable, type.substr(1));
  return variable;
}

size_t ProgramText::count_of(const std::string& part) const {
  size_t count = 0;
  for (size_t at = body_.find(part); at != std::string::npos; at = body_.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace tally::test
