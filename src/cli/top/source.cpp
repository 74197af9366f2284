#include "cli/top/source.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "analysis/model/load_model.h"
#include "analysis/tables/summary.h"
#include "report/header.h"
#include "store/reader.h"

namespace tally::cli {

// One transaction: what the writer adds meanwhile is not seen.
Result<bool> TopSource::refresh() {
  auto reader = store::Reader::open(file_);
  if (!reader) return reader.error();
  if (Status held = reader->hold(); !held) return held.error();
  const auto frames = reader->frames();
  if (!frames) return frames.error();
  const store::FrameRow* newest = nullptr;
  for (const store::FrameRow& frame : *frames) {
    const bool ended = frame.ended_by != store::FrameEnd::Open;
    if (ended && (!newest || frame.id > newest->id)) newest = &frame;
  }
  if (!newest || newest->id == row_) return false;
  analysis::Selection selection;
  selection.frames = analysis::FrameRange{newest->number, newest->number};
  auto model = analysis::load_model(std::move(*reader), selection);
  if (!model) return model.error();
  const analysis::Summary summary = analysis::summarize(*model);
  description_ = report::amounts(summary);
  if (!summary.devices.empty()) description_ += " on " + summary.devices.front().name;
  if (summary.commands_missing != 0) {
    description_ += fmt::format("; {} missing", summary.commands_missing);
  }
  analyzer_ = std::make_unique<analysis::Analyzer>(std::move(*model), [](double) {});
  row_ = newest->id;
  frame_ = newest->number;
  return true;
}

Result<analysis::Table> TopSource::table(analysis::By by) {
  if (!analyzer_) return analysis::Table{};
  return analyzer_->table(by, {});
}

}  // namespace tally::cli
