// What used a pipeline for the first time in the capture. Some drivers compile a pipeline when it
// is first used, and GPU time that was measured around that holds the compilation.
#pragma once

#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

struct FirstUses {
  std::vector<bool> commands;  // by command
  std::vector<bool> passes;    // by pass: those that have such a command
  std::vector<bool> frames;    // by frame: those that have such a command
};

// By pipeline: whether a frame before those that are selected used it.
Result<std::vector<bool>> pipelines_used_before(const Model& model);

// Pipelines that were used in frames before those that are selected are known.
FirstUses find_first_uses(const Model& model);

}  // namespace tally::analysis
