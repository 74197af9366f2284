#include "analysis/tables/shader_table.h"

#include <algorithm>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/tables/fields.h"
#include "analysis/tables/notes.h"

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
        measured_(variants.size() + 1),
        usage_(count_usage(model, variants)) {}

  Result<Table> run(const Progress& progress) {
    Status status = visit_stage_values(model_, progress, [this](const StageValue& v) {
      const size_t row = v.shader == kNone ? unknown_ : row_of(v.command, v.shader);
      values_.add(row, v.metric, v.value);
      measured_[row] = true;
    });
    if (!status.ok()) return status.error();
    status = visit_block_executions(model_, progress, [this](const BlockExecutions& b) {
      if (b.block != codes_.entry_block(b.shader)) return;
      uint64_t& invocations = invocations_[row_of(b.command, b.shader)];
      invocations = saturating_sum(invocations, b.executions);
    });
    if (!status.ok()) return status.error();
    Table table = make_table();
    if (Status finished = finish_table(table, metrics_, options_); !finished.ok())
      return finished.error();
    if (!options_.header_above) add_notes(model_, table);
    return table;
  }

 private:
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
    const std::vector<Field> after = {reason_field()};
    add_columns(table, before);
    add_metric_columns(table, metrics_);
    add_columns(table, after);
    for (size_t r = 0; r <= unknown_; ++r) {
      if (!wanted(r)) continue;
      Row row = make_row(before, r);
      if (ran_uncounted(r))
        row.resize(row.size() + metrics_.size());
      else
        append_metrics(row, values_, r);
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
  std::vector<uint64_t> invocations_;
  std::vector<bool> measured_;
  std::vector<Usage> usage_;
};

}  // namespace

Result<Table> make_shader_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                const TableOptions& options, const Progress& progress) {
  return ShaderTable(model, codes, variants, options).run(progress);
}

}  // namespace tally::analysis
