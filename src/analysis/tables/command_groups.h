// Groups commands into the rows of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/model/model.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

enum class GroupBy { Command, Pass, Pipeline, Frame, Label };

struct CommandGroup {
  // kNone: the group has no commands, like a pass that only clears.
  uint32_t first_command = kNone;
  // With GroupBy::Pass: one of the group's passes; kNone: commands outside of passes.
  uint32_t pass = kNone;
  uint32_t label = kNone;   // with GroupBy::Label: the label
  uint32_t parent = kNone;  // with GroupBy::Label: the group of the enclosing label
  uint64_t passes = 0;
  uint64_t pixels = 0;                  // with GroupBy::Pass: of the render areas and layers
  uint64_t vertices = 0;                // that its counted draws name
  uint64_t unknown_vertices = 0;        // counted draws whose vertices are not known
  uint64_t primitives = 0;              // that its counted draws name
  uint64_t unknown_primitives = 0;      // counted draws whose primitives are not known
  uint64_t draws = 0;                   // executions of draw commands
  uint64_t dispatches = 0;              // executions of all other action commands
  uint64_t frames = 0;                  // number of distinct frames that contain it
  uint64_t uncounted = 0;               // executions of commands without counts
  uint64_t untimed = 0;                 // commands and passes of the group without a GPU time
  std::optional<uint64_t> gpu_time_ns;  // without first uses of a pipeline
  EstimatedTimes estimated;             // of gpu_time_ns
  std::optional<uint64_t> first_use_ns;
};

struct CommandGroups {
  std::vector<CommandGroup> groups;        // in the order of execution
  std::vector<uint32_t> group_of_command;  // by command
  std::vector<uint32_t> group_of_pass;     // by pass; none with GroupBy::Command and Pipeline

  // The nested groups; each precedes its enclosing group.
  std::vector<uint32_t> innermost_first() const;
};

// With `merge`, identical commands (same call, pipeline, pass and label) or passes (same name, size
// and attachments) form one group, even across frames. A label's group includes the counts of
// nested labels; group_of_command holds the innermost label's group.
CommandGroups group_commands(const Model& model, GroupBy by, bool merge);

// The vertices, or indices, of all instances of a draw; nullopt where the device decides.
std::optional<uint64_t> vertices_of(const Call& call);
// The primitives of all instances, patches where they are tessellated; nullopt also where indices
// may end a strip, or the topology is not known.
std::optional<uint64_t> primitives_of(const Call& call, const PrimitiveAssembly& assembly);

// The key columns of the tables of draws, passes, pipelines, frames and labels.

// The fields must not outlive `model` and `groups`. A row's index is the index of its group.
std::vector<Field> command_key_fields(const Model& model, const CommandGroups& groups, GroupBy by,
                                      bool merge);

// "present", "submit", "open": what ended a frame.
std::string frame_end_text(store::FrameEnd end);

}  // namespace tally::analysis
