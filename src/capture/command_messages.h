// The commands of one execution as messages of bounded size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/draft.h"
#include "capture/submission.h"

namespace tally::capture {

class CommandMessages {
 public:
  CommandMessages(Draft& draft, Channel& channel, const Execution& execution, size_t metrics)
      : draft_(draft), channel_(channel), execution_(execution), metrics_(metrics) {}

  // The recording's command `index`; `blocks`: with the details of its values.
  void add(size_t index, const std::vector<stream::StageValues>& values, bool blocks,
           const std::optional<stream::GpuTime>& gpu);
  void flush();

 private:
  stream::Command describe(const RecordedCommand& command, size_t index);
  void add_costs(const RecordedCommand& command, const std::vector<stream::StageValues>& values);
  size_t size_of(const stream::StageValues& values) const;

  Draft& draft_;
  Channel& channel_;
  const Execution& execution_;
  const size_t metrics_;
  stream::Commands message_;
  size_t size_ = 0;  // an upper bound of the message's bytes
};

}  // namespace tally::capture
