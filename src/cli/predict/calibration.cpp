#include "cli/predict/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include "analysis/predict/fit.h"
#include "atomic_calibrate.comp.h"
#include "barrier_calibrate.comp.h"
#include "chase_calibrate.comp.h"
#include "conflicting_calibrate.comp.h"
#include "contended_calibrate.comp.h"
#include "conversion_calibrate.comp.h"
#include "division_calibrate.comp.h"
#include "empty_calibrate.comp.h"
#include "empty_calibrate.frag.h"
#include "empty_wide_calibrate.comp.h"
#include "fetch_calibrate.comp.h"
#include "float32_calibrate.comp.h"
#include "float64_calibrate.comp.h"
#include "fma_and_load_calibrate.comp.h"
#include "fma_calibrate.comp.h"
#include "fma_calibrate.frag.h"
#include "image_load_calibrate.comp.h"
#include "image_store_calibrate.comp.h"
#include "int32_calibrate.comp.h"
#include "int64_calibrate.comp.h"
#include "load_calibrate.comp.h"
#include "load_calibrate.frag.h"
#include "loop_calibrate.comp.h"
#include "remainder_calibrate.comp.h"
#include "sample_calibrate.comp.h"
#include "sample_calibrate.frag.h"
#include "select_calibrate.comp.h"
#include "shared_load_calibrate.comp.h"
#include "shared_store_calibrate.comp.h"
#include "special_and_shared_calibrate.comp.h"
#include "special_calibrate.comp.h"
#include "spread_load_calibrate.comp.h"
#include "store_calibrate.comp.h"
#include "subgroup_calibrate.comp.h"
#include "touch_calibrate.comp.h"
#include "uniform_load_calibrate.comp.h"
#include "vector_load_calibrate.comp.h"
#include "vector_store_calibrate.comp.h"

namespace tally::cli {
namespace {

using analysis::DeviceModel;
using analysis::DeviceNumber;
using analysis::MeasuredKernel;

constexpr uint32_t kGroup = 64;         // invocations of a workgroup
constexpr uint32_t kWideGroup = 256;    // of an empty kernel
constexpr double kMinSeconds = 1.5e-3;  // of a measured dispatch
constexpr double kAimedSeconds = 3e-3;
constexpr uint32_t kMaxIterations = 1U << 24;
constexpr size_t kRounds = 15;
constexpr size_t kRoundsOfProcessors = 40;  // which other programs use
constexpr size_t kTrials = 2;               // runs that choose the iterations of a kernel
constexpr size_t kTrialsOfProcessors = 8;
constexpr uint32_t kCachedWords = 1U << 18;  // 1 MiB: beyond the first cache of a GPU

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
// Fragment shaders, each with the kernel of the same name.
const KernelCode kFragmentKernels[] = {
    {"fma, in fragments", fma_calibrate_frag},
    {"load, in fragments", load_calibrate_frag},
    {"sample, in fragments", sample_calibrate_frag},
};
const KernelCode kContended = {TALLY_KERNEL(contended)};
const KernelCode kSpreadLoad = {TALLY_KERNEL(spread_load)};
const KernelCode kConflicting = {TALLY_KERNEL(conflicting)};
const KernelCode kRemainder = {TALLY_KERNEL(remainder)};
const KernelCode kChase = {TALLY_KERNEL(chase)};
#undef TALLY_KERNEL

bool is_supported(const KernelCode& code, const GpuFacts& facts) {
  return code.needs == Needs::Nothing || (code.needs == Needs::Float64 && facts.float64) ||
         (code.needs == Needs::Int64 && facts.int64) ||
         (code.needs == Needs::Subgroup && facts.subgroup_arithmetic);
}

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
  bool in_fragments = false;  // one for each pixel of a pass
};

// A kernel, and the seconds of each round.
struct Measurement {
  const KernelCode* code = nullptr;
  KernelRun run;
  double accesses = 0;                       // of an iteration; 0: not asked for
  std::vector<double> all, without, clocks;  // with iterations and without; of the timing kernel
};

// These run no kernel: a dispatch of shaders that do nothing, and render passes.
enum PlainRun : uint8_t {
  kEmptyKernel,
  kWideKernel,
  kSmallPass,
  kLargePass,
  kDrawPass,
  kVertexPass,
  kFragmentPass
};
constexpr size_t kSpreads = 2;                // kernels of spread accesses
constexpr uint32_t kSmall = 16, kDraws = 64;  // pixels on each side; draws of a pass
constexpr uint32_t kVertices = 3U << 18;      // of a draw

// `large` pixels on each side: more than fill the device.
KernelPass plain_pass(PlainRun run, uint32_t large) {
  switch (run) {
    case kLargePass:
      return {.size = large};
    case kDrawPass:
      return {.size = kSmall, .draws = kDraws, .first_vertex = 3};
    case kVertexPass:
      return {.size = kSmall, .draws = 1, .first_vertex = 3, .vertices = kVertices};
    case kFragmentPass:
      return {.size = large, .draws = 1};
    default:
      return {.size = kSmall};
  }
}

// Measures the kernels on a device.
class Calibration {
 public:
  Calibration(Gpu& gpu, ProgressLine& progress) : gpu_(gpu), progress_(progress) {}

