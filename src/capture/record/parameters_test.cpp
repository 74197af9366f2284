#include "capture/record/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace tally::capture {
namespace {

using Values = std::vector<int64_t>;

// Numbers of every size, many of them alike.
Values values_of_command(std::mt19937_64& random, size_t count, const Values& before) {
  Values values = before;
  values.resize(count);
  for (int64_t& value : values) {
    if (random() % 2 == 0) value = static_cast<int64_t>(random() >> random() % 64);
    if (random() % 16 == 0) value = std::numeric_limits<int64_t>::min();
    if (random() % 16 == 0) value = std::numeric_limits<int64_t>::max();
  }
  return values;
}

TEST(Parameters, are_read_as_they_were_added_from_the_beginning_of_any_run) {
  struct Run {
    Parameters::Position begin;
    std::vector<Values> commands;
  };
  std::mt19937_64 random(1);
  Parameters parameters;
  std::vector<Run> runs;
  for (int i = 0; i < 200; ++i) {
    Run& run = runs.emplace_back(Run{parameters.begin_run(), {}});
    const size_t count = random() % (Parameters::kMaxOfCommand + 1);
    for (size_t command = 1 + random() % 300; command > 0; --command) {
      const Values before = run.commands.empty() ? Values{} : run.commands.back();
      run.commands.push_back(values_of_command(random, count, before));
      parameters.add(run.commands.back());
    }
  }
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    Parameters::Cursor cursor(parameters, run->begin);
    const size_t of_command = run->commands.front().size();
    for (size_t first = 0, count = 1; first < run->commands.size(); first += count++) {
      count = std::min(count, run->commands.size() - first);
      Values read(count * of_command);
      cursor.read(of_command, read);
      Values expected;
      for (size_t i = 0; i < count; ++i) {
        const Values& command = run->commands[first + i];
        expected.insert(expected.end(), command.begin(), command.end());
      }
      ASSERT_EQ(read, expected);
    }
  }
}

}  // namespace
}  // namespace tally::capture
