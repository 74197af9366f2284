// SPIR-V modules in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::test {

// Word indices [begin, end) of a module anywhere in `words`, as programs contain them in their
// data. A module ends with its last function.
struct WordRange {
  size_t begin, end;
};
std::vector<WordRange> find_modules(std::span<const uint32_t> words);

// Reads the words of a file, without trailing bytes of an incomplete word.
Result<std::vector<uint32_t>> read_words(const std::string& path);
Status write_words(const std::string& path, std::span<const uint32_t> words);

// The *.spv files of a folder, sorted by name.
std::vector<std::string> module_files(const std::string& folder);

}  // namespace tally::test
