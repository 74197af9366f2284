// All commands of `tally`, declared once: main() parses with them, and the manual pages and shell
// completions are made from them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"

namespace tally::cli {

// Declares the program and its commands. `chosen` is set by the parsing; it and `app` must outlive
// it. `after_dashes` holds the arguments after "--".
void add_commands(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes);

// The commands that users see, in the order of the help.
std::vector<CLI::App*> visible_commands(CLI::App& app);

// The options of the program or of a command, without its positional arguments.
std::vector<CLI::Option*> options_of(CLI::App& command);

}  // namespace tally::cli
