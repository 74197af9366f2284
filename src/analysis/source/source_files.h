// The source files of a capture that its debug information only names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/shader_code.h"
#include "base/status.h"
#include "store/read/reader.h"

namespace tally::analysis {

// Finds source files that debug information only names, in a folder of the user.

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

// The texts that the capture stores with the shaders, by name.
Result<std::map<std::string, std::string>> stored_texts(const Model& model);

struct FoundTexts {
  std::vector<store::SourceText> texts;
  std::vector<std::string> missing;    // names without a file in the folder
  std::vector<std::string> ambiguous;  // names that several files match
};

// Looks for the files with code whose texts the shaders do not hold.
FoundTexts find_texts(const Model& model, const SourceFolder& folder);

// The text of a file of the map from elsewhere, as compilers number its lines
// (spirv/analysis/line_directives.h).
std::string numbered_text(const spirv::BlockMap& map, uint32_t file, std::string text);

// Indexed by file: whether a block has a line of it.
std::vector<bool> files_with_code(const spirv::BlockMap& map);

}  // namespace tally::analysis
