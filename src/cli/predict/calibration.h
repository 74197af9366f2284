// Measures what a device takes for known work: the kernels of calibrate.comp and calibrate.frag.
#pragma once

#include "analysis/model/device_model.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/predict/gpu.h"

namespace tally::cli {

// Takes seconds. The model has no errors of programs yet.
Result<analysis::DeviceModel> calibrate(Gpu& gpu, ProgressLine& progress);

}  // namespace tally::cli
