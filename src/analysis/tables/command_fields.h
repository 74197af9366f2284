// What a row of commands says of itself: the key columns of the tables of draws, passes, pipelines,
// frames and labels.
#pragma once

#include "analysis/tables/command_groups.h"
#include "analysis/tables/fields.h"

namespace tally::analysis {

// The fields are valid as long as `model` and `groups` are. A row's index is that of its group.
std::vector<Field> command_key_fields(const Model& model, const CommandGroups& groups, GroupBy by,
                                      bool merge);

// "DrawIndexed 36 x 2", "Dispatch 4 x 1 x 1 firstThing=7": a call without its prefix, its sizes
// first, then the other parameters that are not 0.
std::string call_text(const Call& call);

// "main 640x480", or what it looks like where it has no name: "(640x480 RGBA8+D32F)".
std::string pass_text(const Pass* pass);

}  // namespace tally::analysis
