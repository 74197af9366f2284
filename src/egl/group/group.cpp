#include "egl/group/group.h"

namespace tally::egl {

CounterInfo counter_info(catalogue::Number number, CounterInfo::Kind kind) {
  const catalogue::Counter& counter = catalogue::counter(number);
  CounterInfo info{std::string(counter.name), std::string(catalogue::unit_of(counter)), kind};
  if (counter.unit == catalogue::Unit::Nanoseconds) {
    info.unit = "us";
    info.denominator = 1000;
    info.maximum = UINT64_MAX / info.denominator;
  }
  return info;
}

std::vector<CounterInfo> counter_infos(catalogue::Number first, size_t count) {
  std::vector<CounterInfo> infos;
  for (size_t i = 0; i < count; i++) {
    infos.push_back(counter_info(static_cast<catalogue::Number>(static_cast<uint32_t>(first) + i)));
  }
  return infos;
}

}  // namespace tally::egl
