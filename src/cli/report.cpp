// `tally report`: a capture as tables.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "analysis/analyzer.h"
#include "analysis/summary.h"
#include "cli/command.h"
#include "cli/heatmap.h"
#include "cli/progress.h"
#include "report/header.h"
#include "report/json.h"
#include "report/text_table.h"

namespace tally::cli {
namespace {

using analysis::Analyzer;
using analysis::Table;

constexpr size_t kDefaultWidth = 120;
constexpr size_t kLeastWidth = 60;
constexpr size_t kDefaultTop = 20;

struct Options {
  std::string file;
  std::string by;
  std::string annotate;
  std::string disassemble;
  std::string frames;
  std::string shader;
  std::string columns;
  std::string heatmap;
  std::string counter;
  std::string format = "text";
  std::optional<size_t> top;
  std::optional<size_t> width;
  analysis::TableOptions table;

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

size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
    return std::max<size_t>(size.ws_col, kLeastWidth);
  return kDefaultWidth;
}

Result<analysis::Selection> selection_of(const Options& options) {
  analysis::Selection selection;
  if (!options.frames.empty()) {
    const auto range = analysis::parse_frame_range(options.frames);
    if (!range) return range.error();
    selection.frames = *range;
  }
  selection.shader = options.shader;
  if (!options.annotate.empty()) selection.shader = options.annotate;
  if (!options.disassemble.empty()) selection.shader = options.disassemble;
  return selection;
}

Result<std::vector<Table>> make_tables(Analyzer& analyzer, const Options& options) {
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

std::string as_text(const analysis::Summary& summary, const std::vector<Table>& tables,
                    const Options& options) {
  const report::TextOptions text{.width = options.width.value_or(terminal_width())};
  std::string out;
  if (options.is_overview()) out += report::capture_header(summary, text.width);
  for (const Table& table : tables) {
    if (!out.empty()) out += "\n";
    out += report::text_table(table, text);
  }
  return out;
}

int draw_heatmap(const analysis::Model& model, const Options& options) {
  const auto map = make_region_map(model, {.counter = options.counter, .pass = options.table.pass});
  if (!map) return fail(with_context(map.error(), options.file));
  const auto shown = write_heatmap(*map, options.heatmap);
  return shown ? print(*shown + "\n") : fail(shown.error());
}

// A name that is mistyped would show as a capture in which nothing was done.
Status find_shader(const analysis::Model& model) {
  const std::string& pattern = model.selection.shader;
  if (pattern.empty() ||
      std::ranges::find(model.shader_selected, true) != model.shader_selected.end())
    return {};
  return Error{"no shader of the capture matches '" + pattern + "'"};
}

int run(const Options& options) {
  const auto selection = selection_of(options);
  if (!selection) return fail(selection.error());
  auto reader = store::Reader::open(options.file);
  if (!reader) return fail(reader.error());
  auto model = analysis::Model::load(std::move(*reader), *selection);
  if (!model) return fail(with_context(model.error(), options.file));
  if (!options.heatmap.empty()) return draw_heatmap(*model, options);
  if (Status found = find_shader(*model); !found) {
    return fail(with_context(found.error(), options.file));
  }
  Result<std::vector<Table>> tables = std::vector<Table>{};
  analysis::Summary summary;
  {
    ProgressLine progress("reading " + options.file);
    Analyzer analyzer(std::move(*model), [&](double fraction) { progress.update(fraction); });
    summary = analysis::summarize(analyzer.model());
    tables = make_tables(analyzer, options);
  }
  if (!tables) return fail(with_context(tables.error(), options.file));
  return print(options.json() ? report::report_json(summary, *tables)
                              : as_text(summary, *tables, options));
}

// A number from 0; CLI11 by itself takes "-1" for the largest.
CLI::Validator whole_number() {
  const auto problem = [](const std::string& text) {
    const bool is_number =
        std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    return is_number ? std::string() : text + " is no whole number";
  };
  return CLI::Validator(problem, "");
}

// Options that would silently be for nothing.
void refuse_what_changes_nothing(const Options& options) {
  if (options.table.merge && options.by != "draw" && options.by != "pass") {
    throw CLI::ParseError("--merge needs --by draw or --by pass", kFailed);
  }
  if (options.table.pass && options.by != "region" && options.heatmap.empty()) {
    throw CLI::ParseError("--pass needs --by region or --heatmap", kFailed);
  }
}

}  // namespace

void add_report(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "Show where a capture's work was done");
  std::vector<std::string> by(std::begin(analysis::kByNames), std::end(analysis::kByNames));
  command->add_option("FILE", options->file, "Capture made by tally run")->required();
  CLI::Option* by_option = command
                               ->add_option("--by", options->by,
                                            "draw, pass, shader, line, block, pipeline, frame, "
                                            "label, counter or region; default: an "
                                            "overview")
                               ->check(CLI::IsMember(by).description(""))
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
                   "Show just these columns (ids as in --format json)")
      ->type_name("A,B,...");
  CLI::Option* heatmap =
      command
          ->add_option("--heatmap", options->heatmap,
                       "Write a picture of a pass by region (of tally run --regions): the hottest, "
                       "or as --frame and --pass say")
          ->type_name("FILE.png")
          ->excludes(by_option);
  command
      ->add_option("--counter", options->counter,
                   "The heatmap's counter (default: fragment_instructions)")
      ->type_name("NAME")
      ->needs(heatmap);
  command
      ->add_option("--pass", options->table.pass,
                   "Regions only of passes of this number in their frames (see --by pass)")
      ->check(whole_number())
      ->type_name("N");
  command->add_option("--frame", options->frames, "Only frame 7, or frames 3-9, 3- or -9")
      ->type_name("A-B");
  command
      ->add_option(
          "--shader", options->shader,
          "Only shaders whose name or stage matches (* and ? allowed) or whose hash starts so")
      ->type_name("PATTERN");
  command->add_flag("--merge", options->table.merge,
                    "With --by draw or pass: put those that are alike together");
  CLI::Option* annotate = command
                              ->add_option("--annotate", options->annotate,
                                           "Show a shader's source with counts at the margin, "
                                           "its disassembly where it has no source")
                              ->type_name("SHADER")
                              ->excludes(by_option)
                              ->excludes(heatmap);
  command
      ->add_option("--disassemble", options->disassemble,
                   "Show a shader's SPIR-V with counts at the margin")
      ->type_name("SHADER")
      ->excludes(by_option)
      ->excludes(heatmap)
      ->excludes(annotate);
  command->add_option("--format", options->format, "text or json (docs/report-json.md)")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("FORMAT");
  command
      ->add_option("--width", options->width, "Cells of a line (default: the terminal's, else 120)")
      ->check(whole_number())
      ->type_name("N");
  command->footer(
      "Examples: tally report vkcube.tally\n"
      "          tally report --by line --sort texture_samples --top 30 vkcube.tally\n"
      "          tally report --by draw --frame 10 --format json vkcube.tally");
  command->callback([options, &chosen] {
    refuse_what_changes_nothing(*options);
    chosen = [options] { return run(*options); };
  });
}

}  // namespace tally::cli
