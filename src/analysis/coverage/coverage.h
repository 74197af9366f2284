// The coverage of source files by the shaders of captures: how often each line, function and branch
// ran, summed over shaders that were compiled from the same file and over captures.
//
// Only lines of the debug information count. A line is listed if any shader has code there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

struct FunctionCoverage {
  uint32_t line;  // its first with code
  uint64_t count;
};

// One branch of a line: how often it went to each target.
struct BranchCoverage {
  bool executed = false;
  std::vector<uint64_t> taken;
};

// A file, or one of several texts that have the same name. Functions of the same name are one.
struct FileCoverage {
  // Line, number among the line's branches, number of targets.
  using BranchKey = std::tuple<uint32_t, uint32_t, uint32_t>;

  std::string name;           // unique: of several texts, with a hash of the text
  std::string recorded_name;  // as recorded in the shaders
  std::string text;           // empty: not in the capture; else it has all of `lines`
  std::map<uint32_t, uint64_t> lines;
  std::map<std::string, FunctionCoverage> functions;
  std::map<BranchKey, BranchCoverage> branches;
};

// Found and hit.
struct CoverageSum {
  uint64_t lines = 0, lines_hit = 0;
  uint64_t functions = 0, functions_hit = 0;
  uint64_t branches = 0, branches_hit = 0;

  CoverageSum& operator+=(const CoverageSum& other);
};
CoverageSum sum_of(const FileCoverage& file);

enum class ShaderState : uint8_t {
  NeverBound,     // no command buffer bound a pipeline with it; its lines count 0
  NeverDrawn,     // bound, but no draw or dispatch used it; its lines count 0
  NoInvocations,  // commands used it, but it had no invocation; its lines count 0
  NotCounted,     // it ran uncounted; its lines are left out
  NoLines,        // it has no debug information with lines
};

// A shader that adds no executions.
struct UncoveredShader {
  std::string capture, name, stage;
  ShaderState state;
  std::string reason;
};

struct Coverage {
  std::vector<FileCoverage> files;  // by name
  std::vector<UncoveredShader> uncovered;
  // That have code, but numbers for which no file has lines; they are in no file.
  uint64_t lines_left_out = 0;
  std::vector<std::string> captures;
  int64_t last_start_unix_ns = 0;  // of the newest capture
};

class CoverageBuilder {
 public:
  // Adds all of a capture; an error leaves the builder unusable.
  Status add(const Model& model, const Progress& progress);
  Coverage finish() &&;

 private:
  class Capture;
  using FileKey = std::pair<std::string, std::string>;  // name, text

  std::map<FileKey, FileCoverage> files_;
  Coverage coverage_;
};

}  // namespace tally::analysis
