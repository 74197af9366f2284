#include "analysis/line_table.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "analysis/counts.h"
#include "analysis/disassembly.h"
#include "analysis/line_costs.h"
#include "analysis/notes.h"
#include "analysis/shader_name.h"
#include "analysis/source_text.h"

namespace tally::analysis {
namespace {

// A line is the same line in two shaders if file name, number and text are the same: a header that
// both include.
using LineKey = std::tuple<std::string, uint32_t, std::string>;

struct Line {
  std::vector<uint64_t> metrics;
  std::set<uint32_t> shaders;
};

std::string full_name(const spirv::BlockMap& map, uint32_t file) {
  return file < map.files().size() ? map.files()[file].name : std::string();
}

class LineTable {
 public:
  LineTable(const Model& model, ShaderCodes& codes, const BlockTotals& totals,
            const TableOptions& options)
      : model_(model),
        codes_(codes),
        totals_(totals),
        options_(options),
        metrics_(describe_metrics(model)) {}

  Result<Table> run() {
    name_columns();
    for (uint32_t shader = 0; shader < model_.shaders.size(); ++shader) {
      if (totals_.block_count(shader) != 0) add_shader(shader);
    }
    for (const auto& [key, line] : lines_) add_line_row(key, line);
    if (Status finished = finish_table(table_, metrics_, options_); !finished.ok())
      return finished.error();
    if (!options_.header_above) add_notes(model_, table_);
    if (without_lines_ != 0) {
      table_.notes.push_back(
          fmt::format("{} shader(s) without source lines are shown as SPIR-V, at the line of "
                      "--disassemble; debug information would show source.",
                      without_lines_));
    }
    return std::move(table_);
  }

 private:
  void name_columns() {
    const auto text = [this](const char* id, const char* title, const char* description,
                             ColumnRole role, bool shown) {
      table_.columns.push_back(
          {.id = id, .title = title, .role = role, .description = description, .shown = shown});
    };
    table_.id = "line";
    table_.title = "Source lines";
    text("location", "location", "file and line, or shader and line of its disassembly",
         ColumnRole::Key, true);
    text("file", "file", "name of the file as the shader has it", ColumnRole::Key, false);
    text("stage", "stage", "stage of the pipeline, where there is only one", ColumnRole::Key,
         false);
    text("shader", "shader", "shader that has the line, or how many have it", ColumnRole::Key,
         false);
    add_metric_columns(table_, metrics_);
    for (Column& column : table_.columns) {
      if (column.id == "executions") column.shown = true;
    }
    text("text", "text", "text of the line", ColumnRole::Text, true);
  }

  void add_shader(uint32_t shader) {
    const auto& code = codes_.of(shader);
    if (!code.ok()) return;
    const auto lines = line_values(*code, shader, totals_, metrics_);
    const bool has_lines = std::any_of(
        lines.begin(), lines.end(), [](const LineValues& line) { return line.location.line != 0; });
    if (!has_lines) {
      ++without_lines_;
      add_instructions(*code, shader);
      return;
    }
    for (const LineValues& line : lines) add_line(*code, shader, line);
  }

  void add_line(const ShaderCode& code, uint32_t shader, const LineValues& values) {
    const bool known = values.location.line != 0;
    const LineKey key =
        known ? LineKey{full_name(code.map, values.location.file), values.location.line,
                        line_text(code.map, values.location)}
              : LineKey{model_.shader_names[shader], 0, "(instructions without a source line)"};
    Line& line = lines_[key];
    line.metrics.resize(metrics_.size());
    line.shaders.insert(shader);
    for (size_t m = 0; m < metrics_.size(); ++m) {
      line.metrics[m] = saturating_sum(line.metrics[m], values.metrics[m]);
    }
  }

  void add_line_row(const LineKey& key, const Line& line) {
    const auto& [file, number, text] = key;
    const size_t slash = file.find_last_of("/\\");
    std::string title = slash == std::string::npos ? file : file.substr(slash + 1);
    if (title.empty()) title = model_.shader_names[*line.shaders.begin()];
    add_row(number == 0 ? title : fmt::format("{}:{}", title, number), file, line.shaders,
            line.metrics, text);
  }

  void add_instructions(const ShaderCode& code, uint32_t shader) {
    const std::vector<std::string> texts = disassemble(code.module);
    for (size_t block = 0; block < totals_.block_count(shader); ++block) {
      const uint64_t executions = totals_.executions(shader, block);
      if (executions == 0) continue;
      const spirv::Block& b = code.map.blocks()[block];
      for (size_t i = code.module.definition_index(b.label_id);
           i < code.module.instruction_count() && code.module.word_offset(i) < b.word_end; ++i) {
        const auto values =
            instruction_values(code.module, code.module.instruction(i), executions, metrics_);
        if (values[default_metric(metrics_)] == 0) continue;
        add_row(fmt::format("{}:asm:{}", model_.shader_names[shader], i + 1), std::string(),
                {shader}, values, texts[i]);
      }
    }
  }

  void add_row(std::string location, std::string file, const std::set<uint32_t>& shaders,
               const std::vector<uint64_t>& metrics, std::string text) {
    const uint32_t first = *shaders.begin();
    const bool one = shaders.size() == 1;
    Row row = {std::move(location), std::move(file),
               one ? stage_name(model_.shaders[first].stage) : std::string(),
               one ? model_.shader_names[first] : fmt::format("{} shaders", shaders.size())};
    for (const uint64_t value : metrics) row.emplace_back(value);
    const size_t indent = std::min(text.find_first_not_of(" \t"), text.size());
    row.push_back(text.substr(indent));
    table_.rows.push_back(std::move(row));
  }

  const Model& model_;
  ShaderCodes& codes_;
  const BlockTotals& totals_;
  const TableOptions& options_;
  std::vector<Metric> metrics_;
  std::map<LineKey, Line> lines_;
  size_t without_lines_ = 0;
  Table table_;
};

}  // namespace

Result<Table> make_line_table(const Model& model, ShaderCodes& codes, const BlockTotals& totals,
                              const TableOptions& options) {
  return LineTable(model, codes, totals, options).run();
}

}  // namespace tally::analysis
