// One group of driver counters (gl/driver_counters.h), under the driver's names.
#pragma once

#include "egl/group/group.h"

namespace tally::egl {

class DriverGroup final : public Group {
 public:
  // `index` is the group's index in driver.counters().
  DriverGroup(const Driver& driver, size_t index);

  uint32_t max_active() const override { return source().max_active; }
  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;

 private:
  const DriverCounterGroup& source() const { return listed_->groups[index_]; }

  const Driver& driver_;
  std::shared_ptr<const DriverCounters> listed_;
  size_t index_;
};

}  // namespace tally::egl
