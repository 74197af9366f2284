// The order in which command buffers' executions and their commands ran: submissions by number, in
// each the primaries by position, a secondary's commands before the primary's command that they ran
// before.
#pragma once

#include <cstdint>
#include <vector>

#include "store/rows.h"

namespace tally::analysis {

// A command as far as its order is concerned.
struct CommandPosition {
  store::RowId execution = 0;
  int64_t position = 0;
  uint32_t command = 0;  // whatever the caller knows it by
};

// One submission's executions with the commands of each. `commands` are those of these executions
// in any order; the result holds each of them exactly once. Executions whose parent is unknown or
// that form a ring run at the end.
std::vector<CommandPosition> in_execution_order(std::vector<store::ExecutionRow> executions,
                                                std::vector<CommandPosition> commands);

}  // namespace tally::analysis
