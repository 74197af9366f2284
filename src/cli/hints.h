// What a command line tells about the program that it runs, and the program's file about why it may
// have made no Vulkan device that Tally could see.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tally::cli {

// The program that matters: behind env, xvfb-run and their like, as far as it can be found in
// `search_path` (as PATH); else the first.
std::string program_of(const std::vector<std::string>& command_line,
                       const std::string& search_path);

// A sentence, or nothing where the file looks right. `program` is searched in `search_path` (as
// PATH).
std::optional<std::string> why_no_layer_was_loaded(const std::string& program,
                                                   const std::string& search_path);

}  // namespace tally::cli
