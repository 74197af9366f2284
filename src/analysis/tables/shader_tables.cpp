#include "analysis/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/findings/facts.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {
namespace {

struct Usage {
  uint64_t pipelines = 0;
  uint64_t commands = 0;    // executions of commands whose pipeline contains the shader
  std::string not_counted;  // why one of these pipelines is not counted
};

class ShaderTable {
 public:
  ShaderTable(const Model& model, ShaderCodes& codes, const Variants& variants,
              const TableOptions& options)
      : model_(model),
        codes_(codes),
        variants_(variants),
        options_(options),
        metrics_(describe_metrics(model)),
        unknown_(variants.size()),
        values_(variants.size() + 1, metrics_.size()),
        invocations_(variants.size() + 1),
        discarded_(variants.size() + 1),
        measured_(variants.size() + 1),
        usage_(count_usage(model, variants)) {}

  Result<Table> run(const Progress& progress) {
    Status status = visit_stage_values(model_, progress, [this](const StageValue& v) {
      const size_t row = v.shader == kNone ? unknown_ : row_of(v.command, v.shader);
      values_.add(row, v.metric, v.value);
      measured_[row] = true;
    });
    TALLY_TRY(status);
    status = visit_block_executions(model_, progress, [this](const BlockExecutions& b) {
      const auto add = [&](std::vector<uint64_t>& sums) {
        uint64_t& sum = sums[row_of(b.command, b.shader)];
        sum = saturating_sum(sum, b.executions);
      };
      if (b.block == codes_.entry_block(b.shader)) add(invocations_);
      if (discards_in(b.shader, b.block)) add(discarded_);
    });
    TALLY_TRY(status);
    Table table = make_table();
    note_uncounted_runs(table, metrics_, variants_.selected_runs());
    TALLY_TRY(finish_table(table, metrics_, options_));
    if (!options_.header_above) add_notes(model_, table);
    return table;
  }

 private:
  bool discards_in(uint32_t shader, uint32_t block) {
    const auto [known, is_new] = discarding_.try_emplace(shader);
    const auto& code = codes_.of(shader);
    if (is_new && code.ok()) {
      for (const spirv::Block& of : code->map.blocks())
        known->second.push_back(discards(code->module, of));
    }
    return block < known->second.size() && known->second[block];
  }

  uint32_t row_of(uint32_t command, uint32_t shader) const {
    return variants_.of(model_.commands[command].pipeline, shader);
  }

  static std::vector<Usage> count_usage(const Model& model, const Variants& variants) {
    std::vector<uint64_t> commands_of_pipeline(model.pipelines.size());
    for (const Command& command : model.commands) {
      if (command.pipeline != kNone) commands_of_pipeline[command.pipeline] += command.runs;
    }
    std::vector<Usage> usage(variants.size() + 1);
    for (size_t p = 0; p < model.pipelines.size(); ++p) {
      if (commands_of_pipeline[p] == 0) continue;
      for (const store::RowId id : model.pipelines[p].shaders) {
        const uint32_t shader = model.shader_index.find(id);
        if (shader == kNone) continue;
        Usage& of = usage[variants.of(static_cast<uint32_t>(p), shader)];
        ++of.pipelines;
        of.commands += commands_of_pipeline[p];
        if (of.not_counted.empty()) of.not_counted = model.pipelines[p].not_instrumented;
      }
    }
    return usage;
  }

  // Shaders that ran uncounted have a row, too, which holds only the reason.
  bool wanted(size_t row) const {
    if (row == unknown_) return measured_[row];
    return variants_.is_selected(model_, static_cast<uint32_t>(row)) &&
           (measured_[row] || usage_[row].commands != 0);
  }

