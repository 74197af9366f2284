// The result of `tally check`: a table for people, and the formats that CI hosts read.
#pragma once

#include <string>
#include <vector>

#include "analysis/check/check.h"
#include "analysis/tables/table.h"

namespace tally::report {

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

}  // namespace tally::report
