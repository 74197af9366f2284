// The cost of each class of instructions on a device, in issue slots of one lane. It comes from a
// file of weights (docs/reference/cost.md), or from a device file of tally calibrate, where a
// multiply-add is one slot. The weights of a generic GPU, share/tally/devices/generic.json, are
// part of the program.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "spirv/analysis/cost.h"

namespace tally::analysis {

struct DeviceModel;

class DeviceCosts {
 public:
  static std::shared_ptr<const DeviceCosts> generic();
  static Result<std::shared_ptr<const DeviceCosts>> load(const std::string& file);
  // `file` is named in errors. Weights that the text leaves out are those of `base`, or 0.
  static Result<DeviceCosts> parse(const std::string& file, std::string_view text,
                                   const DeviceCosts* base);
  static Result<DeviceCosts> of(std::shared_ptr<const DeviceModel> device);

  const std::string& name() const { return name_; }
  double weight(spirv::CostClass cost) const {
    return static_cast<double>(thousandths_[static_cast<size_t>(cost)]) / 1000;
  }
  // Rounded to whole slots, so that sums of counts stay exact.
  uint64_t cost_of(const spirv::InstructionMix& mix) const;
  // The device that the weights come from; null: a file of weights.
  const std::shared_ptr<const DeviceModel>& calibrated() const { return calibrated_; }

 private:
  std::string name_;
  std::array<uint64_t, spirv::kCostClassCount> thousandths_{};
  std::shared_ptr<const DeviceModel> calibrated_;
};

}  // namespace tally::analysis