  Result<DeviceModel> run() {
    TALLY_TRY(prepare());
    TALLY_TRY(measure_dispatch());
    TALLY_TRY(choose_kernels());
    const size_t rounds = device_.is_cpu ? kRoundsOfProcessors : kRounds;
    for (size_t round = 0; round < rounds; ++round) {
      progress_.update(static_cast<double>(round) / static_cast<double>(rounds));
      TALLY_TRY(measure_all());
    }
    TALLY_TRY(make_numbers());
    return device_;
  }

 private:
  uint32_t large() const { return device_.is_cpu ? PassKernels::kSize / 4 : PassKernels::kSize; }

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
    const auto pipeline = TALLY_TRY(gpu_.make_kernel(kKernels[0].words));
    timing_ = {pipeline, kGroup, parameters_of({}, 1)};
    return fill_device();
  }

  // Each dispatch of a chain reads what the one before has written, as those of programs do.
  Status measure_dispatch() {
    const auto touch = TALLY_TRY(gpu_.make_kernel(touch_calibrate_comp));
    const std::vector<KernelRun> chain(16, {touch, 1, parameters_of({}, 0)});
    std::vector<double> fixed;
    for (size_t round = 0; round < kRounds; ++round) {
      const auto times = TALLY_TRY(gpu_.time(chain));
      fixed.insert(fixed.end(), times.begin() + 1, times.end());
    }
    device_.dispatch = {usual(fixed), "a word read and written", 0};
    return {};
  }

