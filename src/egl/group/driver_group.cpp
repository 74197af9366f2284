#include "egl/group/driver_group.h"

#include <algorithm>

#include "egl/driver/driver.h"
#include "egl/gl/contexts.h"

namespace tally::egl {

DriverGroup::DriverGroup(const Driver& driver, size_t index)
    : Group(driver.counters()->groups[index].name),
      driver_(driver),
      listed_(driver.counters()),
      index_(index) {
  for (const DriverCounter& counter : source().counters) {
    counters_.push_back({counter.name, counter.unit,
                         counter.is_level ? CounterInfo::Kind::Level : CounterInfo::Kind::Total,
                         counter.denominator, counter.minimum, counter.maximum});
  }
}

void DriverGroup::add_to_request(const std::vector<bool>& chosen,
                                 CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return;
  request.collecting |= kCollectGpu;
  DriverChoice& choice = request.plan.driver_choices[&driver_];
  choice.resize(listed_->groups.size());
  choice[index_] = chosen;
}

std::vector<uint64_t> DriverGroup::read() {
  std::vector<uint64_t> values;
  for (const DriverCounter& counter : source().counters) {
    values.push_back(sum_of_driver_counter(driver_, counter));
  }
  return values;
}

}  // namespace tally::egl
