#include "analysis/model/shader_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "analysis/model/metrics.h"
#include "analysis/model/names.h"
#include "catalogue/catalogue.h"
#include "spirv/analysis/loop_bounds.h"

namespace tally::analysis {
namespace {

// Shaders written for the NV extensions use other names for the same stages.
spv::ExecutionModel as_written(const spirv::Module& module, spv::ExecutionModel wanted,
                               const std::string& entry_point) {
  if (module.find_entry_point(wanted, entry_point) != nullptr) return wanted;
  if (wanted == spv::ExecutionModel::TaskEXT) return spv::ExecutionModel::TaskNV;
  if (wanted == spv::ExecutionModel::MeshEXT) return spv::ExecutionModel::MeshNV;
  return wanted;
}

uint32_t first_block_of_entry(const ShaderCode& code, spv::ExecutionModel execution,
                              const std::string& name) {
  const spirv::EntryPoint* entry = code.module.find_entry_point(execution, name);
  if (entry == nullptr) return kNone;
  for (const spirv::MappedFunction& function : code.map.functions()) {
    if (function.id == entry->function_id && function.block_count != 0) return function.first_block;
  }
  return kNone;
}

Result<ShaderCode> load(const Model& model, uint32_t shader, ShaderCodes::Compiler compiler) {
  const store::ShaderRow& row = model.shaders[shader];
  if (!row.module) return Error{"the capture has no SPIR-V for this shader"};
  const catalogue::Stage* stage = catalogue::find_stage(row.stage);
  if (!stage) return Error{fmt::format("its stage 0x{:x} is unknown", row.stage)};
  auto words = TALLY_TRY(model.reader.spirv(*row.module));
  auto module = TALLY_TRY(spirv::Module::parse(words));
  if (!row.constants.empty()) module = module.specialized(row.constants);
  const spv::ExecutionModel execution =
      as_written(module, static_cast<spv::ExecutionModel>(stage->execution_model), row.entry_point);
  std::optional<spirv::GpuCompiler> gpu;
  if (compiler == ShaderCodes::Compiler::Gpu)
    gpu = spirv::gpu_compiler(module, execution, row.entry_point);
  auto map = TALLY_TRY(spirv::BlockMap::build(module, execution, row.entry_point,
                                              spirv::CostDetail::Kept, gpu ? &*gpu : nullptr));
  ShaderCode code{std::move(module), std::move(map), kNone, execution};
  code.entry_block = first_block_of_entry(code, execution, row.entry_point);
  return code;
}

// The shaders of all pipelines that commands used.
std::vector<bool> used_shaders(const Model& model) {
  std::vector<bool> pipelines(model.pipelines.size()), shaders(model.shaders.size());
  for (const Command& command : model.commands) {
    if (command.pipeline != kNone) pipelines[command.pipeline] = true;
  }
  for (uint32_t p = 0; p < pipelines.size(); ++p) {
    if (!pipelines[p]) continue;
    for (const store::RowId id : model.pipelines[p].shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader != kNone) shaders[shader] = true;
    }
  }
  return shaders;
}

// Line by line, as lines are shown: each rounds by itself.
std::vector<uint64_t> costs_of_blocks(const spirv::BlockMap& map, const DeviceCosts& device) {
  std::vector<uint64_t> costs;
  for (const spirv::Block& block : map.blocks()) {
    uint64_t cost = device.cost_of(map.kept_without_line(block));
    for (const spirv::LineCost& line : map.lines_of(block)) cost += device.cost_of(map.kept(line));
    costs.push_back(cost);
  }
  return costs;
}

const std::vector<std::vector<uint64_t>>& costs_of_blocks(const Model& model) {
  CostsOfBlocks& costs = *model.costs_of_blocks;
  if (costs.known) return costs.of_shader;
  costs.known = true;
  costs.of_shader.resize(model.shaders.size());
  const std::vector<bool> used = used_shaders(model);
  for (uint32_t shader = 0; shader < used.size(); ++shader) {
    if (!used[shader]) continue;
    const auto code = load(model, shader, ShaderCodes::Compiler::Any);
    if (code) costs.of_shader[shader] = costs_of_blocks(code->map, *model.device);
  }
  return costs.of_shader;
}

}  // namespace

