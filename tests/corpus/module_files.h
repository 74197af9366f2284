// SPIR-V modules in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::test {

// Word indices [begin, end) of the modules that stand somewhere in `words`, as programs hold them
// in their data. A module ends where its last function does.
struct WordRange {
  size_t begin, end;
};
std::vector<WordRange> find_modules(std::span<const uint32_t> words);

// The words of a file, bytes beyond the last whole one left out.
Result<std::vector<uint32_t>> read_words(const std::string& path);
Status write_words(const std::string& path, std::span<const uint32_t> words);

// The *.spv files of a folder, sorted by name.
std::vector<std::string> module_files(const std::string& folder);

}  // namespace tally::test
