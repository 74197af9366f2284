#include "analysis/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/table_builder.h"
#include "spirv/analysis/memory_access.h"

namespace tally::analysis {
namespace {

constexpr size_t kStages = 32;

class CommandTable {
 public:
  CommandTable(const Model& model, ShaderCodes& codes, const Prediction* prediction, GroupBy by,
               const TableOptions& options)
      : model_(model),
        codes_(codes),
        by_(by),
        merged_(by == GroupBy::Command ? !options.each : options.merge),
        metrics_(describe_metrics(model)),
        groups_(group_commands(model, by, merged_)),
        values_(groups_.groups.size(), metrics_.size()),
        invocations_(groups_.groups.size(), kStages) {
    if (prediction) add_predictions(*prediction);
  }

  Status count(const Progress& progress) {
    TALLY_TRY(visit_stage_values(model_, progress, [this](const StageValue& v) {
      values_.add(groups_.group_of_command[v.command], v.metric, v.value);
    }));
    TALLY_TRY(count_invocations(progress));
    TALLY_TRY(find_footprints(progress));
    if (by_ == GroupBy::Label) add_to_enclosing_labels();
    return {};
  }

  // The rows compute their cells from `self` and keep it alive.
  Result<Table> table(const std::shared_ptr<const CommandTable>& self, const TableOptions& options,
                      const Runs& runs) const {
    Table table = make_table(self);
    note_uncounted_runs(table, metrics_, runs);
    TALLY_TRY(finish_table(table, metrics_, options, is_whole()));
    note_first_uses(table);
    note_footprints(table);
    if (!options.header_above) add_notes(model_, table);
    return table;
  }

 private:
  Status count_invocations(const Progress& progress) {
    return visit_block_executions(model_, progress, [this](const BlockExecutions& b) {
      if (b.block != codes_.entry_block(b.shader)) return;
      const auto stage = static_cast<size_t>(std::countr_zero(model_.shaders[b.shader].stage));
      if (stage < kStages)
        invocations_.add(groups_.group_of_command[b.command], stage, b.executions);
    });
  }

  Status find_footprints(const Progress& progress) {
    footprints_ = TALLY_TRY(analysis::find_footprints(model_, codes_, groups_.group_of_command,
                                                      groups_.groups.size(), progress));
    return {};
  }

  void add_footprint(std::vector<Field>& fields) const {
    if (footprints_.empty()) return;
    fields.push_back(value_field(
        "footprint", "footprint",
        fmt::format("bytes of the different lines of {} bytes of buffers that the shaders of a "
                    "command touched, estimated with a standard error of {:.1f} %; of several "
                    "commands, the largest one's",
                    spirv::kLineBytes, 100 * spirv::kTouchedLinesError),
        [this](size_t g) { return ran_uncounted(g) ? Cell() : Cell(footprints_[g].largest); }));
    fields.back().column.adds_up = false;
    fields.push_back(
        value_field("reuse", "reuse",
                    "bytes that its shaders requested of buffers, for each byte of the footprint",
                    [this](size_t g) -> Cell {
                      const Footprint& of = footprints_[g];
                      if (of.sum == 0) return {};
                      return static_cast<double>(of.requested) / static_cast<double>(of.sum);
                    }));
    fields.back().column.adds_up = false;
  }

  // The predicted time of what a group runs.
  struct Predicted {
    PredictedTime sum;
    bool is_whole = true;  // all of it has a time
    bool has_some = false;
  };

