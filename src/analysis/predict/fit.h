// Makes the numbers of a device of measured kernels, and errors of measured programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/device_model.h"
#include "base/status.h"

namespace tally::analysis {

// The work of `iterations` of the loop of a calibration kernel, which has no other branch, in each
// of `invocations`; without what is outside of the loop.
Result<Work> work_of_loop(std::span<const uint32_t> words, spv::ExecutionModel stage,
                          double invocations, double iterations);

struct MeasuredKernel {
  std::string name;
  Work work;
  double seconds = 0;  // more than without an iteration
  double clock = 1;    // time of the timing kernel next to it / its fastest
  bool mixes = false;  // uses two resources on purpose: tells the overlap, not the numbers
};

// Solves `matrix` * x = `target` for x >= 0 by least squares; each row has x.size() columns.
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& matrix,
                                               const std::vector<double>& target);

// Sets the classes, the overlap and the residuals of `device`.
void fit_kernels(std::span<const MeasuredKernel> kernels, DeviceModel& device);

// Sets `errors` and `ratio_errors` from `program_works`.
void fit_programs(DeviceModel& device);

// The estimate of AMD's compiler, in VK_KHR_pipeline_executable_properties: the cycles that one
// subgroup keeps a compute unit busy.
inline constexpr std::string_view kBusyStatistic = "Inverse Throughput";

// How many shaders of captures do not tell an error of the model, by the reason.
struct LeftOutShaders {
  size_t with_branches = 0;      // or calls: the code does not tell how often blocks run
  size_t without_statistic = 0;  // of kBusyStatistic
  size_t together = 0;           // the statistic is of several stages
  size_t without_code = 0;       // the capture has none

  size_t sum() const { return with_branches + without_statistic + together + without_code; }
};

// Makes `device.program_works` of a device in cycles, of captures of `tally run --statistics` on
// its driver: each shader without a branch is a program, and the driver's statistic is its measured
// time.
Result<LeftOutShaders> add_compiled(std::span<const std::string> captures, DeviceModel& device);

// The rank correlation of two lists, whose elements weigh as `weights` says; all are of one size.
double spearman(std::span<const double> a, std::span<const double> b,
                std::span<const double> weights);

}  // namespace tally::analysis
