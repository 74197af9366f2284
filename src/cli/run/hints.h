// Programs that run another program in a container: it may see neither Tally's files nor the socket
// of `tally run`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/environment.h"

namespace tally::cli {

// The folders that a program in a container has to see.
struct NeededFolders {
  std::filesystem::path prefix;  // that Tally is installed in: the layers, to read
  std::filesystem::path socket;  // TMPDIR or /tmp, to write: the socket has a new name in each run
};

// Advice on what to add to the command line, if a program of it runs the application in a
// container. That program may be a script, found in `search_path`, which runs another one that
// does.
std::optional<std::string> container_advice(const std::vector<std::string>& command_line,
                                            const std::string& search_path,
                                            const NeededFolders& folders);

// Hints about the program of a command line: which program it is, and why it may not have created a
// Vulkan device that Tally could see.

// The program that a launcher such as env or xvfb-run starts, if it can be found in `search_path`
// (a list like PATH); else the first word.
std::string program_of(const std::vector<std::string>& command_line,
                       const std::string& search_path);

// The beginning of a file: enough of a script to see what it runs.
std::string beginning_of(const std::string& file);

// How a user whose shell has this PATH calls this program: by its name if PATH finds it, else by
// its path.
std::string own_command(const std::string& search_path);

// A sentence, or nullopt if the program of the command line looks right in this environment, whose
// PATH finds it.
std::optional<std::string> why_no_layer_was_loaded(
    const std::string& program, const Environment& environment,
    const std::vector<std::string>& command_line = {});

}  // namespace tally::cli
