#include "cli/probe_process.h"

#include <fmt/format.h>

#include <chrono>

#include "cli/captured_run.h"
#include "cli/layers.h"

namespace tally::cli {
namespace {

constexpr std::chrono::seconds kLimit{60};

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t line = text.find_last_of('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

std::string describe_failure(const CapturedRun& run) {
  if (run.timed_out) return fmt::format("did not answer within {} s", kLimit.count());
  const std::string end = run.end.by_signal ? "was terminated by " + signal_name(run.end.number)
                                            : fmt::format("ended with status {}", run.end.number);
  const std::string words = last_line(run.standard_error);
  return words.empty() ? end : end + ", saying: " + words;
}

}  // namespace

Result<std::string> run_probe_process(const std::string& command, const Environment& environment) {
  const auto run =
      run_captured({own_executable().string(), command}, environment_strings(environment), kLimit);
  if (!run) return run.error();
  // The driver may write to standard output as well; the answer is the last line.
  std::string answer = last_line(run->standard_output);
  if (run->timed_out || run->end.by_signal || !answer.starts_with('{')) {
    return Error{describe_failure(*run)};
  }
  return answer;
}

}  // namespace tally::cli