  std::vector<Field> fields() const {
    std::vector<Field> fields;
    const auto known = [this](size_t r) {
      return r == unknown_ ? nullptr : &model_.shaders[variants_[r].shader];
    };
    fields.push_back(key_field("shader", "shader", "name of the shader, or the start of its hash",
                               [=, this](size_t r) -> Cell {
                                 return known(r) ? model_.shader_names[variants_[r].shader]
                                                 : std::string("(unknown)");
                               }));
    fields.push_back(key_field("stage", "stage", "stage of the pipeline", [=](size_t r) -> Cell {
      return known(r) ? stage_name(known(r)->stage) : std::string();
    }));
    fields.push_back(
        key_field("entry_point", "entry point", "name of the entry point", [=](size_t r) -> Cell {
          return known(r) ? known(r)->entry_point : std::string();
        }).hidden());
    fields.push_back(
        key_field("hash", "hash", "hash of the SPIR-V module", [=, this](size_t r) -> Cell {
          return known(r) ? shader_hash(model_, variants_[r].shader) : std::string();
        }).hidden());
    fields.push_back(
        key_field("constants", "constants", "specialization constants that are not the defaults",
                  [=, this](size_t r) -> Cell {
                    return known(r) ? model_.shader_constants[variants_[r].shader] : std::string();
                  })
            .hidden());
    fields.push_back(
        key_field("pipeline", "pipeline",
                  "pipeline that specializes the shader, if there are several specializations",
                  [=, this](size_t r) -> Cell {
                    return known(r) ? variant_text(model_, variants_[r]) : std::string();
                  }));
    add_value_fields(fields);
    return fields;
  }

  void add_value_fields(std::vector<Field>& fields) const {
    fields.push_back(value_field(
        "invocations", "invocations", "invocations of the shader, without helpers",
        [this](size_t r) { return ran_uncounted(r) ? Cell() : Cell(invocations_[r]); }));
    fields.push_back(value_field("commands", "commands", "draws and dispatches that ran it",
                                 [this](size_t r) -> Cell { return usage_[r].commands; }));
    fields.push_back(value_field("pipelines", "pipelines", "used pipelines that contain the shader",
                                 [this](size_t r) -> Cell { return usage_[r].pipelines; })
                         .hidden());
  }

  // They are empty for shaders that cannot discard.
  std::vector<Field> discard_fields() const {
    const auto is_known = [this](size_t r) {
      if (r == unknown_ || invocations_[r] == 0) return false;
      const auto found = discarding_.find(variants_[r].shader);
      return found != discarding_.end() &&
             std::ranges::find(found->second, true) != found->second.end();
    };
    std::vector<Field> fields;
    fields.push_back(value_field("discarded", "discarded",
                                 "invocations that were discarded or demoted to helpers; empty "
                                 "where the shader has no discard",
                                 [this, is_known](size_t r) -> Cell {
                                   return is_known(r) ? Cell(discarded_[r]) : Cell();
                                 })
                         .hidden());
    fields.back().column.adds_up = false;
    fields.push_back(value_field(
                         "discarded_share", "discarded share",
                         "discarded, as a percentage of invocations",
                         [this, is_known](size_t r) -> Cell {
                           if (!is_known(r)) return {};
                           return 100 * static_cast<double>(discarded_[r]) /
                                  static_cast<double>(invocations_[r]);
                         },
                         Unit::Percent)
                         .hidden());
    return fields;
  }

  std::string reason(size_t row) const {
    if (row == unknown_) return {};
    const std::string& own = model_.shaders[variants_[row].shader].not_instrumented;
    return own.empty() && !measured_[row] ? usage_[row].not_counted : own;
  }

  bool ran_uncounted(size_t row) const { return !measured_[row] && !reason(row).empty(); }

  Field reason_field() const {
    Field field = key_field("not_counted", "not counted because", "why the shader was not counted",
                            [this](size_t r) -> Cell { return reason(r); });
    field.column.role = ColumnRole::Text;
    field.column.shown = false;
    return field;
  }

