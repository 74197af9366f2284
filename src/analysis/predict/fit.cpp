#include "analysis/predict/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/model/shader_code.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/loop_bounds.h"

namespace tally::analysis {
namespace {

using spirv::CostClass;

// The classes that kernels measure. The others are the generic table's weights times a
// multiply-add.
constexpr CostClass kMeasured[] = {CostClass::Fma,
                                   CostClass::Float32,
                                   CostClass::Float64,
                                   CostClass::Int32,
                                   CostClass::Int64,
                                   CostClass::Division,
                                   CostClass::Logic,
                                   CostClass::Conversion,
                                   CostClass::SpecialFunction,
                                   CostClass::ControlFlow,
                                   CostClass::BufferLoad,
                                   CostClass::BufferBytesLoaded,
                                   CostClass::BufferStore,
                                   CostClass::BufferBytesStored,
                                   CostClass::UniformLoad,
                                   CostClass::SharedLoad,
                                   CostClass::SharedStore,
                                   CostClass::Atomic,
                                   CostClass::Barrier,
                                   CostClass::Subgroup,
                                   CostClass::TextureSample,
                                   CostClass::TextureFetch,
                                   CostClass::ImageLoad,
                                   CostClass::ImageStore};
constexpr double kExponents[] = {1, 1.25, 1.5, 2, 3, 4, 6, 8};
constexpr int kRefinements = 12;

double log_error(double measured, double modelled) {
  return modelled > 0 ? std::log(measured / modelled) : std::log(measured / 1e-15);
}

// One fit of the classes with a given overlap.
class KernelFit {
 public:
  KernelFit(std::span<const MeasuredKernel> kernels, DeviceModel& device)
      : kernels_(kernels), device_(device) {
    for (const CostClass cost : kMeasured) {
      const bool ran = std::ranges::any_of(
          kernels, [&](const MeasuredKernel& kernel) { return kernel.work[cost] > 0; });
      if (ran) classes_.push_back(cost);
    }
  }

  // Solves for the times that each kernel would take if no resources overlapped, then corrects
  // these times by what the soft maximum of the solution makes of them.
  void fit(double overlap) {
    device_.overlap.value = overlap;
    std::vector<double> serial;
    for (const MeasuredKernel& kernel : kernels_) serial.push_back(kernel.seconds);
    for (int round = 0; round < kRefinements; ++round) {
      solve(serial);
      for (size_t k = 0; k < kernels_.size(); ++k) {
        const WorkTime time = device_.time_of(kernels_[k].work);
        const double in_turn =
            std::accumulate(time.by_resource.begin(), time.by_resource.end(), 0.0);
        const double modelled = time.seconds - time.fixed;
        if (modelled > 0) serial[k] = kernels_[k].seconds * in_turn / modelled;
      }
    }
  }

  // The sum over the kernels that mix resources, or over all others.
  double squared_error(bool of_mixes) const {
    double sum = 0;
    for (const MeasuredKernel& kernel : kernels_) {
      if (kernel.mixes == of_mixes) sum += std::pow(log_error(kernel.seconds, modelled(kernel)), 2);
    }
    return sum;
  }

  void note_residuals() {
    for (const MeasuredKernel& kernel : kernels_) {
      const double time = modelled(kernel);
      device_.kernels.push_back({kernel.name, kernel.seconds, time, kernel.clock});
    }
    for (const CostClass cost : classes_) {
      DeviceNumber& number = device_.classes[static_cast<size_t>(cost)];
      double most = 0;
      for (const MeasuredKernel& kernel : kernels_) {
        const double part = number.value * kernel.work[cost] / kernel.seconds;
        if (kernel.mixes || part <= most) continue;
        most = part;
        number.kernel = kernel.name;
        number.residual = kernel.seconds / modelled(kernel) - 1;
      }
      if (number.kernel.empty()) number.kernel = "no kernel is slower with it";
    }
  }

 private:
  double modelled(const MeasuredKernel& kernel) const {
    const WorkTime time = device_.time_of(kernel.work);
    return time.seconds - time.fixed;
  }

