#include "cli/command.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>
#include <unistd.h>
#include <vulkan/vulkan_core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <spirv/unified1/spirv.hpp11>
#include <sstream>
#include <string>

#include "base/text.h"
#include "platform/files.h"
#include "platform/process.h"
#include "report/html/page.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

#if defined(__x86_64__)
constexpr const char* kProcessor = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kProcessor = "arm64";
#else
constexpr const char* kProcessor = "another processor";
#endif

// The output of `tally --version`: the program's version, the sources and the compiler that it was
// built with, and the versions of SPIR-V, SPIRV-Tools and Vulkan's headers that it knows. Without a
// line break at the end.
std::string version_text() {
  const std::string sources = TALLY_BUILD;
  return fmt::format(
      "tally {}\nbuild: {}{}{} for {}\nSPIR-V {}.{}, SPIRV-Tools {}\nVulkan registry {}.{}.{}{}",
      TALLY_VERSION, sources, sources.empty() ? "" : ", ", kCompiler, kProcessor,
      spv::Version >> 16, spv::Version >> 8 & 0xff, spvSoftwareVersionString(),
      VK_API_VERSION_MAJOR(VK_HEADER_VERSION_COMPLETE),
      VK_API_VERSION_MINOR(VK_HEADER_VERSION_COMPLETE),
      VK_API_VERSION_PATCH(VK_HEADER_VERSION_COMPLETE),
      report::why_no_html().empty() ? "" : "\nwithout HTML reports");
}

}  // namespace

// A message that nobody can read is no reason to fail.
// At once: the C library of Windows would write a letter's bytes one by one.
void say(const std::string& text) {
  (void)platform::write_all(STDERR_FILENO, fmt::format("tally: {}\n", report::printable(text)));
}

int fail(const Error& error) {
  say(error.message);
  return kFailed;
}

int print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return kDone;
  return fail({fmt::format("cannot write to standard output: {}", std::strerror(errno))});
}

void add_commands(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes) {
  app.name("tally");
  app.description(
      "Exact counts of what shaders execute, for Vulkan and EGL applications on any driver.");
  app.set_version_flag("--version", version_text(),
                       "Print the version, source revision and libraries of this build");
  app.require_subcommand(0, 1);
  app.footer(
      "Start with: tally run -- APPLICATION. If that fails: tally doctor\n"
      "tally help COMMAND explains a command.");
  add_run(app, chosen, after_dashes);
  add_report(app, chosen);
  add_explain(app, chosen);
  add_extract(app, chosen);
  add_diff(app, chosen);
  add_snapshot(app, chosen);
  add_check(app, chosen);
  add_coverage(app, chosen);
  add_export(app, chosen);
  add_merge(app, chosen);
  add_top(app, chosen, after_dashes);
  add_trigger(app, chosen);
  add_calibrate(app, chosen);
  add_predict(app, chosen);
  add_list(app, chosen);
  add_doctor(app, chosen);
  add_vulkan_probe(app, chosen);
  add_egl_probe(app, chosen);
}

std::vector<CLI::App*> visible_commands(CLI::App& app) {
  // Without a group a command is not shown.
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<CLI::Option*> options_of(CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return !option->get_lnames().empty() || !option->get_snames().empty();
  });
}

std::string similar_option(CLI::App& command, const std::string& option) {
  std::vector<std::string> known;
  for (const CLI::Option* each : options_of(command)) {
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  }
  if (!option.starts_with("--")) return {};
  const std::string similar = similar_name(option.substr(0, option.find('=')), known);
  return similar.empty() ? similar : fmt::format(" (did you mean {}?)", similar);
}

namespace {

constexpr size_t kDescriptionColumn = 30;  // CLI11's

// Where the text of a line of help begins: at the column of descriptions, or after its indentation.
size_t text_column(const std::string& line) {
  const bool describes = line.size() > kDescriptionColumn && line[kDescriptionColumn] != ' ' &&
                         line[kDescriptionColumn - 1] == ' ' && line[0] == ' ';
  return describes ? kDescriptionColumn : line.find_first_not_of(' ');
}

}  // namespace

std::string wrapped_help(const std::string& help, size_t width) {
  std::string text;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    while (report::display_width(line) > width) {
      const size_t column = text_column(line);
      const size_t space = line.rfind(' ', width);
      if (space == line.npos || space <= column) break;
      text += line.substr(0, space) + "\n";
      line = std::string(column, ' ') + line.substr(space + 1);
    }
    text += line + "\n";
  }
  return text;
}

using namespace std::chrono_literals;

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      on_terminal_(platform::is_terminal(stderr)),
      next_(Clock::now() + 500ms) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::update(double fraction) {
  if (!on_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + 100ms;
  shown_ = true;
  std::fputs(fmt::format("\r\033[K{} {:3.0f}%", what_, 100 * fraction).c_str(), stderr);
}

}  // namespace tally::cli
