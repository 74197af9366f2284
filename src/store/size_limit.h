// Ends the growth of a capture at a size. Once a message's rows do not fit, the capture is full and
// stays so.
#pragma once

#include <cstdint>

#include "store/stream.h"
#include "store/writer.h"

namespace tally::store {

class SizeLimit {
 public:
  // 0: no limit.
  explicit SizeLimit(uint64_t bytes) : bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }
  bool full() const { return full_; }
  // True if the rows of a message still fit. `completes`: it completes what has been written.
  bool fits(const stream::AnyMessage& message, bool completes, Writer& writer);

 private:
  const uint64_t bytes_;
  bool full_ = false;
};

}  // namespace tally::store