  void add_predictions(const Prediction& prediction) {
    predicted_.resize(groups_.groups.size());
    for (uint32_t p = 0; p < groups_.group_of_pass.size(); ++p)
      add_prediction(groups_.group_of_pass[p], prediction.time_of(prediction.works.of_pass[p]),
                     model_.passes[p].runs);
    const bool has_passes = !groups_.group_of_pass.empty();
    for (uint32_t c = 0; c < model_.commands.size(); ++c) {
      const Command& command = model_.commands[c];
      if (command.pass != kNone && has_passes) continue;
      add_prediction(
          groups_.group_of_command[c],
          command.pass == kNone ? prediction.time_of(prediction.works.of_command[c]) : std::nullopt,
          command.runs);
    }
    for (const uint32_t g : groups_.innermost_first()) {
      const Predicted& inner = predicted_[g];
      Predicted& outer = predicted_[groups_.groups[g].parent];
      outer.sum.add(inner.sum, 1);
      outer.is_whole &= inner.is_whole, outer.has_some |= inner.has_some;
    }
  }

  void add_prediction(uint32_t group, const std::optional<PredictedTime>& time, uint32_t runs) {
    Predicted& predicted = predicted_[group];
    predicted.is_whole &= time.has_value();
    predicted.has_some = true;
    if (time) predicted.sum.add(*time, runs);
  }

  void add_predicted_times(std::vector<Field>& fields) const {
    const auto has_time = [](const Predicted& of) { return of.is_whole && of.has_some; };
    if (std::ranges::none_of(predicted_, has_time)) return;
    const auto add = [&](const char* id, const char* title, const char* description,
                         uint64_t PredictedTime::*part) {
      fields.push_back(value_field(
          id, title, description,
          [this, part, has_time](size_t g) {
            return has_time(predicted_[g]) ? Cell(predicted_[g].sum.*part) : Cell();
          },
          Unit::Nanoseconds));
      fields.back().column.lacking_because =
          "a part of them has no predicted time (tally predict says why)";
    };
    add("predicted_time", "predicted", "on the calibrated device, of all executions",
        &PredictedTime::time);
    add("predicted_low", "low", "end of the 80 % interval of predicted, or the sum of such ends",
        &PredictedTime::low);
    add("predicted_high", "high", "end of the 80 % interval of predicted, or the sum of such ends",
        &PredictedTime::high);
  }

  void add_to_enclosing_labels() {
    for (const uint32_t g : groups_.innermost_first()) {
      const uint32_t parent = groups_.groups[g].parent;
      for (size_t m = 0; m < metrics_.size(); ++m) values_.add(parent, m, values_.at(g, m));
      for (size_t s = 0; s < kStages; ++s) invocations_.add(parent, s, invocations_.at(g, s));
      if (!footprints_.empty()) footprints_[parent].add(footprints_[g]);
    }
  }

  Table make_table(const std::shared_ptr<const CommandTable>& self) const {
    Table table;
    name_table(table);
    std::vector<Field> fields = command_key_fields(model_, groups_, by_, merged_);
    if (by_ == GroupBy::Command) add_invocations(fields);
    add_counts(fields);
    if (by_ != GroupBy::Command) add_invocations(fields);
    add_footprint(fields);
    if (by_ == GroupBy::Pass) fields.push_back(overdraw());
    fields.push_back(shaded_per(
        "shaded_per_vertex", "shaded/vertex",
        "invocations of vertex shaders for each vertex or index that draws name, of all their "
        "instances; empty where the device decides how many",
        &CommandGroup::vertices, &CommandGroup::unknown_vertices));
    fields.push_back(
        shaded_per("shaded_per_primitive", "shaded/primitive",
                   "invocations of vertex shaders for each primitive that draws name, of all their "
                   "instances; empty where the device or the indices decide how many",
                   &CommandGroup::primitives, &CommandGroup::unknown_primitives));
    add_columns(table, fields);
    add_metric_columns(table, metrics_);
    std::vector<MakeCell> cells;
    for (Field& field : fields) cells.push_back(std::move(field.cell));
    for (size_t m = 0; m < metrics_.size(); ++m)
      cells.push_back([this, m](size_t g) { return ran_uncounted(g) ? Cell() : values_.at(g, m); });
    std::vector<uint32_t> numbers;
    for (uint32_t g = 0; g < groups_.groups.size(); ++g) {
      if (wanted(g)) numbers.push_back(g);
    }
    table.rows = Rows(std::move(numbers), std::move(cells), self);
    return table;
  }

