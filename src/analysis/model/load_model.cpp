#include "analysis/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/model/metrics.h"
#include "analysis/model/names.h"
#include "analysis/model/timeline.h"
#include "base/hash.h"
#include "catalogue/catalogue.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

namespace {

PrimitiveAssembly assembly_of(const store::CommandBatchRow& row) {
  const int64_t topology = row.topology.value_or(PrimitiveAssembly::kUnknown);
  const bool is_known = topology >= 0 && topology < PrimitiveAssembly::kUnknown;
  return {.topology = is_known ? static_cast<uint8_t>(topology) : PrimitiveAssembly::kUnknown,
          .restart = row.primitive_restart,
          .patch_control_points =
              static_cast<uint16_t>(std::min<uint32_t>(row.patch_control_points, UINT16_MAX))};
}

// The specialization constants of shaders, as users read them: "RADIUS=3, 7=true". A constant goes
// by its debug name, else by its SpecId. Those that have the module's default value are left out,
// whether the application gave it or not.
struct ShaderConstants {
  // Indexed by shader: all of them. The text depends on the module and the constants alone.
  std::vector<std::string> specialized;
  // Indexed by shader: those that distinguish it from others of the same entry point.
  std::vector<std::string> distinguishing;
};

using spirv::Module;
using spv::Op;

// One specialization constant of a module.
struct DeclaredConstant {
  uint32_t spec_id = 0;
  std::string name;
  uint32_t width = 32;  // bits; 1: a boolean
  bool is_float = false, is_signed = false;
  uint64_t default_bits = 0;
};

uint64_t cut(const DeclaredConstant& constant, uint64_t bits) {
  if (constant.width == 1) return bits != 0 ? 1 : 0;
  return constant.width >= 64 ? bits : bits & ((uint64_t{1} << constant.width) - 1);
}

// Names of shaders are keys of snapshots: they must not depend on the locale, or on a library's way
// to round.
std::string value_text(const DeclaredConstant& constant, uint64_t bits) {
  if (constant.width == 1) return bits != 0 ? "true" : "false";
  if (constant.is_float && constant.width == 32) {
    return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  if (constant.is_float && constant.width == 64) {
    return fmt::format("{}", std::bit_cast<double>(bits));
  }
  if (constant.is_float) return fmt::format("0x{:0{}x}", bits, constant.width / 4);
  if (!constant.is_signed || constant.width == 0) return fmt::format("{}", bits);
  const uint32_t unused = 64 - std::min(constant.width, 64u);
  return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
}

std::vector<DeclaredConstant> declared_by(const Module& module) {
  std::vector<DeclaredConstant> declared;
  for (const auto& [index, spec_id] : module.declared_constants()) {
    const spirv::Instruction instruction = module.instruction(index);
    DeclaredConstant constant{.spec_id = spec_id, .name = module.name_of(instruction.result_id())};
    if (constant.name.empty()) constant.name = std::to_string(spec_id);
    const auto type = module.definition(instruction.type_id());
    if (instruction.opcode() != Op::OpSpecConstant) {
      constant.width = 1;
      constant.default_bits = instruction.opcode() == Op::OpSpecConstantTrue ? 1 : 0;
    } else if (type) {
      constant.width = type->operand(0);
      constant.is_float = type->opcode() == Op::OpTypeFloat;
      constant.is_signed = type->opcode() == Op::OpTypeInt && type->operand(1) != 0;
      constant.default_bits =
          cut(constant, instruction.operand(0) | uint64_t{instruction.operand(1)} << 32);
    }
    declared.push_back(std::move(constant));
  }
  return declared;
}

// The constants of a shader whose values are not the defaults: positions in the list of those that
// the module declares, and values. Ascending.
using OwnValues = std::map<size_t, uint64_t>;

// A name may have it, so it is short. The hash covers the rest.
std::string shortened(std::string text) {
  constexpr size_t kMaxText = 160;
  if (text.size() <= kMaxText) return text;
  const Hash128 hash = hash_bytes(std::as_bytes(std::span(text)));
  return text.substr(0, text.rfind(',', kMaxText)) + ", ... " + short_hash(to_string(hash));
}

template <typename Chosen>
std::string constants_text(const std::vector<DeclaredConstant>& declared, const OwnValues& values,
                           Chosen chosen) {
  std::string text;
  for (const auto& [position, bits] : values) {
    if (!chosen(position)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", declared[position].name,
                        value_text(declared[position], bits));
  }
  return shortened(std::move(text));
}

// The positions at which some shaders have other values than others.
std::set<size_t> differences(const std::vector<const OwnValues*>& shaders) {
  struct Seen {
    uint64_t bits;
    size_t shaders = 0;
    bool same = true;
  };
  std::map<size_t, Seen> seen;
  for (const OwnValues* values : shaders) {
    for (const auto& [position, bits] : *values) {
      Seen& at = seen.try_emplace(position, Seen{bits}).first->second;
      ++at.shaders;
      at.same &= at.bits == bits;
    }
  }
  std::set<size_t> positions;
  for (const auto& [position, at] : seen) {
    if (!at.same || at.shaders != shaders.size()) positions.insert(position);
  }
  return positions;
}

// Describes the shaders of one module.
void describe_module(const Model& model, const std::vector<uint32_t>& shaders,
                     const std::vector<DeclaredConstant>& declared, ShaderConstants& result) {
  std::map<uint32_t, size_t> position_of;  // by SpecId
  for (size_t i = 0; i < declared.size(); ++i) position_of.emplace(declared[i].spec_id, i);
  using EntryPoint = std::tuple<store::RowId, uint32_t, std::string>;
  std::map<EntryPoint, std::vector<uint32_t>> entry_points;
  std::map<uint32_t, OwnValues> values;  // by shader
  for (const uint32_t shader : shaders) {
    const store::ShaderRow& row = model.shaders[shader];
    entry_points[{row.device, row.stage, row.entry_point}].push_back(shader);
    OwnValues& own = values[shader];
    for (const SpecializationConstant& given : row.constants) {
      const auto position = position_of.find(given.id);
      if (position == position_of.end()) continue;
      const DeclaredConstant& constant = declared[position->second];
      const uint64_t bits = cut(constant, given.bits);
      if (bits != constant.default_bits) own.emplace(position->second, bits);
    }
    result.specialized[shader] = constants_text(declared, own, [](size_t) { return true; });
  }
  for (const auto& [entry_point, alike] : entry_points) {
    std::vector<const OwnValues*> of_all;
    for (const uint32_t shader : alike) of_all.push_back(&values[shader]);
    const std::set<size_t> differing = differences(of_all);
    for (const uint32_t shader : alike) {
      result.distinguishing[shader] =
          constants_text(declared, values[shader], [&](size_t i) { return differing.contains(i); });
    }
  }
}

ShaderConstants describe_constants(const Model& model) {
  ShaderConstants result;
  result.specialized.resize(model.shaders.size());
  result.distinguishing.resize(model.shaders.size());
  std::map<store::RowId, std::vector<uint32_t>> of_modules;
  std::set<store::RowId> specialized;
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const store::ShaderRow& row = model.shaders[shader];
    if (!row.module) continue;
    of_modules[*row.module].push_back(shader);
    if (!row.constants.empty()) specialized.insert(*row.module);
  }
  for (const store::RowId module : specialized) {
    const auto words = model.reader.spirv(module);
    const auto parsed = words ? Module::parse(*words) : Result<Module>(words.error());
    if (parsed) describe_module(model, of_modules[module], declared_by(*parsed), result);
  }
  return result;
}

template <typename Row>
IdIndex index_rows(const std::vector<Row>& rows) {
  IdIndex index;
  for (uint32_t i = 0; i < rows.size(); ++i) index.add(rows[i].id, i);
  return index;
}

// Bounds of what a hostile file can make a reader spend. A table has a column for each metric.
constexpr size_t kMaxMetrics = 4096;
// A small file can hold many equal commands; a larger one may hold as many as it has bytes.
constexpr uint64_t kMaxCommands = uint64_t{1} << 22;

// Moves the metrics of branches and sites out of those that every table has.
void separate_special_metrics(Model& model) {
  const std::vector<const catalogue::Counter*> of_sites =
      catalogue::counters_of(catalogue::Scope::Site);
  for (const store::MetricRow& row : model.metrics) {
    const catalogue::Counter* counter = counter_for(row);
    const auto site = std::ranges::find(of_sites, counter);
    if (site != of_sites.end()) {
      model.site_metrics[row.id] = static_cast<spirv::SiteSlot>(site - of_sites.begin());
    }
    if (!counter || !counter->scopes.has(catalogue::Scope::Branch)) continue;
    model.branch_metrics[row.id] = static_cast<uint32_t>(counter->number) -
                                   static_cast<uint32_t>(catalogue::Number::BranchTarget0);
  }
  std::erase_if(model.metrics, [&](const store::MetricRow& row) {
    return model.branch_metrics.contains(row.id) || model.site_metrics.contains(row.id);
  });
}

// No row of a file has these ids.
constexpr store::RowId kSubgroupExecutions = -1, kCost = -2;

// Adds the metric of executions in counted subgroups if there are lanes to compare them with.
void add_subgroup_executions(Model& model) {
  for (uint32_t i = 0; i < model.metrics.size(); ++i) {
    const catalogue::Counter* counter = counter_for(model.metrics[i]);
    if (counter && counter->number == catalogue::Number::SubgroupLanes) model.subgroup_lanes = i;
  }
  if (model.subgroup_lanes == kNone) return;
  model.subgroup_executions = static_cast<uint32_t>(model.metrics.size());
  model.metrics.push_back({.id = kSubgroupExecutions,
                           .name = "Subgroup executions",
                           .description = "Executions of the blocks whose subgroups are counted. "
                                          "Their share of the subgroup lanes is the SIMD "
                                          "efficiency."});
}

void add_cost(Model& model, std::shared_ptr<const DeviceCosts> device) {
  const bool counts_instructions =
      std::ranges::any_of(model.metrics, [](const store::MetricRow& row) {
        const catalogue::Counter* counter = counter_for(row);
        return counter && counter->number == catalogue::Number::Instructions;
      });
  if (!counts_instructions) return;
  model.cost = static_cast<uint32_t>(model.metrics.size());
  model.device = device ? std::move(device) : DeviceCosts::generic();
  model.costs_of_blocks = std::make_shared<CostsOfBlocks>();
  model.metrics.push_back(
      {.id = kCost,
       .name = "cost",
       .description = fmt::format("Issue slots of one lane on the device \"{}\": executions times "
                                  "the weights of their classes, without what every compiler "
                                  "removes.",
                                  model.device->name())});
}

Status load_small_tables(Model& model, std::shared_ptr<const DeviceCosts> device) {
  const store::Reader& reader = model.reader;
  model.capture = TALLY_TRY(reader.capture());
  model.processes = TALLY_TRY(reader.processes());
  model.devices = TALLY_TRY(reader.devices());
  model.metrics = TALLY_TRY(reader.metrics());
  model.modules = TALLY_TRY(reader.modules());
  model.shaders = TALLY_TRY(reader.shaders());
  model.pipelines = TALLY_TRY(reader.pipelines());
  model.labels = TALLY_TRY(reader.labels());
  model.frames = TALLY_TRY(reader.frames());
  model.frame_counters = TALLY_TRY(reader.frame_counters());
  model.region_counters = TALLY_TRY(reader.region_counters());
  model.messages = TALLY_TRY(reader.messages());
  model.replacements = TALLY_TRY(reader.replacements());
  if (model.metrics.size() > kMaxMetrics)
    return Error{fmt::format("has {} metrics, of which at most {} can be read",
                             model.metrics.size(), kMaxMetrics)};
  separate_special_metrics(model);
  add_subgroup_executions(model);
  add_cost(model, std::move(device));
  model.device_index = index_rows(model.devices);
  model.metric_index = index_rows(model.metrics);
  model.module_index = index_rows(model.modules);
  model.shader_index = index_rows(model.shaders);
  model.pipeline_index = index_rows(model.pipelines);
  model.label_index = index_rows(model.labels);
  model.frame_index = index_rows(model.frames);
  model.region_counter_index = index_rows(model.region_counters);
  return {};
}

// The data of a submission until its commands are assigned to their frame.
struct Submission {
  uint32_t frame;
  int64_t number;
  uint32_t label;
  std::vector<store::ExecutionRow> executions;
  std::vector<CommandPosition> commands;
};

class Timeline {
 public:
  Timeline(Model& model, Model::Detail detail) : model_(model), detail_(detail) {}

