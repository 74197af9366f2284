#include "counters/shader/clock_program.h"

#include <array>

#include "query_timestamp.comp.h"

namespace tally::counters {

VkResult ClockProgram::make(const ClockReading& reading) {
  programs_.destroy(pipeline_);
  pipeline_ = {};
  const auto low = [](uint64_t number) { return static_cast<uint32_t>(number); };
  const auto high = [](uint64_t number) { return static_cast<uint32_t>(number >> 32); };
  return programs_.make(query_timestamp_comp,
                        std::array{reading.scale.whole, reading.scale.fraction, low(reading.start),
                                   high(reading.start), low(reading.lately), high(reading.lately)},
                        pipeline_);
}

void ClockProgram::write(const InternalCommands& commands, VkDeviceAddress parameters) const {
  programs_.use(commands, pipeline_, parameters);
  next_.CmdDispatch(commands.handle, 1, 1, 1);
}

}  // namespace tally::counters