  Table make_table() const {
    Table table;
    table.id = "shader";
    table.title = "Shaders";
    const std::vector<Field> before = fields();
    std::vector<Field> after = discard_fields();
    after.push_back(reason_field());
    add_columns(table, before);
    add_metric_columns(table, metrics_);
    add_per_invocation_columns(table, metrics_);
    add_columns(table, after);
    for (size_t r = 0; r <= unknown_; ++r) {
      if (!wanted(r)) continue;
      Row row = make_row(before, r);
      if (ran_uncounted(r))
        row.resize(row.size() + metrics_.size());
      else
        append_metrics(row, values_, r);
      std::vector<uint64_t> values;
      for (size_t m = 0; m < metrics_.size(); ++m) values.push_back(values_.at(r, m));
      append_per_invocation(row, metrics_, values, invocations_[r]);
      for (Cell& cell : make_row(after, r)) row.push_back(std::move(cell));
      if (!std::get<std::string>(row.back()).empty()) table.columns.back().shown = true;
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  const Model& model_;
  ShaderCodes& codes_;
  const Variants& variants_;
  const TableOptions& options_;
  std::vector<Metric> metrics_;
  const size_t unknown_;  // the row for values whose shader the capture does not name
  MetricMatrix values_;
  std::vector<uint64_t> invocations_, discarded_;
  std::map<uint32_t, std::vector<bool>> discarding_;  // by shader and block
  std::vector<bool> measured_;
  std::vector<Usage> usage_;
};

}  // namespace

Result<Table> make_shader_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                const TableOptions& options, const Progress& progress) {
  return ShaderTable(model, codes, variants, options).run(progress);
}

namespace {

struct BlockRef {
  uint32_t variant;
  uint32_t shader;
  uint32_t block;
};

const spirv::Block* block_of(ShaderCodes& codes, const BlockRef& ref) {
  const auto& code = codes.of(ref.shader);
  return code.ok() && ref.block < code->map.blocks().size() ? &code->map.blocks()[ref.block]
                                                            : nullptr;
}

std::vector<BlockRef> executed_blocks(const Variants& variants, const BlockTotals& totals) {
  std::vector<BlockRef> refs;
  for (uint32_t variant = 0; variant < variants.size(); ++variant) {
    for (uint32_t block = 0; block < totals.block_count(variant); ++block)
      refs.push_back({variant, variants[variant].shader, block});
  }
  return refs;
}

std::string function_text(ShaderCodes& codes, const BlockRef& ref) {
  const spirv::Block* block = block_of(codes, ref);
  if (block == nullptr) return {};
  return codes.of(ref.shader)->map.functions()[block->function].name;
}

// Null if the block has no line.
const spirv::SourceLocation* location_of(ShaderCodes& codes, ShaderSources& sources,
                                         const BlockRef& ref) {
  if (block_of(codes, ref) == nullptr || !sources.of(ref.shader).has_lines()) return nullptr;
  const auto& location = sources.of(ref.shader).map().blocks()[ref.block].location;
  return location ? &*location : nullptr;
}

std::string location_text(ShaderCodes& codes, ShaderSources& sources, const BlockRef& ref) {
  const spirv::SourceLocation* location = location_of(codes, sources, ref);
  if (location == nullptr) return {};
  return fmt::format("{}:{}", sources.of(ref.shader).file_title(location->file), location->line);
}

std::string source_text(ShaderCodes& codes, ShaderSources& sources, const BlockRef& ref) {
  const spirv::SourceLocation* location = location_of(codes, sources, ref);
  if (location == nullptr) return {};
  const std::string& text = sources.of(ref.shader).text(*location);
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::vector<Field> block_fields(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                                const Variants& variants, const std::vector<BlockRef>& refs) {
  const auto text = [&](const char* id, const char* title, const char* description, auto make) {
    return key_field(id, title, description,
                     [&refs, make](size_t r) -> Cell { return make(refs[r]); });
  };
  std::vector<Field> fields;
  fields.push_back(text("shader", "shader", "name of the shader, or the start of its hash",
                        [&model](const BlockRef& ref) { return model.shader_names[ref.shader]; }));
  fields.push_back(text("stage", "stage", "stage of the pipeline", [&model](const BlockRef& ref) {
    return stage_name(model.shaders[ref.shader].stage);
  }));
  fields.push_back(
      text("pipeline", "pipeline",
           "pipeline that specializes the shader, if there are several specializations",
           [&](const BlockRef& ref) { return variant_text(model, variants[ref.variant]); }));
  fields.push_back(text("hash", "hash", "hash of the SPIR-V module", [&model](const BlockRef& ref) {
                     return shader_hash(model, ref.shader);
                   }).hidden());
  fields.push_back(key_field(
      "block", "block", "public number of the block in its entry point, from 0",
      [&refs](size_t r) -> Cell { return uint64_t{refs[r].block}; }, Unit::Count));
  fields.push_back(text("function", "function", "function that contains the block",
                        [&codes](const BlockRef& ref) { return function_text(codes, ref); }));
  fields.push_back(
      text("location", "location", "first source line of the block",
           [&codes, &sources](const BlockRef& ref) { return location_text(codes, sources, ref); }));
  return fields;
}

}  // namespace

Result<Table> make_block_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options) {
  const std::vector<Metric> metrics = describe_metrics(model);
  const std::vector<BlockRef> refs = executed_blocks(variants, totals);
  const std::vector<Field> keys = block_fields(model, codes, sources, variants, refs);
  Table table;
  table.id = "block";
  table.title = "Basic blocks";
  add_columns(table, keys);
  table.columns.push_back({.id = "executions",
                           .title = "executions",
                           .unit = Unit::Count,
                           .description = "times the block was executed, without helpers",
                           .zero = kNeverExecuted});
  for (const Metric& metric : metrics) {
    if (metric.id == "executions") continue;
    add_metric_columns(table, {metric});
  }
  table.columns.push_back({.id = "text",
                           .title = "source",
                           .role = ColumnRole::Text,
                           .description = "text of the first source line of the block"});
  for (size_t r = 0; r < refs.size(); ++r) {
    Row row = make_row(keys, r);
    row.push_back(totals.executions(refs[r].variant, refs[r].block));
    for (size_t m = 0; m < metrics.size(); ++m) {
      if (metrics[m].id != "executions")
        row.push_back(totals.value(refs[r].variant, refs[r].block, m));
    }
    row.push_back(source_text(codes, sources, refs[r]));
    table.rows.push_back(std::move(row));
  }
  note_uncounted_runs(table, metrics, variants.selected_runs());
  TALLY_TRY(finish_table(table, metrics, options));
  if (!options.header_above) add_notes(model, table);
  for (std::string& note : sources.notes()) table.notes.push_back(std::move(note));
  return table;
}

namespace {

// An executable of a pipeline, with its statistics.
struct Executable {
  uint32_t pipeline = kNone;
  const store::PipelineStatisticRow* row = nullptr;            // the first one
  std::vector<const store::PipelineStatisticRow*> statistics;  // by column; null: it has none
};

Cell cell_of(const store::PipelineStatisticRow* statistic) {
  if (statistic == nullptr) return {};
  const double value = statistic->value;
  if (value >= 0 && value < 0x1p64 && value == std::floor(value))
    return static_cast<uint64_t>(value);
  return value;
}

class ExecutableTable {
 public:
  explicit ExecutableTable(const Model& model) : model_(model) {}

