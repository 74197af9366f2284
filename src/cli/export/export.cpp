// `tally export`: writes a capture in a format that other tools read.

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/model/counts.h"
#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/export/data_set.h"
#include "cli/files.h"
#include "cli/options.h"
#include "report/export/data_set.h"
#include "report/export/exports.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace {

using analysis::Model;

struct ExportOptions {
  std::vector<std::string> files;
  ExportToOptions to;
  std::string format;
  std::string output;
  bool force = false;
  std::string by;
  std::string metric;
  std::string frames;
  std::string shader;
  std::shared_ptr<const analysis::DeviceCosts> device;
  bool verbatim = false;
};

constexpr const char* kCreator = "tally " TALLY_VERSION;

// The input that a format is made from.
struct Input {
  Model& model;
  const ExportOptions& options;
  const analysis::Progress& progress;
  report::Output out;
};

Result<analysis::Table> table_of(const Input& input) {
  analysis::Analyzer analyzer(std::move(input.model), input.progress);
  const std::string by = input.options.by.empty() ? "draw" : input.options.by;
  auto tables = TALLY_TRY(analyzer.tables(*analysis::by_from_name(by), {}));
  if (tables.size() > 1)
    say(input.options.files[0] + ": the table has the GL frames; Vulkan's are left out");
  return std::move(tables.front());
}

Status export_csv(const Input& input) {
  const auto table = TALLY_TRY(table_of(input));
  using report::CsvTexts;
  report::write_csv(table, input.options.verbatim ? CsvTexts::Verbatim : CsvTexts::Escaped,
                    input.out);
  return {};
}

Status export_json_lines(const Input& input) {
  const auto table = TALLY_TRY(table_of(input));
  report::write_json_lines(table, input.out);
  return {};
}

Status write_calls(const Input& input,
                   const std::function<Status(const report::CallTree&)>& write) {
  if (input.model.metrics.empty()) return Error{"the capture has no counts of shaders"};
  const auto unknown = TALLY_TRY(analysis::count_unknown_stages(input.model));
  if (unknown != 0)
    say(fmt::format("{}: left out: counts of {} whose shader the capture does not have",
                    input.options.files[0], report::counted(unknown, "stage")));
  const auto tree = report::CallTree::make(input.model, input.progress);
  return tree ? write(*tree) : Status(tree.error());
}

Status export_callgrind(const Input& input) {
  return write_calls(input, [&](const report::CallTree& tree) {
    report::write_callgrind(tree, kCreator, input.out);
    return Status();
  });
}

Result<uint32_t> metric_of(const report::CallTree& tree, const std::string& id) {
  if (id.empty()) return analysis::default_metric(tree.metrics());
  std::vector<KnownName> known;
  for (const analysis::Metric& metric : tree.metrics()) known.push_back({metric.id, metric.title});
  const auto found = TALLY_TRY(find_name("metric", id, known));
  return static_cast<uint32_t>(found);
}

Status export_collapsed(const Input& input) {
  return write_calls(input, [&](const report::CallTree& tree) -> Status {
    const auto metric = TALLY_TRY(metric_of(tree, input.options.metric));
    report::write_collapsed(tree, metric, input.out);
    return {};
  });
}

Status export_speedscope(const Input& input) {
  return write_calls(input, [&](const report::CallTree& tree) -> Status {
    const auto metric = TALLY_TRY(metric_of(tree, input.options.metric));
    report::write_speedscope(tree, metric, input.options.files[0], kCreator, input.out);
    return {};
  });
}

Status export_pprof(const Input& input) {
  return write_calls(
      input, [&](const report::CallTree& tree) { return report::write_pprof(tree, input.out); });
}

Status export_perfetto(const Input& input) {
  const auto say_untimed = [&](const auto& all, uint64_t untimed, const char* what) {
    untimed += static_cast<uint64_t>(std::ranges::count_if(
        all, [](const auto& one) { return one.estimated_from != analysis::kNone; }));
    if (untimed == 0) return;
    say(fmt::format("{}: left out: {} {} that were not timed (tally run --times draws times each)",
                    input.options.files[0], untimed, what));
  };
  const analysis::Model& model = input.model;
  say_untimed(model.commands, model.dispatches_untimed, "repeated dispatches");
  say_untimed(model.passes, model.passes_untimed, "passes");
  return report::write_perfetto(input.model, input.progress, input.out);
}

enum class Needs { Table, Metric, Nothing };
struct Format {
  const char* name;
  Status (*write)(const Input&);
  Needs needs;  // the option that the format takes
  bool is_binary;
};
constexpr Format kFormats[] = {
    {"csv", export_csv, Needs::Table, false},
    {"jsonl", export_json_lines, Needs::Table, false},
    {"callgrind", export_callgrind, Needs::Nothing, false},
    {"speedscope", export_speedscope, Needs::Metric, false},
    {"collapsed", export_collapsed, Needs::Metric, false},
    {"pprof", export_pprof, Needs::Nothing, true},
    {"perfetto", export_perfetto, Needs::Nothing, true},
};

