// Differences as JSON for scripts. docs/reference/diff-json.md documents what is made here;
// kDiffJsonVersion rises when something that a script may rely on changes.
#pragma once

#include <string>
#include <vector>

#include "analysis/diff/difference.h"
#include "report/output.h"

namespace tally::report {

inline constexpr int kDiffJsonVersion = 2;

// The difference between two captures of a pair of folders, or of the two captures.
struct NamedDiff {
  std::string before, after;  // the files; empty: there is none
  analysis::CaptureDiff diff;
};

struct DiffJsonOptions {
  std::vector<analysis::DiffBy> by;
  std::string sort;  // a metric
  size_t top = 0;    // rows of a table; 0: all
};

void write_diff_json(const std::vector<NamedDiff>& diffs, const DiffJsonOptions& options,
                     const Output& out);

}  // namespace tally::report