  Result<Table> run(const TableOptions& options) {
    auto rows = TALLY_TRY(model_.reader.pipeline_statistics());
    rows_ = std::move(rows);
    for (const store::PipelineStatisticRow& row : rows_) add(row);
    Table table;
    table.id = "executable";
    table.title = "Executables of pipelines, by the driver's compiler";
    std::vector<Field> fields = key_fields();
    add_statistics(fields);
    add_columns(table, fields);
    for (size_t r = 0; r < executables_.size(); ++r) table.rows.push_back(make_row(fields, r));
    table.total_rows = table.rows.size();
    TALLY_TRY(finish_table(table, {}, options));
    return table;
  }

 private:
  // Rows of an executable follow one another.
  void add(const store::PipelineStatisticRow& row) {
    const uint32_t pipeline = model_.pipeline_index.find(row.pipeline);
    if (pipeline == kNone || !is_selected(pipeline)) return;
    if (executables_.empty() || executables_.back().pipeline != pipeline ||
        executables_.back().row->executable != row.executable) {
      executables_.push_back({pipeline, &row, {}});
    }
    const auto [column, is_new] = columns_.try_emplace(row.name, names_.size());
    if (is_new) names_.push_back(&row);
    auto& statistics = executables_.back().statistics;
    if (statistics.size() <= column->second) statistics.resize(column->second + 1);
    statistics[column->second] = &row;
  }

