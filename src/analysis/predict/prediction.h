// The work of a capture as the model of a device needs it: exact counts of each dispatch and render
// pass, without what compilers remove, and their times; and what the work takes on such a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/model/device_model.h"
#include "analysis/model/shader_code.h"
#include "base/status.h"

namespace tally::analysis {

// Executions that are alike: dispatches of a pipeline with the same call and label, passes with the
// same name, size and label.
struct CapturedWork {
  std::string key;    // the same in another capture of the program
  std::string shape;  // the same in another version of the program: the key without the pipeline
  std::string name;   // for the user
  Work work;          // of one execution, on average
  double runs = 0;
  bool counted = true;            // all commands of all executions
  std::optional<double> seconds;  // the median of those that were timed; not first uses
};

// A part of the executions of a block.
struct WorkBlock {
  uint32_t work;  // index into CaptureWorks::works
  uint32_t shader, block;
  double executions;  // of all runs
  double lanes;       // of the subgroups that executed it, idle ones too; else the executions

  // How often the device spends the time of an operation of the class: arithmetic takes as long for
  // idle lanes.
  double times(spirv::CostClass cost) const;
};

struct CaptureWorks {
  std::vector<CapturedWork> works;  // in the order of their first execution
  std::vector<WorkBlock> blocks;
  std::vector<uint32_t> of_pass,
      of_command;       // the work of each; of a command in a pass: the pass's
  std::string device;   // that ran them
  bool counts = false;  // some command was counted
};

// For each work of `after` the one of `before` that it is, in two captures of one program or of two
// versions of it: of the same name, or at the same place among the works of one shape. An edited
// shader gives a pipeline without a name another name.
std::vector<std::optional<uint32_t>> match_works(const CaptureWorks& before,
                                                 const CaptureWorks& after);

// It is an error if a shader that was counted has no code in the capture. Idle lanes count where
// the capture is of `device`, a name, and of `tally run --divergence`.
Result<CaptureWorks> works_of(const Model& model, ShaderCodes& codes, const std::string& device);

// The part of a line in the predicted time of all works.
struct LineTime {
  std::string line;    // "blur.comp:34"
  std::string shader;  // with its stage
  double seconds = 0;
  std::string bound;  // the resource that it uses most
};
// Longest first; lines of equal name and shader are one.
std::vector<LineTime> line_times(const Model& model, ShaderCodes& codes, const CaptureWorks& works,
                                 const DeviceModel& device);

// A predicted time and the ends of its 80 % interval, in nanoseconds or cycles.
struct PredictedTime {
  uint64_t time = 0, low = 0, high = 0;

  // `runs` times another one.
  void add(const PredictedTime& other, uint64_t runs) {
    time += other.time * runs, low += other.low * runs, high += other.high * runs;
  }
};

struct Prediction {
  std::shared_ptr<const DeviceModel> device;
  CaptureWorks works;
  std::vector<WorkTime> times;  // by work: what the model says
  std::vector<LineTime> lines;

  bool is_modelled(size_t work) const;
  // One execution of a work takes this; nullopt: status_of says why there is no time.
  std::optional<PredictedTime> time_of(size_t work) const;
  // The same; on a device in cycles, which has no time, the cycles of all subgroups together.
  std::optional<PredictedTime> time_or_cycles_of(size_t work) const;
  // "interval of 80 %", "order only", "extrapolated", "not counted"
  std::string status_of(size_t work) const;
  // The modelled seconds of all executions of all works.
  double total() const;
  // The device, and why works of a kind have no time: a sentence each.
  std::vector<std::string> notes() const;
};

// It is an error if a shader that was counted has no code in the capture. A capture without counts
// has works that are not modelled.
Result<Prediction> predict(const Model& model, std::shared_ptr<const DeviceModel> device);
// On the device of the model's selection; nullopt if it is not a calibrated one.
Result<std::optional<Prediction>> predict_selected(const Model& model);

// A capture with counts, and one with times, which counted nothing.
struct ProgramCaptures {
  std::string counted, plain;
};

// Makes `device.program_works` of captures, whose times are of this device. Captures of one command
// line are versions of one program.
Status add_programs(std::span<const ProgramCaptures> programs, DeviceModel& device);

}  // namespace tally::analysis
