// Frame times, as measured by group/frames.h.
#pragma once

#include "egl/group/group.h"

namespace tally::egl {

class FrameGroup final : public Group {
 public:
  FrameGroup();
  void add_wants(const std::vector<bool>& chosen, Wants& wants) const override;
  std::vector<uint64_t> read() override;
  void reset_extremes() override;
};

}  // namespace tally::egl
