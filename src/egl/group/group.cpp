#include "egl/group/group.h"

namespace tally::egl {

CounterInfo time_counter(std::string name, CounterInfo::Kind kind) {
  constexpr uint64_t kNanosecondsInUnit = 1000;
  return {std::move(name), "us", kind, kNanosecondsInUnit, 0, UINT64_MAX / kNanosecondsInUnit};
}

CounterInfo count_counter(std::string name, std::string unit) {
  return {std::move(name), std::move(unit)};
}

}  // namespace tally::egl
