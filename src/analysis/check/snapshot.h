// A snapshot: the counts of the passes and shaders of a capture, as a small text file that is
// committed next to a renderer. One line for each pass or shader and metric, sorted, so that a
// change touches only the lines of what it changes, and the order of execution does not matter.
// Then the lines of the shaders, which name the cause of a change, and what other drivers count.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/diff/profile.h"
#include "base/status.h"

namespace tally::analysis {

// The lines of snapshot and limits files: words separated by spaces or tabs. A word with spaces
// stands in double quotes, in which \" and \\ stand for " and \. A # outside of quotes begins a
// comment. The files are untrusted.

struct FieldLine {
  size_t number = 0;  // in the file, from 1
  std::vector<std::string> fields;
};

// "FILE:12: what is wrong"
Error error_at(const std::string& file, size_t line, const std::string& what);

// Visits the lines that are not empty, in order, until one is refused. The first must be `format`
// and the version. Markers of an unresolved merge, control characters and text that is not UTF-8
// are errors.
Status for_each_line(const std::string& file, std::string_view text, const std::string& format,
                     int version, const std::function<Status(const FieldLine&)>& visit);

// The word as it is written in a file, always in quotes. It has no control characters.
std::string quoted_name(std::string_view word);

Result<uint64_t> parse_count(const std::string& text);

// A name or a text as it is read back: control characters are not written.
std::string printable_name(const std::string& name);

inline constexpr int kSnapshotVersion = 2;  // version 1 has no code and one driver
inline constexpr size_t kMaxSnapshotBytes = size_t{64} << 20;

struct CountKey {
  std::string kind;  // "pass", "shader"; in limits also "function", "line", "executable", "time"
  std::string name;
  std::string metric;

  bool operator==(const CountKey&) const = default;
  bool operator<(const CountKey& other) const {
    return std::tie(kind, name, metric) < std::tie(other.kind, other.name, other.metric);
  }
};

using Counts = std::map<CountKey, uint64_t>;

// The code of a snapshot: the lines of the source of each shader with what they executed. Lines
// have no numbers in the file: a line that is added changes no other row.

// The metric whose change causes explain: it does not depend on a table of weights.
inline constexpr const char* kSnapshotMetric = "instructions";

struct SnapshotLoop {
  uint64_t entries = 0, iterations = 0;
};

struct SnapshotLine {
  std::string text;
  uint32_t number = 0;    // 0: read from a file, which does not hold it
  bool has_code = false;  // else all that follows is 0
  uint64_t executions = 0, instructions = 0;
  uint64_t code = 0;                 // instructions in the code
  std::optional<SnapshotLoop> loop;  // whose first line it is
  std::vector<uint32_t> loops;       // lines of the loops that run it, in the file; see `number`
};

struct SnapshotFile {
  std::string name;
  std::vector<SnapshotLine> lines;
};

struct SnapshotShader {
  std::string name;  // "scene.frag fragment"
  std::string hash;
  uint64_t invocations = 0, instructions = 0;
  std::map<std::string, uint64_t> commands;  // draws and dispatches that ran it, by pass
  std::vector<SnapshotFile> files;
};

struct Snapshot {
  std::string driver;
  std::string tool_version;
  uint64_t frames = 0;
  Counts counts;  // without zeros
  std::vector<SnapshotShader> shaders;
  // The counts of other drivers, by driver: those that differ, also zeros.
  std::map<std::string, Counts> others;

  bool knows(const std::string& name) const { return name == driver || others.contains(name); }
  // The counts of a driver; those of `driver` if the snapshot does not know it.
  Counts counts_on(const std::string& name) const;
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
