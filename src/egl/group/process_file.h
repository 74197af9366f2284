// A file of /proc/self that stays open: opening it takes longer than reading it.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

#include "base/kept_fd.h"

namespace tally::egl {

// Used by one thread at a time.
class ProcessFile {
 public:
  // Opens `path` when it is first used.
  explicit ProcessFile(const char* path) : path_(path) {}

  // The current contents of the file, in `memory`. Empty if it cannot be read.
  std::string_view read(std::span<char> memory);
  // Directories have a link for each of their directories, one for themselves and one for their
  // name. 0 if it cannot be opened.
  nlink_t links();

 private:
  // The descriptor of this process's file, or -1.
  int descriptor();

  const char* path_;
  KeptFd file_;
  pid_t process_ = 0;  // that opened it: a child process has the files of its parent
};

}  // namespace tally::egl
