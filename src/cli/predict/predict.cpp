// `tally predict`: what the work of a capture takes on a calibrated device.

#include <memory>
#include <string>
#include <vector>

#include "analysis/model/model.h"
#include "analysis/predict/prediction.h"
#include "analysis/tables/summary.h"
#include "analysis/tables/tables.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/environment.h"
#include "report/table/display_text.h"
#include "report/table/json.h"

namespace tally::cli {
namespace {

using analysis::DeviceModel;
using analysis::Prediction;

constexpr size_t kDefaultLines = 10;

struct PredictOptions {
  std::string device;
  std::string file, other;
  std::string format = "text";
};

struct PredictedCapture {
  analysis::Model model;
  Prediction prediction;
};

Result<PredictedCapture> predict(const std::string& file,
                                 const std::shared_ptr<const DeviceModel>& device) {
  auto model = TALLY_TRY(analysis::open_model(file));
  auto prediction = TALLY_TRY(with_context(analysis::predict(model, device), file));
  if (prediction.works.works.empty()) return Error{file + ": it has no dispatch or render pass"};
  if (!prediction.works.counts)
    return Error{file +
                 ": it has no counts, which the model needs (tally run without --times plain "
                 "makes them)"};
  return PredictedCapture{std::move(model), std::move(prediction)};
}

int show(const PredictedCapture& of, const std::vector<analysis::Table>& tables,
         const PredictOptions& options) {
  return write_out([&](const report::Output& out) {
    if (options.format == "json") return report::write_json(summarize(of.model), tables, out);
    for (const analysis::Table& table : tables) {
      if (&table != &tables.front()) out("\n");
      report::write_text_table(table, {.width = terminal_width()}, out);
    }
  });
}

Result<int> run_predict(const PredictOptions& options) {
  auto loaded = TALLY_TRY(DeviceModel::load(options.device));
  const auto device = std::make_shared<const DeviceModel>(std::move(loaded));
  const auto capture = TALLY_TRY(predict(options.file, device));
  if (options.other.empty()) {
    const size_t lines = options.format == "json" ? 0 : kDefaultLines;
    return show(capture,
                {make_prediction_table(capture.prediction, 0),
                 make_predicted_line_table(capture.prediction, lines)},
                options);
  }
  const auto other = TALLY_TRY(predict(options.other, device));
  const analysis::Table ratios = make_ratio_table(capture.prediction, other.prediction);
  if (ratios.rows.empty()) return Error{"the captures have no dispatch or pass of the same name"};
  return show(capture, {ratios}, options);
}

}  // namespace

void add_predict(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      app.add_subcommand("predict", "Predict the time of a capture's work on a calibrated device");
  command->add_option("FILE", options->file,
                      "Capture made by tally run (default: the newest in this folder)");
  command->add_option("OTHER", options->other,
                      "Second capture, to show the ratio of its times to the first");
  command->add_option("--device", options->device, "Device file made by tally calibrate")
      ->required()
      ->type_name("FILE");
  command->add_option("--format", options->format, "text or json")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command->footer(
      "Example: tally predict --device device.json game.tally\n"
      "How to read it, and its limits: " +
      document("user/predict.md"));
  command->callback([options, &chosen] {
    chosen = [options]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->file));
      return run_predict(*options);
    };
  });
}

}  // namespace tally::cli