  Status load() {
    TALLY_TRY(model_.reader.for_each_submission([&](const store::SubmissionRow& row) {
      const uint32_t frame = model_.frame_index.find(row.frame);
      if (frame != kNone && model_.frame_selected(frame)) {
        submissions_[row.id] = {frame, row.number, model_.label_index.find(row.label), {}, {}};
      }
      return true;
    }));
    TALLY_TRY(load_executions());
    TALLY_TRY(load_passes());
    TALLY_TRY(load_commands());
    estimate_times();
    order_commands();
    return {};
  }

 private:
  // The submission and the number of runs of an execution's commands.
  struct Place {
    Submission* submission;
    uint32_t runs;
  };

  Status load_executions() {
    return model_.reader.for_each_execution([&](const store::ExecutionRow& row) {
      const auto found = submissions_.find(row.submission);
      if (found == submissions_.end()) return true;
      found->second.executions.push_back(row);
      executions_[row.id] = {&found->second, static_cast<uint32_t>(std::max<int64_t>(row.runs, 1))};
      return true;
    });
  }

  Status load_passes() {
    return model_.reader.for_each_pass([&](const store::PassRow& row) {
      if (row.time_sample) sampled_passes_[row.id] = {sample_of(*row.time_sample), row.gpu_time_ns};
      const auto place = executions_.find(row.execution);
      if (place == executions_.end()) return true;
      const uint32_t own_label = model_.label_index.find(row.label);
      const Submission& submission = *place->second.submission;
      pass_index_.add(row.id, static_cast<uint32_t>(model_.passes.size()));
      model_.passes.push_back({row, submission.frame,
                               own_label != kNone ? own_label : submission.label, kNone,
                               place->second.runs});
      return true;
    });
  }

