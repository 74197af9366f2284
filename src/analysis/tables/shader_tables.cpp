#include "analysis/tables/shader_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "analysis/cost/line_costs.h"
#include "analysis/cost/shader_loops.h"
#include "analysis/findings/code_facts.h"
#include "analysis/model/counts.h"
#include "analysis/model/disassembly.h"
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
    if (!status.ok()) return status.error();
    status = visit_block_executions(model_, progress, [this](const BlockExecutions& b) {
      const auto add = [&](std::vector<uint64_t>& sums) {
        uint64_t& sum = sums[row_of(b.command, b.shader)];
        sum = saturating_sum(sum, b.executions);
      };
      if (b.block == codes_.entry_block(b.shader)) add(invocations_);
      if (discards_in(b.shader, b.block)) add(discarded_);
    });
    if (!status.ok()) return status.error();
    Table table = make_table();
    note_uncounted_runs(table, metrics_, variants_.selected_runs());
    if (Status finished = finish_table(table, metrics_, options_); !finished.ok())
      return finished.error();
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

  // They do not depend on the number of invocations.
  std::vector<Field> fields_per_invocation() const {
    std::vector<Field> fields;
    for (uint32_t m = 0; m < metrics_.size(); ++m) {
      if (!metrics_[m].device && metrics_[m].id != "instructions") continue;
      Field field = value_field(
          metrics_[m].id + "_per_invocation", metrics_[m].title + "/inv",
          metrics_[m].title + " divided by invocations", [this, m](size_t r) -> Cell {
            if (invocations_[r] == 0) return {};
            return static_cast<double>(values_.at(r, m)) / static_cast<double>(invocations_[r]);
          });
      field.column.adds_up = false;
      fields.push_back(std::move(field).hidden());
    }
    return fields;
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
    std::vector<Field> after = fields_per_invocation();
    for (Field& field : discard_fields()) after.push_back(std::move(field));
    after.push_back(reason_field());
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
  if (Status finished = finish_table(table, metrics, options); !finished.ok())
    return finished.error();
  if (!options.header_above) add_notes(model, table);
  for (std::string& note : sources.notes()) table.notes.push_back(std::move(note));
  return table;
}

namespace {

// Two shaders share a line if file name, line number and text are equal: both include the same
// header, or are compiled from the same file. The last element is the variant; it is kNone if
// shaders are merged.
using LineKey = std::tuple<std::string, uint32_t, std::string, uint32_t>;

struct Line {
  std::vector<uint64_t> metrics;
  LoopCount loops;       // the sum over the loops that begin here
  uint64_t taken = 0;    // by conditional branches, to their first target
  uint64_t decided = 0;  // by the same branches, to either target
  std::set<uint32_t> variants;
  SourceOrigin origin = SourceOrigin::Debug;
};

std::string full_name(const ShaderSource& source, uint32_t file) {
  return file < source.files().size() ? source.files()[file].name : std::string();
}

class LineTable {
 public:
  LineTable(const Model& model, ShaderCodes& codes, ShaderSources& sources,
            const Variants& variants, const BlockTotals& totals, const BranchTotals& branches,
            const TableOptions& options)
      : model_(model),
        codes_(codes),
        sources_(sources),
        variants_(variants),
        totals_(totals),
        branches_(branches),
        options_(options),
        metrics_(describe_metrics(model)) {}

  Result<Table> run() {
    name_columns();
    for (uint32_t variant = 0; variant < variants_.size(); ++variant) {
      if (totals_.block_count(variant) != 0) add_variant(variant);
    }
    for (const auto& [key, line] : lines_) add_line_row(key, line);
    if (has_duplicate_lines_) table_.columns[*table_.column_index("shader")].shown = true;
    note_uncounted_runs(table_, metrics_, variants_.selected_runs());
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
    const auto ratio = [this](const char* id, const char* title, Unit unit,
                              const char* description) {
      table_.columns.push_back({.id = id,
                                .title = title,
                                .unit = unit,
                                .description = description,
                                .shown = false,
                                .adds_up = false});
    };
    ratio("trips_per_entry", "trips/entry", Unit::Count,
          "iterations of the loop that begins on the line, divided by the times it was entered");
    ratio("taken_share", "taken", Unit::Percent,
          "how often the line's condition was true, in percent; empty for loops");
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
    add_loops(*code, source, variant);
    add_branches(*code, source, variant);
  }

  void add_loops(const ShaderCode& code, const ShaderSource& source, uint32_t variant) {
    const ShaderLoops& loops = loops_.try_emplace(variants_[variant].shader, code).first->second;
    for (size_t loop = 0; loop < loops.size(); ++loop) {
      Line* line = line_of(source, variant, source.map().blocks()[loops.header(loop)].location);
      const std::optional<LoopCount> count = loops.count(loop, variant, totals_);
      if (line == nullptr || !count) continue;
      line->loops.entries = saturating_sum(line->loops.entries, count->entries);
      line->loops.iterations = saturating_sum(line->loops.iterations, count->iterations);
    }
  }

