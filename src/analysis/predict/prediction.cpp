#include "analysis/predict/prediction.h"

#include <fmt/format.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/model/counts.h"
#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/model/timeline.h"

namespace tally::analysis {
namespace {

using spirv::CostClass;

std::string device_of(const Model& model) {
  return model.devices.empty() ? std::string() : model.devices.front().name;
}

// Finds the works of a capture and adds up their counts.
class WorkFinder {
 public:
  WorkFinder(const Model& model, ShaderCodes& codes, const std::string& device)
      : model_(model), codes_(codes), labels_(model), uses_lanes_(device_of(model) == device) {}

  Result<CaptureWorks> run() {
    for (uint32_t p = 0; p < model_.passes.size(); ++p) add_pass(model_.passes[p]);
    for (const Command& command : model_.commands) add_command(command);
    note_times();
    note_uncounted();
    TALLY_TRY(count());
    TALLY_TRY(count_accesses());
    for (CapturedWork& work : result_.works) per_run(work);
    result_.device = device_of(model_);
    return std::move(result_);
  }

 private:
  std::string label_of(uint32_t label) const {
    return label == kNone ? std::string() : labels_.path(label);
  }

  uint32_t work_of(const std::string& pipeline, const std::string& shape, const std::string& name,
                   WorkKind kind) {
    const std::string key = fmt::format("{}|{}|{}", name_of(kind), pipeline, shape);
    const auto [found, added] = numbers_.emplace(key, static_cast<uint32_t>(result_.works.size()));
    if (added) {
      result_.works.push_back({.key = key, .shape = shape, .name = name});
      result_.works.back().work.kind = kind;
      result_.works.back().work.commands = 0;
      times_.emplace_back();
    }
    return found->second;
  }

  void add_pass(const Pass& pass) {
    const std::string name = pass_text(&pass), label = label_of(pass.label);
    const uint32_t work = work_of({}, fmt::format("{}|{}|{}", name, label, pass.row.attachments),
                                  name, WorkKind::Pass);
    const auto attachments = nlohmann::json::parse(pass.row.attachments, nullptr, false);
    result_.works[work].work.attachment_pixels =
        static_cast<double>(attachments.is_array() ? attachments.size() : 0) * pass.row.width *
        pass.row.height * std::max(pass.row.layers, 1U);
    result_.works[work].runs += pass.runs;
    result_.of_pass.push_back(work);
  }

  void add_command(const Command& command) {
    if (command.pass != kNone) {
      result_.of_command.push_back(result_.of_pass[command.pass]);
    } else {
      const std::string call =
          command.call == kNone ? std::string() : call_text(model_.calls[command.call]);
      const std::string hash =
          command.pipeline == kNone ? std::string() : model_.pipelines[command.pipeline].hash;
      const std::string name = fmt::format("{} {}", pipeline_name(model_, command.pipeline), call);
      result_.of_command.push_back(work_of(
          hash, fmt::format("{}|{}", call, label_of(command.label)), name, WorkKind::Dispatch));
      result_.works[result_.of_command.back()].runs += command.runs;
      if (command.call != kNone)
        result_.works[result_.of_command.back()].work.workgroups +=
            command.runs * workgroups_of(model_.calls[command.call]);
    }
    result_.works[result_.of_command.back()].work.commands += command.runs;
  }

  // 0 for indirect dispatches, whose size is not in the call.
  static double workgroups_of(const Call& call) {
    double product = 1;
    bool known = false;
    for (size_t i = 0; i < call.parameters.size(); ++i) {
      if (!call.parameter_names[i].starts_with("groupCount")) continue;
      known = true;
      product *= static_cast<double>(call.parameters[i]);
    }
    return known ? product : 0;
  }

  // Without first uses of pipelines.
  void note_times() {
    const FirstUses first_uses = find_first_uses(model_);
    for (uint32_t p = 0; p < model_.passes.size(); ++p) {
      const Pass& pass = model_.passes[p];
      if (!first_uses.passes[p] && pass.estimated_from == kNone)
        note_time(result_.of_pass[p], pass.row.gpu_time_ns);
    }
    for (uint32_t c = 0; c < model_.commands.size(); ++c) {
      const Command& command = model_.commands[c];
      if (command.pass == kNone && !first_uses.commands[c] && command.estimated_from == kNone)
        note_time(result_.of_command[c], command.gpu_time_ns);
    }
    for (uint32_t w = 0; w < times_.size(); ++w) {
      std::vector<double>& times = times_[w];
      if (times.empty()) continue;
      std::ranges::sort(times);
      result_.works[w].seconds = times[times.size() / 2];
    }
  }