  bool ran_uncounted(size_t group) const {
    const CommandGroup& of = groups_.groups[group];
    return of.uncounted != 0 && of.uncounted == of.draws + of.dispatches;
  }

  size_t count_untimed() const {
    size_t rows = 0;
    for (size_t g = 0; g < groups_.groups.size(); ++g)
      rows +=
          wanted(g) && groups_.groups[g].parent == kNone && groups_.groups[g].untimed != 0 ? 1 : 0;
    return rows;
  }

  void note_first_uses(Table& table) const {
    const auto column = table.column_index("first_use_time");
    if (!column || !table.columns[*column].shown) return;
    table.notes.push_back(
        "First use: GPU time of commands that use a pipeline for the first time, which on some "
        "drivers includes its compilation. It is not part of GPU time.");
  }

  void note_footprints(Table& table) const {
    if (!table.column_index("footprint")) return;
    table.notes.push_back(fmt::format(
        "Footprints are estimates with a standard error of {:.1f} %. Images have no known lines, "
        "and a line counts once for each stage and each binding through which it is touched.",
        100 * spirv::kTouchedLinesError));
  }

  // Indexed by row: false for nested labels, whose values their enclosing labels include.
  std::vector<bool> is_whole() const {
    std::vector<bool> whole;
    for (size_t g = 0; g < groups_.groups.size(); ++g) {
      if (wanted(g)) whole.push_back(groups_.groups[g].parent == kNone);
    }
    return whole;
  }

  void name_table(Table& table) const {
    const char* merged = merged_ ? ", similar ones merged" : "";
    switch (by_) {
      case GroupBy::Command:
        table.id = "draw", table.title = fmt::format("Draws and dispatches{}", merged);
        break;
      case GroupBy::Pass:
        table.id = "pass", table.title = fmt::format("Passes{}", merged);
        break;
      case GroupBy::Pipeline:
        table.id = "pipeline", table.title = "Pipelines";
        break;
      case GroupBy::Frame:
        table.id = "frame", table.title = "Frames";
        break;
      case GroupBy::Label:
        table.id = "label", table.title = "Labels, including nested labels";
        break;
    }
  }

  // A shader pattern keeps only the rows in which these shaders took part.
  bool wanted(size_t group) const {
    if (model_.selection.shader.empty()) return true;
    for (size_t metric = 0; metric < metrics_.size(); ++metric) {
      if (values_.at(group, metric) != 0) return true;
    }
    return false;
  }

  void add_counts(std::vector<Field>& fields) const {
    const auto group = [this](size_t g) -> const CommandGroup& { return groups_.groups[g]; };
    fields.push_back(value_field(
        "gpu_time", "GPU time",
        "between timestamps around it, including the work of counting; without first uses of "
        "pipelines",
        [group](size_t g) { return group(g).gpu_time_ns ? Cell(*group(g).gpu_time_ns) : Cell(); },
        Unit::Nanoseconds));
    const auto lacks_times = [&] {
      fields.back().column.lacking = count_untimed();
      fields.back().column.lacking_because =
          by_ == GroupBy::Command || by_ == GroupBy::Pipeline
              ? "what is in a pass is timed with its pass (--by pass), unless tally run has "
                "--times draws"
              : "the device measured no time for a part of them";
    };
    lacks_times();
    if (!model_.time_samples.empty()) {
      Field error = value_field(
          "gpu_time_error", "± time",
          "standard error of GPU time: dispatches and passes that were not timed have the mean "
          "time of similar ones; empty: all were timed",
          [this, group](size_t g) -> Cell {
            const auto error = group(g).estimated.standard_error(model_.time_samples);
            return error ? Cell(static_cast<uint64_t>(std::llround(*error))) : Cell();
          },
          Unit::Nanoseconds);
      error.column.adds_up = false;
      fields.push_back(std::move(error));
    }
    fields.push_back(value_field(
        "first_use_time", "first use",
        "GPU time of commands that use a pipeline for the first time in the capture; not part of "
        "GPU time",
        [group](size_t g) { return group(g).first_use_ns ? Cell(*group(g).first_use_ns) : Cell(); },
        Unit::Nanoseconds));
    lacks_times();
    add_predicted_times(fields);
    const bool single = by_ == GroupBy::Command && !merged_;
    if (!single) {
      fields.push_back(value_field("draws", "draws", "draw commands that were executed",
                                   [group](size_t g) { return group(g).draws; }));
      fields.push_back(value_field("dispatches", "dispatches",
                                   "other action commands that were executed",
                                   [group](size_t g) { return group(g).dispatches; }));
    }
    const bool of_one_frame =
        by_ == GroupBy::Frame || ((by_ == GroupBy::Command || by_ == GroupBy::Pass) && !merged_);
    if (!of_one_frame) {
      fields.push_back(
          value_field("frames", "frames", "frames in which it occurs", [group](size_t g) {
            return group(g).frames;
          }).hidden());
    }
    if (by_ != GroupBy::Command && by_ != GroupBy::Pipeline) {
      Field passes = value_field("passes", "passes", "render passes that were executed",
                                 [group](size_t g) { return group(g).passes; });
      passes.column.shown = by_ != GroupBy::Pass || merged_;
      fields.push_back(std::move(passes));
    }
  }