  void solve(const std::vector<double>& serial) {
    std::vector<std::vector<double>> matrix;
    std::vector<double> target;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (kernels_[k].mixes) continue;
      std::vector<double> row;
      for (const CostClass cost : classes_) row.push_back(kernels_[k].work[cost] / serial[k]);
      matrix.push_back(std::move(row));
      target.push_back(1);
    }
    const std::vector<double> numbers = non_negative_least_squares(matrix, target);
    for (size_t c = 0; c < classes_.size(); ++c)
      device_.classes[static_cast<size_t>(classes_[c])].value = numbers[c];
    assume_others();
  }

  void assume_others() {
    const auto generic = DeviceCosts::generic();
    const double issue = device_.classes[static_cast<size_t>(CostClass::Fma)].value;
    for (size_t c = 0; c < spirv::kCostClassCount; ++c) {
      const auto cost = static_cast<CostClass>(c);
      if (std::ranges::find(classes_, cost) == classes_.end())
        device_.classes[c].value = generic->weight(cost) * issue;
    }
    // Bytes are measured together with their access; some classes are like another one.
    const auto as = [&](CostClass cost, CostClass other) {
      device_.classes[static_cast<size_t>(cost)].value =
          device_.classes[static_cast<size_t>(other)].value;
    };
    for (const CostClass bytes : {CostClass::SharedBytesLoaded, CostClass::SharedBytesStored,
                                  CostClass::UniformBytesLoaded})
      device_.classes[static_cast<size_t>(bytes)].value = 0;
    as(CostClass::TextureGather, CostClass::TextureSample);
    as(CostClass::Int16, CostClass::Int32);
    as(CostClass::Int8, CostClass::Int32);
    as(CostClass::Float16, CostClass::Float32);
  }

  std::span<const MeasuredKernel> kernels_;
  DeviceModel& device_;
  std::vector<CostClass> classes_;
};

}  // namespace

Result<Work> work_of_loop(std::span<const uint32_t> words, spv::ExecutionModel stage,
                          double invocations, double iterations) {
  const auto module = TALLY_TRY(spirv::Module::parse(words));
  const spirv::GpuCompiler gpu = spirv::gpu_compiler(module, stage, "main");
  const auto map =
      TALLY_TRY(spirv::BlockMap::build(module, stage, "main", spirv::CostDetail::Kept, &gpu));
  uint32_t header = 0, merge = 0;  // label ids
  Work work;
  for (const spirv::Block& block : map.blocks()) {
    if (block.label_id == merge) header = 0;
    for (size_t i = 0; header == 0 && i < module.instruction_count(); ++i) {
      const spirv::Instruction instruction = module.instruction(i);
      const bool is_merge = instruction.opcode() == spv::Op::OpLoopMerge &&
                            instruction.offset() > block.word_begin &&
                            instruction.offset() < block.word_end;
      if (is_merge) header = block.label_id, merge = instruction.operand(0);
    }
    if (header == 0) continue;
    const double times = invocations * iterations;
    const spirv::InstructionMix mix = map.kept(block);
    for (size_t c = 0; c < spirv::kCostClassCount; ++c)
      work.counts[c] += times * static_cast<double>(mix[static_cast<CostClass>(c)]);
  }
  return work;
}