  // Each time is the time of one execution, also where a capture holds several as one.
  void note_time(uint32_t work, std::optional<int64_t> nanoseconds) {
    if (nanoseconds && *nanoseconds > 0)
      times_[work].push_back(static_cast<double>(*nanoseconds) * 1e-9);
  }

  void note_uncounted() {
    for (const Batch& batch : model_.batches) {
      for (const uint32_t command : batch.commands) {
        if (batch.counted) result_.counts = true;
        if (!batch.counted) result_.works[result_.of_command[command]].counted = false;
      }
    }
  }

  Status count() {
    struct Sum {
      double executions = 0, lanes = 0;
    };
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Sum> sums;
    const auto sum_of = [&](uint32_t command, uint32_t shader, uint32_t block) -> Sum& {
      return sums[{result_.of_command[command], shader, block}];
    };
    TALLY_TRY(visit_block_executions(model_, {}, [&](const BlockExecutions& block) {
      sum_of(block.command, block.shader, block.block).executions +=
          static_cast<double>(block.executions);
    }));
    if (uses_lanes_ && model_.subgroup_lanes != kNone)
      TALLY_TRY(visit_block_values(model_, {}, [&](const BlockValue& block) {
        if (block.metric == model_.subgroup_lanes)
          sum_of(block.command, block.shader, block.block).lanes +=
              static_cast<double>(block.value);
      }));
    for (const auto& [key, sum] : sums) {
      const auto& [work, shader, block] = key;
      const WorkBlock of = {work, shader, block, sum.executions,
                            std::max(sum.executions, sum.lanes)};
      TALLY_TRY(add_block(of));
    }
    return {};
  }

  Status add_block(const WorkBlock& of) {
    const auto& code = codes_.of(of.shader);
    if (!code) return with_context(code.error(), model_.shader_names[of.shader]);
    const auto blocks = code->map.blocks();
    if (of.block >= blocks.size()) return Error{"a block is not in the code of its shader"};
    const spirv::InstructionMix mix = code->map.kept(blocks[of.block]);
    Work& work = result_.works[of.work].work;
    for (size_t c = 0; c < spirv::kCostClassCount; ++c)
      work.counts[c] +=
          of.times(static_cast<CostClass>(c)) * static_cast<double>(mix[static_cast<CostClass>(c)]);
    if (of.block == code->entry_block) {
      work.invocations += of.executions;
      const uint32_t stage = model_.shaders[of.shader].stage;
      if (stage == VK_SHADER_STAGE_FRAGMENT_BIT) work.fragments += of.executions;
      if (stage == VK_SHADER_STAGE_VERTEX_BIT ||
          stage == VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT)
        work.vertices += of.executions;
    }
    result_.blocks.push_back(of);
    return {};
  }

  // Nothing in a capture without --memory.
  Status count_accesses() {
    struct Access {
      double bytes = 0, sectors = 0;
    };
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Access> accesses;
    TALLY_TRY(visit_site_values(model_, {}, [&](const SiteValue& site) {
      const uint32_t work = result_.of_command[site.command];
      const auto value = static_cast<double>(site.value);
      Access& access = accesses[{work, site.shader, site.site}];
      if (site.slot == spirv::SiteSlot::RequestedBytes) access.bytes += value;
      if (site.slot == spirv::SiteSlot::Sectors) access.sectors += value;
      if (site.slot == spirv::SiteSlot::ExtraPasses) result_.works[work].work.extra_passes += value;
    }));
    for (const auto& [key, access] : accesses)
      result_.works[std::get<0>(key)].work.spread_sectors +=
          std::max(access.sectors - access.bytes / spirv::kSectorBytes, 0.0);
    return {};
  }

  static void per_run(CapturedWork& of) {
    const double runs = std::max(of.runs, 1.0);
    for (double& count : of.work.counts) count /= runs;
    of.work.invocations /= runs;
    for (double* const sum : {&of.work.vertices, &of.work.fragments, &of.work.workgroups,
                              &of.work.spread_sectors, &of.work.extra_passes})
      *sum /= runs;
    of.work.commands /= runs;
  }

