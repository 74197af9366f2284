// The time of work on a calibrated device: numbers that `tally calibrate` measured, and the soft
// maximum over resources that makes a time of them (docs/reference/prediction.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/cost.h"

namespace tally::analysis {

// Used by classes of instructions. Resources overlap; the classes of one resource do not.
enum class Resource : uint8_t {
  Issue,
  Special,
  Memory,
  Shared,
  Texture,
  Atomics,
  Synchronisation,
  Raster  // no class: vertices, fragments and pixels of passes
};
inline constexpr size_t kResources = 8;

std::string_view name_of(Resource resource);
Resource resource_of(spirv::CostClass cost);

// Whose errors are alike.
enum class WorkKind : uint8_t { Dispatch, Pass };
inline constexpr size_t kWorkKinds = 2;

std::string_view name_of(WorkKind kind);  // "dispatch", "pass"

// Exact counts of one execution of a dispatch, or of a render pass.
struct Work {
  WorkKind kind = WorkKind::Dispatch;
  std::array<double, spirv::kCostClassCount> counts{};  // of what is left once compiled
  double invocations = 0;                               // of all stages
  double vertices = 0;           // of them, of vertex and tessellation evaluation shaders
  double fragments = 0;          // of them, of fragment shaders
  double workgroups = 0;         // of a dispatch
  double attachment_pixels = 0;  // of a pass: its size times its layers and attachments
  double commands = 1;           // dispatches or draws
  // Where the capture tells how subgroups access memory (tally run --memory): sectors of buffers
  // beyond those that the bytes need, and passes over the banks of workgroup memory beyond the
  // first.
  double spread_sectors = 0, extra_passes = 0;

  double& operator[](spirv::CostClass cost) { return counts[static_cast<size_t>(cost)]; }
  double operator[](spirv::CostClass cost) const { return counts[static_cast<size_t>(cost)]; }
  double bytes() const;  // that buffers and shared memory move
};

struct WorkTime {
  double seconds = 0;  // without what programs add (ProgramErrors)
  std::array<double, kResources> by_resource{};
  std::array<double, kResources>
      slowdown{};  // of the classes of each, where the device is not full
  double fixed = 0;
  // "issue", "memory" ...; "fixed cost" where that is more than half.
  std::string bound;
};

// A number of the device.
struct DeviceNumber {
  double value = 0;
  std::string kernel;   // that gave it; empty: assumed, from the generic table of weights
  double residual = 0;  // the largest of its kernels: measured / modelled - 1
};

// How far times of programs were from the model, where each program was predicted by the others
// alone. Logarithms are natural.
struct ProgramErrors {
  size_t programs = 0;
  size_t works = 0;
  double shift = 0;  // the median of log(measured / modelled): a prediction is multiplied by it
  std::optional<double> low, high;  // of the 80 % interval around it; none: too few programs
  double spearman = 0, median_error = 0, percentile_90 = 0;
  std::optional<double> coverage;  // of intervals made without the program
  // Modelled seconds (or cycles) of works, or ratios: one beyond them is extrapolated.
  double min_modelled = 0, max_modelled = 0;
  std::vector<std::string> bounds;  // WorkTime::bound of all works

  // Empty if a time may be stated, else why not.
  std::string why_no_time() const;
};

// True if two modelled times are of equal counts, whose averages over executions are rounded.
bool are_of_equal_counts(double modelled, double other);

struct DeviceModel {
  std::string name, driver, date;
  bool is_cpu = false;
  // All that is called seconds is in cycles that a compute unit is busy, as the compiler of a
  // driver without hardware estimates them.
  bool in_cycles = false;
  uint32_t subgroup_size = 0;
  double clock_spread = 0;  // of the timing kernel: slowest / fastest - 1

  std::array<DeviceNumber, spirv::kCostClassCount> classes{};  // seconds of one operation
  DeviceNumber invocation, workgroup;                          // seconds of one, of a dispatch
  DeviceNumber vertex, fragment, attachment_pixel;             // seconds of one, of a pass
  DeviceNumber dispatch, draw, pass;                           // seconds of one
  DeviceNumber spread_sector, extra_pass;                      // seconds of one
  // How much slower classes are in passes than in dispatches: some GPUs draw with a part of their
  // processors.
  DeviceNumber graphics_arithmetic{1}, graphics_memory{1}, graphics_texture{1};
  DeviceNumber needed_invocations;         // below which arithmetic waits for itself
  DeviceNumber needed_invocations_memory;  // the same for memory
  DeviceNumber overlap;                    // the exponent of the soft maximum
  struct Kernel {
    std::string name;
    double seconds = 0, modelled = 0, clock = 1;
  };
  std::vector<Kernel> kernels;  // what was measured
  // Measured, and not used: captures do not tell strides, footprints and contention.
  std::vector<std::pair<std::string, double>> informative;

  std::array<std::optional<ProgramErrors>, kWorkKinds> errors;  // by WorkKind
  std::optional<ProgramErrors> ratio_errors;  // of the ratio of two versions of a work
  struct ProgramWork {
    std::string program, version, name;  // a work has one name in all versions of a program
    WorkKind kind = WorkKind::Dispatch;
    double measured = 0, modelled = 0, instructions = 0, bytes = 0;
    std::string bound;
    std::array<double, spirv::kCostClassCount> counts{};  // as in Work; 0 in older device files
  };
  std::vector<ProgramWork> program_works;  // what `errors` were made of

  // One operation takes this where the device is full; the inputs of compute shaders are registers.
  double seconds_of(spirv::CostClass cost, WorkKind kind) const;
  WorkTime time_of(const Work& work) const;

  static constexpr size_t kMaxFile = size_t{16} << 20;  // bytes

  std::string to_json() const;
  // True if the text begins like a device file of any version.
  static bool is_device_file(std::string_view text);
  // `file` is named in errors.
  static Result<DeviceModel> parse(const std::string& file, std::string_view text);
  static Result<DeviceModel> load(const std::string& file);
};

// The cost of each class of instructions on a device, in issue slots of one lane. It comes from a
// file of weights (docs/reference/cost.md), or from a device file of tally calibrate, where a
// multiply-add is one slot. The weights of a generic GPU, share/tally/devices/generic.json, are
// part of the program.

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
