// `tally explain`: what the counts of a capture say about its cost, and what to try.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/environment.h"
#include "report/table/header.h"
#include "report/table/reports.h"

namespace tally::cli {
namespace {

struct ExplainOptions {
  std::string file;
  std::string frames;
  std::string shader;
  std::string format = "text";
};

Result<int> run_explain(const ExplainOptions& options) {
  analysis::Selection selection;
  if (!options.frames.empty()) {
    selection.frames = TALLY_TRY(analysis::parse_frame_range(options.frames));
  }
  selection.shader = options.shader;
  auto model = TALLY_TRY(analysis::open_model(options.file, selection));
  std::optional<ProgressLine> progress("reading " + options.file);
  analysis::Analyzer analyzer(std::move(model),
                              [&](double fraction) { progress->update(fraction); });
  const auto findings = analyzer.findings();
  progress.reset();
  if (!findings) return with_context(findings.error(), options.file);
  const analysis::Summary summary = analysis::summarize(analyzer.model());
  std::string nothing = analysis::why_empty(summary);
  if (nothing.empty() && analyzer.model().commands.empty())
    nothing = "the capture has only counters of frames, no shaders";
  const int status = write_out([&](const report::Output& out) {
    if (options.format == "json") return report::write_findings_json(summary, *findings, out);
    out(report::capture_header(summary, terminal_width()));
    report::write_findings(*findings, terminal_width(), out);
  });
  if (status != kDone || !findings->list.empty()) return status;
  say(options.file + ": " + (nothing.empty() ? "no rule found anything" : nothing));
  return kNo;
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "Find known causes of cost in a capture, and what to try");
  command->add_option("FILE", options->file,
                      "Capture made by tally run (default: the newest in this folder)");
  command->add_option("--frames", options->frames, "Only these frames: 7, 3-9, 3- or -9")
      ->type_name("RANGE");
  command
      ->add_option("--shader", options->shader,
                   "Only shaders and pipelines that match: a name, a pattern or a hash")
      ->type_name("PATTERN");
  command->add_option("--format", options->format, "text or json")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command->footer(
      "Example: tally explain game.tally\n"
      "The rules and their limits: " +
      document("user/explain.md"));
  command->callback([options, &chosen] {
    chosen = [options]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->file));
      return run_explain(*options);
    };
  });
}

}  // namespace tally::cli