// Lawson and Hanson's method on the normal equations is more than this needs: there are about 30
// unknowns, and each coordinate has its minimum in closed form.
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& matrix,
                                               const std::vector<double>& target) {
  constexpr int kRounds = 20'000;
  constexpr double kSettled = 1e-10;
  const size_t columns = matrix.empty() ? 0 : matrix.front().size();
  // Columns of length 1, as their units differ by orders of magnitude.
  std::vector<double> lengths(columns), scaled(columns);
  for (size_t c = 0; c < columns; ++c) {
    for (const auto& row : matrix) lengths[c] += row[c] * row[c];
    lengths[c] = std::sqrt(lengths[c]);
  }
  std::vector<double> residual = target;
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (size_t c = 0; c < columns; ++c) {
      if (lengths[c] == 0) continue;
      double slope = 0;
      for (size_t r = 0; r < matrix.size(); ++r) slope += matrix[r][c] / lengths[c] * residual[r];
      const double next = std::max(0.0, scaled[c] + slope);
      const double step = next - scaled[c];
      for (size_t r = 0; r < matrix.size(); ++r) residual[r] -= matrix[r][c] / lengths[c] * step;
      scaled[c] = next;
      moved = std::max(moved, std::abs(step));
    }
    if (moved < kSettled) break;
  }
  for (size_t c = 0; c < columns; ++c) scaled[c] = lengths[c] == 0 ? 0 : scaled[c] / lengths[c];
  return scaled;
}

void fit_kernels(std::span<const MeasuredKernel> kernels, DeviceModel& device) {
  KernelFit fit(kernels, device);
  double best = kExponents[0], least = INFINITY;
  // A processor does one thing after the other.
  for (const double overlap : kExponents) {
    fit.fit(overlap);
    const double error = fit.squared_error(true);
    if (error < least) {
      least = error;
      best = overlap;
    }
    if (device.is_cpu) break;
  }
  fit.fit(best);
  device.kernels.clear();
  fit.note_residuals();
  device.overlap.kernel = device.is_cpu ? "assumed: a processor" : "kernels of two resources";
  device.overlap.residual = std::sqrt(least);
}

double spearman(std::span<const double> a, std::span<const double> b,
                std::span<const double> weights) {
  // The rank of a value is the weight of what lies below, and half the weight of its equals.
  const auto ranks = [&](std::span<const double> values) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
    std::vector<double> result(values.size());
    double below = 0;
    for (size_t first = 0; first < order.size();) {
      size_t end = first;
      double equal = 0;
      while (end < order.size() && values[order[end]] == values[order[first]])
        equal += weights[order[end++]];
      for (; first < end; ++first) result[order[first]] = below + equal / 2;
      below += equal;
    }
    return result;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0), mean = total / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += weights[i] * (x[i] - mean) * (y[i] - mean);
    xx += weights[i] * (x[i] - mean) * (x[i] - mean);
    yy += weights[i] * (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

namespace {

// Logarithms of measured / modelled of each program.
using ProgramLogs = std::vector<std::vector<double>>;

constexpr double kTail = 0.1;  // on each side of the interval

// The smallest value with at least `mass` at or below it, where each program has the same mass,
// all of them `whole` together. None if the values do not reach it.
std::optional<double> quantile(const ProgramLogs& logs, double mass, double whole) {
  std::vector<std::pair<double, double>> weighted;
  for (const auto& program : logs) {
    for (const double value : program)
      weighted.emplace_back(value, whole / static_cast<double>(program.size() * logs.size()));
  }
  std::ranges::sort(weighted);
  constexpr double kRounding = 1e-9;
  double sum = 0;
  for (const auto& [value, weight] : weighted) {
    sum += weight;
    if (sum >= mass - kRounding) return value;
  }
  return std::nullopt;
}

double shift_of(const ProgramLogs& logs) { return quantile(logs, 0.5, 1).value_or(0); }

ProgramLogs without(const ProgramLogs& logs, size_t program) {
  ProgramLogs others = logs;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(program));
  return others;
}

struct Interval {
  std::optional<double> low, high;  // around the shift
};

// The errors of each program if the others predict it.
ProgramLogs left_out(const ProgramLogs& logs) {
  ProgramLogs errors = logs;
  for (size_t p = 0; p < logs.size(); ++p) {
    const double shift = shift_of(without(logs, p));
    for (double& value : errors[p]) value -= shift;
  }
  return errors;
}

// Split conformal prediction with programs as the exchangeable unit: a further program has the same
// mass as each of these, and may lie anywhere. So fewer than nine have no interval of 80 %.
Interval interval_of(const ProgramLogs& errors) {
  const double whole = static_cast<double>(errors.size()) / static_cast<double>(errors.size() + 1);
  ProgramLogs negative = errors;
  for (auto& program : negative) {
    for (double& value : program) value = -value;
  }
  const auto high = quantile(errors, 1 - kTail, whole);
  const auto low = quantile(negative, 1 - kTail, whole);
  if (!low || !high) return {};
  return {-*low, *high};
}

std::optional<double> coverage_of(const ProgramLogs& logs) {
  double sum = 0;
  for (size_t p = 0; p < logs.size(); ++p) {
    const ProgramLogs others = without(logs, p);
    const Interval interval = interval_of(left_out(others));
    if (!interval.low) return std::nullopt;
    const double shift = shift_of(others);
    const auto covered = std::ranges::count_if(logs[p], [&](double value) {
      return value - shift >= *interval.low && value - shift <= *interval.high;
    });
    sum += static_cast<double>(covered) / static_cast<double>(logs[p].size());
  }
  return sum / static_cast<double>(logs.size());
}

// `modelled` and `measured` are those of `logs`, in order.
ProgramErrors errors_of(const ProgramLogs& logs, const std::vector<double>& modelled,
                        const std::vector<double>& measured) {
  ProgramErrors errors{.programs = logs.size(), .works = modelled.size(), .shift = shift_of(logs)};
  const ProgramLogs off = logs.size() > 1 ? left_out(logs) : logs;
  const Interval interval = interval_of(off);
  errors.low = interval.low, errors.high = interval.high;
  ProgramLogs relative = off;
  std::vector<double> predicted, weights;
  for (size_t p = 0; p < off.size(); ++p) {
    for (size_t i = 0; i < off[p].size(); ++i) {
      relative[p][i] = std::abs(std::exp(-off[p][i]) - 1);  // predicted / measured - 1
      predicted.push_back(measured[predicted.size()] * std::exp(-off[p][i]));
      weights.push_back(1 / static_cast<double>(off[p].size()));
    }
  }
  errors.spearman = spearman(predicted, measured, weights);
  errors.median_error = quantile(relative, 0.5, 1).value_or(0);
  errors.percentile_90 = quantile(relative, 0.9, 1).value_or(0);
  if (logs.size() > 1) errors.coverage = coverage_of(logs);
  errors.min_modelled = *std::ranges::min_element(modelled);
  errors.max_modelled = *std::ranges::max_element(modelled);
  return errors;
}

}  // namespace

