// `tally calibrate`: measures what a device takes for known work, and how far its times of programs
// are from what the model says.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/model/device_model.h"
#include "analysis/predict/fit.h"
#include "analysis/predict/prediction.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/predict/calibration.h"
#include "cli/predict/gpu.h"
#include "cli/run/environment.h"

namespace tally::cli {
namespace {

using analysis::DeviceModel;

constexpr double kNotedSpread = 0.05;  // of the timing kernel

struct CalibrateOptions {
  std::string output;
  size_t device = 0;
  bool force = false;
  std::vector<std::string> programs;
};

std::string summary_of(const DeviceModel& device) {
  const double fma = device.classes[static_cast<size_t>(spirv::CostClass::Fma)].value;
  std::vector<double> residuals;
  for (const DeviceModel::Kernel& kernel : device.kernels)
    residuals.push_back(std::abs(kernel.seconds / std::max(kernel.modelled, 1e-15) - 1));
  std::ranges::sort(residuals);
  if (device.in_cycles)
    return fmt::format(
        "{} ({}), compiled only\n{} kernels; a multiply-add keeps a compute unit busy for {:.3g} "
        "cycles, a subgroup's for {:.3g}\n"
        "the model is within {:.0f} % of half of the kernels, and within {:.0f} % of all\n",
        device.name, device.driver, device.kernels.size(), fma, fma * device.subgroup_size,
        residuals[residuals.size() / 2] * 100, residuals.back() * 100);
  std::string text = fmt::format(
      "{} ({})\n{} kernels; a multiply-add takes {:.3g} ps, a dispatch {:.3g} us; {:.0f} "
      "invocations fill the device\nthe model is within {:.0f} % of half of the kernels, and "
      "within "
      "{:.0f} % of all\n",
      device.name, device.driver, device.kernels.size(), fma * 1e12, device.dispatch.value * 1e6,
      device.needed_invocations.value, residuals[residuals.size() / 2] * 100,
      residuals.back() * 100);
  if (device.clock_spread > kNotedSpread)
    text += fmt::format(
        "the timing kernel varied by {:.0f} %: clocks changed, or other work ran; calibrate on an "
        "idle device\n",
        device.clock_spread * 100);
  return text;
}

std::string errors_text(const DeviceModel& device) {
  std::string text;
  for (size_t k = 0; k < analysis::kWorkKinds; ++k) {
    if (!device.errors[k]) continue;
    const analysis::ProgramErrors& errors = *device.errors[k];
    const std::string why = errors.why_no_time();
    text += fmt::format(
        "{}: {} kinds in {} programs, each predicted by the others: rank correlation {:.2f}, "
        "median error "
        "{:.0f} %, 90th percentile {:.0f} %; {}\n",
        name_of(static_cast<analysis::WorkKind>(k)), errors.works, errors.programs, errors.spearman,
        errors.median_error * 100, errors.percentile_90 * 100,
        !why.empty()       ? "tally predict gives only an order: " + why
        : device.in_cycles ? "tally predict gives cycles"
                           : "tally predict gives times");
  }
  return text;
}

// Why shaders of the captures tell no error of a device in cycles; empty if all do.
std::string left_out_text(const analysis::LeftOutShaders& left_out, size_t used) {
  if (left_out.sum() == 0) return {};
  std::vector<std::string> parts;
  const auto add = [&](size_t count, std::string_view what) {
    if (count != 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(left_out.with_branches, "with a branch or a call");
  add(left_out.without_statistic,
      fmt::format("without the statistic \"{}\"", analysis::kBusyStatistic));
  add(left_out.together, "compiled together with another stage");
  add(left_out.without_code, "without code in the capture");
  return fmt::format("left out {} of {} shaders: {}\n", left_out.sum(), left_out.sum() + used,
                     fmt::join(parts, ", "));
}

// A file of our own is not taken for another one: calibrating again replaces only device files.
Status may_write(const CalibrateOptions& options) {
  const auto text = read_small_file(options.output, size_t{16} << 20);
  if (!text || options.force) return {};
  const auto device = DeviceModel::parse(options.output, *text);
  if (device) return {};
  return Error{options.output +
               " exists and is not a device file of this version; --force "
               "replaces it"};
}

Result<int> measure_device(const CalibrateOptions& options) {
  TALLY_TRY(may_write(options));
  const auto gpu = TALLY_TRY(Gpu::open(options.device));
  std::optional<ProgressLine> progress("calibrating " + gpu->facts().name);
  auto measured = calibrate(*gpu, *progress);
  progress.reset();
  const auto device = TALLY_TRY(std::move(measured));
  TALLY_TRY(replace_file(options.output, device.to_json()));
  return print(summary_of(device) + written_line("device file", options.output) + "\n");
}

Result<int> add_programs(const CalibrateOptions& options) {
  auto device = TALLY_TRY(DeviceModel::load(options.output));
  if (!device.in_cycles && options.programs.size() % 2 != 0)
    return Error{
        "--programs takes pairs: a capture with counts, then one of tally run --times plain"};
  std::vector<analysis::ProgramCaptures> programs;
  for (size_t i = 0; i + 1 < options.programs.size(); i += 2)
    programs.push_back({options.programs[i], options.programs[i + 1]});
  std::string left_out;
  if (device.in_cycles) {
    const auto added = TALLY_TRY(analysis::add_compiled(options.programs, device));
    left_out = left_out_text(added, device.program_works.size());
  } else {
    TALLY_TRY(analysis::add_programs(programs, device));
  }
  fit_programs(device);
  TALLY_TRY(replace_file(options.output, device.to_json()));
  return print(errors_text(device) + left_out + written_line("device file", options.output) + "\n");
}

}  // namespace

void add_calibrate(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CalibrateOptions>();
  options->output = "device.json";
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure how long a device takes for known work, for tally predict");
  command->add_option("-o,--output", options->output, "Device file to write (default: device.json)")
      ->type_name("FILE");
  CLI::Option* device =
      command
          ->add_option("--device", options->device, "Device to measure, as tally list numbers it")
          ->check(whole_number())
          ->type_name("N");
  CLI::Option* force = command->add_flag(
      "--force", options->force, "Replace FILE even if it is not a device file of this version");
  command
      ->add_option("--programs", options->programs,
                   "Add the model's errors for programs to the device file, without measuring it. "
                   "Two captures for each program, one with counts and one of tally run --times "
                   "plain; for a device that only compiles, captures of tally run --statistics")
      ->type_name("COUNTED PLAIN ...")
      ->excludes(device)
      ->excludes(force);
  command->footer("Example: tally calibrate -o device.json\nIts kernels and the model: " +
                  document("reference/prediction.md"));
  command->callback([options, &chosen] {
    chosen = [options]() -> Result<int> {
      return options->programs.empty() ? measure_device(*options) : add_programs(*options);
    };
  });
}

}  // namespace tally::cli
