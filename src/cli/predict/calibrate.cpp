// `tally calibrate`: measures what a device takes for known work, and how far its times of programs
// are from what the model says.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/predict/capture_work.h"
#include "analysis/predict/device_model.h"
#include "analysis/predict/fit.h"
#include "atomic_calibrate.comp.h"
#include "barrier_calibrate.comp.h"
#include "base/file.h"
#include "chase_calibrate.comp.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/predict/gpu.h"
#include "contended_calibrate.comp.h"
#include "conversion_calibrate.comp.h"
#include "division_calibrate.comp.h"
#include "fetch_calibrate.comp.h"
#include "float32_calibrate.comp.h"
#include "float64_calibrate.comp.h"
#include "fma_and_load_calibrate.comp.h"
#include "fma_calibrate.comp.h"
#include "image_load_calibrate.comp.h"
#include "image_store_calibrate.comp.h"
#include "int32_calibrate.comp.h"
#include "int64_calibrate.comp.h"
#include "load_calibrate.comp.h"
#include "loop_calibrate.comp.h"
#include "remainder_calibrate.comp.h"
#include "sample_calibrate.comp.h"
#include "select_calibrate.comp.h"
#include "shared_load_calibrate.comp.h"
#include "shared_store_calibrate.comp.h"
#include "special_and_shared_calibrate.comp.h"
#include "special_calibrate.comp.h"
#include "store_calibrate.comp.h"
#include "subgroup_calibrate.comp.h"
#include "uniform_load_calibrate.comp.h"
#include "vector_load_calibrate.comp.h"
#include "vector_store_calibrate.comp.h"

namespace tally::cli {
namespace {

using analysis::DeviceModel;
using analysis::DeviceNumber;
using analysis::MeasuredKernel;

constexpr uint32_t kGroup = 64;         // invocations of a workgroup
constexpr double kMinSeconds = 1.5e-3;  // of a measured dispatch
constexpr double kAimedSeconds = 3e-3;
constexpr uint32_t kMaxIterations = 1U << 24;
constexpr size_t kRounds = 15;
constexpr size_t kRoundsOfProcessors = 40;   // which other programs use
constexpr uint32_t kCachedWords = 1U << 18;  // 1 MiB: beyond the first cache of a GPU
constexpr double kNotedSpread = 0.05;        // of the timing kernel

enum class Needs : uint8_t { Nothing, Float64, Int64, Subgroup };

struct KernelCode {
  const char* name;
  std::span<const uint32_t> words;
  Needs needs = Needs::Nothing;
  bool mixes = false;
};

#define TALLY_KERNEL(name) #name, name##_calibrate_comp
const KernelCode kKernels[] = {
    {TALLY_KERNEL(fma)},
    {TALLY_KERNEL(float32)},
    {TALLY_KERNEL(float64), Needs::Float64},
    {TALLY_KERNEL(int32)},
    {TALLY_KERNEL(int64), Needs::Int64},
    {TALLY_KERNEL(division)},
    {TALLY_KERNEL(special)},
    {TALLY_KERNEL(conversion)},
    {TALLY_KERNEL(select)},
    {TALLY_KERNEL(loop)},
    {TALLY_KERNEL(load)},
    {TALLY_KERNEL(vector_load)},
    {TALLY_KERNEL(store)},
    {TALLY_KERNEL(vector_store)},
    {TALLY_KERNEL(uniform_load)},
    {TALLY_KERNEL(shared_load)},
    {TALLY_KERNEL(shared_store)},
    {TALLY_KERNEL(atomic)},
    {TALLY_KERNEL(barrier)},
    {TALLY_KERNEL(subgroup), Needs::Subgroup},
    {TALLY_KERNEL(sample)},
    {TALLY_KERNEL(fetch)},
    {TALLY_KERNEL(image_load)},
    {TALLY_KERNEL(image_store)},
    {TALLY_KERNEL(fma_and_load), Needs::Nothing, true},
    {TALLY_KERNEL(special_and_shared), Needs::Nothing, true},
};
const KernelCode kContended = {TALLY_KERNEL(contended)};
const KernelCode kRemainder = {TALLY_KERNEL(remainder)};
const KernelCode kChase = {TALLY_KERNEL(chase)};
#undef TALLY_KERNEL

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

// How a kernel runs, where it is not as in the fit.
struct Shape {
  uint32_t groups = 0;  // 0: as many as fill the device
  uint32_t words = kCachedWords;
  uint32_t stride = kGroup * 7;
};

// A kernel, and the seconds of each round.
struct Measurement {
  const KernelCode* code = nullptr;
  KernelDispatch dispatch;
  double accesses = 0;                       // of an iteration; 0: not asked for
  std::vector<double> all, without, clocks;  // with iterations and without; of the timing kernel
};

// Measures the kernels on a device.
class Calibration {
 public:
  Calibration(Gpu& gpu, ProgressLine& progress) : gpu_(gpu), progress_(progress) {}

