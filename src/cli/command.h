// What the commands of `tally` have in common: how they are declared, how they speak, how they end.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace tally::cli {

// 0: done. 1: done, and the answer is no (`doctor` found a problem, there is no device, a report
// has nothing to show). 2: could not be done.
inline constexpr int kDone = 0;
inline constexpr int kNo = 1;
inline constexpr int kFailed = 2;
// What `--strict` gives for a capture that does not hold everything.
inline constexpr int kIncomplete = 4;

// Help with a usage line of its own.
class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

// What the chosen command does; the result is the exit status.
using Action = std::function<int()>;

// `after_dashes`: the arguments behind "--".
void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes);
void add_report(CLI::App& app, Action& chosen);
void add_list(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_vulkan_probe(CLI::App& app, Action& chosen);  // internal, see vulkan_probe.h
void add_egl_probe(CLI::App& app, Action& chosen);     // internal, see egl_probe.h

// One line on standard error, "tally: ...". Control characters in it are made visible.
void say(const std::string& text);

// Says why and gives kFailed.
int fail(const Error& error);

// Writes a result to standard output. kFailed where that cannot take it (a full disk).
int print(const std::string& text);

}  // namespace tally::cli
