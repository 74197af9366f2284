#include "analysis/predict/capture_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/model/counts.h"
#include "analysis/model/load_model.h"
#include "analysis/model/names.h"
#include "analysis/tables/command_groups.h"

namespace tally::analysis {
namespace {

using spirv::CostClass;

// Finds the works of a capture and adds up their counts.
class WorkFinder {
 public:
  WorkFinder(const Model& model, ShaderCodes& codes)
      : model_(model), codes_(codes), labels_(model) {}

  Result<CaptureWorks> run() {
    for (uint32_t p = 0; p < model_.passes.size(); ++p) add_pass(model_.passes[p]);
    for (const Command& command : model_.commands) add_command(command);
    note_times();
    note_uncounted();
    if (Status counted = count(); !counted) return counted.error();
    for (CapturedWork& work : result_.works) per_run(work);
    if (!model_.devices.empty()) result_.device = model_.devices.front().name;
    return std::move(result_);
  }

 private:
  std::string label_of(uint32_t label) const {
    return label == kNone ? std::string() : labels_.path(label);
  }

  uint32_t work_of(const std::string& key, const std::string& name, WorkKind kind) {
    const auto [found, added] = numbers_.emplace(key, static_cast<uint32_t>(result_.works.size()));
    if (added) {
      result_.works.push_back({.key = key, .name = name});
      result_.works.back().work.kind = kind;
      result_.works.back().work.commands = 0;
      times_.emplace_back();
    }
    return found->second;
  }

  void add_pass(const Pass& pass) {
    const std::string name = pass_text(&pass), label = label_of(pass.label);
    const uint32_t work = work_of(fmt::format("pass|{}|{}|{}", name, label, pass.row.attachments),
                                  name, WorkKind::Pass);
    result_.works[work].runs += pass.runs;
    work_of_pass_.push_back(work);
  }

  void add_command(const Command& command) {
    if (command.pass != kNone) {
      work_of_command_.push_back(work_of_pass_[command.pass]);
    } else {
      const std::string call =
          command.call == kNone ? std::string() : call_text(model_.calls[command.call]);
      const std::string hash =
          command.pipeline == kNone ? std::string() : model_.pipelines[command.pipeline].hash;
      const std::string name = fmt::format("{} {}", pipeline_name(model_, command.pipeline), call);
      work_of_command_.push_back(
          work_of(fmt::format("command|{}|{}|{}", hash, call, label_of(command.label)), name,
                  WorkKind::Dispatch));
      result_.works[work_of_command_.back()].runs += command.runs;
    }
    result_.works[work_of_command_.back()].work.commands += command.runs;
  }

  // Each execution alone, so that the first use of a pipeline has no time.
  void note_times() {
    const CommandGroups passes = group_commands(model_, GroupBy::Pass, false);
    for (uint32_t p = 0; p < model_.passes.size(); ++p)
      note_time(work_of_pass_[p], passes.groups[passes.group_of_pass[p]], model_.passes[p].runs);
    const CommandGroups commands = group_commands(model_, GroupBy::Command, false);
    for (uint32_t c = 0; c < model_.commands.size(); ++c) {
      if (model_.commands[c].pass == kNone)
        note_time(work_of_command_[c], commands.groups[commands.group_of_command[c]],
                  model_.commands[c].runs);
    }
    for (uint32_t w = 0; w < times_.size(); ++w) {
      std::vector<double>& times = times_[w];
      if (times.empty()) continue;
      std::ranges::sort(times);
      result_.works[w].seconds = times[times.size() / 2];
    }
  }

  void note_time(uint32_t work, const CommandGroup& group, uint32_t runs) {
    if (group.gpu_time_ns && *group.gpu_time_ns > 0)
      times_[work].push_back(static_cast<double>(*group.gpu_time_ns) * 1e-9 / std::max(runs, 1U));
  }

  void note_uncounted() {
    for (const Batch& batch : model_.batches) {
      for (const uint32_t command : batch.commands) {
        if (batch.counted) result_.counts = true;
        if (!batch.counted) result_.works[work_of_command_[command]].counted = false;
      }
    }
  }

