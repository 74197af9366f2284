#include "analysis/model/label_paths.h"

#include <fmt/format.h>

namespace tally::analysis {
namespace {

constexpr uint32_t kOutermost = 4, kInnermost = 12;
constexpr const char* kSeparator = " / ";

}  // namespace

// A parent is an older row, so its entries already exist.
LabelPaths::LabelPaths(const Model& model) : model_(model) {
  for (uint32_t label = 0; label < model.labels.size(); ++label) {
    const uint32_t parent = model.parent_of_label(label);
    depth_.push_back(parent == kNone ? 0 : depth_[parent] + 1);
    outer_.push_back(depth_[label] < kOutermost ? label : outer_[parent]);
  }
}

std::string LabelPaths::path(uint32_t label) const {
  if (label == kNone) return {};
  std::vector<uint32_t> shown;  // from the innermost outwards
  uint32_t left_out = 0;
  const uint32_t depth = depth_[label];
  if (depth >= kOutermost + kInnermost) left_out = depth + 1 - kOutermost - kInnermost;
  for (uint32_t at = label; at != kNone; at = model_.parent_of_label(at)) {
    if (left_out != 0 && shown.size() == kInnermost) at = outer_[label];
    shown.push_back(at);
  }
  std::string path;
  for (size_t i = shown.size(); i-- > 0;) {
    path += model_.labels[shown[i]].name;
    if (i == 0) break;
    path += kSeparator;
    if (left_out != 0 && i == kInnermost) path += fmt::format("({} more){}", left_out, kSeparator);
  }
  return path;
}

}  // namespace tally::analysis
