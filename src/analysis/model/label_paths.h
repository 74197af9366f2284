// Labels with their enclosing labels: "Frame / Shadow". The length of a path is bounded however
// deep labels are nested: it shows the outermost labels, the number of omitted ones, and the
// innermost.
//
// Must not outlive the model.
#pragma once

#include <string>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

class LabelPaths {
 public:
  explicit LabelPaths(const Model& model);
  // Empty if `label` is kNone.
  std::string path(uint32_t label) const;

 private:
  const Model& model_;
  std::vector<uint32_t> depth_;  // by label: the number of enclosing labels
  std::vector<uint32_t> outer_;  // by label: the last of the outermost labels that are shown
};

}  // namespace tally::analysis
