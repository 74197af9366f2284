// Hints about the program of a command line: which program it is, and why it may not have created a
// Vulkan device that Tally could see.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tally::cli {

// The program that a launcher such as env or xvfb-run starts, if it can be found in `search_path`
// (a list like PATH); else the first word.
std::string program_of(const std::vector<std::string>& command_line,
                       const std::string& search_path);

// A sentence, or nullopt if the file looks right. `program` is searched in `search_path` (a list
// like PATH).
std::optional<std::string> why_no_layer_was_loaded(const std::string& program,
                                                   const std::string& search_path);

}  // namespace tally::cli