Status visit_block_costs(const Model& model, const std::function<void(const BlockCost&)>& visit) {
  static const std::vector<std::vector<uint64_t>> kNoCosts;
  const auto& of_code = model.cost == kNone ? kNoCosts : costs_of_blocks(model);
  std::vector<std::optional<spirv::CostClass>> classes;  // by metric
  for (const Metric& metric : describe_metrics(model)) {
    const bool by_class = metric.attribution == Attribution::ByClass && !metric.device;
    classes.push_back(by_class ? std::optional(metric.cost_class) : std::nullopt);
  }
  std::map<std::pair<uint32_t, uint32_t>, spirv::InstructionMix> without_code;
  const Status status = model.reader.for_each_block_cost([&](const store::BlockCostRow& row) {
    const uint32_t shader = model.shader_index.find(row.shader);
    const uint32_t metric = model.metric_index.find(row.metric);
    if (shader == kNone) return true;
    visit({shader, row.block, row.metric, row.per_execution});
    if (model.cost != kNone && of_code[shader].empty() && metric != kNone && classes[metric])
      without_code[{shader, row.block}].add(*classes[metric], row.per_execution);
    return true;
  });
  if (!status || model.cost == kNone) return status;
  const store::RowId cost = model.metrics[model.cost].id;
  for (uint32_t shader = 0; shader < of_code.size(); ++shader) {
    for (uint32_t block = 0; block < of_code[shader].size(); ++block)
      visit({shader, block, cost, of_code[shader][block]});
  }
  for (const auto& [place, mix] : without_code)
    visit({place.first, place.second, cost, model.device->cost_of(mix)});
  return status;
}

bool ShaderCode::is_countable(size_t block) const {
  const auto& functions = map.functions();
  const auto next =
      std::ranges::upper_bound(functions, block, {}, &spirv::MappedFunction::first_block);
  return next == functions.begin() || std::prev(next)->is_countable;
}

ShaderCodes::ShaderCodes(const Model& model, Compiler compiler)
    : model_(model), compiler_(compiler), codes_(model.shaders.size()) {}

const Result<ShaderCode>& ShaderCodes::of(uint32_t shader) {
  auto& code = codes_[shader];
  if (code == nullptr) code = std::make_unique<Result<ShaderCode>>(load(model_, shader, compiler_));
  return *code;
}

uint32_t ShaderCodes::entry_block(uint32_t shader) {
  const auto& code = of(shader);
  return code.ok() ? code->entry_block : kNone;
}

namespace {

bool can_be_specialized(ShaderCodes& codes, uint32_t shader) {
  const auto& code = codes.of(shader);
  if (!code.ok()) return false;
  for (size_t i = 0; i < code->module.instruction_count(); ++i) {
    switch (code->module.instruction(i).opcode()) {
      case spv::Op::OpSpecConstantTrue:
      case spv::Op::OpSpecConstantFalse:
      case spv::Op::OpSpecConstant:
        return true;
      case spv::Op::OpFunction:
        return false;
      default:
        break;
    }
  }
  return false;
}

// Groups the used pipelines that have the same shaders but different hashes; they differ in their
// specialization.
std::vector<std::vector<uint32_t>> pipelines_with_same_shaders(const Model& model) {
  std::vector<bool> used(model.pipelines.size());
  for (const Command& command : model.commands) {
    if (command.pipeline != kNone) used[command.pipeline] = true;
  }
  std::map<std::vector<store::RowId>, std::vector<uint32_t>> alike;
  for (uint32_t p = 0; p < model.pipelines.size(); ++p) {
    if (used[p]) alike[model.pipelines[p].shaders].push_back(p);
  }
  std::vector<std::vector<uint32_t>> result;
  for (auto& [shaders, pipelines] : alike) {
    std::set<std::string> hashes;
    for (const uint32_t p : pipelines) hashes.insert(model.pipelines[p].hash);
    if (hashes.size() > 1) result.push_back(std::move(pipelines));
  }
  return result;
}

}  // namespace

