#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/cost/block_totals.h"
#include "analysis/cost/shader_loops.h"
#include "analysis/model/counts.h"
#include "analysis/model/disassembly.h"
#include "analysis/model/names.h"
#include "analysis/tables/tables.h"

namespace tally::analysis {
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
    TALLY_TRY(finish_table(table_, metrics_, options_));
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
    table_.columns.push_back(invocations_column("shaders with the line"));
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
    add_per_invocation_columns(table_, metrics_);
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
    uint64_t invocations = 0;
    for (const uint32_t variant : variants)
      invocations = saturating_sum(invocations, invocations_of(variant));
    row.emplace_back(invocations);
    for (const uint64_t value : metrics) row.emplace_back(value);
    row.insert(row.end(), ratios.begin(), ratios.end());
    append_per_invocation(row, metrics_, metrics, invocations);
    const size_t indent = std::min(text.find_first_not_of(" \t"), text.size());
    row.emplace_back(std::string(text.substr(indent)));
    table_.rows.push_back(std::move(row));
  }

  uint64_t invocations_of(uint32_t variant) const {
    const uint32_t entry = codes_.entry_block(variants_[variant].shader);
    return entry == kNone ? 0 : totals_.executions(variant, entry);
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

namespace {

// More empty lines in a row are left out; `#line` may leave thousands.
constexpr uint32_t kMaxEmptyLines = 4;

// The use of a shader: counted, not counted, or not used.
enum class Use { Counted, NotCounted, NotUsed };

Use use_of(const Model& model, const Variants& variants, const BlockTotals& totals,
           uint32_t variant) {
  if (totals.block_count(variant) != 0) return Use::Counted;
  const store::RowId id = model.shaders[variants[variant].shader].id;
  for (const Command& command : model.commands) {
    if (command.pipeline == kNone) continue;
    const auto& shaders = model.pipelines[command.pipeline].shaders;
    if (std::find(shaders.begin(), shaders.end(), id) != shaders.end()) return Use::NotCounted;
  }
  return Use::NotUsed;
}

class Listing {
 public:
  Listing(const Model& model, const ShaderCode& code, const Variants& variants,
          const BlockTotals& totals, const BranchTotals& branches, uint32_t variant,
          const TableOptions& options)
      : model_(model),
        code_(code),
        variants_(variants),
        totals_(totals),
        branches_(branches.of(variant)),
        variant_(variant),
        shader_(variants[variant].shader),
        use_(use_of(model, variants, totals, variant)),
        metrics_(describe_metrics(model)),
        runs_(variants.runs(variant)),
        has_share_(runs_.uncounted == 0) {
    shown_metric_ = metrics_.empty() ? kNone : default_metric(metrics_);
    for (uint32_t m = 0; m < metrics_.size(); ++m) {
      if (metrics_[m].id == options.sort) shown_metric_ = m;
    }
    for (size_t b = 0; b < totals.block_count(variant) && shown_metric_ != kNone; ++b) {
      total_ += static_cast<double>(totals.value(variant, b, shown_metric_));
    }
  }

  Table source(const ShaderSource& source) {
    const bool is_reconstructed = source.origin() == SourceOrigin::Reconstructed;
    start(is_reconstructed ? "glsl" : "source");
    if (is_reconstructed) table_.title = "Reconstructed GLSL of " + table_.title;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> lines;
    for (LineValues& line : line_values(code_, source.map(), variant_, totals_, metrics_)) {
      lines[{line.location.file, line.location.line}] = std::move(line.metrics);
    }
    std::multimap<std::pair<uint32_t, uint32_t>, LineBranch> branches;
    for (LineBranch& branch : branches_by_line(branches_, source.map())) {
      const std::pair place{branch.location.file, branch.location.line};
      branches.emplace(place, std::move(branch));
    }
    for (uint32_t file = 0; file < source.files().size(); ++file) {
      const auto texts = static_cast<uint32_t>(source.files()[file].lines.size());
      uint32_t empty_lines = 0;  // before this one
      const auto add_line = [&](uint32_t line) {
        const auto values = lines.find({file, line});
        const std::string& text = source.text({file, line});
        const bool is_empty = text.empty() && values == lines.end();
        empty_lines = is_empty ? empty_lines + 1 : 0;
        if (empty_lines > kMaxEmptyLines) return;
        add(fmt::format("{}:{}", source.file_title(file), line), text,
            values == lines.end() || use_ == Use::NotCounted ? nullptr : &values->second);
        const auto [first, last] = branches.equal_range({file, line});
        for (auto branch = first; branch != last; ++branch) add_branch(branch->second.counts);
      };
      for (uint32_t line = 1; line <= texts; ++line) add_line(line);
      for (auto at = lines.upper_bound({file, texts}); at != lines.end() && at->first.first == file;
           ++at)
        add_line(at->first.second);
    }
    return std::move(table_);
  }

  Table disassembly() {
    start("disassembly");
    const std::vector<std::string> texts = disassemble(code_.module);
    const std::vector<size_t> block_of = blocks_of_instructions();
    const spirv::CostModel costs(code_.module);
    for (size_t i = 0; i < texts.size(); ++i) {
      if (block_of[i] == kNone || use_ == Use::NotCounted || !code_.is_countable(block_of[i])) {
        add(std::to_string(i + 1), texts[i], nullptr);
        continue;
      }
      const auto values =
          instruction_values(costs, code_, i, variant_, block_of[i], totals_, metrics_);
      add(std::to_string(i + 1), texts[i], &values);
      if (i + 1 < texts.size() && block_of[i + 1] == block_of[i]) continue;
      if (const BranchCount* count = branch_of(block_of[i])) add_branch(*count);
    }
    return std::move(table_);
  }

 private:
  void start(const char* id) {
    const store::ShaderRow& row = model_.shaders[shader_];
    table_.id = id;
    const std::string pipeline = variant_text(model_, variants_[variant_]);
    table_.title = fmt::format("{} ({} shader, entry point {}, {}{})", model_.shader_names[shader_],
                               stage_name(row.stage), row.entry_point, shader_hash(model_, shader_),
                               pipeline.empty() ? "" : ", pipeline " + pipeline);
    table_.columns = {
        {.id = "share", .title = "share", .unit = Unit::Percent},
        {.id = "executions", .title = "executions", .unit = Unit::Count, .zero = kNeverExecuted}};
    if (use_ == Use::NotUsed)
      table_.notes.push_back("No command of the selected frames used this shader.");
    if (use_ == Use::NotCounted) table_.notes.push_back(why_not_counted());
    if (use_ == Use::Counted && !has_share_)
      table_.notes.push_back(fmt::format("No share: {}.", uncounted_text(runs_)));
    for (const spirv::MappedFunction& function : code_.map.functions()) {
      if (function.is_countable) continue;
      table_.notes.push_back(fmt::format(
          "Not counted: {}. The driver decides how often instructions on cooperative matrices call "
          "it.",
          function.name));
    }
    if (shows_efficiency()) table_.columns.push_back(efficiency_column());
    if (shows_metric()) add_metric_columns(table_, {metrics_[shown_metric_]});
    for (Column& column : table_.columns) {
      column.shown = column.id != "share" || has_share_;
      if (column.id == "executions") column.zero = kNeverExecuted;
    }
    table_.columns.push_back({.id = "location", .title = "line", .role = ColumnRole::Key});
    if (!branches_.empty()) add_branch_columns();
    table_.columns.push_back({.id = "text", .title = "text", .role = ColumnRole::Text});
  }

  void add_branch_columns() {
    table_.columns.push_back({.id = "branch_block",
                              .title = "block",
                              .unit = Unit::Count,
                              .role = ColumnRole::Key,
                              .description = "of a branch's target: the block that the branch ends",
                              .shown = false});
    table_.columns.push_back({.id = "branch",
                              .title = "branch",
                              .role = ColumnRole::Key,
                              .description = "of a branch's target: true, false, default or its "
                                             "cases; executions says how often it was taken",
                              .shown = false});
  }

  // The branch that ends a block, or null.
  const BranchCount* branch_of(size_t block) const {
    const auto found = std::ranges::lower_bound(
        branches_, block, {}, [](const BranchCount& count) { return count.branch.block; });
    return found != branches_.end() && found->branch.block == block ? &*found : nullptr;
  }

  // A row for each target, without a location: the line's own row has it.
  void add_branch(const BranchCount& count) {
    const uint64_t total = count.total();
    for (size_t target = 0; target < count.taken.size(); ++target) {
      const auto& taken = count.taken[target];
      const std::string& label = count.branch.targets[target].label;
      std::string text = fmt::format("branch {} {}: ", count.branch.block, label);
      if (!taken) {
        text += "not known";
      } else if (total == 0) {
        text += "never reached";
      } else {
        text += fmt::format("taken {:.1f} %",
                            100 * static_cast<double>(*taken) / static_cast<double>(total));
      }
      Row row = {Cell(), taken ? Cell(*taken) : Cell()};
      row.resize(2 + size_t{shows_efficiency()} + size_t{shows_metric()});
      row.insert(row.end(), {std::string(), uint64_t{count.branch.block}, label, std::move(text)});
      table_.rows.push_back(std::move(row));
    }
    table_.total_rows = table_.rows.size();
  }

  std::string why_not_counted() const {
    const std::string& own = model_.shaders[shader_].not_instrumented;
    if (!own.empty()) return "Not counted: " + own + ".";
    for (const store::PipelineRow& pipeline : model_.pipelines) {
      const auto& shaders = pipeline.shaders;
      const bool has =
          std::find(shaders.begin(), shaders.end(), model_.shaders[shader_].id) != shaders.end();
      if (has && !pipeline.not_instrumented.empty())
        return "Not counted: " + pipeline.not_instrumented + ".";
    }
    return "The capture has no counts for this shader's blocks.";
  }

  bool shows_efficiency() const { return model_.subgroup_lanes != kNone; }

  bool shows_metric() const {
    return shown_metric_ != kNone && metrics_[shown_metric_].id != "executions";
  }

  void add(std::string location, std::string text, const std::vector<uint64_t>* values) {
    Row row;
    if (values == nullptr) {
      row.resize(2 + size_t{shows_efficiency()} + size_t{shows_metric()});
    } else {
      const uint64_t value = shown_metric_ == kNone ? 0 : (*values)[shown_metric_];
      row.push_back(has_share_ && total_ > 0 && value != 0
                        ? Cell(100 * static_cast<double>(value) / total_)
                        : Cell());
      row.push_back(executions_in(*values));
      if (shows_efficiency()) {
        row.push_back(
            efficiency((*values)[model_.subgroup_executions], (*values)[model_.subgroup_lanes]));
      }
      if (shows_metric()) row.push_back(value);
    }
    row.emplace_back(std::move(location));
    if (!branches_.empty()) row.insert(row.end(), {Cell(), std::string()});
    row.emplace_back(std::move(text));
    table_.rows.push_back(std::move(row));
    table_.total_rows = table_.rows.size();
  }

  Cell executions_in(const std::vector<uint64_t>& values) const {
    for (size_t m = 0; m < metrics_.size(); ++m) {
      if (metrics_[m].id == "executions") return values[m];
    }
    return {};
  }

  // The public block number of each instruction; kNone outside the entry point's blocks.
  std::vector<size_t> blocks_of_instructions() const {
    std::vector<size_t> result(code_.module.instruction_count(), kNone);
    for (size_t b = 0; b < code_.map.blocks().size(); ++b) {
      const spirv::Block& block = code_.map.blocks()[b];
      for (size_t i = code_.module.definition_index(block.label_id);
           i < result.size() && code_.module.word_offset(i) < block.word_end; ++i) {
        result[i] = b;
      }
    }
    return result;
  }

  const Model& model_;
  const ShaderCode& code_;
  const Variants& variants_;
  const BlockTotals& totals_;
  const std::vector<BranchCount>& branches_;
  uint32_t variant_;
  uint32_t shader_;
  Use use_;
  std::vector<Metric> metrics_;
  uint32_t shown_metric_;
  const Runs& runs_;
  const bool has_share_;
  double total_ = 0;
  Table table_;
};

}  // namespace

Result<Table> make_listing(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                           const Variants& variants, const BlockTotals& totals,
                           const BranchTotals& branches, uint32_t variant, ListingKind kind,
                           const TableOptions& options) {
  const uint32_t shader = variants[variant].shader;
  const auto& code = codes.of(shader);
  if (!code.ok()) return with_context(code.error(), model.shader_names[shader]);
  Listing listing(model, *code, variants, totals, branches, variant, options);
  if (kind == ListingKind::Disassembly || !sources.of(shader).has_lines())
    return listing.disassembly();
  return listing.source(sources.of(shader));
}

}  // namespace tally::analysis
