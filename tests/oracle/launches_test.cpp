// Dispatches that repeat others have the counts that they have if each one is counted, for random
// programs whose memory always changes (launched_programs.cpp).
//
//   launches_test [--seed N] [--count N]
//
// Programs run under the capture in the way of `tally run`, and again with options under which no
// dispatch repeats another. All dispatches must have equal counts of all blocks. Failures are
// printed with the seed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/testing/session.h"
#include "support/environment.h"

namespace tally::test {
namespace {

using capture::testing::Session;

// More than these in one capture would take memory and nothing else.
constexpr uint64_t kPrograms = 50;

struct Dispatch {
  std::string program;  // its seed
  std::string counts;   // of all blocks that ran
  bool repeats = false;
  bool operator==(const Dispatch& other) const {
    return program == other.program && counts == other.counts;
  }
};

class Capture {
 public:
  Capture(uint64_t seed, uint64_t count, const std::map<std::string, std::string>& settings)
      : session_({.scenario = std::to_string(seed),
                  .how = std::to_string(count),
                  .client = LAUNCHED_PROGRAMS,
                  .environment = settings,
                  .layers = "VK_LAYER_TALLY_run"}) {}

  // Errors of the program, or messages of the capture; empty if there are none.
  std::string failure() const {
    if (session_.exit_status() != 0)
      return fmt::format("status {}: {}", session_.exit_status(), session_.errors());
    return session_.text("SELECT group_concat(text, '; ') FROM message WHERE severity <> 'info'");
  }

  // In the order of their execution.
  std::vector<Dispatch> dispatches() const {
    auto rows = session_.reader().query(R"sql(
      WITH blocks AS MATERIALIZED (
             SELECT command, group_concat(block || ':' || executions, ' ') AS counts
             FROM (SELECT * FROM block_count ORDER BY command, block) GROUP BY command),
           list AS MATERIALIZED (SELECT * FROM command_list)
      SELECT ifnull(pipeline_name, ''), ifnull(counts, ''), repeats
      FROM list LEFT JOIN blocks USING (command)
      JOIN command_batch ON command_batch.id = list.command / 1024
      ORDER BY submission_number, execution_position, list.execution, list.position)sql");
    if (!rows) throw std::runtime_error(rows.error().message);
    std::vector<Dispatch> found;
    while (rows->step()) found.push_back({rows->text(0), rows->text(1), rows->integer(2) != 0});
    return found;
  }

 private:
  const Session session_;
};

struct Totals {
  size_t dispatches = 0, repeated = 0, failed = 0;
  size_t replaced = 0;  // programs that are not valid, with another one in their place
};

void fail(Totals& totals, const std::string& what) {
  ++totals.failed;
  fmt::print("FAIL {}\n", what);
}

void compare(uint64_t seed, uint64_t count, Totals& totals) {
  std::map<std::string, std::string> settings = {
      {"TALLY_COUNT_SUBGROUPS", "0"}, {"TALLY_STATIC_COSTS", "0"}, {"TALLY_REPEAT_AT_ONCE", "1"}};
  const Capture repeating(seed, count, settings);
  settings["TALLY_COUNT_BRANCHES"] = "1";
  const Capture counting(seed, count, settings);
  const std::string programs = fmt::format("seeds {} to {}", seed, seed + count - 1);
  for (const Capture* capture : {&repeating, &counting}) {
    if (const std::string why = capture->failure(); !why.empty())
      fail(totals, programs + ": " + why);
  }
  const std::vector<Dispatch> found = repeating.dispatches(), expected = counting.dispatches();
  totals.dispatches += found.size();
  totals.repeated += static_cast<size_t>(std::ranges::count_if(found, &Dispatch::repeats));
  if (std::ranges::any_of(expected, &Dispatch::repeats))
    return fail(totals, programs + ": a dispatch repeats another though each is counted");
  if (found.size() != expected.size()) return fail(totals, programs + ": dispatches are missing");
  std::set<std::string> replacements;
  for (const Dispatch& dispatch : found) {
    const uint64_t number = std::strtoull(dispatch.program.c_str(), nullptr, 10);
    if (number < seed || number >= seed + count) replacements.insert(dispatch.program);
  }
  totals.replaced += replacements.size();
  std::string last;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i] || found[i].program == last) continue;
    last = found[i].program;
    fail(totals,
         fmt::format("seed {}, dispatch {} of the capture, which {}:\n  {}\n  counted:\n  {}", last,
                     i, found[i].repeats ? "repeats" : "does not repeat", found[i].counts,
                     expected[i].counts));
  }
}

int run(uint64_t seed, uint64_t count) {
  Totals totals;
  for (uint64_t done = 0; done < count; done += kPrograms)
    compare(seed + done, std::min(kPrograms, count - done), totals);
  fmt::print(
      "launches: {} programs from seed {} on, {} of them replaced, {} dispatches, of which {} "
      "repeat; {} failed\n",
      count, seed, totals.replaced, totals.dispatches, totals.repeated, totals.failed);
  // Otherwise the test would prove nothing.
  const bool repeats_enough = totals.repeated > totals.dispatches / 20;
  if (!repeats_enough) fmt::print("too few dispatches repeat\n");
  return totals.failed == 0 && repeats_enough ? 0 : 1;
}

}  // namespace
}  // namespace tally::test

int main(int argc, char** argv) {
  uint64_t seed = 1, count = 50;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--seed" && has_value) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--count" && has_value) {
      count = std::strtoull(argv[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "launches_test [--seed N] [--count N]\n");
      return 2;
    }
  }
  tally::test::set_default_environment();
  try {
    return tally::test::run(seed, count);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