  Result<DeviceModel> run() {
    Status status = prepare();
    if (status.ok()) status = choose_kernels();
    const size_t rounds = device_.is_cpu ? kRoundsOfProcessors : kRounds;
    for (size_t round = 0; status.ok() && round < rounds; ++round) {
      progress_.update(static_cast<double>(round) / static_cast<double>(rounds));
      status = measure_all();
    }
    if (status.ok()) status = make_numbers();
    if (!status) return status.error();
    return device_;
  }

 private:
  bool is_supported(const KernelCode& code) const {
    const GpuFacts& facts = gpu_.facts();
    return code.needs == Needs::Nothing || (code.needs == Needs::Float64 && facts.float64) ||
           (code.needs == Needs::Int64 && facts.int64) ||
           (code.needs == Needs::Subgroup && facts.subgroup_arithmetic);
  }

  // Other programs only slow a processor down.
  double usual(const std::vector<double>& times) const {
    return device_.is_cpu ? *std::ranges::min_element(times) : median(times);
  }

  // The timing kernel, the cost of a dispatch, and how many invocations fill the device.
  Status prepare() {
    const GpuFacts& facts = gpu_.facts();
    device_.name = facts.name;
    device_.driver = facts.driver;
    device_.date = today();
    device_.is_cpu = facts.is_cpu;
    device_.subgroup_size = facts.subgroup_size;
    const auto pipeline = gpu_.make_kernel(kKernels[0].words);
    if (!pipeline) return pipeline.error();
    timing_ = {*pipeline, kGroup, parameters_of({}, 1)};
    const std::vector<KernelDispatch> empty(16, {*pipeline, 1, parameters_of({}, 0)});
    std::vector<double> fixed;
    for (size_t round = 0; round < kRounds; ++round) {
      const auto times = gpu_.time(empty);
      if (!times) return times.error();
      fixed.insert(fixed.end(), times->begin() + 1, times->end());
    }
    device_.dispatch = {usual(fixed), "an empty dispatch", 0};
    device_.draw = {device_.dispatch.value, "assumed: as a dispatch", 0};
    device_.pass = device_.draw;
    return fill_device();
  }

  // Doubles the invocations until they do not get faster.
  Status fill_device() {
    constexpr uint32_t kMaxGroups = 1U << 15;
    constexpr double kGain = 0.97;
    constexpr uint32_t kIterations = 256;
    double before = 0;
    for (groups_ = 64; groups_ < kMaxGroups; groups_ *= 2) {
      KernelDispatch dispatch = timing_;
      dispatch.groups = groups_;
      dispatch.parameters.count = kIterations;
      const auto times = gpu_.time(std::vector(3, dispatch));
      if (!times) return times.error();
      const double each = *std::ranges::min_element(*times) / groups_;
      if (before != 0 && each > before * kGain) break;
      before = each;
    }
    // The timing kernel runs about a millisecond, and is the same work each time.
    timing_.groups = groups_;
    timing_.parameters.count = static_cast<uint32_t>(
        std::clamp(1e-3 / (before * groups_) * kIterations, 1.0, double{kMaxIterations}));
    constexpr int kWarmUp = 100;  // milliseconds, until clocks have risen
    for (int run = 0; run < kWarmUp; ++run) {
      if (const auto times = gpu_.time({&timing_, 1}); !times) return times.error();
    }
    return {};
  }

  static KernelParameters parameters_of(const Shape& shape, double iterations) {
    KernelParameters parameters;
    parameters.count = static_cast<uint32_t>(iterations);
    parameters.mask = shape.words - 1;
    parameters.stride = shape.stride;
    return parameters;
  }

