// The key columns of the tables of draws, passes, pipelines, frames and labels.
#pragma once

#include "analysis/tables/command_groups.h"
#include "analysis/tables/fields.h"

namespace tally::analysis {

// The fields must not outlive `model` and `groups`. A row's index is the index of its group.
std::vector<Field> command_key_fields(const Model& model, const CommandGroups& groups, GroupBy by,
                                      bool merge);

// "present", "submit", "open": what ended a frame.
std::string frame_end_text(store::FrameEnd end);

}  // namespace tally::analysis
