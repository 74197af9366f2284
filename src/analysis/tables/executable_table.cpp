#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/names.h"
#include "analysis/tables/shader_tables.h"

namespace tally::analysis {
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
    auto rows = model_.reader.pipeline_statistics();
    if (!rows) return rows.error();
    rows_ = std::move(*rows);
    for (const store::PipelineStatisticRow& row : rows_) add(row);
    Table table;
    table.id = "executable";
    table.title = "Executables of pipelines, by the driver's compiler";
    std::vector<Field> fields = key_fields();
    add_statistics(fields);
    add_columns(table, fields);
    for (size_t r = 0; r < executables_.size(); ++r) table.rows.push_back(make_row(fields, r));
    table.total_rows = table.rows.size();
    if (Status finished = finish_table(table, {}, options); !finished) return finished.error();
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
