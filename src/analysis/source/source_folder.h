// Finds source files that debug information only names, in a folder of the user.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tally::analysis {

class SourceFolder {
 public:
  // Lists the files below the folder, without hidden folders and without following links to
  // folders.
  static Result<SourceFolder> open(const std::string& path);

  struct Match {
    std::string text;
    std::vector<std::string> candidates;  // if several files match equally well; `text` is empty
  };
  // The file whose path shares the most components with `name`, from the end; at least the last.
  // Nullopt if there is none, or if it cannot be read or is too large.
  std::optional<Match> find(std::string_view name) const;

 private:
  std::string path_;
  std::multimap<std::string, std::string> by_title_;  // relative paths by last component
};

}  // namespace tally::analysis
