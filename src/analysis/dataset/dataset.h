// The data of a page that shows one capture, or two, and sums any metric over any selection by
// itself: tables of numbers, and texts that they refer to by number. The contents of the tables and
// how their values add up is documented in report/html/page/src/data.ts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/dataset/data_table.h"
#include "analysis/diff/causes.h"
#include "analysis/findings/findings.h"
#include "analysis/model/metrics.h"
#include "analysis/model/model.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/summary.h"
#include "analysis/tables/table.h"
#include "base/status.h"

namespace tally::analysis {

struct FrameCounterData {
  Metric metric;
  std::string group;
  bool is_level = false;
};

struct DataCapture {
  Summary summary;
  std::vector<Metric> metrics;
  std::vector<std::string> counted;  // ids of metrics whose values do not follow from executions
  std::string simd_lanes, simd_executions;  // ids; empty: not counted
  std::vector<std::string> left_out;        // sentences
  bool grouped = false;                     // a row of commands stands for several
  Findings findings;                        // of the new capture; the old one of two has none
  std::vector<Table> prediction;            // of works and of lines; empty: no calibrated device
  std::vector<Table> cycles;                // of functions and loops; empty: none were timed
  std::deque<DataTable> tables;
  std::vector<Metric> region_counters;
  std::string default_region_counter;
  std::vector<FrameCounterData> egl_counters;
  std::vector<std::vector<std::byte>> images;  // PNG

  // Null if there is none.
  const DataTable* find(std::string_view table) const {
    const auto found =
        std::ranges::find_if(tables, [&](const auto& t) { return t.name() == table; });
    return found == tables.end() ? nullptr : &*found;
  }
};

struct Dataset {
  DataStrings strings;
  std::vector<DataCapture> captures;  // the new one, then the old one if there is one
  std::string default_metric;
  std::vector<std::string> notes;  // what makes the two captures hard to compare
  Causes causes;                   // of what differs between the two
};

// The data of one capture, or of two that are compared: `old` may be null.
Result<Dataset> make_dataset(const Model& model, const Model* old, const SourceOptions& sources,
                             const Progress& progress);

}  // namespace tally::analysis
