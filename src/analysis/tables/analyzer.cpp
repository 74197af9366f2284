#include "analysis/tables/analyzer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/cost/block_totals.h"
#include "analysis/model/disassembly.h"
#include "analysis/model/names.h"
#include "analysis/tables/frame_counters.h"
#include "analysis/tables/table_builder.h"
#include "analysis/tables/tables.h"

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

namespace {

constexpr size_t kOverviewPasses = 6;
constexpr size_t kOverviewRows = 10;

}  // namespace

std::optional<By> by_from_name(std::string_view name) {
  const auto found = std::find(std::begin(kByNames), std::end(kByNames), name);
  if (found == std::end(kByNames)) return std::nullopt;
  return static_cast<By>(found - std::begin(kByNames));
}

Analyzer::Analyzer(Model model, Progress progress, SourceOptions sources)
    : model_(std::make_shared<Model>(std::move(model))),
      progress_(std::move(progress)),
      codes_(std::make_unique<ShaderCodes>(*model_)),
      sources_(std::make_unique<ShaderSources>(*model_, *codes_, std::move(sources))),
      variants_(std::make_unique<Variants>(*model_, *codes_)) {}

Result<const BlockTotals*> Analyzer::totals() {
  if (totals_ == nullptr) {
    auto counted = BlockTotals::count(*model_, *codes_, *variants_, progress_);
    if (!counted) return counted.error();
    totals_ = std::make_unique<BlockTotals>(std::move(*counted));
  }
  return static_cast<const BlockTotals*>(totals_.get());
}

Result<Table> Analyzer::command_table(GroupBy by, const TableOptions& options) {
  auto table = make_command_table(*model_, *codes_, *variants_, by, options, progress_);
  if (table) table->rows.keep(model_);
  return table;
}

Result<Table> Analyzer::table(By by, const TableOptions& options) {
  switch (by) {
    case By::Draw:
      return command_table(GroupBy::Command, options);
    case By::Pass:
      return command_table(GroupBy::Pass, options);
    case By::Pipeline:
      return command_table(GroupBy::Pipeline, options);
    case By::Frame:
      return command_table(GroupBy::Frame, options);
    case By::Label:
      return command_table(GroupBy::Label, options);
    case By::Shader:
      return make_shader_table(*model_, *codes_, *variants_, options, progress_);
    case By::Counter:
      return make_counter_table(*model_, options);
    case By::Region:
      return make_region_table(*model_, options, progress_);
    case By::Executable:
      return make_executable_table(*model_, options);
    case By::Loop:
      return make_loop_table(*model_, *codes_, *sources_, *variants_, options, progress_);
    case By::Line:
    case By::Block:
    case By::Function:
    case By::CallTree:
    case By::Value:
    case By::Clock:
    case By::Memory:
      break;
  }
  return code_table(by, options);
}

Result<Table> Analyzer::code_table(By by, const TableOptions& options) {
  const auto blocks = totals();
  if (!blocks) return blocks.error();
  if (by == By::Function)
    return make_function_table(*model_, *codes_, *variants_, **blocks, options);
  if (by == By::CallTree)
    return make_call_tree_table(*model_, *codes_, *variants_, **blocks, options);
  if (by == By::Value) {
    return make_value_table(*model_, *codes_, *sources_, *variants_, **blocks, options, progress_);
  }
  if (by == By::Clock) {
    return make_clock_table(*model_, *codes_, *sources_, *variants_, **blocks, options, progress_);
  }
  if (by == By::Memory) {
    return make_memory_table(*model_, *codes_, *sources_, *variants_, **blocks, options, progress_);
  }
  if (by == By::Block)
    return make_block_table(*model_, *codes_, *sources_, *variants_, **blocks, options);
  const auto branches = BranchTotals::count(*model_, *codes_, *variants_, **blocks, progress_);
  if (!branches) return branches.error();
  return make_line_table(*model_, *codes_, *sources_, *variants_, **blocks, *branches, options);
}

Result<std::vector<Table>> Analyzer::tables(By by, const TableOptions& options) {
  const bool gl_frames = by == By::Frame && counts_frames(*model_);
  std::vector<Table> tables;
  Status first_error;
  const auto take = [&](Result<Table> made) {
    if (made) tables.push_back(std::move(*made));
    if (!made && first_error.ok()) first_error = made.error();
  };
  if (gl_frames) take(make_frame_counter_table(*model_, options));
  if (!gl_frames || !model_->commands.empty()) take(table(by, options));
  // --sort and --columns may be valid for only one of the two tables.
  if (tables.empty()) return first_error.error();
  return tables;
}

