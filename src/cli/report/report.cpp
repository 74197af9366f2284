// `tally report --heatmap`: writes a pass by region as a PNG file.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/model/counts.h"
#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "analysis/tables/summary.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/run/environment.h"
#include "picture/picture.h"
#include "report/table/display_text.h"
#include "report/table/header.h"
#include "report/table/heatmap.h"
#include "report/table/json.h"
#include "store/stream/stream.h"

namespace tally::cli {

namespace {

// The final image; nullopt if the capture has no image of the right size.
std::optional<Picture> background_of(const analysis::RegionMap& map) {
  if (!map.picture) return std::nullopt;
  auto picture = decode_png(map.picture->png, store::stream::kMaxPicturePixels);
  const bool fits =
      picture.ok() && picture->width == map.regions.width && picture->height == map.regions.height;
  return fits ? std::optional(std::move(*picture)) : std::nullopt;
}

Result<std::vector<std::byte>> heatmap_png(const analysis::RegionMap& map) {
  if (uint64_t{map.regions.width} * map.regions.height > store::stream::kMaxPicturePixels) {
    return Error{fmt::format("{} is too large for a picture", map.pass)};
  }
  const std::optional<Picture> background = background_of(map);
  return encode_png(report::draw_heatmap(map, background ? &*background : nullptr));
}

// `tally report`: shows a capture as tables.

using analysis::Analyzer;
using analysis::Table;

constexpr size_t kDefaultTop = 20;

struct ReportOptions {
  std::string file;
  std::string by;
  std::string annotate;
  std::string disassemble;
  std::string frames;
  std::string shader;
  std::string columns;
  std::string heatmap;
  std::string counter;
  std::string html;
  std::string against;
  bool force = false;
  std::string format = "text";
  analysis::SourceChoice source = analysis::SourceChoice::Auto;
  std::string sources;
  std::optional<size_t> top;
  std::optional<size_t> width;
  analysis::TableOptions table;
  std::shared_ptr<const analysis::DeviceCosts> device;

