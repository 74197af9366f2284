#include "analysis/tables/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/cost/line_costs.h"
#include "analysis/model/disassembly.h"
#include "analysis/model/names.h"

namespace tally::analysis {
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
        metrics_(describe_metrics(model)) {
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
    for (size_t i = 0; i < texts.size(); ++i) {
      if (block_of[i] == kNone || use_ == Use::NotCounted || !code_.is_countable(block_of[i])) {
        add(std::to_string(i + 1), texts[i], nullptr);
        continue;
      }
      const auto values = instruction_values(code_.module, code_.module.instruction(i), variant_,
                                             block_of[i], totals_, metrics_);
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
      column.shown = true;
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
      row.push_back(total_ > 0 && value != 0 ? Cell(100 * static_cast<double>(value) / total_)
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
