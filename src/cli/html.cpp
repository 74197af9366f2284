#include "cli/html.h"

#include <optional>

#include "analysis/dataset/dataset.h"
#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "cli/command.h"
#include "cli/files.h"
#include "report/html/page.h"

namespace tally::cli {
namespace {

Result<analysis::Dataset> dataset_of(const analysis::Model& model, const analysis::Model* old,
                                     const HtmlReport& report) {
  ProgressLine progress("reading " + report.capture);
  return analysis::make_dataset(model, old, report.sources,
                                [&](double fraction) { progress.update(fraction); });
}

}  // namespace

int write_html_report(const HtmlReport& report) {
  if (const auto reason = report::why_no_html(); !reason.empty())
    return fail({std::string(reason)});
  const auto model = analysis::open_model(report.capture, report.selection);
  if (!model) return fail(model.error());
  if (const std::string nothing = analysis::why_selection_is_empty(*model); !nothing.empty()) {
    say(report.capture + ": " + nothing);
    return kNo;
  }
  std::optional<Result<analysis::Model>> old;
  if (!report.against.empty()) {
    old.emplace(analysis::open_model(report.against, report.selection));
    if (!*old) return fail(old->error());
  }
  auto file = ExportFile::open(report.file, report.capture, report.force);
  if (!file) return fail(file.error());
  const auto dataset = dataset_of(*model, old ? &**old : nullptr, report);
  if (!dataset) return fail(with_context(dataset.error(), report.capture));
  const Status written = report::write_html(*dataset, TALLY_VERSION,
                                            [&](std::string_view piece) { file->write(piece); });
  if (!written) return fail(with_context(written.error(), report.file));
  if (Status finished = file->finish(); !finished) return fail(finished.error());
  if (!report.quiet) file->say_written("page");
  return kDone;
}

}  // namespace tally::cli