const Format& format_of(const ExportOptions& options) {
  return *std::ranges::find(kFormats, options.format,
                            [](const Format& format) { return std::string(format.name); });
}

Result<analysis::Selection> selection_of(const ExportOptions& options) {
  analysis::Selection selection{.frames = {}, .shader = options.shader, .device = options.device};
  if (options.frames.empty()) return selection;
  selection.frames = TALLY_TRY(analysis::parse_frame_range(options.frames));
  return selection;
}

Result<int> run(const ExportOptions& options) {
  const std::string& path = options.files[0];
  const Format& format = format_of(options);
  const auto selection = TALLY_TRY(selection_of(options));
  auto model = TALLY_TRY(analysis::open_model(path, selection));
  if (const std::string nothing = analysis::why_selection_is_empty(model); !nothing.empty()) {
    say(path + ": " + nothing);
    return kNo;
  }
  auto file = TALLY_TRY(ExportFile::open(options.output, path, options.force));
  if (format.is_binary && file.is_terminal())
    return Error{options.format + " is binary: write it to a file with -o"};
  std::optional<ProgressLine> progress("reading " + path);
  const analysis::Progress update = [&](double fraction) { progress->update(fraction); };
  Status written =
      format.write({model, options, update, [&](std::string_view piece) { file.write(piece); }});
  progress.reset();
  if (!written) return with_context(written.error(), path);
  TALLY_TRY(file.finish());
  file.say_written("export");
  return kDone;
}

void reject_unused_options(const ExportOptions& options) {
  if (options.files.size() > 1) throw CLI::ParseError("several files need --to", kFailed);
  const Format& format = format_of(options);
  if (!options.by.empty() && format.needs != Needs::Table)
    throw CLI::ParseError("--by needs --format csv or jsonl", kFailed);
  if (options.verbatim && options.format != "csv")
    throw CLI::ParseError("--verbatim needs --format csv", kFailed);
  if (!options.metric.empty() && format.needs != Needs::Metric)
    throw CLI::ParseError("--metric needs --format speedscope or collapsed", kFailed);
}

void add_to_options(CLI::App& command, ExportToOptions& options, CLI::Option* format) {
  CLI::Option* to =
      command.add_option("--to", options.folder, "Add the captures to the data set in this folder")
          ->type_name("FOLDER");
  for (const char* other : {"--output", "--force", "--by", "--metric", "--frames", "--shader",
                            "--device", "--verbatim"})
    to->excludes(command.get_option(other));
  to->excludes(format);
  command
      .add_option("--commit", options.commit,
                  "Commit of the captures (default: HEAD of the git checkout here, else from CI's "
                  "variables)")
      ->type_name("NAME")
      ->needs(to);
  command
      .add_option("--scene", options.scene, "Scene of the captures (default: the program's name)")
      ->type_name("NAME")
      ->needs(to);
}

}  // namespace

void add_export(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write a capture in another tool's format");
  command->add_option(
      "FILE", options->files,
      "Capture made by tally run, or several with --to (default: the newest in this folder)");
  std::vector<std::string> formats;
  std::string names;
  for (const Format& format : kFormats) {
    formats.emplace_back(format.name);
    names += (names.empty() ? "" : ", ") + formats.back();
  }
  CLI::Option* format = command->add_option("--format", options->format, names);
  format->check(one_of(formats))->type_name("FORMAT");
  command
      ->add_option("-o,--output", options->output,
                   "File to write; - is standard output (the default)")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Replace an existing file");
  std::vector<std::string> by(std::begin(analysis::kByNames), std::end(analysis::kByNames));
  command
      ->add_option("--by", options->by, "Rows of csv and jsonl, as in tally report (default: draw)")
      ->check(one_of(by))
      ->type_name("WHAT");
  command
      ->add_option("--metric", options->metric,
                   "Metric of speedscope and collapsed (default: cost)")
      ->type_name("NAME");
  command->add_option("--frames", options->frames, "Only these frames: 7, 3-9, 3- or -9")
      ->type_name("A-B");
  command->add_option("--shader", options->shader, "Only these shaders, as in tally report")
      ->type_name("PATTERN");
  add_device_option(*command, options->device);
  command->add_flag("--verbatim", options->verbatim,
                    "In csv, put no apostrophe before texts that a spreadsheet takes for formulas");
  add_to_options(*command, options->to, format);
  command->footer(
      "Examples: tally export --format callgrind -o callgrind.out.vkcube vkcube.tally\n"
      "          tally export --to ~/fleet --scene start vkcube.tally");
  command->callback([options, format, &chosen] {
    const bool one_file = options->to.folder.empty();
    if (one_file && format->empty()) throw CLI::RequiredError("--format or --to");
    if (one_file) reject_unused_options(*options);
    chosen = [options, one_file]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->files));
      options->to.files = options->files;
      return one_file ? run(*options) : export_to(options->to);
    };
  });
}

}  // namespace tally::cli
