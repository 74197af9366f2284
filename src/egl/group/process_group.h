// The process as the kernel sees it, and its use of GPUs where the kernel's drivers tell
// (group/drm_usage.h).
#pragma once

#include "egl/group/drm_usage.h"
#include "egl/group/group.h"

namespace tally::egl {

class ProcessGroup final : public Group {
 public:
  ProcessGroup();

  // Engines and memory regions that the drivers have begun to tell of are added.
  void discover();

  void add_wants(const std::vector<bool>&, Wants&) const override {}
  std::vector<uint64_t> read() override;

 private:
  enum class Added : uint8_t { Engine, Region };
  std::vector<std::pair<Added, std::string>> added_;  // of the counters behind the fixed ones
};

}  // namespace tally::egl
