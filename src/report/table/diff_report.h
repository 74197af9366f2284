// Differences as tables of text: the counts before and after, and by how much they changed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/causes.h"
#include "analysis/diff/difference.h"
#include "analysis/diff/first_difference.h"
#include "analysis/tables/table.h"
#include "base/status.h"
#include "report/table/output.h"
#include "report/table/text_table.h"

namespace tally::report {

// The metric with this id; empty: the default. An error lists the ids.
Result<size_t> diff_metric(const analysis::CaptureDiff& diff, const std::string& id);

// The differences of one kind, those of `metric` first; `top` rows, 0 for all.
analysis::Table diff_table(const analysis::CaptureDiff& diff, analysis::DiffBy by, size_t metric,
                           size_t top);

// "+1,234", "-5", "0".
std::string signed_text(const analysis::ValuePair& values);
// "+12.5%"; "new" and "gone" where one of the values is 0.
std::string percent_text(const analysis::ValuePair& values);

// "changed", "added" ...
std::string change_name(analysis::Change change);

// Differences as JSON for scripts. docs/reference/diff-json.md documents what is made here;
// kDiffJsonVersion rises when something that a script may rely on changes.

inline constexpr int kDiffJsonVersion = 3;

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

// The causes of a change, also those of `tally check`.

// "Causes of the change: cost 1,000 -> 1,193, +19.3 %"
std::string causes_title(const analysis::Causes& causes);
// `top`: causes, 0 for all. Nothing is written if there are none.
void write_causes(const analysis::Causes& causes, size_t top, size_t width, const Output& out);
void add_causes(const analysis::Causes& causes, size_t top, MarkdownDocument& document);
// An object; "null" if there are none.
std::string causes_json(const analysis::Causes& causes);

// The first difference between two captures of one program, as `tally diff --first` shows it.

struct NamedFirst {
  std::string before, after;  // the files; empty: there is none
  std::optional<analysis::FirstDifference> first;

  bool differs() const { return before.empty() || after.empty() || first.has_value(); }
};

void write_first(const NamedFirst& named, const Output& out);

inline constexpr int kFirstJsonVersion = 1;
void write_first_json(const std::vector<NamedFirst>& firsts, const Output& out);

}  // namespace tally::report
