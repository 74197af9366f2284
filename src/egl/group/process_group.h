// The process as the kernel sees it, and its GPU usage where the kernel driver reports it
// (group/drm_usage.h).
#pragma once

#include "egl/group/drm_usage.h"
#include "egl/group/group.h"
#include "egl/group/process_file.h"

namespace tally::egl {

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
