#include "analysis/tables/analyzer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/cost/block_totals.h"
#include "analysis/tables/frame_counters.h"
#include "analysis/tables/table_builder.h"
#include "analysis/tables/tables.h"
#include "store/format/schema.h"

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
    auto counted = TALLY_TRY(BlockTotals::count(*model_, *codes_, *variants_, progress_));
    totals_ = std::make_unique<BlockTotals>(std::move(counted));
  }
  return static_cast<const BlockTotals*>(totals_.get());
}

Result<const Prediction*> Analyzer::prediction() {
  if (!is_predicted_) {
    prediction_ = TALLY_TRY(predict_selected(*model_));
    is_predicted_ = true;
  }
  return prediction_ ? &*prediction_ : static_cast<const Prediction*>(nullptr);
}

Result<Table> Analyzer::command_table(GroupBy by, const TableOptions& options) {
  const auto predicted = TALLY_TRY(prediction());
  auto table = make_command_table(*model_, *codes_, *variants_, predicted, by, options, progress_);
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
    case By::RegionDraw:
      return make_region_table(*model_, by == By::RegionDraw, options, progress_);
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
  const auto blocks = TALLY_TRY(totals());
  if (by == By::Function)
    return make_function_table(*model_, *codes_, *variants_, *blocks, options);
  if (by == By::CallTree)
    return make_call_tree_table(*model_, *codes_, *variants_, *blocks, options);
  if (by == By::Value) {
    return make_value_table(*model_, *codes_, *sources_, *variants_, *blocks, options, progress_);
  }
  if (by == By::Clock) {
    return make_clock_table(*model_, *codes_, *sources_, *variants_, *blocks, options, progress_);
  }
  if (by == By::Memory) {
    return make_memory_table(*model_, *codes_, *sources_, *variants_, *blocks, options, progress_);
  }
  if (by == By::Block)
    return make_block_table(*model_, *codes_, *sources_, *variants_, *blocks, options);
  const auto branches =
      TALLY_TRY(BranchTotals::count(*model_, *codes_, *variants_, *blocks, progress_));
  return make_line_table(*model_, *codes_, *sources_, *variants_, *blocks, branches, options);
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
  auto counters = TALLY_TRY(make_counter_table(*model_, {}));
  if (options.top == 0) options.top = kOverviewRows;
  if (options.sort.empty()) options.sort = "time";
  auto frames = TALLY_TRY(make_frame_counter_table(*model_, options));
  return std::vector<Table>{std::move(counters), std::move(frames)};
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
    auto made = TALLY_TRY(table(by, *by_options));
    tables.push_back(std::move(made));
  }
  const auto predicted = TALLY_TRY(prediction());
  if (predicted && predicted->works.counts) {
    tables.push_back(make_prediction_table(*predicted, rest.top));
    tables.push_back(make_predicted_line_table(*predicted, rest.top));
  }
  return tables;
}

Result<Findings> Analyzer::findings() {
  return find_findings(*model_, *codes_, *sources_, *variants_, progress_);
}

Result<std::vector<Table>> Analyzer::listings(ListingKind kind, const TableOptions& options) {
  const auto blocks = TALLY_TRY(totals());
  const auto branches =
      TALLY_TRY(BranchTotals::count(*model_, *codes_, *variants_, *blocks, progress_));
  std::vector<Table> tables;
  for (uint32_t v = 0; v < variants_->size(); ++v) {
    if (!is_listed(v, *blocks)) continue;
    auto made = TALLY_TRY(
        make_listing(*model_, *codes_, *sources_, *variants_, *blocks, branches, v, kind, options));
    tables.push_back(std::move(made));
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
  if (!s.finished) {
    return fmt::format(
        "nothing is in the file yet: tally run still writes the capture, or was killed before "
        "it wrote the first commands, at most {} s after they arrived",
        store::kCommitSeconds);
  }
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
  if (by == By::RegionDraw && !model.region_counters.empty())
    return "no draw was counted by region here: capture with tally run --regions --region-draws";
  if (by == By::Region || by == By::RegionDraw) return why_no_regions(model, options.pass);
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
