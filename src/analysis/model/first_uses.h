// Finds the commands, passes and frames that used a pipeline for the first time in the capture.
// Some drivers compile a pipeline on first use, so the GPU time measured around that use includes
// the compilation.
#pragma once

#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

struct FirstUses {
  std::vector<bool> commands;  // by command
  std::vector<bool> passes;    // by pass: it contains such a command
  std::vector<bool> frames;    // by frame: it contains such a command
};

// Indexed by pipeline: whether a frame before the selected frames used it.
Result<std::vector<bool>> pipelines_used_before(const Model& model);

// Takes into account the pipelines that were used before the selected frames (Model::used_before).
FirstUses find_first_uses(const Model& model);

}  // namespace tally::analysis