  // Doubles the invocations until they do not get faster.
  Status fill_device() {
    constexpr uint32_t kMaxGroups = 1U << 15;
    constexpr double kGain = 0.97;
    constexpr uint32_t kIterations = 256;
    double before = 0;
    for (groups_ = 64; groups_ < kMaxGroups; groups_ *= 2) {
      KernelRun dispatch = timing_;
      dispatch.groups = groups_;
      dispatch.parameters.count = kIterations;
      const auto times = TALLY_TRY(gpu_.time(std::vector(3, dispatch)));
      const double each = *std::ranges::min_element(times) / groups_;
      if (before != 0 && each > before * kGain) break;
      before = each;
    }
    // The timing kernel runs about a millisecond, and is the same work each time.
    timing_.groups = groups_;
    timing_.parameters.count = static_cast<uint32_t>(
        std::clamp(1e-3 / (before * groups_) * kIterations, 1.0, double{kMaxIterations}));
    constexpr int kWarmUp = 100;  // milliseconds, until clocks have risen
    for (int run = 0; run < kWarmUp; ++run) {
      TALLY_TRY(gpu_.time({&timing_, 1}));
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
    for (const KernelCode& code : kKernels) {
      if (is_supported(code, gpu_.facts())) TALLY_TRY(add(code, {}, 0));
    }
    fitted_ = measurements_.size();
    const KernelCode &load = kernel_named("load"), &vectors = kernel_named("vector_load");
    const uint32_t all = gpu_.facts().words;
    TALLY_TRY(add(kKernels[0], {.groups = 1}, 0));
    TALLY_TRY(add(load, {.groups = 1}, 0));
    TALLY_TRY(add(load, {.words = 1U << 12}, 16));
    TALLY_TRY(add(load, {.stride = 32 * kGroup + 32}, 16));
    TALLY_TRY(add(load, {.words = all, .stride = kGroup * groups_}, 16));
    TALLY_TRY(add(vectors, {.words = all, .stride = kGroup * groups_}, 4));
    TALLY_TRY(add(kContended, {}, 4));
    TALLY_TRY(add(kRemainder, {}, 8));
    TALLY_TRY(add(kChase, {.groups = 1, .words = 1U << 12}, 16));
    levels_ = measurements_.size();
    TALLY_TRY(add(kSpreadLoad, {}, 0));
    TALLY_TRY(add(kConflicting, {}, 0));
    for (const KernelCode& code : kFragmentKernels) {
      if (gpu_.facts().graphics) TALLY_TRY(add(code, {.in_fragments = true}, 0));
    }
    return prepare_plain_runs();
  }

  Status prepare_plain_runs() {
    const auto kernel = TALLY_TRY(gpu_.make_kernel(empty_calibrate_comp));
    const auto wide = TALLY_TRY(gpu_.make_kernel(empty_wide_calibrate_comp));
    plain_runs_.push_back({kernel, groups_, parameters_of({}, 0)});
    plain_runs_.push_back({wide, groups_, parameters_of({}, 0)});
    if (gpu_.facts().graphics) {
      const auto fragment = TALLY_TRY(gpu_.make_pass_kernel(empty_calibrate_frag));
      for (const PlainRun run : {kSmallPass, kLargePass, kDrawPass, kVertexPass, kFragmentPass})
        plain_runs_.push_back({fragment, 0, parameters_of({}, 0), plain_pass(run, large())});
    }
    plain_seconds_.resize(plain_runs_.size());
    TALLY_TRY(with_context(gpu_.time(plain_runs_), "render passes"));
    return {};
  }

  Status measure_plain_runs() {
    const auto times = TALLY_TRY(with_context(gpu_.time(plain_runs_), "render passes"));
    for (size_t r = 0; r < times.size(); ++r) plain_seconds_[r].push_back(times[r]);
    return {};
  }

  // Chooses as many iterations as take a few milliseconds.
  Status add(const KernelCode& code, const Shape& shape, double accesses) {
    const auto pipeline = TALLY_TRY(with_context(
        shape.in_fragments ? gpu_.make_pass_kernel(code.words) : gpu_.make_kernel(code.words),
        code.name));
    KernelRun dispatch{pipeline, shape.groups != 0 ? shape.groups : groups_,
                       parameters_of(shape, 1)};
    if (shape.in_fragments) dispatch.pass = plain_pass(kFragmentPass, large());
    // Some drivers compile at the first use.
    TALLY_TRY(gpu_.time({&dispatch, 1}));
    double iterations = 4;
    while (true) {
      dispatch.parameters = parameters_of(shape, iterations);
      KernelRun without = dispatch;
      without.parameters.count = 0;
      const auto least = [&](const KernelRun& run) -> Result<double> {
        const std::vector<KernelRun> runs(device_.is_cpu ? kTrialsOfProcessors : kTrials, run);
        const auto times = TALLY_TRY(with_context(gpu_.time(runs), code.name));
        return *std::ranges::min_element(times);
      };
      const double seconds = std::max(TALLY_TRY(least(dispatch)) - TALLY_TRY(least(without)), 0.0);
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
      KernelRun without = of.run;
      without.parameters.count = 0;
      const std::vector<KernelRun> in_turn = {timing_, of.run, without};
      const auto times = TALLY_TRY(with_context(gpu_.time(in_turn), of.code->name));
      of.clocks.push_back(times[0]);
      of.all.push_back(times[1]);
      of.without.push_back(times[2]);
    }
    return measure_plain_runs();
  }

  double seconds_of(const Measurement& of) const {
    return std::max(usual(of.all) - usual(of.without), 1e-9);
  }

  Status make_numbers() {
    std::vector<double> clocks;
    for (const Measurement& of : measurements_) clocks.push_back(usual(of.clocks));
    const auto [slowest, fastest] =
        std::pair(*std::ranges::max_element(clocks), *std::ranges::min_element(clocks));
    device_.clock_spread = slowest / fastest - 1;
    std::vector<MeasuredKernel> kernels;
    for (size_t m = 0; m < fitted_; ++m) {
      const Measurement& of = measurements_[m];
      const auto work = TALLY_TRY(
          with_context(analysis::work_of_loop(of.code->words, spv::ExecutionModel::GLCompute,
                                              double{kGroup} * groups_, of.run.parameters.count),
                       of.code->name));
      kernels.push_back({of.code->name, work, seconds_of(of), clocks[m] / fastest, of.code->mixes});
    }
    fit_kernels(kernels, device_);
    const auto arithmetic = TALLY_TRY(needed(measurements_[fitted_]));
    const auto memory = TALLY_TRY(needed(measurements_[fitted_ + 1]));
    device_.needed_invocations = arithmetic;
    device_.needed_invocations_memory = memory;
    note_levels();
    make_dispatch_numbers();
    return make_pass_numbers();
  }

  double plain_seconds(PlainRun run) const { return usual(plain_seconds_[run]); }

  // An access of a lane, in the fit's kernel of coalesced accesses and in one of spread ones.
  double more_per_access(const Measurement& spread, const KernelCode& close) const {
    const auto of = std::ranges::find(measurements_, &close, &Measurement::code);
    const auto seconds = [&](const Measurement& measured) {
      constexpr double kAccesses = 16;  // of an iteration
      return seconds_of(measured) /
             (measured.run.parameters.count * kAccesses * kGroup * measured.run.groups);
    };
    return std::max(seconds(spread) - seconds(*of), 0.0);
  }

  void make_dispatch_numbers() {
    const double narrow = plain_seconds(kEmptyKernel), wide = plain_seconds(kWideKernel);
    const double lane = std::max(wide - narrow, 0.0) / ((kWideGroup - kGroup) * groups_);
    device_.invocation = {lane, "empty kernels of two sizes", 0};
    device_.workgroup = {std::max((narrow - device_.dispatch.value) / groups_ - kGroup * lane, 0.0),
                         "empty kernels of two sizes", 0};
    // Coalesced, eight lanes share a sector, and no lanes share a bank.
    device_.spread_sector = {
        more_per_access(measurements_[levels_], kernel_named("load")) / (1 - 1.0 / 8),
        "spread_load", 0};
    device_.extra_pass = {
        more_per_access(measurements_[levels_ + 1], kernel_named("shared_load")) * 32 / 31,
        "conflicting", 0};
  }

  Status make_pass_numbers() {
    if (!gpu_.facts().graphics) {
      device_.draw = device_.pass = {device_.dispatch.value, "assumed: as a dispatch", 0};
      device_.vertex =
          device_.fragment = {device_.invocation.value, "assumed: as an invocation", 0};
      return {};
    }
    const auto beyond = [&](PlainRun run, PlainRun without, double count, const char* kernel) {
      return DeviceNumber{std::max(plain_seconds(run) - plain_seconds(without), 0.0) / count,
                          kernel, 0};
    };
    const double pixels = static_cast<double>(large()) * large();
    device_.pass = {plain_seconds(kSmallPass), "an empty pass", 0};
    device_.attachment_pixel =
        beyond(kLargePass, kSmallPass, pixels - kSmall * kSmall, "an empty large pass");
    device_.draw = beyond(kDrawPass, kSmallPass, kDraws, "draws without a pixel");
    device_.vertex = beyond(kVertexPass, kSmallPass, kVertices, "a draw without a pixel");
    device_.fragment = beyond(kFragmentPass, kLargePass, pixels, "a triangle over all pixels");
    DeviceNumber* const numbers[] = {&device_.graphics_arithmetic, &device_.graphics_memory,
                                     &device_.graphics_texture};
    for (size_t k = 0; k < std::size(kFragmentKernels); ++k) {
      const Measurement& of = measurements_[levels_ + kSpreads + k];
      auto work = TALLY_TRY(
          with_context(analysis::work_of_loop(of.code->words, spv::ExecutionModel::Fragment, pixels,
                                              of.run.parameters.count),
                       of.code->name));
      work.invocations = pixels;
      const analysis::WorkTime in_compute = device_.time_of(work);
      *numbers[k] = {seconds_of(of) / (in_compute.seconds - in_compute.fixed), of.code->name, 0};
    }
    return {};
  }

  // One workgroup of a kernel waits for itself: how many invocations the device could run in the
  // same time.
  Result<DeviceNumber> needed(const Measurement& of) const {
    const auto work = TALLY_TRY(analysis::work_of_loop(
        of.code->words, spv::ExecutionModel::GLCompute, kGroup, of.run.parameters.count));
    DeviceModel full = device_;
    full.needed_invocations = full.needed_invocations_memory = {};
    const analysis::WorkTime modelled = full.time_of(work);
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
      const double invocations = of.run.groups == 1 ? 1 : double{kGroup} * of.run.groups;
      device_.informative.emplace_back(
          *name++, seconds_of(of) * 1e12 / (of.run.parameters.count * of.accesses * invocations));
    }
  }

