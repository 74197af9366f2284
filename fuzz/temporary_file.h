// A file that is rewritten for every input. A memfd cannot be used: SQLite opens files by name and
// follows links, so the file needs a name in a folder.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "expect.h"

namespace tally::fuzz {

class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / "tally_fuzz.XXXXXX") {
    file_ = ::mkstemp(path_.data());
    TALLY_FUZZ_EXPECT(file_ >= 0);
  }
  ~TemporaryFile() {
    ::close(file_);
    // SQLite leaves the others where it cannot read the file.
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path_ + suffix).c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  void write(std::span<const std::byte> bytes) const {
    TALLY_FUZZ_EXPECT(::ftruncate(file_, 0) == 0);
    TALLY_FUZZ_EXPECT(::pwrite(file_, bytes.data(), bytes.size(), 0) ==
                      static_cast<ssize_t>(bytes.size()));
  }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace tally::fuzz