Variants::Variants(const Model& model, ShaderCodes& codes) : is_split_(model.shaders.size()) {
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader)
    variants_.push_back({shader, kNone});
  constexpr int64_t kShadersAreSpecialized = 7;
  if (model.reader.version() < kShadersAreSpecialized) split_all(model, codes);
  add_runs(model);
}

void Variants::split_all(const Model& model, ShaderCodes& codes) {
  for (const std::vector<uint32_t>& alike : pipelines_with_same_shaders(model)) {
    for (const store::RowId id : model.pipelines[alike.front()].shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader != kNone && can_be_specialized(codes, shader)) split(model, alike, shader);
    }
  }
}

void Variants::split(const Model& model, const std::vector<uint32_t>& alike, uint32_t shader) {
  is_split_[shader] = true;
  std::map<std::string, uint32_t> by_hash;
  for (const uint32_t pipeline : alike) {
    const auto [place, added] =
        by_hash.emplace(model.pipelines[pipeline].hash, static_cast<uint32_t>(variants_.size()));
    if (added) variants_.push_back({shader, pipeline});
    of_[{pipeline, shader}] = place->second;
  }
}

uint32_t Variants::of(uint32_t pipeline, uint32_t shader) const {
  if (!is_split_[shader]) return shader;
  const auto found = of_.find({pipeline, shader});
  return found == of_.end() ? shader : found->second;
}

bool Variants::is_selected(const Model& model, uint32_t variant) const {
  const uint32_t shader = variants_[variant].shader;
  if (!model.shader_selected[shader] || !model.selected_by_pipeline[shader] || !is_split_[shader])
    return model.shader_selected[shader];
  for (uint32_t pipeline = 0; pipeline < model.pipelines.size(); ++pipeline) {
    if (model.pipeline_selected[pipeline] && of(pipeline, shader) == variant) return true;
  }
  return false;
}

void Variants::add_runs(const Model& model) {
  std::vector<bool> is_counted(model.commands.size());
  for (const Batch& batch : model.batches) {
    for (const uint32_t command : batch.commands) is_counted[command] = batch.counted;
  }
  std::vector<Runs> of_pipeline(model.pipelines.size());
  for (uint32_t c = 0; c < model.commands.size(); ++c) {
    const Command& command = model.commands[c];
    const bool has_pipeline = command.pipeline != kNone;
    if (!has_pipeline && !model.selection.shader.empty()) continue;
    Runs& runs = has_pipeline ? of_pipeline[command.pipeline] : selected_runs_;
    runs.commands += command.runs;
    if (!is_counted[c]) runs.uncounted += command.runs;
  }
  runs_.resize(variants_.size());
  for (uint32_t pipeline = 0; pipeline < of_pipeline.size(); ++pipeline) {
    const Runs& runs = of_pipeline[pipeline];
    bool is_any_selected = model.selection.shader.empty(), is_any_uncounted = false;
    for (const store::RowId id : model.pipelines[pipeline].shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader == kNone) continue;
      const uint32_t variant = of(pipeline, shader);
      const bool has_reason = !model.shaders[shader].not_instrumented.empty();
      runs_[variant].commands += runs.commands;
      runs_[variant].uncounted += has_reason ? runs.commands : runs.uncounted;
      if (!is_selected(model, variant)) continue;
      is_any_selected = true;
      is_any_uncounted = is_any_uncounted || has_reason;
    }
    if (!is_any_selected) continue;
    selected_runs_.commands += runs.commands;
    selected_runs_.uncounted += is_any_uncounted ? runs.commands : runs.uncounted;
  }
}

std::string uncounted_text(const Runs& runs) {
  if (runs.uncounted == 0) return {};
  return fmt::format("{} of {} ran a shader that was not counted", with_separators(runs.uncounted),
                     counted(runs.commands, "command"));
}

std::string variant_text(const Model& model, const Variant& variant) {
  return variant.pipeline == kNone ? std::string() : model.pipeline_names[variant.pipeline];
}

}  // namespace tally::analysis