  // Those of the fit; one workgroup alone; and what captures do not tell.
  Status choose_kernels() {
    Status status;
    for (const KernelCode& code : kKernels) {
      if (status.ok() && is_supported(code)) status = add(code, {}, 0);
    }
    fitted_ = measurements_.size();
    const KernelCode &load = kernel_named("load"), &vectors = kernel_named("vector_load");
    const uint32_t all = gpu_.facts().words;
    if (status.ok()) status = add(kKernels[0], {.groups = 1}, 0);
    if (status.ok()) status = add(load, {.groups = 1}, 0);
    if (status.ok()) status = add(load, {.words = 1U << 12}, 16);
    if (status.ok()) status = add(load, {.stride = 32 * kGroup + 32}, 16);
    if (status.ok()) status = add(load, {.words = all, .stride = kGroup * groups_}, 16);
    if (status.ok()) status = add(vectors, {.words = all, .stride = kGroup * groups_}, 4);
    if (status.ok()) status = add(kContended, {}, 4);
    if (status.ok()) status = add(kRemainder, {}, 8);
    if (status.ok()) status = add(kChase, {.groups = 1, .words = 1U << 12}, 16);
    return status;
  }

  // Chooses as many iterations as take a few milliseconds.
  Status add(const KernelCode& code, const Shape& shape, double accesses) {
    const auto pipeline = gpu_.make_kernel(code.words);
    if (!pipeline) return with_context(pipeline.error(), code.name);
    KernelDispatch dispatch{*pipeline, shape.groups != 0 ? shape.groups : groups_,
                            parameters_of(shape, 1)};
    // Some drivers compile at the first use.
    if (const auto first = gpu_.time({&dispatch, 1}); !first) return first.error();
    double iterations = 4;
    while (true) {
      dispatch.parameters = parameters_of(shape, iterations);
      KernelDispatch without = dispatch;
      without.parameters.count = 0;
      const auto times = gpu_.time(std::vector{without, dispatch, without, dispatch});
      if (!times) return with_context(times.error(), code.name);
      const double seconds =
          std::max(std::min((*times)[1], (*times)[3]) - std::min((*times)[0], (*times)[2]), 0.0);
      if (seconds >= kMinSeconds || iterations >= kMaxIterations) break;
      iterations *= std::clamp(kAimedSeconds / (seconds + 1e-9), 2.0, 64.0);
      iterations = std::min<double>(std::ceil(iterations), kMaxIterations);
    }
    measurements_.push_back({&code, dispatch, accesses, {}, {}, {}});
    return {};
  }

  // One round of all kernels: what disturbs a while does not fall on one kernel alone.
  Status measure_all() {
    for (Measurement& of : measurements_) {
      KernelDispatch without = of.dispatch;
      without.parameters.count = 0;
      const std::vector<KernelDispatch> in_turn = {timing_, of.dispatch, without};
      const auto times = gpu_.time(in_turn);
      if (!times) return with_context(times.error(), of.code->name);
      of.clocks.push_back((*times)[0]);
      of.all.push_back((*times)[1]);
      of.without.push_back((*times)[2]);
    }
    return {};
  }

  double seconds_of(const Measurement& of) const {
    return std::max(usual(of.all) - usual(of.without), 1e-9);
  }

  Status make_numbers() {
    std::vector<double> starts, clocks;
    for (const Measurement& of : measurements_) clocks.push_back(usual(of.clocks));
    const auto [slowest, fastest] =
        std::pair(*std::ranges::max_element(clocks), *std::ranges::min_element(clocks));
    device_.clock_spread = slowest / fastest - 1;
    std::vector<MeasuredKernel> kernels;
    for (size_t m = 0; m < fitted_; ++m) {
      const Measurement& of = measurements_[m];
      const auto work = analysis::work_of_loop(of.code->words, double{kGroup} * groups_,
                                               of.dispatch.parameters.count);
      if (!work) return with_context(work.error(), of.code->name);
      kernels.push_back(
          {of.code->name, *work, seconds_of(of), clocks[m] / fastest, of.code->mixes});
      starts.push_back(usual(of.without));
    }
    fit_kernels(kernels, device_);
    const double start = std::max(median(starts) - device_.dispatch.value, 0.0);
    device_.invocation = {start / (double{kGroup} * groups_), "all, without iterations", 0};
    const auto arithmetic = needed(measurements_[fitted_]);
    if (!arithmetic) return arithmetic.error();
    const auto memory = needed(measurements_[fitted_ + 1]);
    if (!memory) return memory.error();
    device_.needed_invocations = *arithmetic;
    device_.needed_invocations_memory = *memory;
    note_levels();
    return {};
  }

  // One workgroup of a kernel waits for itself: how many invocations the device could run in the
  // same time.
  Result<DeviceNumber> needed(const Measurement& of) const {
    const auto work = analysis::work_of_loop(of.code->words, kGroup, of.dispatch.parameters.count);
    if (!work) return work.error();
    DeviceModel full = device_;
    full.needed_invocations = full.needed_invocations_memory = {};
    const analysis::WorkTime modelled = full.time_of(*work);
    const double at_once = modelled.seconds - modelled.fixed;
    const double times = at_once > 0 ? std::max(1.0, seconds_of(of) / at_once) : 1;
    return DeviceNumber{times * kGroup, fmt::format("{}, one workgroup", of.code->name), 0};
  }

