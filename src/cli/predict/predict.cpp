// `tally predict`: what the work of a capture takes on a calibrated device.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/model.h"
#include "analysis/predict/capture_work.h"
#include "analysis/predict/device_model.h"
#include "analysis/tables/summary.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/environment.h"
#include "report/table/display_text.h"
#include "report/table/json.h"

namespace tally::cli {
namespace {

using analysis::CapturedWork;
using analysis::Cell;
using analysis::DeviceModel;
using analysis::ProgramErrors;

constexpr size_t kDefaultLines = 10;

struct PredictOptions {
  std::string device;
  std::string file, other;
  std::string format = "text";
};

// A capture, what its works take, and its lines.
struct Predicted {
  analysis::Model model;
  analysis::CaptureWorks works;
  std::vector<analysis::WorkTime> times;  // by work
  std::vector<analysis::LineTime> lines;
};

Result<Predicted> predict(const std::string& file, const DeviceModel& device) {
  auto model = analysis::open_model(file);
  if (!model) return model.error();
  analysis::ShaderCodes codes(*model, analysis::ShaderCodes::Compiler::Gpu);
  auto works = works_of(*model, codes);
  if (!works) return with_context(works.error(), file);
  if (works->works.empty()) return Error{file + ": it has no dispatch and no render pass"};
  if (!works->counts)
    return Error{file +
                 ": it has no counts, which the model needs (tally run without --times plain "
                 "makes them)"};
  std::vector<analysis::WorkTime> times;
  for (const CapturedWork& work : works->works) times.push_back(device.time_of(work.work));
  auto lines = line_times(*model, codes, *works, device);
  return Predicted{std::move(*model), std::move(*works), std::move(times), std::move(lines)};
}

analysis::Column text_of(const char* id, const char* title, const char* description) {
  return {.id = id, .title = title, .role = analysis::ColumnRole::Key, .description = description};
}

analysis::Column number_of_unit(const char* id, const char* title, analysis::Unit unit,
                                const char* description) {
  return {.id = id, .title = title, .unit = unit, .description = description, .adds_up = false};
}

Cell nanoseconds(double seconds) { return static_cast<uint64_t>(std::llround(seconds * 1e9)); }

bool is_modelled(const CapturedWork& work) { return work.counted && work.work.invocations > 0; }

// The errors of programs if they allow to state a time of this work.
const ProgramErrors* stated(const DeviceModel& device, const CapturedWork& work,
                            const analysis::WorkTime& time) {
  const auto& errors = device.errors[static_cast<size_t>(work.work.kind)];
  if (!errors || !errors->why_no_time().empty()) return nullptr;
  const bool in_range = time.seconds >= errors->min_seconds &&
                        time.seconds <= errors->max_seconds &&
                        std::ranges::count(errors->bounds, time.bound) != 0;
  return in_range ? &*errors : nullptr;
}

std::string status_of(const DeviceModel& device, const CapturedWork& work,
                      const analysis::WorkTime& time) {
  if (!is_modelled(work)) return "not counted";
  const auto& errors = device.errors[static_cast<size_t>(work.work.kind)];
  if (!errors || !errors->why_no_time().empty()) return "order only";
  return stated(device, work, time) != nullptr ? "interval of 80 %" : "extrapolated";
}

double total_of(const Predicted& of) {
  double total = 0;
  for (size_t w = 0; w < of.times.size(); ++w) {
    if (is_modelled(of.works.works[w])) total += of.times[w].seconds * of.works.works[w].runs;
  }
  return total;
}

void add_reasons(const DeviceModel& device, const Predicted& of, analysis::Table& table) {
  table.notes.push_back(
      fmt::format("Device: {} ({}), calibrated {}", device.name, device.driver, device.date));
  for (size_t k = 0; k < analysis::kWorkKinds; ++k) {
    const auto kind = static_cast<analysis::WorkKind>(k);
    const bool has_some = std::ranges::any_of(
        of.works.works, [&](const CapturedWork& work) { return work.work.kind == kind; });
    if (!has_some) continue;
    const auto& errors = device.errors[k];
    const std::string why =
        errors ? errors->why_no_time() : "no program was measured (tally calibrate --programs)";
    if (!why.empty())
      table.notes.push_back(
          fmt::format("No time of a {}, only order and share: {}", name_of(kind), why));
  }
}

analysis::Table work_table(const DeviceModel& device, const Predicted& of) {
  analysis::Table table;
  table.id = "prediction";
  table.title = "Dispatches and passes, by predicted share";
  table.columns = {
      text_of("work", "dispatch or pass", "pipeline and call, or name and size of the pass"),
      number_of_unit("share", "share", analysis::Unit::Percent, "of the predicted time of all"),
      text_of("bound", "bound by", "the resource that takes longest"),
      number_of_unit("runs", "runs", analysis::Unit::Count, "executions in the capture"),
      number_of_unit("time", "time", analysis::Unit::Nanoseconds, "of one execution"),
      number_of_unit("low", "low", analysis::Unit::Nanoseconds, "end of the 80 % interval"),
      number_of_unit("high", "high", analysis::Unit::Nanoseconds, "end of the 80 % interval"),
      text_of("status", "status", "what the numbers are")};
  const double total = total_of(of);
  std::vector<size_t> order;
  for (size_t w = 0; w < of.times.size(); ++w) order.push_back(w);
  const auto all_of = [&](size_t w) {
    return is_modelled(of.works.works[w]) ? of.times[w].seconds * of.works.works[w].runs : -1;
  };
  std::ranges::stable_sort(order, std::greater(), all_of);
  for (const size_t w : order) {
    const CapturedWork& work = of.works.works[w];
    const analysis::WorkTime& time = of.times[w];
    const bool modelled = is_modelled(work);
    analysis::Row row = {work.name, modelled && total > 0 ? Cell(100 * all_of(w) / total) : Cell(),
                         modelled ? time.bound : std::string(), static_cast<uint64_t>(work.runs)};
    if (const ProgramErrors* errors = modelled ? stated(device, work, time) : nullptr) {
      const double middle = time.seconds * std::exp(errors->shift);
      row.push_back(nanoseconds(middle));
      row.push_back(nanoseconds(middle * std::exp(*errors->low)));
      row.push_back(nanoseconds(middle * std::exp(*errors->high)));
    } else {
      row.insert(row.end(), 3, Cell());
    }
    row.emplace_back(status_of(device, work, time));
    table.rows.push_back(std::move(row));
  }
  table.total_rows = table.rows.size();
  add_reasons(device, of, table);
  return table;
}

analysis::Table line_table(const Predicted& of, bool all) {
  analysis::Table table;
  table.id = "line";
  table.title = "Lines, by predicted share";
  table.columns = {
      text_of("line", "line", "source file and line"),
      text_of("shader", "shader", "name and stage"),
      number_of_unit("share", "share", analysis::Unit::Percent, "of the predicted time of all"),
      text_of("bound", "mostly", "the resource that the line uses most")};
  const double total = total_of(of);
  for (const analysis::LineTime& line : of.lines) {
    if (!all && table.rows.size() == kDefaultLines) break;
    if (total > 0 && line.seconds > 0)
      table.rows.push_back({line.line, line.shader, 100 * line.seconds / total, line.bound});
  }
  table.total_rows = of.lines.size();
  return table;
}

// Times of `after` as parts of those of `before`, for works that both have.
analysis::Table ratio_table(const DeviceModel& device, const Predicted& before,
                            const Predicted& after) {
  analysis::Table table;
  table.id = "ratio";
  table.title = "Predicted time of one execution, second capture / first";
  table.columns = {
      text_of("work", "dispatch or pass", "pipeline and call, or name and size of the pass"),
      text_of("ratio", "ratio", "of the times; 1: equal"),
      text_of("interval", "interval of 80 %", "of the ratio"),
      text_of("bound", "bound by", "the resource that takes longest, before and after")};
  std::map<std::string, size_t> first;
  for (size_t w = 0; w < before.times.size(); ++w) first.emplace(before.works.works[w].name, w);
  const auto& errors = device.ratio_errors;
  size_t left_out = 0;
  for (size_t w = 0; w < after.times.size(); ++w) {
    const auto found = first.find(after.works.works[w].name);
    if (found == first.end() || !is_modelled(after.works.works[w]) ||
        !is_modelled(before.works.works[found->second])) {
      ++left_out;
      continue;
    }
    const analysis::WorkTime &old = before.times[found->second], &now = after.times[w];
    const double ratio = now.seconds / old.seconds;
    const bool has_interval = errors && errors->low;
    table.rows.push_back({after.works.works[w].name, fmt::format("{:.3f}", ratio),
                          has_interval
                              ? fmt::format("{:.3f} to {:.3f}", ratio * std::exp(*errors->low),
                                            ratio * std::exp(*errors->high))
                              : std::string(),
                          old.bound == now.bound ? now.bound : old.bound + " -> " + now.bound});
  }
  table.total_rows = table.rows.size();
  table.notes.push_back(
      fmt::format("Device: {} ({}), calibrated {}", device.name, device.driver, device.date));
  table.notes.push_back(
      errors && errors->low
          ? "The interval comes from ratios of different works of a program; two versions of one "
            "work usually share more of their errors."
          : "No interval: it needs at least nine measured programs with two works (tally calibrate "
            "--programs).");
  if (left_out != 0)
    table.notes.push_back(
        fmt::format("Left out: {} of the second capture, which the first has not, or of which one "
                    "was not counted",
                    left_out));
  return table;
}

int show(const Predicted& of, const std::vector<analysis::Table>& tables,
         const PredictOptions& options) {
  return write_out([&](const report::Output& out) {
    if (options.format == "json") return report::write_json(summarize(of.model), tables, out);
    for (const analysis::Table& table : tables) {
      if (&table != &tables.front()) out("\n");
      report::write_text_table(table, {.width = terminal_width()}, out);
    }
  });
}

int run_predict(const PredictOptions& options) {
  const auto device = DeviceModel::load(options.device);
  if (!device) return fail(device.error());
  const auto predicted = predict(options.file, *device);
  if (!predicted) return fail(predicted.error());
  if (options.other.empty())
    return show(*predicted,
                {work_table(*device, *predicted), line_table(*predicted, options.format == "json")},
                options);
  const auto after = predict(options.other, *device);
  if (!after) return fail(after.error());
  const analysis::Table ratios = ratio_table(*device, *predicted, *after);
  if (ratios.rows.empty())
    return fail({"the captures have no dispatch and no pass of the same name"});
  return show(*predicted, {ratios}, options);
}

}  // namespace

void add_predict(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      app.add_subcommand("predict", "Predict the time of a capture's work on a calibrated device");
  command->add_option("FILE", options->file,
                      "Capture made by tally run (default: the newest in this folder)");
  command->add_option("OTHER", options->other,
                      "A second capture: the ratio of its times to those of the first");
  command->add_option("--device", options->device, "Device file made by tally calibrate")
      ->required()
      ->type_name("FILE");
  command->add_option("--format", options->format, "text or json")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command->footer(
      "Example: tally predict --device device.json game.tally\n"
      "The model and its limits: " +
      document("user/predict.md"));
  command->callback([options, &chosen] {
    chosen = [options] {
      const Status found = default_to_newest(options->file);
      return found ? run_predict(*options) : fail(found.error());
    };
  });
}

}  // namespace tally::cli
