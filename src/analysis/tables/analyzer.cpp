#include "analysis/tables/analyzer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/tables/block_table.h"
#include "analysis/tables/command_table.h"
#include "analysis/tables/frame_counters.h"
#include "analysis/tables/line_table.h"
#include "analysis/tables/notes.h"
#include "analysis/tables/region_table.h"
#include "analysis/tables/shader_table.h"

namespace tally::analysis {
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
  auto table = make_command_table(*model_, *codes_, by, options, progress_);
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
    case By::Line:
    case By::Block:
      break;
  }
  const auto blocks = totals();
  if (!blocks) return blocks.error();
  return by == By::Line
             ? make_line_table(*model_, *codes_, *sources_, *variants_, **blocks, options)
             : make_block_table(*model_, *codes_, *sources_, *variants_, **blocks, options);
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

}  // namespace tally::analysis