  Status count() {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, double> executions;
    Status visited = visit_block_executions(model_, {}, [&](const BlockExecutions& block) {
      executions[{work_of_command_[block.command], block.shader, block.block}] +=
          static_cast<double>(block.executions);
    });
    if (!visited) return visited;
    for (const auto& [key, times] : executions) {
      const auto& [work, shader, block] = key;
      if (Status added = add_block({work, shader, block, times}); !added) return added;
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
      work.counts[c] += of.executions * static_cast<double>(mix[static_cast<CostClass>(c)]);
    if (of.block == code->entry_block) work.invocations += of.executions;
    result_.blocks.push_back(of);
    return {};
  }

  static void per_run(CapturedWork& of) {
    const double runs = std::max(of.runs, 1.0);
    for (double& count : of.work.counts) count /= runs;
    of.work.invocations /= runs;
    of.work.commands /= runs;
  }

  const Model& model_;
  ShaderCodes& codes_;
  const LabelPaths labels_;
  std::map<std::string, uint32_t> numbers_;  // of works, by key
  std::vector<uint32_t> work_of_pass_, work_of_command_;
  std::vector<std::vector<double>> times_;  // by work
  CaptureWorks result_;
};

}  // namespace

Result<CaptureWorks> works_of(const Model& model, ShaderCodes& codes) {
  return WorkFinder(model, codes).run();
}

std::vector<LineTime> line_times(const Model& model, ShaderCodes& codes, const CaptureWorks& works,
                                 const DeviceModel& device) {
  // Seconds by line and resource as if no resources overlapped; scaled to the time of each work.
  struct Sums {
    std::array<double, kResources> by_resource{};
  };
  std::vector<double> scale;
  for (const CapturedWork& of : works.works) {
    const WorkTime time = device.time_of(of.work);
    double in_turn = of.work.invocations * device.invocation.value;
    for (size_t c = 0; c < spirv::kCostClassCount; ++c)
      in_turn += of.work.counts[c] * device.classes[c].value;
    scale.push_back(in_turn > 0 ? (time.seconds - time.fixed) / in_turn : 0);
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
        sum.by_resource[static_cast<size_t>(resource_of(cost))] +=
            of.executions * static_cast<double>(mix[cost]) * device.classes[c].value *
            scale[of.work];
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

Status add_program(const std::string& counted, const std::string& plain, DeviceModel& device) {
  auto counted_model = open_model(counted);
  if (!counted_model) return counted_model.error();
  auto plain_model = open_model(plain);
  if (!plain_model) return plain_model.error();
  ShaderCodes codes(*counted_model), plain_codes(*plain_model);
  const auto works = works_of(*counted_model, codes);
  if (!works) return with_context(works.error(), counted);
  const auto timed = works_of(*plain_model, plain_codes);
  if (!timed) return with_context(timed.error(), plain);
  if (!works->counts) return Error{counted + ": it has no counts (it was made with --times plain)"};
  if (timed->counts)
    return Error{plain +
                 ": its times are those of shaders that count; make it with tally run "
                 "--times plain"};
  if (timed->device != device.name)
    return Error{fmt::format("{}: its times are of {}, and the device file is of {}", plain,
                             timed->device, device.name)};
  std::map<std::string, double> seconds;
  for (const CapturedWork& work : timed->works) {
    if (work.seconds) seconds[work.key] = *work.seconds;
  }
  size_t added = 0;
  for (const CapturedWork& work : works->works) {
    const auto found = seconds.find(work.key);
    if (found == seconds.end() || !work.counted || work.work.invocations == 0) continue;
    const WorkTime time = device.time_of(work.work);
    device.program_works.push_back(
        {std::filesystem::path(counted).stem().string(), work.name, work.work.kind, found->second,
         time.seconds, work.work[CostClass::Instruction], work.work.bytes(), time.bound});
    ++added;
  }
  if (added == 0)
    return Error{
        fmt::format("{} and {} have no dispatch or pass in common that is counted in one "
                    "and timed in the other after its first use",
                    counted, plain)};
  return {};
}

}  // namespace tally::analysis
