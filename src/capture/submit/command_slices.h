// Finds the commands that the results of a recording belong to. Consecutive commands that are alike
// are visited together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "capture/base/block_costs.h"
#include "capture/record/recording.h"

namespace tally::capture {

// Consecutive commands of a run, with values of the same stages and blocks.
struct CommandSlice {
  const CommandRun* run = nullptr;
  uint32_t first = 0;  // index of the first command in the recording
  uint32_t count = 0;
  std::span<const int64_t> parameters;  // of each command, one after another
  // The metric blocks of one command after another, in the format of
  // vkGetShaderInstrumentationValuesARM. Empty: the commands were not counted.
  std::span<const uint64_t> words;
  // Empty: the commands were not timed.
  std::span<const std::optional<stream::GpuTime>> times;
  bool unread = false;  // not counted because the driver did not return the values

  size_t words_of_command() const { return words.size() / count; }
  size_t parameters_of_command() const { return parameters.size() / count; }
  // The commands from `begin` on, at most `size`.
  CommandSlice part(uint32_t begin, uint32_t size) const;
  // Those of the recording's times that are the commands'.
  void take_times(std::span<const std::optional<stream::GpuTime>> all);
};

class CommandSlices {
 public:
  using Visit = std::function<void(const CommandSlice&)>;
  CommandSlices(const Recording& recording, const MetricLayout& layout, Visit visit);

  // Visits the commands that the metric blocks belong to. Their result indices ascend, and begin at
  // `first`.
  void add_results(uint32_t first, std::span<const uint64_t> words);
  // Visits the commands without results. `unread`: the driver did not return all results.
  void add_rest(bool unread);

 private:
  // Where the parameters are read of a run.
  struct ParameterReader {
    Parameters::Cursor cursor;
    uint32_t next = 0;  // index of the command
  };

  size_t result_end(std::span<const uint64_t> words, size_t begin) const;
  bool is_alike(std::span<const uint64_t> a, std::span<const uint64_t> b) const;
  const CommandRun* run_of_result(uint64_t result);
  void visit(CommandSlice slice);
  std::span<const int64_t> read_parameters(const CommandSlice& slice);

  const Recording& recording_;
  const size_t block_words_;
  const Visit visit_;
  std::vector<const CommandRun*> measured_;  // runs with results, in ascending order of results
  size_t last_measured_ = 0;
  std::vector<bool> done_;  // by command
  const CommandRun* parameter_run_ = nullptr;
  std::optional<ParameterReader> parameter_reader_;  // of that run
  std::vector<int64_t> parameters_;
};

}  // namespace tally::capture