void fit_programs(DeviceModel& device) {
  device.errors = {};
  device.ratio_errors.reset();
  ProgramLogs ratios;
  std::vector<double> modelled_ratios, measured_ratios;
  for (size_t k = 0; k < kWorkKinds; ++k) {
    std::map<std::string, std::vector<const DeviceModel::ProgramWork*>> programs;
    for (const auto& work : device.program_works) {
      if (work.kind == static_cast<WorkKind>(k) && work.measured > 0 && work.modelled > 0)
        programs[work.program].push_back(&work);
    }
    if (programs.empty()) continue;
    ProgramLogs logs;
    std::vector<double> modelled, measured;
    for (const auto& [name, works] : programs) {
      auto& program = logs.emplace_back();
      for (const auto* work : works) {
        program.push_back(log_error(work->measured, work->modelled));
        modelled.push_back(work->modelled), measured.push_back(work->measured);
      }
      // In both directions, and without works that the versions have in common: their ratio is 1.
      std::vector<double> pairs;
      for (size_t a = 0; a < works.size(); ++a) {
        for (size_t b = 0; b < works.size(); ++b) {
          const double ratio = works[b]->modelled / works[a]->modelled;
          if (works[a]->name != works[b]->name || works[a]->version == works[b]->version ||
              are_of_equal_counts(works[a]->modelled, works[b]->modelled))
            continue;
          pairs.push_back(program[b] - program[a]);
          modelled_ratios.push_back(ratio);
          measured_ratios.push_back(works[b]->measured / works[a]->measured);
        }
      }
      if (!pairs.empty()) ratios.push_back(std::move(pairs));
    }
    std::set<std::string> bounds;
    for (const auto& [name, works] : programs) {
      for (const auto* work : works) bounds.insert(work->bound);
    }
    device.errors[k] = errors_of(logs, modelled, measured);
    device.errors[k]->bounds.assign(bounds.begin(), bounds.end());
  }
  if (!ratios.empty()) device.ratio_errors = errors_of(ratios, modelled_ratios, measured_ratios);
}

