// Shared by the commands that show captures: options and output.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/diff/profile.h"
#include "analysis/model/device_model.h"
#include "analysis/model/model.h"
#include "analysis/source/shader_source.h"
#include "base/status.h"
#include "report/table/output.h"

namespace tally::cli {

// The width of lines in cells: COLUMNS if it is set, else the terminal's, or a default where
// standard output is not a terminal.
size_t terminal_width();

// Accepts a number from 0. CLI11 itself converts "-1" to the largest number.
CLI::Validator whole_number();

// Accepts one of the words. They are the validator's name, separated by spaces: shell completion
// takes them from there (words_of).
CLI::Validator one_of(const std::vector<std::string>& words);

// The words that an option with one_of() accepts; none of other options.
std::vector<std::string> words_of(CLI::Option& option);

// Adds `--source KIND`. `choice` must outlive the parsing.
void add_source_option(CLI::App& command, analysis::SourceChoice& choice);

// Adds `--device FILE`: the table of weights of the metric `cost`. `device` must outlive the
// parsing; null without the option.
void add_device_option(CLI::App& command, std::shared_ptr<const analysis::DeviceCosts>& device);

// Writes to standard output. Returns kFailed if the write fails.
int write_out(const std::function<void(const report::Output&)>& write);

// Where the user names no capture, a command reads the newest one of the current folder, and names
// it on standard error.

// `file` stays if it is not empty.
Status default_to_newest(std::string& file);
Status default_to_newest(std::vector<std::string>& files);

// The two newest, the older one first. Where only `before` is given, `after` becomes the newest.
Status default_to_newest(std::string& before, std::string& after);

// Loads captures for `tally diff`, `tally snapshot` and `tally check`.

// It is an error if the capture holds no Vulkan commands. Without a device, its costs are generic.
Result<analysis::Profile> load_profile(
    const std::string& file, const analysis::ProfileOptions& options,
    const std::shared_ptr<const analysis::DeviceCosts>& device = nullptr);

// Writes the HTML report of a capture: `tally report --html` and `tally run --html`.

struct HtmlReport {
  std::string file;  // to write
  std::string capture;
  std::string against;  // the old capture; empty: none
  analysis::Selection selection;
  analysis::SourceOptions sources;
  bool force = false;
  bool quiet = false;  // does not say what it has written
};

// Says what is wrong; returns the exit status.
Result<int> write_html_report(const HtmlReport& report);

}  // namespace tally::cli
