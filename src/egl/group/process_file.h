// A file of /proc/self that stays open: opening it takes longer than reading it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <span>
#include <string_view>

namespace tally::egl {

// Used by one thread at a time.
class ProcessFile {
 public:
  // Opens `path` when it is first used.
  explicit ProcessFile(const char* path) : path_(path) {}
  ~ProcessFile();
  ProcessFile(const ProcessFile&) = delete;
  ProcessFile& operator=(const ProcessFile&) = delete;

  // What the file now says, in `memory`. Empty if it cannot be read.
  std::string_view read(std::span<char> memory);
  // Directories have a link for each of their directories, one for themselves and one for their
  // name. 0 if it cannot be opened.
  nlink_t links();

 private:
  // Makes `file_` and `status_` those of this process's file.
  bool refresh();
  // The application may close any descriptor and open another file under its number.
  bool is_ours();

  const char* path_;
  int file_ = -1;
  pid_t process_ = 0;  // that opened it: a child process has the files of its parent
  struct stat status_ {};
};

}  // namespace tally::egl