  Status load_commands() {
    const auto functions = TALLY_TRY(model_.reader.functions());
    const IdIndex function_index = index_rows(functions);
    if (detail_ == Model::Detail::Batches) return count_batches(functions, function_index);
    const uint64_t limit = std::max(kMaxCommands, model_.reader.file_size());
    bool fits = true;
    TALLY_TRY(model_.reader.for_each_batch([&](const store::CommandBatchRow& row) {
      note_use(row.pipeline, row.pass);
      add_to_sample(row);
      const auto place = executions_.find(row.execution);
      const uint32_t function = function_index.find(row.function);
      if (place == executions_.end() || function == kNone) return true;
      fits = loaded_.size() + row.size <= limit;
      if (fits) load_batch(row, functions[function], place->second);
      return fits;
    }));
    if (!fits)
      return Error{
          fmt::format("has more than {} commands, which is more than can be read at once: choose "
                      "frames with --frames",
                      limit)};
    return {};
  }

  Status count_batches(const std::vector<store::FunctionRow>& functions,
                       const IdIndex& function_index) {
    auto batches = TALLY_TRY(model_.reader.query(
        "SELECT execution, function, size, pipeline, pass, repeats FROM command_batch"));
    while (batches.step()) {
      note_use(batches.optional_integer(3), batches.optional_integer(4));
      const auto place = executions_.find(batches.integer(0));
      const uint32_t function = function_index.find(batches.integer(1));
      if (place == executions_.end() || function == kNone) continue;
      const auto size = static_cast<uint32_t>(
          std::clamp<int64_t>(batches.integer(2), 0, store::kMaxBatchCommands));
      const auto& [submission, runs] = place->second;
      if (batches.integer(5) != 0) model_.dispatches_repeated += uint64_t{runs} * size;
      submission->commands.push_back(
          {batches.integer(0), 0, static_cast<uint32_t>(loaded_.size())});
      loaded_.push_back({submission->frame,
                         0,
                         model_.calls.intern(functions[function], {}, {}),
                         model_.pipeline_index.find(batches.optional_integer(3)),
                         pass_index_.find(batches.optional_integer(4)),
                         submission->label,
                         runs * size,
                         {},
                         std::nullopt});
    }
    return batches.status();
  }

