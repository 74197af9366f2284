#include "analysis/tables/line_table.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "analysis/cost/line_costs.h"
#include "analysis/model/counts.h"
#include "analysis/model/disassembly.h"
#include "analysis/model/names.h"
#include "analysis/tables/notes.h"

namespace tally::analysis {
namespace {

// Two shaders share a line if file name, line number and text are equal: both include the same
// header, or are compiled from the same file. The last element is the variant; it is kNone if
// shaders are merged.
using LineKey = std::tuple<std::string, uint32_t, std::string, uint32_t>;

struct Line {
  std::vector<uint64_t> metrics;
  std::set<uint32_t> variants;
  SourceOrigin origin = SourceOrigin::Debug;
};

std::string full_name(const ShaderSource& source, uint32_t file) {
  return file < source.files().size() ? source.files()[file].name : std::string();
}

class LineTable {
 public:
  LineTable(const Model& model, ShaderCodes& codes, ShaderSources& sources,
            const Variants& variants, const BlockTotals& totals, const TableOptions& options)
      : model_(model),
        codes_(codes),
        sources_(sources),
        variants_(variants),
        totals_(totals),
        options_(options),
        metrics_(describe_metrics(model)) {}

  Result<Table> run() {
    name_columns();
    for (uint32_t variant = 0; variant < variants_.size(); ++variant) {
      if (totals_.block_count(variant) != 0) add_variant(variant);
    }
    for (const auto& [key, line] : lines_) add_line_row(key, line);
    if (has_duplicate_lines_) table_.columns[*table_.column_index("shader")].shown = true;
    if (Status finished = finish_table(table_, metrics_, options_); !finished.ok())
      return finished.error();
    if (!options_.header_above) add_notes(model_, table_);
    for (std::string& note : sources_.notes()) table_.notes.push_back(std::move(note));
    if (without_lines_ != 0) {
      table_.notes.push_back(fmt::format(
          "{} shader(s) have no source lines and are shown as SPIR-V, with the line numbers of "
          "--disassemble. {}",
          without_lines_, debug_information_hint()));
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
    text("location", "location",
         "file and line, or shader and line of its reconstructed GLSL or its disassembly",
         ColumnRole::Key, true);
    text("file", "file", "name of the file, as recorded in the shader", ColumnRole::Key, false);
    text("origin", "origin", "where the text is from: debug, file, reconstructed or spirv",
         ColumnRole::Key, false);
    text("stage", "stage", "stage of the pipeline, if there is only one", ColumnRole::Key, false);
    text("shader", "shader", "shader that contains the line, or the number of such shaders",
         ColumnRole::Key, false);
    text("pipeline", "pipeline",
         "pipeline that specializes the shader, if there are several specializations",
         ColumnRole::Key, true);
    add_metric_columns(table_, metrics_);
    for (Column& column : table_.columns) {
      if (column.id == "executions") column.shown = true, column.zero = kNeverExecuted;
    }
    text("text", "text", "text of the line", ColumnRole::Text, true);
  }

  void add_variant(uint32_t variant) {
    const auto& code = codes_.of(variants_[variant].shader);
    if (!code.ok()) return;
    const ShaderSource& source = sources_.of(variants_[variant].shader);
    if (!source.has_lines()) {
      ++without_lines_;
      add_instructions(*code, variant);
      return;
    }
    for (const LineValues& line : line_values(*code, source.map(), variant, totals_, metrics_))
      add_line(source, variant, line);
  }

  const std::string& shader_name(uint32_t variant) const {
    return model_.shader_names[variants_[variant].shader];
  }

  void add_line(const ShaderSource& source, uint32_t variant, const LineValues& values) {
    const bool known = values.location.line != 0;
    const uint32_t kept_apart = options_.merge ? kNone : variant;
    const LineKey key =
        known
            ? LineKey{full_name(source, values.location.file), values.location.line,
                      source.text(values.location), kept_apart}
            : LineKey{shader_name(variant), 0, "(instructions without a source line)", kept_apart};
    Line& line = lines_[key];
    line.metrics.resize(metrics_.size());
    line.variants.insert(variant);
    line.origin = known ? source.files()[values.location.file].origin : source.origin();
    for (size_t m = 0; m < metrics_.size(); ++m) {
      line.metrics[m] = saturating_sum(line.metrics[m], values.metrics[m]);
    }
  }

  void add_line_row(const LineKey& key, const Line& line) {
    const auto& [file, number, text, variant] = key;
    const size_t slash = file.find_last_of("/\\");
    std::string title = slash == std::string::npos ? file : file.substr(slash + 1);
    if (title.empty()) title = shader_name(*line.variants.begin());
    // Rows of the same line are adjacent.
    has_duplicate_lines_ |= last_ == std::pair(file, number) && number != 0;
    last_ = {file, number};
    add_row(number == 0 ? title : fmt::format("{}:{}", title, number), file, line.origin,
            line.variants, line.metrics, text);
  }

  void add_instructions(const ShaderCode& code, uint32_t variant) {
    const std::vector<std::string> texts = disassemble(code.module);
    for (size_t block = 0; block < totals_.block_count(variant); ++block) {
      if (totals_.executions(variant, block) == 0) continue;
      const spirv::Block& b = code.map.blocks()[block];
      for (size_t i = code.module.definition_index(b.label_id);
           i < code.module.instruction_count() && code.module.word_offset(i) < b.word_end; ++i) {
        const auto values = instruction_values(code.module, code.module.instruction(i), variant,
                                               block, totals_, metrics_);
        if (metrics_.empty() || values[default_metric(metrics_)] == 0) continue;
        add_row(fmt::format("{}:asm:{}", shader_name(variant), i + 1), std::string(),
                SourceOrigin::Spirv, {variant}, values, texts[i]);
      }
    }
  }

  void add_row(std::string location, std::string file, SourceOrigin origin,
               const std::set<uint32_t>& variants, const std::vector<uint64_t>& metrics,
               std::string text) {
    const Variant& first = variants_[*variants.begin()];
    const bool one = variants.size() == 1;
    Row row = {std::move(location),
               std::move(file),
               std::string(origin_name(origin)),
               one ? stage_name(model_.shaders[first.shader].stage) : std::string(),
               one ? model_.shader_names[first.shader] : fmt::format("{} shaders", variants.size()),
               one ? variant_text(model_, first) : std::string()};
    for (const uint64_t value : metrics) row.emplace_back(value);
    const size_t indent = std::min(text.find_first_not_of(" \t"), text.size());
    row.push_back(text.substr(indent));
    table_.rows.push_back(std::move(row));
  }

  const Model& model_;
  ShaderCodes& codes_;
  ShaderSources& sources_;
  const Variants& variants_;
  const BlockTotals& totals_;
  const TableOptions& options_;
  std::vector<Metric> metrics_;
  std::map<LineKey, Line> lines_;
  std::pair<std::string, uint32_t> last_;  // file and number of the previous row
  bool has_duplicate_lines_ = false;       // a line has several rows
  size_t without_lines_ = 0;
  Table table_;
};

}  // namespace

Result<Table> make_line_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                              const Variants& variants, const BlockTotals& totals,
                              const TableOptions& options) {
  return LineTable(model, codes, sources, variants, totals, options).run();
}

}  // namespace tally::analysis