Result<std::vector<Table>> Analyzer::gl_overview(TableOptions options) {
  auto counters = make_counter_table(*model_, {});
  if (!counters) return counters.error();
  if (options.top == 0) options.top = kOverviewRows;
  if (options.sort.empty()) options.sort = "time";
  auto frames = make_frame_counter_table(*model_, options);
  if (!frames) return frames.error();
  return std::vector<Table>{std::move(*counters), std::move(*frames)};
}

// Work outside of passes is known by its labels, or else by its pipelines.
By Analyzer::main_group() const {
  if (!model_->passes.empty()) return By::Pass;
  const bool has_labels = std::ranges::any_of(
      model_->commands, [](const Command& command) { return command.label != kNone; });
  return has_labels ? By::Label : By::Pipeline;
}

Result<std::vector<Table>> Analyzer::overview(const TableOptions& options) {
  std::vector<Table> tables;
  if (counts_frames(*model_)) {
    auto made = gl_overview(options);
    if (!made || model_->commands.empty()) return made;
    tables = std::move(*made);
  }
  TableOptions first = options, rest = options;
  first.merge = true;
  first.header_above = rest.header_above = true;
  if (options.top == 0) first.top = kOverviewPasses, rest.top = kOverviewRows;
  const std::pair<By, const TableOptions*> wanted[] = {
      {main_group(), &first}, {By::Shader, &rest}, {By::Line, &rest}};
  for (const auto& [by, by_options] : wanted) {
    auto made = table(by, *by_options);
    if (!made) return made.error();
    tables.push_back(std::move(*made));
  }
  return tables;
}

Result<Findings> Analyzer::findings() {
  return find_findings(*model_, *codes_, *sources_, *variants_, progress_);
}

Result<std::vector<Table>> Analyzer::listings(ListingKind kind, const TableOptions& options) {
  const auto blocks = totals();
  if (!blocks) return blocks.error();
  const auto branches = BranchTotals::count(*model_, *codes_, *variants_, **blocks, progress_);
  if (!branches) return branches.error();
  std::vector<Table> tables;
  for (uint32_t v = 0; v < variants_->size(); ++v) {
    if (!is_listed(v, **blocks)) continue;
    auto made = make_listing(*model_, *codes_, *sources_, *variants_, **blocks, *branches, v, kind,
                             options);
    if (!made) return made.error();
    tables.push_back(std::move(*made));
  }
  const bool lacks_source =
      std::any_of(tables.begin(), tables.end(), [&](const Table& t) { return t.id != "source"; });
  if (kind == ListingKind::Disassembly || tables.empty()) return tables;
  for (std::string& note : sources_->notes()) tables.back().notes.push_back(std::move(note));
  const bool is_chosen = sources_->options().choice == SourceChoice::Glsl ||
                         sources_->options().choice == SourceChoice::Spirv;
  if (lacks_source && !is_chosen) tables.back().notes.push_back(debug_information_hint());
  return tables;
}

// A shader with several specializations is listed once for each specialization that ran.
bool Analyzer::is_listed(uint32_t variant, const BlockTotals& blocks) const {
  const Variant& v = (*variants_)[variant];
  if (!variants_->is_selected(*model_, variant)) return false;
  return v.pipeline != kNone || !variants_->is_split(v.shader) || blocks.block_count(variant) != 0;
}

