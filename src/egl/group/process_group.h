// The process as the kernel sees it, and its GPU usage where the kernel driver reports it
// (group/drm_usage.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "egl/group/group.h"
#include "platform/files.h"

namespace tally::egl {

// A file of /proc/self that stays open: opening it takes longer than reading it.

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

// This process's GPU usage as the kernel reports it: the DRM usage statistics in /proc/<pid>/fdinfo
// (kernel documentation: Documentation/gpu/drm-usage-stats.rst), for drivers that provide them.

struct DrmUsage {
  std::map<std::string, uint64_t> engine_ns;  // busy time by engine ("render", "video", ...)
  std::map<std::string, uint64_t>
      memory_bytes;  // resident memory by region ("vram0", "system", ...)
};

// Sums over the process's open DRM devices. Each client counts once, even if several descriptors
// share it. `process_folder` is /proc/self, or a copy of such a folder.
DrmUsage read_drm_usage(const std::string& process_folder);

class ProcessGroup final : public Group {
 public:
  ProcessGroup();

  // Appends engines and memory regions that the drivers have begun to report.
  void discover();

  void add_to_request(const std::vector<bool>&, CollectionRequest&) const override {}
  std::vector<uint64_t> read() override;

 private:
  enum class Added : uint8_t { Engine, Region };

  uint64_t resident_bytes();
  uint64_t thread_count();

  ProcessFile memory_{"/proc/self/statm"};
  ProcessFile threads_{"/proc/self/task"};
  const uint64_t page_bytes_;
  std::vector<std::pair<Added, std::string>> added_;  // the counters after the fixed ones
};

}  // namespace tally::egl