  // Its commands, in the order of the file; `order_commands` gives them their places.
  void load_batch(const store::CommandBatchRow& row, const store::FunctionRow& function,
                  const Place& place) {
    Batch& batch = model_.batches.emplace_back(
        Batch{row.id, row.values(), model_.pipeline_index.find(row.pipeline), row.counted, {}});
    if (row.repeats) model_.dispatches_repeated += row.size * place.runs;
    const uint32_t pass = pass_index_.find(row.pass);
    const PrimitiveAssembly assembly = assembly_of(row);
    std::vector<std::string> names;
    for (const auto& parameter : row.parameters) names.push_back(parameter.name);
    std::vector<int64_t> parameters(names.size());
    for (size_t i = 0; i < row.size; ++i) {
      for (size_t p = 0; p < names.size(); ++p) parameters[p] = row.parameters[p].values.at(i);
      const auto number = static_cast<uint32_t>(loaded_.size());
      batch.commands.push_back(number);
      place.submission->commands.push_back({row.execution, row.positions.at(i), number});
      const uint32_t label = model_.label_index.find(row.labels.at(i));
      const int64_t time = row.gpu_time_ns.at(i);
      Command& command = loaded_.emplace_back(Command{
          place.submission->frame, 0, model_.calls.intern(function, names, parameters),
          batch.pipeline, pass, label != kNone ? label : place.submission->label, place.runs,
          assembly, time == store::Column::kNull ? std::nullopt : std::optional(time)});
      if (!command.gpu_time_ns) command.estimated_from = sample_index_.find(row.time_sample);
    }
  }