  static const KernelCode& kernel_named(std::string_view name) {
    return *std::ranges::find(kKernels, name, &KernelCode::name);
  }

  Gpu& gpu_;
  ProgressLine& progress_;
  DeviceModel device_;
  KernelRun timing_;
  uint32_t groups_ = 0;  // that fill the device
  std::vector<Measurement> measurements_;
  size_t fitted_ = 0;  // the first ones; then one workgroup of two kernels, and levels
  size_t levels_ = 0;  // up to here; then spread accesses, and fragment shaders
  std::vector<KernelRun> plain_runs_;               // by PlainRun; without graphics the first two
  std::vector<std::vector<double>> plain_seconds_;  // by PlainRun, of each round
};

// Takes the numbers from the compiler of a driver without hardware: its estimates of kernels of 1
// and 3 iterations. It unrolls these, so it guesses no number of iterations.
class CompilerCalibration {
 public:
  CompilerCalibration(Gpu& gpu, ProgressLine& progress) : gpu_(gpu), progress_(progress) {}

  Result<DeviceModel> run() {
    const GpuFacts& facts = gpu_.facts();
    const auto empty = TALLY_TRY(gpu_.compile(empty_calibrate_comp, 1));
    device_.name = facts.name;
    device_.driver = facts.driver;
    device_.date = today();
    device_.in_cycles = true;
    device_.subgroup_size = empty.subgroup_size;
    device_.invocation = {empty.busy / empty.subgroup_size, "an empty kernel", 0};
    for (const KernelCode& code : kKernels) {
      progress_.update(static_cast<double>(&code - kKernels) / std::size(kKernels));
      if (!is_supported(code, facts)) continue;
      TALLY_TRY(with_context(add(code), code.name));
    }
    fit_kernels(kernels_, device_);
    for (const MeasuredKernel& kernel : idle_) {
      for (size_t c = 0; c < spirv::kCostClassCount; ++c) {
        DeviceNumber& number = device_.classes[c];
        if (kernel.work.counts[c] > 0 && number.kernel.empty()) number = {0, kernel.name, 0};
      }
    }
    return device_;
  }