  // Captures do not tell these, so the model does not use them.
  void note_levels() {
    constexpr const char* kLevels[] = {"load_first_cache_ps", "load_stride_128_bytes_ps",
                                       "load_memory_ps",      "vector_load_memory_ps",
                                       "contended_atomic_ps", "integer_division_ps",
                                       "dependent_load_ps"};
    const char* const* name = std::begin(kLevels);
    for (const Measurement& of : measurements_) {
      if (of.accesses == 0) continue;
      const double invocations = of.dispatch.groups == 1 ? 1 : double{kGroup} * of.dispatch.groups;
      device_.informative.emplace_back(
          *name++,
          seconds_of(of) * 1e12 / (of.dispatch.parameters.count * of.accesses * invocations));
    }
  }

  static const KernelCode& kernel_named(std::string_view name) {
    return *std::ranges::find(kKernels, name, &KernelCode::name);
  }

  Gpu& gpu_;
  ProgressLine& progress_;
  DeviceModel device_;
  KernelDispatch timing_;
  uint32_t groups_ = 0;  // that fill the device
  std::vector<Measurement> measurements_;
  size_t fitted_ = 0;  // the first ones; then one workgroup of two kernels, and levels
};

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
  std::string text = fmt::format(
      "{} ({})\n{} kernels; a multiply-add takes {:.3g} ps, a dispatch {:.3g} us; {:.0f} "
      "invocations fill the device\nthe model is within {:.0f} % of half of the kernels, and "
      "within "
      "{:.0f} % of all\n",
      device.name, device.driver, device.kernels.size(), fma * 1e12, device.dispatch.value * 1e6,
      device.needed_invocations.value, median(residuals) * 100,
      *std::ranges::max_element(residuals) * 100);
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
        why.empty() ? "tally predict states times" : "tally predict gives order alone: " + why);
  }
  return text;
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

int measure_device(const CalibrateOptions& options) {
  if (Status may = may_write(options); !may) return fail(may.error());
  auto gpu = Gpu::open(options.device);
  if (!gpu) return fail(gpu.error());
  std::optional<ProgressLine> progress("calibrating " + (*gpu)->facts().name);
  auto device = Calibration(**gpu, *progress).run();
  progress.reset();
  if (!device) return fail(device.error());
  if (Status written = replace_file(options.output, device->to_json()); !written)
    return fail(written.error());
  return print(summary_of(*device) + written_line("device file", options.output) + "\n");
}

int add_programs(const CalibrateOptions& options) {
  if (options.programs.size() % 2 != 0)
    return fail(
        {"--programs takes pairs: a capture with counts, then one of tally run --times "
         "plain"});
  auto device = DeviceModel::load(options.output);
  if (!device) return fail(device.error());
  device->program_works.clear();
  for (size_t i = 0; i < options.programs.size(); i += 2) {
    const Status added =
        analysis::add_program(options.programs[i], options.programs[i + 1], *device);
    if (!added) return fail(added.error());
  }
  fit_programs(*device);
  if (Status written = replace_file(options.output, device->to_json()); !written)
    return fail(written.error());
  return print(errors_text(*device) + written_line("device file", options.output) + "\n");
}

}  // namespace

void add_calibrate(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CalibrateOptions>();
  options->output = "device.json";
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure what a device takes for known work, for tally predict");
  command->add_option("-o,--output", options->output, "Device file to write (default: device.json)")
      ->type_name("FILE");
  CLI::Option* device =
      command
          ->add_option("--device", options->device, "Device to measure, as tally list numbers it")
          ->check(whole_number())
          ->type_name("N");
  CLI::Option* force =
      command->add_flag("--force", options->force, "Replace a file that is no device file");
  command
      ->add_option("--programs", options->programs,
                   "Measure nothing: add to the device file how far programs were from the model; "
                   "for each a capture with counts and one of tally run --times plain")
      ->type_name("COUNTED PLAIN ...")
      ->excludes(device)
      ->excludes(force);
  command->footer(
      "Example: tally calibrate -o device.json\nIts kernels and the model: docs/user/predict.md");
  command->callback([options, &chosen] {
    chosen = [options] {
      return options->programs.empty() ? measure_device(*options) : add_programs(*options);
    };
  });
}

}  // namespace tally::cli
