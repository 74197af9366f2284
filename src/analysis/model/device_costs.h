// The cost of each class of instructions on a device, in issue slots of one lane: a file of weights
// (docs/reference/cost.md). The file of a generic GPU, share/tally/devices/generic.json, is part of
// the program.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "spirv/analysis/cost.h"

namespace tally::analysis {

class DeviceCosts {
 public:
  static std::shared_ptr<const DeviceCosts> generic();
  static Result<std::shared_ptr<const DeviceCosts>> load(const std::string& file);
  // `file` is named in errors. Weights that the text leaves out are those of `base`, or 0.
  static Result<DeviceCosts> parse(const std::string& file, std::string_view text,
                                   const DeviceCosts* base);

  const std::string& name() const { return name_; }
  double weight(spirv::CostClass cost) const {
    return static_cast<double>(thousandths_[static_cast<size_t>(cost)]) / 1000;
  }
  // Rounded to whole slots, so that sums of counts stay exact.
  uint64_t cost_of(const spirv::InstructionMix& mix) const;

 private:
  std::string name_;
  std::array<uint64_t, spirv::kCostClassCount> thousandths_{};
};

}  // namespace tally::analysis
