// Hints about the program of a command line: which program it is, and why it may not have created a
// Vulkan device that Tally could see.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/environment.h"

namespace tally::cli {

// The program that a launcher such as env or xvfb-run starts, if it can be found in `search_path`
// (a list like PATH); else the first word.
std::string program_of(const std::vector<std::string>& command_line,
                       const std::string& search_path);

// The file of a program that is searched in `search_path`; empty if there is none.
std::string find_program(const std::string& program, const std::string& search_path);

// The beginning of a file: enough of a script to see what it runs.
std::string beginning_of(const std::string& file);

// A sentence, or nullopt if the program looks right in this environment, whose PATH finds it.
std::optional<std::string> why_no_layer_was_loaded(const std::string& program,
                                                   const Environment& environment);

}  // namespace tally::cli