  void add_branches(const ShaderCode& code, const ShaderSource& source, uint32_t variant) {
    const std::vector<BranchCount>& stored = branches_.of(variant);
    const std::vector<BranchCount> counts =
        stored.empty() ? branch_counts(code, variant, totals_) : stored;
    for (const BranchCount& branch : counts) {
      if (branch.branch.is_switch || branch.taken.size() != 2) continue;
      if (!branch.taken[0] || !branch.taken[1]) continue;
      Line* line =
          line_of(source, variant, source.map().blocks()[branch.branch.block].end_location);
      if (line == nullptr) continue;
      line->taken = saturating_sum(line->taken, *branch.taken[0]);
      line->decided = saturating_sum(line->decided, branch.total());
    }
  }

  // Null if there is no location, or no row of it.
  Line* line_of(const ShaderSource& source, uint32_t variant,
                const std::optional<spirv::SourceLocation>& location) {
    if (!location || location->line == 0) return nullptr;
    const auto found = lines_.find(key_of(source, variant, *location));
    return found == lines_.end() ? nullptr : &found->second;
  }

  LineKey key_of(const ShaderSource& source, uint32_t variant,
                 const spirv::SourceLocation& location) const {
    return {full_name(source, location.file), location.line, source.text(location),
            options_.merge ? kNone : variant};
  }

  const std::string& shader_name(uint32_t variant) const {
    return model_.shader_names[variants_[variant].shader];
  }

  void add_line(const ShaderSource& source, uint32_t variant, const LineValues& values) {
    const bool known = values.location.line != 0;
    const LineKey key =
        known ? key_of(source, variant, values.location)
              : LineKey{shader_name(variant), 0, "(instructions without a source line)",
                        options_.merge ? kNone : variant};
    Line& line = lines_[key];
    line.variants.insert(variant);
    line.origin = known ? source.files()[values.location.file].origin : source.origin();
    add_saturating(line.metrics, values.metrics);
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
            line.variants, line.metrics, ratios_of(line), text);
  }

  using Ratios = std::array<Cell, 2>;  // in the order of their columns

  static Ratios ratios_of(const Line& line) {
    Ratios ratios;
    if (line.loops.entries != 0) {
      ratios[0] =
          static_cast<double>(line.loops.iterations) / static_cast<double>(line.loops.entries);
    } else if (line.decided != 0) {
      ratios[1] = 100 * static_cast<double>(line.taken) / static_cast<double>(line.decided);
    }
    return ratios;
  }

  void add_instructions(const ShaderCode& code, uint32_t variant) {
    const std::vector<std::string> texts = disassemble(code.module);
    const spirv::CostModel costs(code.module);
    for (size_t block = 0; block < totals_.block_count(variant); ++block) {
      if (totals_.executions(variant, block) == 0) continue;
      const spirv::Block& b = code.map.blocks()[block];
      for (size_t i = code.module.definition_index(b.label_id);
           i < code.module.instruction_count() && code.module.word_offset(i) < b.word_end; ++i) {
        if (!spirv::is_executed(code.module, code.module.instruction(i))) continue;
        const auto values = instruction_values(costs, code, i, variant, block, totals_, metrics_);
        add_row(fmt::format("{}:asm:{}", shader_name(variant), i + 1), std::string(),
                SourceOrigin::Spirv, {variant}, values, {}, texts[i]);
      }
    }
  }

  void add_row(std::string location, std::string file, SourceOrigin origin,
               const std::set<uint32_t>& variants, const std::vector<uint64_t>& metrics,
               const Ratios& ratios, std::string_view text) {
    const Variant& first = variants_[*variants.begin()];
    const bool one = variants.size() == 1;
    Row row = {std::move(location),
               std::move(file),
               std::string(origin_name(origin)),
               one ? stage_name(model_.shaders[first.shader].stage) : std::string(),
               one ? model_.shader_names[first.shader] : fmt::format("{} shaders", variants.size()),
               one ? variant_text(model_, first) : std::string()};
    for (const uint64_t value : metrics) row.emplace_back(value);
    row.insert(row.end(), ratios.begin(), ratios.end());
    const size_t indent = std::min(text.find_first_not_of(" \t"), text.size());
    row.emplace_back(std::string(text.substr(indent)));
    table_.rows.push_back(std::move(row));
  }

  const Model& model_;
  ShaderCodes& codes_;
  ShaderSources& sources_;
  const Variants& variants_;
  const BlockTotals& totals_;
  const BranchTotals& branches_;
  const TableOptions& options_;
  std::vector<Metric> metrics_;
  std::map<LineKey, Line> lines_;
  std::map<uint32_t, ShaderLoops> loops_;  // by shader
  std::pair<std::string, uint32_t> last_;  // file and number of the previous row
  bool has_duplicate_lines_ = false;       // a line has several rows
  size_t without_lines_ = 0;
  Table table_;
};

}  // namespace

Result<Table> make_line_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                              const Variants& variants, const BlockTotals& totals,
                              const BranchTotals& branches, const TableOptions& options) {
  return LineTable(model, codes, sources, variants, totals, branches, options).run();
}

}  // namespace tally::analysis
