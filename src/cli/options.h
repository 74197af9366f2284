// What the commands that show captures have in common: options and output.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>

#include "analysis/source/shader_source.h"
#include "report/output.h"

namespace tally::cli {

// The terminal's width in cells, or a default where standard output is not a terminal.
size_t terminal_width();

// Accepts a number from 0. CLI11 itself converts "-1" to the largest number.
CLI::Validator whole_number();

// Adds `--source KIND`. `choice` must outlive the parsing.
void add_source_option(CLI::App& command, analysis::SourceChoice& choice);

// Writes to standard output. Returns kFailed if the write fails.
int write_out(const std::function<void(const report::Output&)>& write);

}  // namespace tally::cli
