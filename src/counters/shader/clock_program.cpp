#include "counters/shader/clock_program.h"

#include <array>

#include "query_timestamp.comp.h"

namespace tally::counters {

VkResult ClockProgram::make(ClockScale scale) {
  programs_.destroy(pipeline_);
  pipeline_ = VK_NULL_HANDLE;
  return programs_.make(query_timestamp_comp, std::array{scale.whole, scale.fraction}, pipeline_);
}

void ClockProgram::write(VkCommandBuffer commands, VkDeviceAddress parameters) const {
  programs_.use(commands, pipeline_, parameters);
  next_.CmdDispatch(commands, 1, 1, 1);
}

}  // namespace tally::counters
