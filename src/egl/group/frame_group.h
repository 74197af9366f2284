// Frame times, as measured by group/frames.h.
#pragma once

#include "egl/group/group.h"

namespace tally::egl {

class FrameGroup final : public Group {
 public:
  FrameGroup();
  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;
  void reset_extremes() override;
};

}  // namespace tally::egl
