// Compares the listing of SPIR-V modules with what SPIRV-Tools prints, line by line. Modules that
// SPIRV-Tools does not parse are left out. Differences that are meant: line breaks in strings are
// "\n", what one extension took over from another has the newer suffix, and debugPrintfEXT a name.
#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/disassembly.h"
#include "corpus/module_files.h"

namespace {

using tally::spirv::Module;

// Empty if it cannot parse the module.
std::string text_of_tools(std::span<const uint32_t> words) {
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  spv_text text = nullptr;
  spv_diagnostic diagnostic = nullptr;
  const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_NO_HEADER |
                           SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES |
                           SPV_BINARY_TO_TEXT_OPTION_INDENT;
  std::string out;
  if (spvBinaryToText(context, words.data(), words.size(), options, &text, &diagnostic) ==
      SPV_SUCCESS) {
    out.assign(text->str, text->length);
  }
  spvTextDestroy(text);
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  return out;
}

std::vector<std::string> instructions_of(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      if (quoted) {
        line += "\\n";
      } else {
        lines.push_back(std::move(line));
        line.clear();
      }
      continue;
    }
    line += c;
    if (c == '"') quoted = !quoted;
    if (c == '\\' && quoted && i + 1 < text.size()) line += text[++i];
  }
  return lines;
}

// Without the suffixes of names, and the one instruction that SPIRV-Tools 2023.1 does not name.
std::string without_vendors(const std::string& line) {
  static const std::regex kSuffix("(NV|EXT|KHR|ARM|QCOM|GOOGLE)(?![A-Za-z0-9])");
  static const std::regex kSuffixInName("(NV|EXT|KHR|ARM|QCOM|GOOGLE)(?=_)");
  static const std::regex kPrintf("(OpExtInst %\\w+ %\\w+) DebugPrintf( |$)");
  std::string text = std::regex_replace(line, kPrintf, "$1 1$2");
  text = std::regex_replace(text, kSuffix, "");
  text = std::regex_replace(text, kSuffixInName, "");
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

bool is_same(const std::string& ours, const std::string& theirs) {
  return ours == theirs || without_vendors(ours) == without_vendors(theirs);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compares listings of SPIR-V modules with those of SPIRV-Tools."};
  std::vector<std::string> folders;
  size_t at_least = 1;
  app.add_option("folders", folders, "Folders with *.spv files")->required();
  app.add_option("--at-least", at_least, "Fail if fewer modules can be compared");
  CLI11_PARSE(app, argc, argv);
  size_t compared = 0, different = 0;
  for (const std::string& folder : folders) {
    for (const std::string& path : tally::test::module_files(folder)) {
      const auto words = tally::test::read_words(path);
      const auto module = words ? Module::parse(*words) : tally::Result<Module>(words.error());
      const std::string text = module ? text_of_tools(*words) : "";
      if (text.empty()) continue;
      ++compared;
      const std::vector<std::string> theirs = instructions_of(text);
      const std::vector<std::string> ours = tally::analysis::disassemble(*module);
      size_t line = 0;
      while (line < ours.size() && line < theirs.size() && is_same(ours[line], theirs[line])) {
        ++line;
      }
      if (line == ours.size() && line == theirs.size()) continue;
      ++different;
      fmt::print("{}:{}:\n  {}\n  {}\n", path, line + 1,
                 line < ours.size() ? ours[line] : "(nothing)",
                 line < theirs.size() ? theirs[line] : "(nothing)");
    }
  }
  fmt::print("{} modules compared, {} differ\n", compared, different);
  return different != 0 || compared < at_least;
}
