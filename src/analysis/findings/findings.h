// Causes of cost in a capture: rules over exact counts. A rule states what was
// counted, where, and what to try. It does not claim how much time that would win.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/source/shader_source.h"

namespace tally::analysis {

struct FindingRule {
  std::string_view id;       // "overdraw"
  std::string_view meaning;  // when the rule reports something
  std::string_view what_to_try;
};

// A line, function, shader, pass or pipeline that a finding names.
struct FindingPlace {
  std::string where;    // "scene.frag:58", "pass main 640x480"
  std::string numbers;  // "48,503,303 executions"
  std::string text;     // the source line; may be empty
};

struct CostFinding {
  const FindingRule* rule = nullptr;
  std::string text;  // one sentence with its numbers
  // The part of the capture's work that the finding is about, from 0 to 1, in the metric that
  // tables rank by. Findings are sorted by it. 0 if it has none.
  double share = 0;
  std::vector<FindingPlace> places;  // the most important ones
  size_t places_left_out = 0;        // further ones
};

// A line's accesses of one kind to one resource, as `tally report --by memory` counts them.
struct MemoryRow {
  std::string where, text, resource, access;
  uint64_t bytes = 0, sectors = 0, extra_passes = 0, texels = 0;
};

struct Findings {
  std::vector<CostFinding> list;  // the largest share first
  std::vector<MemoryRow> memory;  // the most bytes first
  size_t memory_left_out = 0;     // further ones
  std::string no_share_because;   // not all of the work is known; empty if it is
  uint64_t unread_shaders = 0;    // that ran, but whose code is not known: rules did not read it
};

// The findings of the selected part of a capture.
Result<Findings> find_findings(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const Progress& progress);

}  // namespace tally::analysis