namespace {

std::string range_text(const FrameRange& range) {
  if (range.first == range.last) return fmt::format("frame {}", range.first);
  if (range.last == FrameRange{}.last) return fmt::format("frames from {} on", range.first);
  return fmt::format("frames {}-{}", range.first, range.last);
}

constexpr std::string_view kOnRequest = "on request", kLast = "the last ";

// "3-9, the last 5" -> "3-9"
std::string_view frames_asked_for(std::string_view range) {
  range = range.substr(0, range.find(kLast));
  while (range.ends_with(' ') || range.ends_with(',')) range.remove_suffix(1);
  return range;
}

std::string why_capture_is_empty(const Summary& s) {
  for (const DeviceSummary& device : s.devices) {
    if (!device.not_captured.empty())
      return fmt::format("nothing was captured on {}: {}", device.name, device.not_captured);
  }
  if (s.commands_missing != 0) {
    return fmt::format(
        "nothing was captured: the counts of {} that the application submitted were never read",
        s.commands_missing == 1 ? "the command"
                                : fmt::format("all {} commands", s.commands_missing));
  }
  if (s.processes_cut_off != 0)
    return "nothing was captured: the application stopped sending before its first command";
  if (!s.finished) return "the capture was not finished, and nothing was written";
  const std::string_view frames = frames_asked_for(s.frame_range);
  if (frames.starts_with(kOnRequest)) {
    return "nothing was captured: no frame was asked for (tally trigger), or nothing was done in "
           "those that were";
  }
  if (!frames.empty()) {
    return fmt::format(
        "nothing was captured: the application did not reach the frames {} of tally run --frames, "
        "or did nothing in them",
        frames);
  }
  if (s.devices.empty())
    return "nothing was captured: the application created no Vulkan device and no EGL context";
  return "nothing was captured: the application submitted no draw and no dispatch";
}

}  // namespace

std::string why_empty(const Summary& summary) {
  if (!summary.empty()) return {};
  if (!summary.selected_frames || !summary.frames_of_capture) return why_capture_is_empty(summary);
  const FrameRange& all = *summary.frames_of_capture;
  return fmt::format("the capture has nothing in {}; it has {}",
                     range_text(*summary.selected_frames), range_text(all));
}

std::string why_selection_is_empty(const Model& model) {
  if (!model.commands.empty() || !model.passes.empty()) return {};
  return why_empty(summarize(model));
}

std::string why_no_regions(const Model& model, std::optional<uint32_t> pass) {
  if (model.region_counters.empty())
    return "the capture has no counters by region: capture with tally run --regions";
  if (pass)
    return fmt::format("no pass with number {} was counted by region (see --by pass)", *pass);
  return "no pass of these frames was counted by region (see --by pass)";
}

namespace {

std::string why_no_sites(const Model& model, By by) {
  const auto kind = by == By::Loop    ? spirv::SiteKind::Loop
                    : by == By::Value ? spirv::SiteKind::Value
                    : by == By::Clock ? spirv::SiteKind::Clock
                                      : spirv::SiteKind::Memory;
  const bool counted = std::ranges::any_of(model.site_metrics, [&](const auto& metric) {
    return spirv::kind_of(metric.second) == kind;
  });
  if (!counted && by == By::Clock) {
    return "the capture has no cycles: capture with tally run --clocks";
  }
  if (!counted) {
    return fmt::format("the capture has no counts of {0}: capture with tally run --{0}",
                       by == By::Loop    ? "loops"
                       : by == By::Value ? "values"
                                         : "memory");
  }
  if (by == By::Loop) return "no loop ran in the selection";
  if (by == By::Clock) {
    return "no invocation of the selection was timed: few ran, or the device has no "
           "shaderSubgroupClock (VK_KHR_shader_clock)";
  }
  if (by == By::Memory) return "no shader of the selection accessed a buffer or workgroup memory";
  return "no line of the selection gave a NaN, an infinite or a denormal number, divided by zero, "
         "took the root of a negative number or had an index out of range";
}

}  // namespace

std::string why_no_rows(const Model& model, By by, const TableOptions& options) {
  if (by == By::Region) return why_no_regions(model, options.pass);
  if (by == By::Executable)
    return "the capture has no statistics of the driver's compiler here: capture with tally run "
           "--statistics, on a driver that has VK_KHR_pipeline_executable_properties";
  if (std::string nothing = why_selection_is_empty(model); !nothing.empty()) return nothing;
  if (by == By::Loop || by == By::Value || by == By::Clock || by == By::Memory) {
    return why_no_sites(model, by);
  }
  if (by == By::Counter)
    return "the capture has no counters by frame: only programs that draw through EGL have them";
  if (model.commands.empty())
    return "the capture has no Vulkan commands here: for GL use --by frame or --by counter";
  if (!model.selection.shader.empty()) {
    return fmt::format("no counted command in the selection ran a shader that matches '{}'",
                       model.selection.shader);
  }
  if (by == By::Line || by == By::Block || by == By::Function || by == By::CallTree)
    return "no command in the selection has counts by block; the overview says what is missing";
  return "the capture has no such data";
}

}  // namespace tally::analysis
