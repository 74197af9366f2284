// Which commands make one row of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

enum class GroupBy { Command, Pass, Pipeline, Frame, Label };

struct CommandGroup {
  uint32_t first_command = kNone;  // kNone: the group has no commands (a pass that only clears)
  uint32_t pass = kNone;   // of GroupBy::Pass: one of its passes; kNone: commands outside of passes
  uint32_t label = kNone;  // of GroupBy::Label: the label
  uint32_t parent = kNone;  // of GroupBy::Label: the group of the label around it
  uint64_t passes = 0;
  uint64_t draws = 0;                   // executions of draw commands
  uint64_t dispatches = 0;              // executions of all other action commands
  uint64_t frames = 0;                  // different frames that it occurs in
  std::optional<uint64_t> gpu_time_ns;  // without what used a pipeline for the first time
  std::optional<uint64_t> first_use_ns;
};

struct CommandGroups {
  std::vector<CommandGroup> groups;        // in the order of execution
  std::vector<uint32_t> group_of_command;  // by command

  // Those that are inside another, each in front of the one it is inside of.
  std::vector<uint32_t> innermost_first() const;
};

// With `merge`, commands or passes that are alike (same call, pipeline, pass and label; same name,
// size and attachments) are one group, whichever frame they are in. A label's group counts what is
// in the labels inside it too; group_of_command names the innermost.
CommandGroups group_commands(const Model& model, GroupBy by, bool merge);

}  // namespace tally::analysis
