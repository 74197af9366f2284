// The difference between two captures: what was added, removed, renamed or moved, and what has
// other counts. Without differences every list is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/diff/causes.h"
#include "analysis/diff/profile.h"
#include "analysis/model/metrics.h"
#include "analysis/model/model.h"
#include "analysis/source/shader_source.h"
#include "base/status.h"

namespace tally::analysis {

enum class DiffBy { Pass, Pipeline, Shader, Function, Line, Command };

// The names of DiffBy's values for users, in the same order.
inline constexpr std::string_view kDiffByNames[] = {"pass",     "pipeline", "shader",
                                                    "function", "line",     "draw"};
inline constexpr size_t kDiffByCount = std::size(kDiffByNames);

enum class Change {
  Changed,  // other counts
  Added,
  Removed,
  Renamed,  // the same content under another name
  Moved,    // the same name elsewhere: a pass under other labels, a line elsewhere in its text
};

struct Difference {
  Change change = Change::Changed;
  std::string name, place, text;  // after; for a removed item, before. `text`: of a line
  std::string old_name, old_place, old_text;  // before, where they differ
  std::string file;                           // of functions and lines, with its folders
  uint32_t line = 0;                          // of functions and lines; 0: unknown
  std::string origin;                         // of the file: origin_name()
  std::string frames;                         // of commands: the frames that differ
  std::vector<uint64_t> before, after;        // by metric; empty: it does not exist there
  std::optional<TimeSpread> time_before, time_after;
  // For shaders, functions and lines: every count changed in proportion to the shader's
  // invocations, so that their number is the cause, and not this code.
  bool only_invocations = false;
};

// The picture of a pass at its end, in both captures.
struct PictureDifference {
  uint32_t pass_before = 0, pass_after = 0;  // in their models
  uint32_t layer = 0;
  std::string pass, label;  // its name with its size, and the labels around it
  int64_t frame = 0;        // number
  uint32_t width = 0, height = 0;
  uint64_t pixels = 0;                                // that differ
  uint32_t most = 0;                                  // by which a channel differs, of 255
  uint32_t left = 0, top = 0, right = 0, bottom = 0;  // around them; right and bottom are outside
};

struct PictureDifferences {
  std::vector<PictureDifference> list;       // in the order of the new capture
  uint64_t only_before = 0, only_after = 0;  // pictures that were compared with none

  uint64_t pixels() const;  // that differ
};

// Compares the pictures of passes with the same name, size and labels, in frames of the same
// number.
Result<PictureDifferences> compare_pictures(const Model& before, const Model& after);
// The same of two files. Nothing is compared unless both have pictures.
Result<PictureDifferences> compare_pictures(const std::string& before, const std::string& after);

struct CaptureDiff {
  Summary before, after;
  std::vector<Metric> metrics;  // that both captures have
  std::vector<Difference> by[kDiffByCount];
  std::vector<std::string> notes;  // what makes the captures hard to compare
  Causes causes;                   // of its metric; empty: the profiles have no code
  bool same_code = true;           // no shader or pipeline was added, removed or edited
  PictureDifferences pictures;     // of passes, where both captures hold some

  const std::vector<Difference>& of(DiffBy kind) const { return by[static_cast<size_t>(kind)]; }
  bool empty() const;
};

// Sorts by the amount by which a metric changed, the largest first; equal ones by name.
void sort_differences(std::vector<Difference>& differences, size_t metric);

// The values of a metric; 0 where the item does not exist.
struct ValuePair {
  uint64_t before, after;
  uint64_t amount() const { return before < after ? after - before : before - after; }
};
ValuePair values_of(const Difference& difference, size_t metric);

// The metrics that two captures have in common, and the values of these metrics.

class ValueMap {
 public:
  ValueMap(const std::vector<Metric>& before, const std::vector<Metric>& after);

  const std::vector<Metric>& metrics() const { return metrics_; }
  // The values of the common metrics. Missing values are 0.
  std::vector<uint64_t> before(const std::vector<uint64_t>& values) const;
  std::vector<uint64_t> after(const std::vector<uint64_t>& values) const;
  const std::vector<std::string>& only_before() const { return only_before_; }
  const std::vector<std::string>& only_after() const { return only_after_; }

 private:
  std::vector<Metric> metrics_;
  std::vector<size_t> before_, after_;  // by common metric: its index in the capture
  std::vector<std::string> only_before_, only_after_;
};

// Finds the items of one profile in another: by names and content, by names, by content, and at
// last by likeness. Never by position; what is ambiguous stays unmatched.

enum class MatchedBy : uint8_t { All, Names, Hash, Likeness };

struct ItemMatch {
  uint32_t before, after;  // indices
  MatchedBy by;
};

struct Matching {
  std::vector<ItemMatch> pairs;          // in the order of `before`
  std::vector<uint32_t> removed, added;  // indices of unmatched items
};

Matching match_items(const std::vector<Item>& before, const std::vector<Item>& after);
// Shaders that are left over are matched by their source texts, if most lines are the same.
Matching match_shaders(const std::vector<ShaderItem>& before, const std::vector<ShaderItem>& after);

// The differences between the functions and lines of two versions of a shader.

struct Invocations {
  uint64_t before, after;

  // True if all values changed, and in proportion to the invocations.
  bool explain(const std::vector<uint64_t>& values_before,
               const std::vector<uint64_t>& values_after) const;
};

struct ShaderDifference {
  std::vector<Difference> functions, lines;
};

ShaderDifference compare_code(const ShaderItem& before, const ShaderItem& after,
                              const ValueMap& map, const Invocations& invocations);

// "llvmpipe (LLVM 15.0.6, 256 bits); llvmpipe Mesa 22.3.6": the devices of a capture.
std::string driver_of(const Summary& summary);

// `metric`: whose change the causes explain, as find_causes() has it.
CaptureDiff compare(const Profile& before, const Profile& after, const std::string& metric = {});

// Which shaders need reconstructed GLSL for a comparison: making it takes time.

// The hashes (Identity::hash) of the shaders whose code or counts differ between two profiles that
// have no reconstructed lines: with Glsl all, with Auto those without a source text, else none.
std::set<std::string> glsl_candidates(const Profile& before, const Profile& after,
                                      SourceChoice choice);

}  // namespace tally::analysis
