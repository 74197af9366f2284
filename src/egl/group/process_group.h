// The process as the kernel sees it, and its GPU usage where the kernel driver reports it
// (group/drm_usage.h).
#pragma once

#include "egl/group/drm_usage.h"
#include "egl/group/group.h"

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
  std::vector<std::pair<Added, std::string>> added_;  // the counters after the fixed ones
};

}  // namespace tally::egl
