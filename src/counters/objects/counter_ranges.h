// Positions in records for the stages of ray-tracing pipeline libraries, and of pipelines that may
// be in execution sets. They are compiled before it is known which others they will share a record
// with, so those that exist at the same time have disjoint ranges of counters. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tally::counters {

class CounterRanges {
 public:
  struct Range {
    uint32_t first = 0;
    uint32_t size = 0;
  };

  CounterRanges() : state_(std::make_shared<State>()) {}

  // The lowest range of `size` counters that is free. It is free again when the last copy of the
  // pointer is gone, which may be after this object.
  std::shared_ptr<const Range> take(uint32_t size);

 private:
  struct State {
    std::mutex mutex;
    std::map<uint32_t, uint32_t> taken;  // begin -> end
  };
  std::shared_ptr<State> state_;
};

}  // namespace tally::counters
