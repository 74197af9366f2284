#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "analysis/tables/tables.h"

namespace tally::analysis {
namespace {

Column text_column(const char* id, const char* title, const char* description) {
  return {.id = id, .title = title, .role = ColumnRole::Key, .description = description};
}

Column number_column(const char* id, const char* title, Unit unit, const char* description) {
  return {.id = id, .title = title, .unit = unit, .description = description, .adds_up = false};
}

Column prediction_column(const DeviceModel& device, const char* id, const char* title,
                         const char* description) {
  return number_column(id, title, device.in_cycles ? Unit::Count : Unit::Nanoseconds, description);
}

Cell share_of(double seconds, double total) {
  return total > 0 ? Cell(100 * seconds / total) : Cell();
}

}  // namespace

Table make_prediction_table(const Prediction& of, size_t top) {
  const DeviceModel& device = *of.device;
  Table table;
  table.id = "prediction";
  table.title = "Dispatches and passes, by predicted share";
  table.columns = {
      text_column("work", "dispatch or pass", "pipeline and call, or name and size of the pass"),
      number_column("share", "share", Unit::Percent, "of the predicted time of all"),
      text_column("bound", "bound by", "the resource that takes longest"),
      number_column("runs", "runs", Unit::Count, "executions in the capture"),
      device.in_cycles ? prediction_column(device, "cycles", "cycles", "of one execution")
                       : prediction_column(device, "time", "time", "of one execution"),
      prediction_column(device, "low", "low", "end of the 80 % interval"),
      prediction_column(device, "high", "high", "end of the 80 % interval"),
      text_column("status", "status", "what the numbers are")};
  const double total = of.total();
  const auto all_runs_of = [&](size_t w) {
    return of.is_modelled(w) ? of.times[w].seconds * of.works.works[w].runs : -1;
  };
  std::vector<size_t> order;
  for (size_t w = 0; w < of.times.size(); ++w) order.push_back(w);
  std::ranges::stable_sort(order, std::greater(), all_runs_of);
  table.total_rows = order.size();
  if (top != 0 && top < order.size()) order.resize(top);
  for (const size_t w : order) {
    const CapturedWork& work = of.works.works[w];
    const bool modelled = of.is_modelled(w);
    Row row = {work.name, modelled ? share_of(all_runs_of(w), total) : Cell(),
               modelled ? of.times[w].bound : std::string(), static_cast<uint64_t>(work.runs)};
    if (const auto time = of.time_or_cycles_of(w)) {
      row.insert(row.end(), {time->time, time->low, time->high});
    } else {
      row.insert(row.end(), 3, Cell());
    }
    row.emplace_back(of.status_of(w));
    table.rows.push_back(std::move(row));
  }
  table.notes = of.notes();
  return table;
}

Table make_predicted_line_table(const Prediction& of, size_t top) {
  Table table;
  table.id = "predicted_line";
  table.title = "Lines, by predicted share";
  table.columns = {text_column("line", "line", "source file and line"),
                   text_column("shader", "shader", "name and stage"),
                   number_column("share", "share", Unit::Percent, "of the predicted time of all"),
                   text_column("bound", "mostly", "the resource that the line uses most")};
  const double total = of.total();
  for (const LineTime& line : of.lines) {
    if (top != 0 && table.rows.size() == top) break;
    if (total > 0 && line.seconds > 0)
      table.rows.push_back({line.line, line.shader, share_of(line.seconds, total), line.bound});
  }
  table.total_rows = of.lines.size();
  return table;
}

Table make_ratio_table(const Prediction& before, const Prediction& after) {
  Table table;
  table.id = "ratio";
  const DeviceModel& device = *after.device;
  table.title = fmt::format("Predicted {} of one execution, second capture / first",
                            device.in_cycles ? "cycles" : "time");
  table.columns = {
      text_column("work", "dispatch or pass", "pipeline and call, or name and size of the pass"),
      prediction_column(device, "before", "before", "in the first capture"),
      prediction_column(device, "after", "after", "in the second capture"),
      text_column("ratio", "ratio", "of the times; 1: equal"),
      text_column("interval", "interval of 80 %", "of the ratio"),
      text_column("bound", "bound by", "the resource that takes longest, before and after")};
  const auto& errors = after.device->ratio_errors;
  const bool has_interval = errors && errors->low;
  const auto matches = match_works(before.works, after.works);
  const auto time_cell = [](const Prediction& of, size_t work) {
    const auto time = of.time_or_cycles_of(work);
    return time ? Cell(time->time) : Cell();
  };
  size_t left_out = 0;
  for (size_t w = 0; w < after.times.size(); ++w) {
    if (!matches[w] || !after.is_modelled(w) || !before.is_modelled(*matches[w]) ||
        before.times[*matches[w]].seconds == 0) {
      ++left_out;
      continue;
    }
    const WorkTime &old = before.times[*matches[w]], &now = after.times[w];
    const double ratio = now.seconds / old.seconds;
    std::string interval;
    if (are_of_equal_counts(now.seconds, old.seconds)) {
      interval = "equal counts";
    } else if (has_interval && (ratio < errors->min_modelled || ratio > errors->max_modelled)) {
      interval = "extrapolated";
    } else if (has_interval) {
      interval = fmt::format("{:.3f} to {:.3f}", ratio * std::exp(*errors->low),
                             ratio * std::exp(*errors->high));
    }
    table.rows.push_back({after.works.works[w].name, time_cell(before, *matches[w]),
                          time_cell(after, w), fmt::format("{:.3f}", ratio), interval,
                          old.bound == now.bound ? now.bound : old.bound + " -> " + now.bound});
  }
  table.total_rows = table.rows.size();
  table.notes = {after.notes().front()};
  if (!has_interval)
    table.notes.push_back(
        "No interval: it needs versions of at least nine measured programs (tally calibrate "
        "--programs)");
  if (left_out != 0)
    table.notes.push_back(
        fmt::format("Left out: {} of the second capture, which the first has not, or of which one "
                    "was not counted",
                    left_out));
  return table;
}

}  // namespace tally::analysis
