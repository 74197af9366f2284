// Restores the execution order of command buffers and their commands. Submissions run in the order
// of their numbers and primary command buffers in the order of their positions. The commands of a
// secondary command buffer precede the primary's command before which they ran.
#pragma once

#include <cstdint>
#include <vector>

#include "store/rows.h"

namespace tally::analysis {

// The position of a command within an execution.
struct CommandPosition {
  store::RowId execution = 0;
  int64_t position = 0;
  uint32_t command = 0;  // the caller's identifier
};

// Orders the commands of one submission. `commands` holds the commands of these executions in any
// order; the result holds each of them exactly once. Executions whose parent is unknown or that
// form a cycle run last.
std::vector<CommandPosition> in_execution_order(std::vector<store::ExecutionRow> executions,
                                                std::vector<CommandPosition> commands);

}  // namespace tally::analysis
