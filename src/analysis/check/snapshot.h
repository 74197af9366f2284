// A snapshot: the counts of the passes and shaders of a capture, as a small text file that is
// committed next to a renderer. One line for each pass or shader and metric, sorted, so that a
// change touches only the lines of what it changes, and the order of execution does not matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "analysis/diff/profile.h"
#include "base/status.h"

namespace tally::analysis {

inline constexpr int kSnapshotVersion = 1;
inline constexpr size_t kMaxSnapshotBytes = size_t{16} << 20;

struct CountKey {
  std::string kind;  // "pass", "shader"; in limits also "function", "line"
  std::string name;
  std::string metric;

  bool operator==(const CountKey&) const = default;
  bool operator<(const CountKey& other) const {
    return std::tie(kind, name, metric) < std::tie(other.kind, other.name, other.metric);
  }
};

using Counts = std::map<CountKey, uint64_t>;

struct Snapshot {
  std::string driver;
  std::string tool_version;
  uint64_t frames = 0;
  Counts counts;  // without zeros
};

Snapshot make_snapshot(const Profile& profile, const std::string& tool_version);
std::string snapshot_text(const Snapshot& snapshot);
// `file` is for messages: they begin with FILE:LINE.
Result<Snapshot> parse_snapshot(const std::string& file, std::string_view text);
// True if the text begins like a snapshot of any version.
bool is_snapshot(std::string_view text);

// Functions and lines, as limits name them: "scene.frag:march", "scene.frag:71".
struct CodeCount {
  uint64_t value = 0;
  std::string file;   // with its folders
  uint32_t line = 0;  // 0: unknown
};
std::map<CountKey, CodeCount> code_counts(const Profile& profile);

}  // namespace tally::analysis
