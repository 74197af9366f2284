// The parameters of the recorded commands, in order. A command has a byte that says which of its
// parameters differ from those of the command before, and their differences in as few bytes as
// possible: many small draws would otherwise touch more fresh memory for their parameters than for
// anything else.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/base/block_costs.h"
#include "capture/base/sender.h"
#include "capture/base/tables.h"
#include "capture/record/host_memory.h"
#include "capture/record/passes.h"
#include "capture/record/region_capture.h"
#include "capture/record/shaders.h"
#include "capture/record/timestamps.h"
#include "store/format/definition_rows.h"
#include "vk/own_call.h"

namespace tally::capture {

class Parameters {
 public:
  static constexpr size_t kMaxOfCommand = store::kMaxParameters;
  static_assert(kMaxOfCommand <= 8);

  // Where the parameters of a command begin.
  struct Position {
    uint32_t chunk = 0;
    uint32_t offset = 0;
  };

  // Call this before the parameters of a command that begins a run: they do not depend on earlier
  // ones.
  Position begin_run();
  // All commands of a run have the same number of parameters, at most kMaxOfCommand.
  void add(std::span<const int64_t> values);

  // Reads the parameters of a run's commands one after another.
  class Cursor {
   public:
    Cursor(const Parameters& parameters, Position begin)
        : parameters_(&parameters), position_(begin) {}
    // `values` gets `of_command` parameters of each command.
    void read(size_t of_command, std::span<int64_t> values);

   private:
    const uint8_t* command_at_position();

    const Parameters* parameters_;
    Position position_;
    std::array<int64_t, kMaxOfCommand> last_{};
  };

 private:
  static constexpr size_t kMaxBytesOfNumber = 10;
  static constexpr size_t kMaxBytesOfCommand = 1 + kMaxOfCommand * kMaxBytesOfNumber;

  struct Chunk {
    std::unique_ptr<uint8_t[]> bytes;
    uint32_t capacity = 0;
    uint32_t used = 0;
  };

  void add_chunk();

  std::vector<Chunk> chunks_;
  uint8_t* next_ = nullptr;  // in the last chunk
  uint8_t* end_ = nullptr;   // the last place where a command fits
  std::array<int64_t, kMaxOfCommand> last_{};
};

// The open debug labels of a queue or command buffer. An application may never end its labels. So
// labels nested deeper than kMaxOpen are only counted.

class LabelStack {
 public:
  static constexpr size_t kMaxOpen = 256;

  // Null if no label is open.
  const LabelRef& innermost() const { return open_.empty() ? none_ : open_.back(); }

  // `make` returns the label inside the given parent.
  template <typename Make>
  void begin(Make make) {
    if (open_.size() == kMaxOpen) {
      ++deeper_;
    } else {
      open_.push_back(make(innermost()));
    }
  }

  void end() {
    if (deeper_ != 0) {
      --deeper_;
    } else if (!open_.empty()) {
      open_.pop_back();
    }
  }

  void clear() {
    open_.clear();
    deeper_ = 0;
  }

 private:
  LabelRef none_;
  std::vector<LabelRef> open_;
  uint64_t deeper_ = 0;
};

// Which of the open labels end a frame: of those that do, the outermost one.
class FrameLabels {
 public:
  void begin(bool ends_frame) {
    if (open_.size() == LabelStack::kMaxOpen) {
      ++deeper_;
    } else {
      open_.push_back(ends_frame);
      if (ends_frame) ++inside_;
    }
  }
  // Returns whether a frame ends with the label.
  bool end() {
    if (deeper_ != 0) {
      --deeper_;
      return false;
    }
    if (open_.empty()) return false;
    const bool ended = open_.back();
    open_.pop_back();
    if (ended) --inside_;
    return ended && inside_ == 0;
  }
  bool empty() const { return open_.empty(); }
  // True if a label is open that ends a frame.
  bool inside() const { return inside_ != 0; }
  const std::vector<bool>& open() const { return open_; }
  void clear() {
    open_.clear();
    inside_ = 0;
    deeper_ = 0;
  }

