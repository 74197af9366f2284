// The texts of source files that debug information only names, as `tally run --sources` found them.
// They are in the table `source_file`, which other captures do not have.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "store/read/reader.h"

namespace tally::store {

struct SourceText {
  std::string name;  // as recorded in the shaders
  std::string text;
};

// Adds the texts to a finished capture. A name that it has already keeps its text.
Status add_source_texts(const std::string& capture, const std::vector<SourceText>& texts);

// Empty if the capture has no such table.
Result<std::vector<SourceText>> source_texts(const Reader& reader);

}  // namespace tally::store