  // In the order of the file, which is the one in which submissions completed.
  void note_use(std::optional<store::RowId> pipeline, std::optional<store::RowId> pass) {
    if (!sampled_passes_.empty() && pipeline && used_.insert(*pipeline).second && pass)
      first_uses_.insert(*pass);
  }

  uint32_t sample_of(store::RowId number) {
    uint32_t index = sample_index_.find(number);
    if (index != kNone) return index;
    index = static_cast<uint32_t>(model_.time_samples.size());
    sample_index_.add(number, index);
    model_.time_samples.emplace_back();
    return index;
  }

  void add_to_sample(const store::CommandBatchRow& row) {
    if (!row.time_sample) return;
    TimeSample& sample = model_.time_samples[sample_of(*row.time_sample)];
    for (size_t i = 0; i < row.size; ++i) add_time(sample, row.gpu_time_ns.at(i));
  }

  // Welford's method. Until all times are known, `variance` is the sum of the squared differences
  // from the mean.
  static void add_time(TimeSample& sample, int64_t time) {
    static_assert(store::Column::kNull < 0);
    if (time < 0) return;
    const double difference = static_cast<double>(time) - sample.mean_ns;
    sample.mean_ns += difference / static_cast<double>(++sample.timed);
    sample.variance += difference * (static_cast<double>(time) - sample.mean_ns);
  }

  // A pass that uses a pipeline for the first time takes longer than similar ones.
  void estimate_times() {
    for (const auto& [pass, timed] : sampled_passes_) {
      if (!first_uses_.contains(pass))
        add_time(model_.time_samples[timed.first], timed.second.value_or(-1));
    }
    for (TimeSample& sample : model_.time_samples)
      if (sample.timed > 1) sample.variance /= static_cast<double>(sample.timed - 1);
    for (Command& command : loaded_)
      estimate_time(command.estimated_from, command.gpu_time_ns, command.runs,
                    model_.dispatches_untimed);
    for (Pass& pass : model_.passes) {
      if (!pass.row.time_sample || pass.row.gpu_time_ns) continue;
      if (!first_uses_.contains(pass.row.id)) {
        pass.estimated_from = sample_of(*pass.row.time_sample);
        estimate_time(pass.estimated_from, pass.row.gpu_time_ns, pass.runs, model_.passes_untimed);
      } else {
        model_.passes_untimed += pass.runs;
      }
    }
  }