 private:
  Status add(const KernelCode& code) {
    constexpr uint32_t kFew = 1, kMany = 3;
    const auto few = TALLY_TRY(gpu_.compile(code.words, kFew));
    const auto many = TALLY_TRY(gpu_.compile(code.words, kMany));
    auto work = TALLY_TRY(analysis::work_of_loop(code.words, spv::ExecutionModel::GLCompute,
                                                 device_.subgroup_size, kMany - kFew));
    // An unrolled loop has no branch.
    work.counts[static_cast<size_t>(spirv::CostClass::ControlFlow)] = 0;
    constexpr double kMinCycles = 8;  // the estimates are whole cycles
    const double busy = many.busy - few.busy;
    (busy < kMinCycles ? idle_ : kernels_).push_back({code.name, work, busy, 1, code.mixes});
    device_.informative.emplace_back(fmt::format("{}_latency_cycles", code.name),
                                     (many.latency - few.latency) / (kMany - kFew));
    return {};
  }

  Gpu& gpu_;
  ProgressLine& progress_;
  DeviceModel device_;
  std::vector<MeasuredKernel> kernels_;
  std::vector<MeasuredKernel> idle_;  // only wait
};

}  // namespace

Result<DeviceModel> calibrate(Gpu& gpu, ProgressLine& progress) {
  if (gpu.facts().compiles_only) return CompilerCalibration(gpu, progress).run();
  // Other work may hide the time of a multiply-add, to which costs are relative.
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DeviceModel device = TALLY_TRY(Calibration(gpu, progress).run());
    if (device.seconds_of(spirv::CostClass::Fma, analysis::WorkKind::Dispatch) > 0) return device;
  }
  return Error{"other work hides the time of a multiply-add; calibrate on an idle device"};
}

}  // namespace tally::cli
