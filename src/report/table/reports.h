// Differences, the result of `tally check`, coverage and findings: as text, as JSON, and in the
// formats that other tools read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/check/check.h"
#include "analysis/coverage/coverage.h"
#include "analysis/diff/causes.h"
#include "analysis/diff/difference.h"
#include "analysis/diff/first_difference.h"
#include "analysis/findings/findings.h"
#include "analysis/tables/summary.h"
#include "analysis/tables/table.h"
#include "base/status.h"
#include "report/table/display_text.h"
#include "report/table/output.h"

namespace tally::report {

// Differences as tables of text: the counts before and after, and by how much they changed.

// The metric with this id; empty: the default. An error lists the ids.
Result<size_t> diff_metric(const analysis::CaptureDiff& diff, const std::string& id);

// The differences of one kind, those of `metric` first; `top` rows, 0 for all.
analysis::Table diff_table(const analysis::CaptureDiff& diff, analysis::DiffBy by, size_t metric,
                           size_t top);

// The pictures that differ, those with the most pixels first; `top` rows, 0 for all.
analysis::Table picture_table(const analysis::PictureDifferences& pictures, size_t top);
// "1,234 of 115,200 pixels of 2 pictures differ, by at most 37 of 255"
std::string pictures_text(const analysis::PictureDifferences& pictures);
// An object; "null" if none were compared.
std::string pictures_json(const analysis::PictureDifferences& pictures);

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

// The result of `tally check`: a table for people, and the formats that CI hosts read.

// One snapshot, and the capture that it was compared with.
struct SceneCheck {
  std::string scene;     // the snapshot's name without its folder and ending
  std::string snapshot;  // its file
  std::string capture;
  std::string driver;  // the snapshot's first
  analysis::CheckResult result;
};

// The findings, those of the largest change first; `top` rows, 0 for all.
analysis::Table check_table(const SceneCheck& check, size_t top);

// Where the program is the same on a driver that the snapshot does not know: that the driver
// changed the counts, which metrics, and the two drivers, a line each. Else empty.
std::vector<std::string> driver_lines(const SceneCheck& check);

// How to have the findings accepted, a line each: the command that updates the snapshot, and
// the lines of the limits file that an update does not change.
std::vector<std::string> how_to_accept(const SceneCheck& check);

std::string check_markdown(const std::vector<SceneCheck>& checks);

// A test suite for each scene, and a test case for each cause, and for each pass, shader, function
// and line that was compared.
std::string check_junit(const std::vector<SceneCheck>& checks);

// A gauge for each metric, with the labels scene, kind and name.
std::string check_openmetrics(const std::vector<SceneCheck>& checks);

// SARIF 2.1.0: the causes and the findings of functions and lines, each at its place in the source.
std::string check_sarif(const std::vector<SceneCheck>& checks, const std::string& tool_version);

// Coverage in the formats that other tools read.

// The path of a file in the output; a name that a shader recorded may hold anything.
struct CoveragePaths {
  std::vector<std::string> paths;  // by file of the coverage
};

// The names that the shaders recorded, on one line each.
CoveragePaths recorded_paths(const analysis::Coverage& coverage);

// A tracefile of lcov (geninfo(1)), for lcov 1.16 and 2.
std::string lcov_tracefile(const analysis::Coverage& coverage, const CoveragePaths& paths);

// Cobertura's XML, by its DTD coverage-04.
std::string cobertura_xml(const analysis::Coverage& coverage, const CoveragePaths& paths,
                          const std::string& tool_version);

// Coverage as text: the files, and the shaders that add nothing to it.

// A sentence about lines with code that are in no file; empty if there are none.
std::string lines_left_out(const analysis::Coverage& coverage);

void write_coverage_summary(const analysis::Coverage& coverage, size_t width, const Output& out);

// Findings as text and as JSON (docs/user/explain.md).

inline constexpr int kFindingsJsonVersion = 1;

void write_findings(const analysis::Findings& findings, size_t width, const Output& out);
// A list of JSON objects, on one line.
std::string findings_json_text(const analysis::Findings& findings);
void write_findings_json(const analysis::Summary& summary, const analysis::Findings& findings,
                         const Output& out);

}  // namespace tally::report