  bool json() const { return format == "json"; }
  bool is_overview() const { return by.empty() && annotate.empty() && disassemble.empty(); }
};

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Result<analysis::Selection> selection_of(const ReportOptions& options) {
  analysis::Selection selection;
  if (!options.frames.empty()) {
    selection.frames = TALLY_TRY(analysis::parse_frame_range(options.frames));
  }
  selection.shader = options.shader;
  selection.device = options.device;
  if (!options.annotate.empty()) selection.shader = options.annotate;
  if (!options.disassemble.empty()) selection.shader = options.disassemble;
  return selection;
}

Result<analysis::SourceOptions> source_options_of(const ReportOptions& options) {
  analysis::SourceOptions sources;
  sources.choice = options.source;
  if (options.sources.empty()) return sources;
  auto folder = TALLY_TRY(analysis::SourceFolder::open(options.sources));
  sources.folder = std::make_shared<const analysis::SourceFolder>(std::move(folder));
  return sources;
}

Result<std::vector<Table>> make_tables(Analyzer& analyzer, const ReportOptions& options) {
  analysis::TableOptions table_options = options.table;
  table_options.columns = split(options.columns, ',');
  if (!options.disassemble.empty())
    return analyzer.listings(analysis::ListingKind::Disassembly, table_options);
  if (!options.annotate.empty())
    return analyzer.listings(analysis::ListingKind::Source, table_options);
  if (options.is_overview()) {
    table_options.top = options.top.value_or(0);
    return analyzer.overview(table_options);
  }
  table_options.top = options.top.value_or(options.json() ? 0 : kDefaultTop);
  return analyzer.tables(*analysis::by_from_name(options.by), table_options);
}

void write_text(const analysis::Summary& summary, const std::vector<Table>& tables,
                const ReportOptions& options, const report::Output& out) {
  const report::TextOptions text{.width = options.width.value_or(terminal_width())};
  if (options.is_overview()) out(report::capture_header(summary, text.width));
  for (const Table& table : tables) {
    if (options.is_overview() || &table != &tables.front()) out("\n");
    report::write_text_table(table, text, out);
  }
}

// Explains an empty result on standard error; it has an exit status of its own.
int report_empty_result(const ReportOptions& options, const std::string& nothing) {
  say(options.file + ": " + nothing);
  return kNo;
}

Result<int> draw_heatmap(const Analyzer& analyzer, const ReportOptions& options) {
  const analysis::Model& model = analyzer.model();
  const auto map = TALLY_TRY(
      with_context(make_region_map(model, {.counter = options.counter, .pass = options.table.pass}),
                   options.file));
  if (!map) return report_empty_result(options, why_no_regions(model, options.table.pass));
  const auto png = TALLY_TRY(heatmap_png(*map));
  auto file = TALLY_TRY(ExportFile::open(options.heatmap, options.file, options.force));
  file.write({reinterpret_cast<const char*>(png.data()), png.size()});
  TALLY_TRY(file.finish());
  file.say_written("heatmap");
  if (!options.json()) {
    const std::string shown =
        fmt::format("{}: {} of {}, frame {}, pass {}", options.heatmap, map->counter.title,
                    map->pass, map->frame, map->pass_number);
    return print(report::printable(shown) + "\n");
  }
  return write_out([&](const report::Output& out) {
    report::write_json(analysis::summarize(model), *map, options.heatmap, out);
  });
}

// Reports a pattern without a match, because an empty table would suggest that nothing ran.
std::string why_no_shader(const analysis::Model& model) {
  const std::string& pattern = model.selection.shader;
  if (pattern.empty() ||
      std::ranges::find(model.shader_selected, true) != model.shader_selected.end())
    return {};
  return "no shader of the capture matches '" + pattern + "'";
}

std::string why_empty(const analysis::Model& model, const std::vector<Table>& tables,
                      const ReportOptions& options) {
  if (std::string nothing = why_no_shader(model); !nothing.empty()) return nothing;
  const auto has_rows = [](const Table& table) { return !table.rows.empty(); };
  if (std::ranges::any_of(tables, has_rows)) return {};
  const auto by = analysis::by_from_name(options.by).value_or(analysis::By::Draw);
  return analysis::why_no_rows(model, by, options.table);
}

int show(const Analyzer& analyzer, std::vector<Table> tables, const ReportOptions& options) {
  const analysis::Summary summary = analysis::summarize(analyzer.model());
  const std::string nothing = why_empty(analyzer.model(), tables, options);
  if (!nothing.empty()) tables.clear();
  const bool has_text = nothing.empty() || options.is_overview();
  int status = kDone;
  if (options.json() || has_text) {
    status = write_out([&](const report::Output& out) {
      if (options.json()) return report::write_json(summary, tables, out);
      write_text(summary, tables, options, out);
    });
  }
  return status == kDone && !nothing.empty() ? report_empty_result(options, nothing) : status;
}

Result<int> run(const ReportOptions& options) {
  const auto selection = TALLY_TRY(selection_of(options));
  auto sources = TALLY_TRY(source_options_of(options));
  if (!options.html.empty()) {
    return write_html_report({.file = options.html,
                              .capture = options.file,
                              .against = options.against,
                              .selection = selection,
                              .sources = std::move(sources),
                              .force = options.force});
  }
  auto model = TALLY_TRY(analysis::open_model(options.file, selection));
  std::optional<ProgressLine> progress("reading " + options.file);
  Analyzer analyzer(
      std::move(model), [&](double fraction) { progress->update(fraction); }, std::move(sources));
  if (!options.heatmap.empty()) return draw_heatmap(analyzer, options);
  auto tables = make_tables(analyzer, options);
  progress.reset();
  if (!tables) return with_context(tables.error(), options.file);
  return show(analyzer, std::move(*tables), options);
}

std::pair<int64_t, int64_t> parse_pixel(const std::string& text) {
  std::pair<int64_t, int64_t> pixel;
  const char* end = text.data() + text.size();
  const auto x = std::from_chars(text.data(), end, pixel.first);
  const bool has_y = x.ec == std::errc() && x.ptr != end && *x.ptr == ',';
  const auto y = std::from_chars(has_y ? x.ptr + 1 : end, end, pixel.second);
  if (y.ec != std::errc() || y.ptr != end) throw CLI::ValidationError("--at " + text, "not X,Y");
  return pixel;
}

// Rejects options that would have no effect.
void reject_unused_options(const ReportOptions& options) {
  if (options.table.merge && options.by != "pass" && options.by != "line" &&
      options.by != "function") {
    throw CLI::ParseError(options.by == "draw" ? "--by draw always merges identical draws; "
                                                 "--each shows every draw"
                                               : "--merge needs --by pass, line or function",
                          kFailed);
  }
  if (options.table.each && options.by != "draw") {
    throw CLI::ParseError("--each needs --by draw", kFailed);
  }
  if (options.table.depth && options.by != "call-tree") {
    throw CLI::ParseError("--depth needs --by call-tree", kFailed);
  }
  const bool by_region = options.by == "region" || options.by == "region-draw";
  if (options.table.pass && !by_region && options.heatmap.empty()) {
    throw CLI::ParseError("--pass needs --by region, --by region-draw or --heatmap", kFailed);
  }
  if (options.table.at && !by_region) {
    throw CLI::ParseError("--at needs --by region or --by region-draw", kFailed);
  }
  if (!options.html.empty() && options.json()) {
    throw CLI::ParseError("--html and --format json exclude each other", kFailed);
  }
  if (options.force && options.html.empty() && options.heatmap.empty()) {
    throw CLI::ParseError("--force needs --html or --heatmap", kFailed);
  }
  const bool arranges_tables =
      options.top || options.width || !options.table.sort.empty() || !options.columns.empty();
  if (!options.html.empty() && arranges_tables) {
    throw CLI::ParseError("--top, --sort, --columns and --width have no effect with --html",
                          kFailed);
  }
}

}  // namespace

void add_report(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Show a capture as tables, a heatmap or an HTML page");
  std::vector<std::string> by(std::begin(analysis::kByNames), std::end(analysis::kByNames));
  command->add_option("FILE", options->file,
                      "Capture made by tally run (default: the newest in this folder)");
  CLI::Option* by_option =
      command
          ->add_option("--by", options->by,
                       "draw, pass, shader, line, block, loop, value, "
                       "clock, memory, pipeline, frame, label, counter, region, "
                       "region-draw, executable, function or call-tree; default: an "
                       "overview")
          ->check(one_of(by))
          ->type_name("WHAT");
  command->add_option("--top", options->top, "Rows to show, 0 for all (text: 20, JSON: all)")
      ->check(whole_number())
      ->type_name("N");
  command
      ->add_option("--sort", options->table.sort,
                   "Sort by this column, e.g. texture_samples or gpu_time")
      ->type_name("COLUMN");
  command
      ->add_option("--columns", options->columns,
                   "Show only these columns (ids as in --format json)")
      ->type_name("A,B,...");
  CLI::Option* heatmap = command
                             ->add_option("--heatmap", options->heatmap,
                                          "Write a heatmap of the hottest pass among those that "
                                          "--frames and --pass select (needs tally run --regions)")
                             ->type_name("FILE.png")
                             ->excludes(by_option);
  CLI::Option* html =
      command
          ->add_option("--html", options->html, "Write the capture as one self-contained HTML file")
          ->type_name("FILE.html")
          ->excludes(by_option)
          ->excludes(heatmap);
  command
      ->add_option("--against", options->against,
                   "In the HTML file, compare with this older capture")
      ->type_name("OLD")
      ->needs(html);
  command->add_flag("--force", options->force, "Replace the HTML file or the picture if it exists");
  command
      ->add_option("--counter", options->counter,
                   "The heatmap's counter (default: fragment_instructions)")
      ->type_name("NAME")
      ->needs(heatmap);
  command
      ->add_option("--pass", options->table.pass,
                   "Only regions of passes with this number in their frame (see --by pass)")
      ->check(whole_number())
      ->type_name("N");
  command
      ->add_option_function<std::string>(
          "--at", [options](const std::string& text) { options->table.at = parse_pixel(text); },
          "Only regions with this pixel of the framebuffer; with --by region-draw: the "
          "draws that wrote there")
      ->type_name("X,Y");
  command->add_option("--frames", options->frames, "Only these frames: 7, 3-9, 3- or -9")
      ->type_name("A-B");
  command
      ->add_option("--shader", options->shader,
                   "Only shaders whose name or stage matches (* and ? allowed), whose hash starts "
                   "with this, or whose pipeline has this name or hash")
      ->type_name("PATTERN");
  command->add_flag("--merge", options->table.merge,
                    "With --by pass: merge identical passes; with --by line or function: merge a "
                    "line or function of several shaders");
  command
      ->add_option("--depth", options->table.depth,
                   "With --by call-tree: show this many calls below the entry point")
      ->check(whole_number())
      ->type_name("N");
  command->add_flag("--each", options->table.each,
                    "With --by draw: show every draw instead of merging identical ones");
  CLI::Option* annotate = command
                              ->add_option("--annotate", options->annotate,
                                           "Show a shader's source with counts in the margin "
                                           "(see --source)")
                              ->type_name("SHADER")
                              ->excludes(by_option)
                              ->excludes(heatmap)
                              ->excludes(html);
  command
      ->add_option("--disassemble", options->disassemble,
                   "Show a shader's SPIR-V with counts in the margin")
      ->type_name("SHADER")
      ->excludes(by_option)
      ->excludes(heatmap)
      ->excludes(html)
      ->excludes(annotate);
  add_device_option(*command, options->device);
  add_source_option(*command, options->source);
  command
      ->add_option("--sources", options->sources,
                   "Folder to search for source files that debug information only names")
      ->type_name("FOLDER");
  command
      ->add_option("--format", options->format,
                   fmt::format("text or json ({})", document("reference/report-json.md")))
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command
      ->add_option("--width", options->width,
                   "Width of a line in cells (default: the terminal's, else 120)")
      ->check(whole_number())
      ->type_name("N");
  command->footer(
      "Examples: tally report vkcube.tally\n"
      "          tally report --by line --sort texture_samples --top 30 vkcube.tally\n"
      "          tally report --by draw --each --frames 10 --format json vkcube.tally\n"
      "          tally report --html vkcube.html vkcube.tally");
  command->callback([options, &chosen] {
    reject_unused_options(*options);
    chosen = [options]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->file));
      return run(*options);
    };
  });
}

}  // namespace tally::cli