namespace {

// The counts of one invocation; nullopt: it branches or calls, so the code does not tell.
std::optional<Work> work_of_straight_line(const ShaderCode& code) {
  if (code.map.blocks().size() != 1) return std::nullopt;
  Work work;
  const spirv::InstructionMix mix = code.map.kept(code.map.blocks().front());
  for (size_t c = 0; c < spirv::kCostClassCount; ++c)
    work.counts[c] = static_cast<double>(mix[static_cast<CostClass>(c)]);
  work.kind =
      code.execution_model == spv::ExecutionModel::GLCompute ? WorkKind::Dispatch : WorkKind::Pass;
  return work;
}

}  // namespace

Result<LeftOutShaders> add_compiled(std::span<const std::string> captures, DeviceModel& device) {
  std::map<std::string, DeviceModel::ProgramWork> works;  // by the name and hash of a shader
  using Reason = size_t LeftOutShaders::*;
  std::map<std::string, Reason> reasons;  // the same; also of shaders that another row makes a work
  for (const std::string& file : captures) {
    auto model = TALLY_TRY(open_model(file));
    ShaderCodes codes(model, ShaderCodes::Compiler::Gpu);
    const auto statistics = TALLY_TRY(with_context(model.reader.pipeline_statistics(), file));
    const std::string of = model.devices.empty() ? "" : model.devices.front().name;
    if (of != device.name)
      return Error{fmt::format("{}: its statistics are of {}, and the device file is of {}", file,
                               of, device.name)};
    for (const store::PipelineStatisticRow& row : statistics) {
      const uint32_t pipeline = model.pipeline_index.find(row.pipeline);
      if (row.name != kBusyStatistic || pipeline == kNone || row.value <= 0) continue;
      for (const store::RowId id : model.pipelines[pipeline].shaders) {
        const uint32_t shader = model.shader_index.find(id);
        if (shader == kNone || (model.shaders[shader].stage & row.stages) == 0) continue;
        Reason& reason = reasons[shader_hash(model, shader)];
        reason = &LeftOutShaders::together;
        if (model.shaders[shader].stage != row.stages) continue;
        const auto& code = codes.of(shader);
        reason = code ? &LeftOutShaders::with_branches : &LeftOutShaders::without_code;
        auto work = code ? work_of_straight_line(*code) : std::nullopt;
        if (!work) continue;
        work->invocations = row.subgroup_size;
        for (double& count : work->counts) count *= row.subgroup_size;
        const WorkTime time = device.time_of(*work);
        works.try_emplace(shader_hash(model, shader),
                          DeviceModel::ProgramWork{.kind = work->kind,
                                                   .measured = row.value,
                                                   .modelled = time.seconds,
                                                   .instructions = (*work)[CostClass::Instruction],
                                                   .bytes = work->bytes(),
                                                   .bound = time.bound,
                                                   .counts = work->counts});
      }
    }
    for (uint32_t shader = 0; shader < model.shaders.size(); ++shader)
      reasons.try_emplace(shader_hash(model, shader), &LeftOutShaders::without_statistic);
  }
  if (works.empty())
    return Error{
        fmt::format("the captures have no shader without a branch that has the statistic "
                    "\"{}\" (tally run --statistics)",
                    kBusyStatistic)};
  device.program_works.clear();
  for (auto& [hash, work] : works) {
    work.program = work.version = work.name = hash;
    device.program_works.push_back(std::move(work));
  }
  LeftOutShaders left_out;
  for (const auto& [hash, reason] : reasons) {
    if (!works.contains(hash)) ++(left_out.*reason);
  }
  return left_out;
}

}  // namespace tally::analysis
