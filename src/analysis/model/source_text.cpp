#include "analysis/model/source_text.h"

namespace tally::analysis {

std::string file_title(const spirv::BlockMap& map, uint32_t file) {
  if (file >= map.files().size()) return "source";
  const std::string& name = map.files()[file].name;
  const size_t slash = name.find_last_of("/\\");
  const std::string title = slash == std::string::npos ? name : name.substr(slash + 1);
  return title.empty() ? "source" : title;
}

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    start = end + 1;
  }
  return lines;
}

}  // namespace tally::analysis