 private:
  std::vector<bool> open_;
  size_t inside_ = 0;
  uint64_t deeper_ = 0;
};

// The contents of a command buffer between vkBeginCommandBuffer and vkEndCommandBuffer: its action
// commands, passes and secondaries, and the objects that hold its values. One thread records.
// Afterwards it is read-only except for the values, which `values_mutex_` guards. It lives as long
// as the contents of the command buffer, a primary that executes it, or a submission that is not
// read yet.

// Consecutive commands that differ only in their parameters. This keeps the memory per command
// small.
struct CommandRun {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint16_t kNoTopology = UINT16_MAX;

  store::Function function{};
  stream::PassOf pass_of = stream::PassOf::None;
  uint32_t pass = 0;
  uint32_t subpass = 0;
  uint32_t pipeline = kNone;  // in Recording::pipelines
  uint32_t result = kNone;    // of the first command; index over all objects of the recording
  uint32_t times = kNone;     // TimeIndex of the first command
  Launch* launch = nullptr;   // of the pipeline
  bool sampled = false;       // the times of some of the launch's dispatches stand for all
  const Label* label = nullptr;
  // These are known for draws of vertices.
  uint16_t topology = kNoTopology;  // VkPrimitiveTopology
  uint16_t patch_control_points = 0;
  bool primitive_restart = false;
  // Set by the recording.
  uint32_t first = 0;  // index of the first command in the recording
  uint32_t count = 1;
  Parameters::Position parameters;

  // True if the commands are not counted, and have the counts of their launch.
  bool repeats() const { return launch && result == kNone; }
  void set_assembly(const PrimitiveAssembly& assembly);
  // True if `command` continues this run.
  bool continues_with(const CommandRun& command) const;
};

struct RecordedPass {
  bool dynamic = false;
  std::shared_ptr<RenderPass> render_pass;
  std::shared_ptr<Framebuffer> framebuffer;
  VkRect2D area{};
  uint32_t layers = 0;
  uint32_t view_mask = 0;
  std::string attachments;
  const Label* label = nullptr;
  bool resolves = false;              // attachments, when it ends
  PassSample* sample = nullptr;       // that learns its time
  bool sampled = false;               // the times of some passes of the sample stand for all
  uint32_t time = CommandRun::kNone;  // a TimeIndex
  bool time_ended = false;            // in the pass
  bool ended = false;                 // not left suspended: its values by region are written
  std::optional<RecordedRegions> regions;
  FinalImage final_image;  // with regions
  std::optional<RecordedPicture> picture;
};

class Recording;

// A secondary executed by a primary.
struct RecordedSecondary {
  std::shared_ptr<Recording> recording;
  uint32_t before_command = 0;
  const Label* label = nullptr;
  std::optional<uint32_t> pass;  // the pass that it continues
  uint32_t subpass = 0;
};

class Recording {
 public:
  // The number of commands per object. The limit bounds the memory for reading an object.
  static constexpr uint32_t kResultsPerObject = 1024;
  static constexpr size_t kMaxCommands = size_t{1} << 24;

  Recording(VkDevice device, const DeviceTable& table, TimestampPools& pools, HostMemory& memory,
            std::shared_ptr<Object> command_buffer, int64_t number, bool simultaneous);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // During recording. Sets what in `command` depends on the recording.
  void add(CommandRun& command, std::span<const int64_t> parameters,
           const std::shared_ptr<Pipeline>& pipeline);
  // Returns the object for the next result. Creates a new one if the last one is full. Returns null
  // if the creation fails.
  VkShaderInstrumentationARM next_object();
  bool object_is_full() const { return results_ == objects_.size() * kResultsPerObject; }
  uint32_t take_result() { return results_++; }

  std::deque<CommandRun> command_runs;
  std::vector<std::shared_ptr<Pipeline>> pipelines;
  std::vector<RecordedPass> passes;
  std::vector<RecordedSecondary> secondaries;
  std::vector<LabelRef> labels;  // all that the others refer to
  uint64_t commands_lost = 0;    // beyond kMaxCommands
  bool uncounted = false;        // the layer below did not count all commands
  Timestamps timestamps;
  HostPieces host_pieces;

