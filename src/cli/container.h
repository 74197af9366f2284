// Programs that run another program in a container: it may see neither Tally's files nor the socket
// of `tally run`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace tally::cli