  const Model& model_;
  ShaderCodes& codes_;
  const LabelPaths labels_;
  const bool uses_lanes_;
  std::map<std::string, uint32_t> numbers_;  // of works, by key
  std::vector<std::vector<double>> times_;   // by work
  CaptureWorks result_;
};

}  // namespace

double WorkBlock::times(spirv::CostClass cost) const {
  const Resource resource = resource_of(cost);
  const bool waits_for_all_lanes = resource == Resource::Issue || resource == Resource::Special;
  return waits_for_all_lanes ? lanes : executions;
}

Result<CaptureWorks> works_of(const Model& model, ShaderCodes& codes, const std::string& device) {
  return WorkFinder(model, codes, device).run();
}

std::vector<std::optional<uint32_t>> match_works(const CaptureWorks& before,
                                                 const CaptureWorks& after) {
  std::map<std::string, uint32_t> by_key, by_name;
  for (uint32_t w = 0; w < before.works.size(); ++w) {
    by_key.emplace(before.works[w].key, w);
    by_name.emplace(before.works[w].name, w);
  }
  std::set<std::string> names;  // of `after`
  std::vector<std::optional<uint32_t>> matches(after.works.size());
  for (uint32_t w = 0; w < after.works.size(); ++w) {
    const CapturedWork& of = after.works[w];
    names.insert(of.name);
    if (const auto same = by_key.find(of.key); same != by_key.end())
      matches[w] = same->second;
    else if (const auto like = by_name.find(of.name); like != by_name.end())
      matches[w] = like->second;
  }
  struct Unmatched {
    std::vector<uint32_t> before, after;
  };
  std::map<std::pair<WorkKind, std::string>, Unmatched> by_shape;
  for (uint32_t w = 0; w < before.works.size(); ++w) {
    const CapturedWork& of = before.works[w];
    if (!names.contains(of.name)) by_shape[{of.work.kind, of.shape}].before.push_back(w);
  }
  for (uint32_t w = 0; w < after.works.size(); ++w) {
    const CapturedWork& of = after.works[w];
    if (!matches[w]) by_shape[{of.work.kind, of.shape}].after.push_back(w);
  }
  for (const auto& [shape, works] : by_shape) {
    if (works.before.size() != works.after.size()) continue;
    for (size_t i = 0; i < works.after.size(); ++i) matches[works.after[i]] = works.before[i];
  }
  return matches;
}

std::vector<LineTime> line_times(const Model& model, ShaderCodes& codes, const CaptureWorks& works,
                                 const DeviceModel& device) {
  // Seconds by line and resource as if no resources overlapped; scaled to the time of each work.
  struct Sums {
    std::array<double, kResources> by_resource{};
  };
  std::vector<std::array<double, kResources>> scale;  // of the seconds of classes
  for (const CapturedWork& of : works.works) {
    const WorkTime time = device.time_of(of.work);
    const double in_turn = std::accumulate(time.by_resource.begin(), time.by_resource.end(), 0.0);
    auto& factors = scale.emplace_back();
    for (size_t r = 0; r < kResources; ++r)
      factors[r] = in_turn > 0 ? time.slowdown[r] * (time.seconds - time.fixed) / in_turn : 0;
  }
  std::map<std::pair<std::string, std::string>, Sums> sums;
  for (const WorkBlock& of : works.blocks) {
    const auto& code = codes.of(of.shader);
    if (!code) continue;
    const std::string shader =
        model.shader_names[of.shader] + " " + stage_name(model.shaders[of.shader].stage);
    for (const spirv::LineCost& line : code->map.lines_of(code->map.blocks()[of.block])) {
      const std::string place =
          fmt::format("{}:{}", file_title(code->map, line.location.file), line.location.line);
      Sums& sum = sums[{place, shader}];
      const spirv::InstructionMix& mix = code->map.kept(line);
      for (size_t c = 0; c < spirv::kCostClassCount; ++c) {
        const auto cost = static_cast<CostClass>(c);
        const auto resource = static_cast<size_t>(resource_of(cost));
        sum.by_resource[resource] += of.times(cost) * static_cast<double>(mix[cost]) *
                                     device.seconds_of(cost, works.works[of.work].work.kind) *
                                     scale[of.work][resource];
      }
    }
  }
  std::vector<LineTime> lines;
  for (const auto& [key, sum] : sums) {
    const auto most = std::ranges::max_element(sum.by_resource);
    const auto resource = static_cast<Resource>(most - sum.by_resource.begin());
    lines.push_back({key.first, key.second,
                     std::accumulate(sum.by_resource.begin(), sum.by_resource.end(), 0.0),
                     std::string(name_of(resource))});
  }
  std::ranges::stable_sort(lines, std::greater(), &LineTime::seconds);
  return lines;
}

bool Prediction::is_modelled(size_t work) const {
  const CapturedWork& of = works.works[work];
  return of.counted && of.work.invocations > 0;
}

namespace {

// The errors of programs if they allow to state times of a kind, or why not.
struct KindErrors {
  const ProgramErrors* errors = nullptr;
  std::string why_not;
};

KindErrors errors_of(const DeviceModel& device, WorkKind kind) {
  const auto& errors = device.errors[static_cast<size_t>(kind)];
  if (!errors) return {nullptr, "no program was measured (tally calibrate --programs)"};
  return {&*errors, errors->why_no_time()};
}

constexpr double kMaxSeconds = 10;  // so that the nanoseconds of an interval fit in 64 bits
constexpr double kMaxWhole = 9e18;  // that fits too

// A work is many subgroups: the errors of a device in cycles, of one each, do not bound it.
bool is_in_range(const DeviceModel& device, const ProgramErrors& errors, const WorkTime& time) {
  return device.in_cycles ||
         (time.seconds >= errors.min_modelled && time.seconds <= errors.max_modelled &&
          time.seconds < kMaxSeconds && std::ranges::count(errors.bounds, time.bound) != 0);
}

}  // namespace

std::optional<PredictedTime> Prediction::time_of(size_t work) const {
  return device->in_cycles ? std::nullopt : time_or_cycles_of(work);
}

std::optional<PredictedTime> Prediction::time_or_cycles_of(size_t work) const {
  const auto [errors, why_not] = errors_of(*device, works.works[work].work.kind);
  if (!is_modelled(work) || !why_not.empty() || !is_in_range(*device, *errors, times[work]))
    return std::nullopt;
  const double unit = device->in_cycles ? 1 : 1e9;
  const auto end = [&, errors = errors](double error) {
    return static_cast<uint64_t>(std::llround(
        std::min(times[work].seconds * unit * std::exp(errors->shift + error), kMaxWhole)));
  };
  return PredictedTime{end(0), end(*errors->low), end(*errors->high)};
}

std::string Prediction::status_of(size_t work) const {
  if (!is_modelled(work)) return "not counted";
  const auto [errors, why_not] = errors_of(*device, works.works[work].work.kind);
  if (!why_not.empty()) return "order only";
  return is_in_range(*device, *errors, times[work]) ? "interval of 80 %" : "extrapolated";
}

double Prediction::total() const {
  double total = 0;
  for (size_t w = 0; w < times.size(); ++w)
    if (is_modelled(w)) total += times[w].seconds * works.works[w].runs;
  return total;
}

std::vector<std::string> Prediction::notes() const {
  std::vector<std::string> notes = {
      fmt::format("Device: {} ({}), calibrated {}", device->name, device->driver, device->date)};
  if (device->in_cycles)
    notes.push_back(
        "Cycles: by the driver's compiler, of all subgroups together, each keeping one "
        "compute unit busy; without waiting for memory, and without a pass's rasterization");
  for (size_t k = 0; k < kWorkKinds; ++k) {
    const auto kind = static_cast<WorkKind>(k);
    const bool has_some = std::ranges::any_of(
        works.works, [&](const CapturedWork& work) { return work.work.kind == kind; });
    const std::string why_not = errors_of(*device, kind).why_not;
    if (has_some && !why_not.empty())
      notes.push_back(fmt::format("No {} of a {}, only order and share: {}",
                                  device->in_cycles ? "cycles" : "time", name_of(kind), why_not));
  }
  return notes;
}

Result<Prediction> predict(const Model& model, std::shared_ptr<const DeviceModel> device) {
  ShaderCodes codes(model, ShaderCodes::Compiler::Gpu);
  auto works = TALLY_TRY(works_of(model, codes, device->name));
  Prediction prediction{std::move(device), std::move(works), {}, {}};
  for (const CapturedWork& work : prediction.works.works)
    prediction.times.push_back(prediction.device->time_of(work.work));
  prediction.lines = line_times(model, codes, prediction.works, *prediction.device);
  return prediction;
}

Result<std::optional<Prediction>> predict_selected(const Model& model) {
  const DeviceCosts* const device = model.selection.device.get();
  if (!device || !device->calibrated()) return std::optional<Prediction>();
  auto prediction = TALLY_TRY(predict(model, device->calibrated()));
  return std::optional(std::move(prediction));
}

namespace {

// The command line that a capture is of.
std::vector<std::string> command_of(const Model& model) {
  return model.processes.empty() ? std::vector<std::string>()
                                 : model.processes.front().command_line;
}

struct TimedProgram {
  std::vector<std::string> command;  // line of the process
  CaptureWorks counted;
  std::map<std::string, double> seconds;  // by key of a work
};

Result<TimedProgram> open_program(const ProgramCaptures& files, const DeviceModel& device) {
  const auto counted_model = TALLY_TRY(open_model(files.counted));
  const auto plain_model = TALLY_TRY(open_model(files.plain));
  ShaderCodes codes(counted_model, ShaderCodes::Compiler::Gpu), plain_codes(plain_model);
  auto works = TALLY_TRY(with_context(works_of(counted_model, codes, device.name), files.counted));
  const auto timed =
      TALLY_TRY(with_context(works_of(plain_model, plain_codes, device.name), files.plain));
  if (!works.counts)
    return Error{files.counted + ": it has no counts (it was made with --times plain)"};
  if (timed.counts)
    return Error{files.plain +
                 ": its times are those of shaders that count; make it with tally run "
                 "--times plain"};
  if (timed.device != device.name)
    return Error{fmt::format("{}: its times are of {}, and the device file is of {}", files.plain,
                             timed.device, device.name)};
  TimedProgram program{command_of(counted_model), std::move(works), {}};
  for (const CapturedWork& work : timed.works) {
    if (work.seconds) program.seconds[work.key] = *work.seconds;
  }
  return program;
}

// Commands that differ in their labels alone are one kind: a program of many labels would otherwise
// be its most frequent command many times over. `original` is the first version of `program`.
std::vector<DeviceModel::ProgramWork> kinds_of_work(const TimedProgram& program,
                                                    const TimedProgram& original,
                                                    const DeviceModel& device) {
  struct Kind {
    double runs = 0, longest = 0;
    DeviceModel::ProgramWork sums;
  };
  std::map<std::pair<WorkKind, std::string>, Kind> kinds;
  const auto matches = match_works(original.counted, program.counted);
  for (size_t w = 0; w < program.counted.works.size(); ++w) {
    const CapturedWork& of = program.counted.works[w];
    const auto found = program.seconds.find(of.key);
    if (found == program.seconds.end() || !of.counted || of.work.invocations == 0) continue;
    const WorkTime time = device.time_of(of.work);
    const std::string& name = matches[w] ? original.counted.works[*matches[w]].name : of.name;
    Kind& kind = kinds[{of.work.kind, name}];
    kind.runs += of.runs;
    kind.sums.measured += of.runs * found->second;
    kind.sums.modelled += of.runs * time.seconds;
    kind.sums.instructions += of.runs * of.work[CostClass::Instruction];
    kind.sums.bytes += of.runs * of.work.bytes();
    for (size_t c = 0; c < spirv::kCostClassCount; ++c)
      kind.sums.counts[c] += of.runs * of.work.counts[c];
    if (time.seconds > kind.longest) {
      kind.longest = time.seconds;
      kind.sums.bound = time.bound;
    }
  }
  std::vector<DeviceModel::ProgramWork> works;
  for (auto& [key, kind] : kinds) {
    DeviceModel::ProgramWork& work = works.emplace_back(std::move(kind.sums));
    std::tie(work.kind, work.name) = key;
    for (double* const sum : {&work.measured, &work.modelled, &work.instructions, &work.bytes})
      *sum /= kind.runs;
    for (double& count : work.counts) count /= kind.runs;
  }
  return works;
}

}  // namespace

Status add_programs(std::span<const ProgramCaptures> programs, DeviceModel& device) {
  const auto stem_of = [](const std::string& file) {
    return std::filesystem::path(file).stem().string();
  };
  struct Original {
    std::string name;
    TimedProgram program;
  };
  std::map<std::vector<std::string>, Original> originals;  // by command
  device.program_works.clear();
  for (const ProgramCaptures& files : programs) {
    const auto program = TALLY_TRY(open_program(files, device));
    const std::string version = stem_of(files.counted);
    const auto [found, is_first] = originals.try_emplace(program.command);
    Original& original = found->second;
    if (is_first) original = {version, program};
    auto works = kinds_of_work(program, original.program, device);
    if (works.empty())
      return Error{
          fmt::format("{} and {} have no dispatch or pass in common that is counted in one "
                      "and timed in the other after its first use",
                      files.counted, files.plain)};
    for (DeviceModel::ProgramWork& work : works) {
      work.program = original.name;
      work.version = version;
      device.program_works.push_back(std::move(work));
    }
  }
  return {};
}

}  // namespace tally::analysis