  bool is_selected(uint32_t pipeline) const {
    if (model_.selection.shader.empty() || model_.pipeline_selected[pipeline]) return true;
    for (const store::RowId id : model_.pipelines[pipeline].shaders) {
      const uint32_t shader = model_.shader_index.find(id);
      if (shader != kNone && model_.shader_selected[shader]) return true;
    }
    return false;
  }

  // The shaders of the executable's stages.
  std::string shaders_of(const Executable& executable) const {
    std::string text;
    for (const store::RowId id : model_.pipelines[executable.pipeline].shaders) {
      const uint32_t shader = model_.shader_index.find(id);
      if (shader == kNone || (model_.shaders[shader].stage & executable.row->stages) == 0) continue;
      if (!text.empty()) text += ", ";
      text += model_.shader_names[shader];
    }
    return text;
  }

  std::vector<Field> key_fields() const {
    const auto of = [this](size_t r) -> const Executable& { return executables_[r]; };
    std::vector<Field> fields;
    fields.push_back(
        key_field("pipeline", "pipeline", "name or hash of the pipeline",
                  [this, of](size_t r) -> Cell { return pipeline_name(model_, of(r).pipeline); }));
    fields.push_back(
        key_field("pipeline_hash", "hash", "identifies the pipeline in other captures",
                  [this, of](size_t r) -> Cell { return model_.pipelines[of(r).pipeline].hash; })
            .hidden());
    fields.push_back(key_field("executable", "executable", "the driver's name of it",
                               [of](size_t r) -> Cell { return of(r).row->executable_name; }));
    fields.push_back(key_field("stages", "stages", "stages that it runs",
                               [of](size_t r) -> Cell { return stage_names(of(r).row->stages); }));
    fields.push_back(key_field("shaders", "shaders", "shaders of these stages",
                               [this, of](size_t r) -> Cell { return shaders_of(of(r)); }));
    fields.push_back(
        value_field("subgroup_size", "subgroup size", "invocations of a subgroup; 0: not known",
                    [of](size_t r) -> Cell { return uint64_t{of(r).row->subgroup_size}; }));
    fields.back().column.adds_up = false;
    return fields;
  }

  void add_statistics(std::vector<Field>& fields) const {
    std::set<std::string> ids;
    for (const Field& field : fields) ids.insert(field.column.id);
    for (size_t column = 0; column < names_.size(); ++column) {
      std::string id = column_id(names_[column]->name);
      while (!ids.insert(id).second) id += '_';
      fields.push_back(value_field(std::move(id), names_[column]->name, names_[column]->description,
                                   [this, column](size_t r) -> Cell {
                                     const auto& statistics = executables_[r].statistics;
                                     return column < statistics.size() ? cell_of(statistics[column])
                                                                       : Cell();
                                   }));
      fields.back().column.adds_up = false;
    }
  }

  const Model& model_;
  std::vector<store::PipelineStatisticRow> rows_;
  std::vector<Executable> executables_;
  std::map<std::string, size_t> columns_;                  // by the statistic's name
  std::vector<const store::PipelineStatisticRow*> names_;  // by column
};

}  // namespace

Result<Table> make_executable_table(const Model& model, const TableOptions& options) {
  return ExecutableTable(model).run(options);
}

}  // namespace tally::analysis
