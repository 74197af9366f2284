#include "cli/run/run_end.h"

#include <fmt/format.h>

#include "analysis/tables/analyzer.h"
#include "cli/files.h"
#include "report/table/display_text.h"
#include "report/table/header.h"

namespace tally::cli {
namespace {

constexpr size_t kMaxReasons = 5;

std::string exit_signal(const platform::ChildEnd& end) {
  return fmt::format("the application was terminated by {}{}; exit status {}",
                     platform::signal_name(end.number), end.core_dumped ? " (core dumped)" : "",
                     end.shell_status());
}

std::vector<std::string> no_device(const RunEnd& end) {
  std::vector<std::string> lines = {
      fmt::format("{} created no Vulkan device and no EGL context for GL, so nothing was captured",
                  end.program)};
  lines.insert(lines.end(), end.hints.begin(), end.hints.end());
  return lines;
}

std::string failure(const RunEnd& end) {
  return (end.has_capture() ? "the capture is incomplete: " : "the capture cannot be written: ") +
         end.written.error().message;
}

void add_summary(const RunEnd& end, std::vector<std::string>& lines) {
  const analysis::Summary& summary = *end.summary;
  const std::string nothing = analysis::why_empty(summary);
  lines.push_back(nothing.empty() ? fmt::format("{} on {}", report::amounts(summary),
                                                report::device_names(summary))
                                  : nothing);
  if (const std::string frames = report::frames_line(summary); !frames.empty())
    lines.push_back("frames " + frames);
  if (const std::string shaders = report::shaders_line(summary); !shaders.empty())
    lines.push_back(shaders);
  for (const std::string& line : report::replaced_lines(summary))
    lines.push_back("replaced: " + line);
  if (const std::string hint = report::names_hint(summary); !hint.empty())
    lines.push_back("names: " + hint);
  for (const std::string& line : report::uncounted_lines(summary, kMaxReasons))
    lines.push_back("  not counted: " + line);
  for (const store::MessageRow& message : summary.messages) {
    if (message.severity != store::Severity::Info) lines.push_back("  " + message.text);
  }
  lines.push_back(written_line("capture", end.file));
  lines.push_back(fmt::format("next: {} report {}", end.tally, report::shell_word(end.file)));
  lines.insert(lines.end(), end.refusals.begin(), end.refusals.end());
}

}  // namespace

std::vector<std::string> messages(const RunEnd& end, bool quiet) {
  std::vector<std::string> lines;
  if (!quiet && end.application.by_signal) lines.push_back(exit_signal(end.application));
  if (!end.written) lines.push_back(failure(end));
  if (!end.has_capture()) {
    if (!end.written) return lines;
    if (end.connected) lines.push_back(end.summary.error().message);
    if (quiet || end.connected) return lines;
    for (std::string& line : no_device(end)) lines.push_back(std::move(line));
    return lines;
  }
  if (!quiet) add_summary(end, lines);
  for (const std::string& line : report::not_replaced_lines(*end.summary))
    lines.push_back("not replaced: " + line);
  for (const std::string& line : report::missing_lines(*end.summary))
    lines.push_back("missing: " + line);
  return lines;
}

}  // namespace tally::cli
