// `tally run --replace SHADER=FILE`: compiles the files to SPIR-V before the application starts,
// for the capture layer (capture/base/replacements.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::cli {

// Errors that the option alone shows.
Status check_replacements(const std::vector<std::string>& replacements);

struct PreparedReplacements {
  std::string list;                   // the file for the layer; empty: nothing is to be replaced
  std::vector<std::string> problems;  // why files are not used, a line each
};

// Writes the list and the SPIR-V into `folder`. Files that cannot be compiled, or are not valid,
// have no SPIR-V in the list.
Result<PreparedReplacements> prepare_replacements(const std::vector<std::string>& replacements,
                                                  const std::filesystem::path& folder);

}  // namespace tally::cli