  Field overdraw() const {
    constexpr size_t kFragment = 4;  // the bit of the stage
    Field field = value_field(
        "overdraw", "overdraw",
        "invocations of fragment shaders for each pixel of the render area and layer",
        [this](size_t g) -> Cell {
          const uint64_t pixels = groups_.groups[g].pixels;
          if (pixels == 0) return {};
          return static_cast<double>(invocations_.at(g, kFragment)) / static_cast<double>(pixels);
        });
    field.column.adds_up = false;
    return std::move(field).hidden();
  }

  // Invocations of vertex shaders for each of what the draws of a row name.
  Field shaded_per(std::string id, std::string title, std::string description,
                   uint64_t CommandGroup::*named, uint64_t CommandGroup::*unknown) const {
    constexpr size_t kVertex = 0;  // the bit of the stage
    Field field =
        value_field(std::move(id), std::move(title), std::move(description),
                    [this, named, unknown](size_t g) -> Cell {
                      const CommandGroup& group = groups_.groups[g];
                      const uint64_t invocations = invocations_.at(g, kVertex);
                      if (group.*unknown != 0 || group.*named == 0 || invocations == 0) return {};
                      return static_cast<double>(invocations) / static_cast<double>(group.*named);
                    });
    field.column.adds_up = false;
    return std::move(field).hidden();
  }

  void add_invocations(std::vector<Field>& fields) const {
    for (size_t stage = 0; stage < kStages; ++stage) {
      if (invocations_.is_zero(stage)) continue;
      const std::string name = stage_name(1u << stage);
      std::string id = "invocations_" + name;
      std::replace(id.begin(), id.end(), ' ', '_');
      fields.push_back(value_field(id, name + " inv",
                                   "invocations of the " + name + " shader, without helpers",
                                   [this, stage](size_t g) { return invocations_.at(g, stage); }));
    }
  }

  const Model& model_;
  ShaderCodes& codes_;
  GroupBy by_;
  const bool merged_;
  std::vector<Metric> metrics_;
  CommandGroups groups_;
  MetricMatrix values_;
  MetricMatrix invocations_;
  std::vector<Footprint> footprints_;  // by group; empty: none was counted
  std::vector<Predicted> predicted_;   // by group; empty: no device was asked for
};

}  // namespace

Result<Table> make_command_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                 const Prediction* prediction, GroupBy by,
                                 const TableOptions& options, const Progress& progress) {
  const auto table = std::make_shared<CommandTable>(model, codes, prediction, by, options);
  TALLY_TRY(table->count(progress));
  return table->table(table, options, variants.selected_runs());
}

}  // namespace tally::analysis
