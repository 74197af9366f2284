// What a row of commands says of itself: the key columns of the tables of draws, passes, pipelines,
// frames and labels.
#pragma once

#include "analysis/tables/command_groups.h"
#include "analysis/tables/fields.h"

namespace tally::analysis {

// The fields are valid as long as `model` and `groups` are. A row's index is that of its group.
std::vector<Field> command_key_fields(const Model& model, const CommandGroups& groups, GroupBy by,
                                      bool merge);

}  // namespace tally::analysis
