// Why a metric of a program changed: which lines were edited, and what followed from it.
//
// The value of a line is a product of four factors: the draws of its shader, the invocations in a
// draw, the executions of the line in an invocation, and the value of an execution. The factors
// change one after another, in this order, from their old to their new values. The part of a factor
// is the difference that its step makes to the value of the line, rounded to a whole number. The
// steps lead from the old value to the new one, so the parts add up to the change. A factor that
// was 0 takes all that is left of the change. Where the instructions of a line are the same, what
// is left belongs to the executions, not to the code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/diff/profile.h"

namespace tally::analysis {

// The parts of a change. Their sum is the change.
struct ChangeParts {
  int64_t code = 0;         // other instructions
  int64_t executions = 0;   // executed more often in an invocation
  int64_t invocations = 0;  // more invocations in a draw or dispatch
  int64_t commands = 0;     // more draws or dispatches

  int64_t sum() const { return code + executions + invocations + commands; }
  bool operator==(const ChangeParts&) const = default;
};

struct ChangeFactors {
  uint64_t commands = 0, invocations = 0, executions = 0, value = 0;
};

uint64_t magnitude(int64_t value);
int64_t signed_difference(uint64_t after, uint64_t before);

ChangeParts split_change(const ChangeFactors& before, const ChangeFactors& after, bool same_code);

enum class CauseKind : uint8_t {
  Edit,         // lines of a shader were edited
  Rebuilt,      // a shader has other code, and no line of its source text differs
  Added,        // a shader that did not run before
  Removed,      // a shader that does not run any more
  Data,         // the same code took other paths: its inputs differ
  Invocations,  // a shader has more invocations in a draw or dispatch
  Commands,     // a pass has more draws or dispatches
};
std::string_view cause_name(CauseKind kind);  // "edit"

struct EditedLine {
  std::string file;                 // with its folders
  uint32_t line = 0, old_line = 0;  // 0: it does not exist there, or its number is not known
  std::string text, old_text;       // empty: it does not exist there
  int64_t code = 0;                 // its part: other instructions
};

// A loop or a line that ran more often or less often. An entry of a loop, or an invocation, is
// `base`, and `count` how often the loop's body or the line ran.
struct CountChange {
  std::string file;
  uint32_t line = 0;
  uint64_t base_before = 0, base_after = 0;
  uint64_t before = 0, after = 0;
  int64_t part = 0;  // of the executions
};

struct Cause {
  CauseKind kind;
  std::vector<std::string> shaders;  // "scene.frag fragment"
  std::string pass;                  // of Commands: "lamps / lamps 32x32"
  bool is_text_known = false;        // of Rebuilt: no line differs
  std::vector<EditedLine> lines;     // those with the largest part first
  // The effects within an invocation, the largest part first. Executions in a loop belong to the
  // outermost loop around them that has other iterations per entry.
  std::vector<CountChange> loops;
  std::vector<CountChange> other_lines;  // outside of such loops: the one with the largest part
  std::string command;                   // "draw", "dispatch", "command"
  uint64_t commands_before = 0, commands_after = 0;  // of Invocations and Commands
  uint64_t before = 0, after = 0;                    // of Invocations: their number
  uint64_t shaders_before = 0;                       // the metric of its shaders
  ChangeParts parts;

  int64_t amount() const { return parts.sum(); }
};

// Edits come first, then the other causes, each by the size of its amount.
struct Causes {
  std::string metric, metric_title;
  uint64_t before = 0, after = 0;  // of all shaders
  std::vector<Cause> list;         // their amounts add up to after - before
};

// "scene.frag:58 was edited (min(d, 0.6) -> min(d, 0.4)); the loop at :52 ran 50.3 instead of 41.7
// times per entry; cost +19.3 %": of the cost of its shaders.
std::string cause_text(const Causes& causes, const Cause& cause);
// "+9 of +20: code +12, executions -3": the amount, of the whole change, and the parts that are not
// 0, if there are several. Empty if the amount and the parts are 0.
std::string parts_text(const Causes& causes, const Cause& cause);
// "cost 1,000 -> 1,193, +19.3 %"
std::string total_text(const Causes& causes);

struct Matching;  // difference.h

// The causes of a change between two profiles. `metric`: one whose values of lines add up to those
// of shaders; else, or if it is empty, the default metric counts.
Causes find_causes(const Profile& before, const Profile& after, const Matching& shaders,
                   const std::string& metric);

}  // namespace tally::analysis
