// Labels with those around them, "Frame / Shadow". However deep labels are nested, a path has few
// names: the outermost, how many are left out, and the innermost.
//
// As long as the model is.
#pragma once

#include <string>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

class LabelPaths {
 public:
  explicit LabelPaths(const Model& model);
  // Empty where there is no label.
  std::string path(uint32_t label) const;

 private:
  const Model& model_;
  std::vector<uint32_t> depth_;  // by label: how many are around it
  std::vector<uint32_t> outer_;  // by label: the innermost of those that are shown as the outermost
};

}  // namespace tally::analysis