  // After recording.
  bool empty() const { return command_runs.empty() && passes.empty() && secondaries.empty(); }
  uint32_t commands() const {
    return command_runs.empty() ? 0 : command_runs.back().first + command_runs.back().count;
  }
  // Reads the parameters of the run's commands.
  Parameters::Cursor parameters(const CommandRun& run) const {
    return {parameters_, run.parameters};
  }
  const std::shared_ptr<Object>& command_buffer() const { return command_buffer_; }
  int64_t number() const { return number_; }
  bool simultaneous() const { return simultaneous_; }
  // True if it has values that its next execution overwrites.
  bool has_regions() const;

  // Call this before a submission executes the recording `runs` times. It clears the values of
  // finished executions. The counts of an uncaptured execution belong to no submission.
  void before_submit(uint32_t runs);
  void submit_failed(uint32_t runs);
  // The values of such a submission are not read.
  void execution_lost(uint32_t runs);
  void executed_uncaptured();
  // True if an execution may still run that belongs to no submission.
  bool may_run_uncaptured() const;
  uint32_t pending() const;

  // Call this after a submission that executed the recording `runs` times has completed. It calls
  // `begin(read)`, then `visit(first result, words)` with the metric blocks of each object, in the
  // order of their results. There are no times while another execution is pending: it writes the
  // same queries, so a begin and an end could belong to different executions.
  struct Read {
    bool overlapped = false;
    std::vector<std::optional<stream::GpuTime>> times;
    vk::OwnFailure times_failure;
  };
  // Returns false if the driver failed.
  template <typename Begin, typename Visit>
  bool after_completion(uint32_t runs, size_t block_bytes, const Timestamps::Clock& clock,
                        Begin begin, Visit visit);

 private:
  // Reads the object's values into `words`. `words` may still have the size of another object's
  // values.
  bool read_object(size_t index, size_t block_bytes, std::vector<uint64_t>& words);
  void subtract_baseline(size_t index, size_t block_bytes, std::vector<uint64_t>& words,
                         bool still_running);

  const VkDevice device_;
  const DeviceTable& table_;
  Parameters parameters_;
  const std::shared_ptr<Object> command_buffer_;
  const int64_t number_;
  const bool simultaneous_;
  uint32_t results_ = 0;
  std::vector<VkShaderInstrumentationARM> objects_;

  mutable std::mutex values_mutex_;
  uint32_t pending_ = 0;
  bool stale_ = false;                            // the objects hold values of finished executions
  bool uncaptured_ = false;                       // executed so since the last before_submit
  bool overlapped_ = false;                       // since pending_ was last 0
  std::vector<std::vector<uint64_t>> baselines_;  // values already read while executions overlap
};

template <typename Begin, typename Visit>
bool Recording::after_completion(uint32_t runs, size_t block_bytes, const Timestamps::Clock& clock,
                                 Begin begin, Visit visit) {
  const std::lock_guard lock(values_mutex_);
  pending_ -= runs;
  Read read;
  read.overlapped = overlapped_ || pending_ > 0;
  overlapped_ = pending_ > 0;
  stale_ = true;
  if (pending_ == 0) read.times = timestamps.read(clock, read.times_failure);
  begin(std::as_const(read));
  bool complete = true;
  std::vector<uint64_t> words;
  for (size_t i = 0; i < objects_.size() && i * kResultsPerObject < results_; ++i) {
    if (!read_object(i, block_bytes, words)) {
      complete = false;
      continue;
    }
    subtract_baseline(i, block_bytes, words, pending_ > 0);
    visit(static_cast<uint32_t>(i) * kResultsPerObject, std::span<const uint64_t>(words));
  }
  return complete;
}

// Finds the commands that the results of a recording belong to. Consecutive commands that are alike
// are visited together.

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
  // Visits the commands that have the counts of their launch, each executed `runs` times.
  void add_launches(uint32_t runs);
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
