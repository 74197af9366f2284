// Shared by all commands of `tally`: their declaration, messages and exit statuses.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace tally::cli {

// 0: success. 1: success, and the answer is no (`doctor` found a problem, there is no device, a
// report has nothing to show, `diff` found a difference). 2: failure.
inline constexpr int kDone = 0;
inline constexpr int kNo = 1;
inline constexpr int kFailed = 2;
// The exit status of `--strict` for an incomplete capture.
inline constexpr int kIncomplete = 4;

// The exit status of `check` for counts outside of their limits. There 1 is a failure of Tally or
// of the capture, and 2 a wrong input.
inline constexpr int kRegression = 3;

// Formats help with a custom usage line.
class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }
  const std::string& usage() const { return usage_; }

 private:
  std::string usage_;
};

// Runs the chosen command; returns the exit status, or the error that main() prints.
using Action = std::function<Result<int>()>;

// `after_dashes` holds the arguments after "--".
void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes);
void add_report(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_extract(CLI::App& app, Action& chosen);
void add_diff(CLI::App& app, Action& chosen);
void add_snapshot(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_coverage(CLI::App& app, Action& chosen);
void add_export(CLI::App& app, Action& chosen);
void add_merge(CLI::App& app, Action& chosen);
void add_top(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes);
void add_trigger(CLI::App& app, Action& chosen);
void add_calibrate(CLI::App& app, Action& chosen);
void add_predict(CLI::App& app, Action& chosen);
void add_list(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_vulkan_probe(CLI::App& app, Action& chosen);  // internal, see doctor/probe.h
void add_egl_probe(CLI::App& app, Action& chosen);     // internal, see doctor/probe.h

// All commands of `tally`, declared once: main() parses with them, and the manual pages and shell
// completions are made from them.

// Declares the program and its commands. `chosen` is set by the parsing; it and `app` must outlive
// it. `after_dashes` holds the arguments after "--".
void add_commands(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes);

// The commands that users see, in the order of the help.
std::vector<CLI::App*> visible_commands(CLI::App& app);

// The options of the program or of a command, without its positional arguments.
std::vector<CLI::Option*> options_of(CLI::App& command);

// " (did you mean --sort?)" for a slip in the name of an option, or nothing.
std::string similar_option(CLI::App& command, const std::string& option);

// The help text with lines of at most `width` cells: a description goes on below its beginning.
std::string wrapped_help(const std::string& help, size_t width);

// Prints one line, "tally: ...", to standard error. Control characters are replaced.
void say(const std::string& text);

// Prints the error and returns kFailed.
int fail(const Error& error);

// Writes a result to standard output. Returns kFailed if the write fails (a full disk).
int print(const std::string& text);

// A progress line on the terminal. It appears only if standard error is a terminal and the work
// takes a while; it is erased at the end.

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(double fraction);  // from 0 to 1

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool on_terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace tally::cli