  void estimate_time(uint32_t& from, std::optional<int64_t>& time, uint32_t runs,
                     uint64_t& untimed) {
    if (from == kNone) return;
    const TimeSample& sample = model_.time_samples[from];
    if (sample.timed > 1) {
      time = std::llround(sample.mean_ns);
      return;
    }
    from = kNone;
    untimed += runs;
  }

  void order_commands() {
    std::vector<Submission*> in_order;
    for (auto& [id, submission] : submissions_) in_order.push_back(&submission);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const Submission* a, const Submission* b) {
                       return std::pair(a->frame, a->number) < std::pair(b->frame, b->number);
                     });
    std::vector<uint32_t> index_of(loaded_.size(), kNone);
    model_.commands.reserve(loaded_.size());
    for (Submission* submission : in_order) {
      const auto places =
          in_execution_order(std::move(submission->executions), std::move(submission->commands));
      for (const CommandPosition& place : places) {
        index_of[place.command] = static_cast<uint32_t>(model_.commands.size());
        add_command(loaded_[place.command]);
      }
    }
    for (Batch& batch : model_.batches) {
      for (uint32_t& command : batch.commands) command = index_of[command];
    }
    number_passes_without_commands();
  }

  void add_command(Command command) {
    if (command.pass != kNone) number_pass(command.pass);
    command.number_in_frame = next_command_[command.frame]++;
    model_.commands.push_back(command);
  }

  void number_pass(uint32_t pass) {
    Pass& p = model_.passes[pass];
    if (p.number_in_frame == kNone) p.number_in_frame = next_pass_[p.frame]++;
  }

  void number_passes_without_commands() {
    for (uint32_t pass = 0; pass < model_.passes.size(); ++pass) number_pass(pass);
  }

  Model& model_;
  const Model::Detail detail_;
  std::map<store::RowId, Submission> submissions_;
  std::unordered_map<store::RowId, Place> executions_;
  IdIndex pass_index_, sample_index_;
  // The samples and the times of their passes, by row.
  std::map<store::RowId, std::pair<uint32_t, std::optional<int64_t>>> sampled_passes_;
  std::unordered_set<store::RowId> used_;        // pipelines
  std::unordered_set<store::RowId> first_uses_;  // passes
  std::vector<Command> loaded_;
  std::unordered_map<uint32_t, uint32_t> next_command_, next_pass_;  // by frame
};

// Shaders that the selection does not name, of pipelines that it names.
void select_by_pipeline(Model& model) {
  model.selected_by_pipeline.resize(model.shaders.size());
  model.pipeline_selected.resize(model.pipelines.size());
  if (model.selection.shader.empty()) return;
  for (uint32_t pipeline = 0; pipeline < model.pipelines.size(); ++pipeline) {
    if (!pipeline_matches(model, pipeline, model.selection.shader)) continue;
    model.pipeline_selected[pipeline] = true;
    for (const store::RowId id : model.pipelines[pipeline].shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader == kNone || model.shader_selected[shader]) continue;
      model.shader_selected[shader] = true;
      model.selected_by_pipeline[shader] = true;
    }
  }
}

}  // namespace

Result<Model> load_model(store::Reader reader, const Selection& selection, Model::Detail detail) {
  Model model{.reader = std::move(reader), .selection = selection};
  TALLY_TRY(load_small_tables(model, selection.device));
  TALLY_TRY(Timeline(model, detail).load());
  model.used_before = TALLY_TRY(pipelines_used_before(model));
  model.shader_names = name_shaders(model);
  model.pipeline_names = name_pipelines(model);
  ShaderConstants constants = describe_constants(model);
  model.shader_constants = std::move(constants.specialized);
  std::vector<std::string> disambiguated =
      disambiguated_shader_names(model, constants.distinguishing);
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    model.shader_selected.push_back(shader_matches(model, shader, selection.shader) ||
                                    disambiguated[shader] == selection.shader);
  }
  select_by_pipeline(model);
  model.shader_names = std::move(disambiguated);
  return model;
}

Result<Model> open_model(const std::string& file, const Selection& selection,
                         Model::Detail detail) {
  auto reader = TALLY_TRY(store::Reader::open(file));
  return with_context(load_model(std::move(reader), selection, detail), file);
}

}  // namespace tally::analysis
