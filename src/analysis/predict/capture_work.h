// The work of a capture as the model of a device needs it: exact counts of each dispatch and render
// pass, without what compilers remove, and their times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/shader_code.h"
#include "analysis/predict/device_model.h"
#include "base/status.h"

namespace tally::analysis {

// Executions that are alike: dispatches of a pipeline with the same call and label, passes with the
// same name, size and label.
struct CapturedWork {
  std::string key;   // the same in another capture of the program
  std::string name;  // for the user
  Work work;         // of one execution, on average
  double runs = 0;
  bool counted = true;            // all commands of all executions
  std::optional<double> seconds;  // the median of those that were timed; not first uses
};

// A part of the executions of a block.
struct WorkBlock {
  uint32_t work;  // index into CaptureWorks::works
  uint32_t shader, block;
  double executions;  // of all runs
};

struct CaptureWorks {
  std::vector<CapturedWork> works;  // in the order of their first execution
  std::vector<WorkBlock> blocks;
  std::string device;   // that ran them
  bool counts = false;  // some command was counted
};

// It is an error if a shader that was counted has no code in the capture.
Result<CaptureWorks> works_of(const Model& model, ShaderCodes& codes);

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

// Adds the works of a program to `device.program_works`: the counts of one capture, and the times
// of another, which counted nothing, on this device.
Status add_program(const std::string& counted, const std::string& plain, DeviceModel& device);

}  // namespace tally::analysis
