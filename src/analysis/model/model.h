// A capture in memory: its small tables in full and one compact record for each selected command,
// all linked by index. Counts stay in the file and are visited (see counts.h).
//
// Invariants: an index is kNone or valid. Commands are in execution order, frame by frame;
// number_in_frame counts them from 0. Each command is in exactly one batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/model/device_model.h"
#include "base/containers.h"
#include "base/frame_range.h"
#include "base/status.h"
#include "spirv/analysis/sites.h"
#include "store/format/rows.h"
#include "store/read/reader.h"

namespace tally::analysis {

// The calls of a capture: Vulkan commands with their parameters, stored once each.

struct Call {
  store::CallKind kind{};
  std::string_view name;  // "vkCmdDrawIndexed"
  std::span<const std::string> parameter_names;
  std::span<const int64_t> parameters;
};

class Calls {
 public:
  // Returns the number of an equal call, or adds the call and returns a new number.
  uint32_t intern(const store::FunctionRow& function, std::span<const std::string> parameter_names,
                  std::span<const int64_t> parameters);

  Call operator[](uint32_t call) const;
  uint32_t size() const { return static_cast<uint32_t>(calls_.size()); }

 private:
  struct Function {
    store::FunctionRow row;
    std::vector<std::string> parameters;
  };
  struct Entry {
    uint32_t function;
    uint32_t count;  // of parameters
    size_t first;    // in parameters_
  };

  static uint64_t hash_of(uint32_t function, std::span<const int64_t> parameters);
  uint32_t function_for(const store::FunctionRow& row, std::span<const std::string> parameters);
  std::span<const int64_t> parameters_of(const Entry& entry) const {
    return std::span(parameters_).subspan(entry.first, entry.count);
  }

  std::vector<Function> functions_;
  std::vector<Entry> calls_;
  std::vector<int64_t> parameters_;
  NumberTable numbers_;
};

// The part of a capture that a table covers, and the device whose costs it shows.

// Parses "7", "3-9", "3-" or "-9".
Result<FrameRange> parse_frame_range(std::string_view text);

struct Selection {
  std::optional<FrameRange> frames;  // nullopt: all frames
  std::string shader;                // a pattern (see matches_pattern); empty: all shaders
  std::shared_ptr<const DeviceCosts> device = {};  // null: the generic one
};

// A pattern with * or ? must match the whole text; a pattern without them may match anywhere in it.
// Matching ignores case.
bool matches_pattern(std::string_view pattern, std::string_view text);

inline constexpr uint32_t kNone = ~0u;

// Called repeatedly during long work with the completed fraction, from 0 to 1.
using Progress = std::function<void(double)>;

// How the vertices of a draw become primitives.
struct PrimitiveAssembly {
  static constexpr uint8_t kUnknown = UINT8_MAX;
  uint8_t topology = kUnknown;  // VkPrimitiveTopology
  bool restart = false;
  uint16_t patch_control_points = 0;
};

// An executed command, as an element of its frame.
struct Command {
  uint32_t frame;
  uint32_t number_in_frame;
  uint32_t call;
  uint32_t pipeline;
  uint32_t pass;
  uint32_t label;
  uint32_t runs;  // number of executions that this one sums up
  PrimitiveAssembly assembly;
  std::optional<int64_t> gpu_time_ns;
  // kNone: the time was measured. Else it is the mean of this sample.
  uint32_t estimated_from = kNone;
};

// The dispatches or passes of one `time_sample` that were timed.
struct TimeSample {
  uint64_t timed = 0;
  double mean_ns = 0;
  double variance = 0;  // of one dispatch or pass, in square nanoseconds
};

// The commands and passes of a sum of GPU times whose times are estimated.
class EstimatedTimes {
 public:
  // Adds Command::estimated_from or Pass::estimated_from. Does nothing for a measured time.
  void add(uint32_t estimated_from);
  void add(const EstimatedTimes& other);
  // The standard error of the sum, in nanoseconds: the means have an error, and the commands' own
  // times differ from them. nullopt: all times were measured.
  std::optional<double> standard_error(const std::vector<TimeSample>& samples) const;

 private:
  void add(uint32_t sample, uint64_t count);

  std::vector<std::pair<uint32_t, uint64_t>> of_samples_;  // in ascending order
};

// A batch of the capture. Its values belong to `commands`, in this order.
struct Batch {
  store::RowId id;
  store::RowId values;  // CommandBatchRow::values
  uint32_t pipeline;
  bool counted;
  std::vector<uint32_t> commands;
};

struct Pass {
  store::PassRow row;  // with the estimated time, if it was not measured
  uint32_t frame;
  uint32_t label;
  uint32_t number_in_frame;
  uint32_t runs;                    // number of executions that this one sums up
  uint32_t estimated_from = kNone;  // as Command::estimated_from
};

// Maps row ids to indices.
class IdIndex {
 public:
  void add(store::RowId id, uint32_t index) { index_.emplace(id, index); }
  uint32_t find(store::RowId id) const {
    const auto found = index_.find(id);
    return found == index_.end() ? kNone : found->second;
  }
  uint32_t find(const std::optional<store::RowId>& id) const { return id ? find(*id) : kNone; }

 private:
  std::unordered_map<store::RowId, uint32_t> index_;
};

// The `cost` of one execution of each block, by shader; empty where the code is not known. Made on
// first use (visit_block_costs).
struct CostsOfBlocks {
  bool known = false;
  std::vector<std::vector<uint64_t>> of_shader;
};

struct Model {
  store::Reader reader;
  Selection selection;

  store::CaptureRow capture;
  std::vector<store::ProcessRow> processes;
  std::vector<store::DeviceRow> devices;
  std::vector<store::MetricRow> metrics;  // position 0 counts executions; without those of branches
                                          // and sites
  // The positions of the metrics whose ratio is the SIMD efficiency: lanes of subgroups, and the
  // executions of the blocks whose subgroups are counted. kNone if the capture does not count
  // subgroups. The second is not in the file: it is derived from the others.
  uint32_t subgroup_lanes = kNone, subgroup_executions = kNone;
  // The position of the metric `cost`, which is not in the file either; kNone if the capture does
  // not count instructions.
  uint32_t cost = kNone;
  std::shared_ptr<const DeviceCosts> device;  // that `cost` is of
  std::shared_ptr<CostsOfBlocks> costs_of_blocks;
  // The metrics of branches, by their id: the number of the target that they count. Empty if the
  // capture does not count branches.
  std::unordered_map<store::RowId, uint32_t> branch_metrics;
  // The metrics of sites, by their id. Empty if the capture counts at no sites.
  std::unordered_map<store::RowId, spirv::SiteSlot> site_metrics;
  std::vector<store::ModuleRow> modules;
  std::vector<store::ShaderRow> shaders;
  std::vector<store::PipelineRow> pipelines;
  std::vector<store::LabelRow> labels;
  Calls calls;  // of the selected commands
  std::vector<store::FrameRow> frames;
  std::vector<store::FrameCounterRow> frame_counters;
  std::vector<store::RegionCounterRow> region_counters;
  std::vector<store::MessageRow> messages;
  std::vector<store::ReplacementRow> replacements;

  IdIndex device_index, metric_index, module_index, shader_index, pipeline_index, label_index,
      frame_index, region_counter_index;

  std::vector<Pass> passes;              // of selected frames
  std::vector<Command> commands;         // of selected frames
  std::vector<Batch> batches;            // of selected frames
  std::vector<TimeSample> time_samples;  // of all frames
  uint64_t dispatches_repeated = 0;      // of selected frames: CommandBatchRow::repeats
  // Dispatches and passes of selected frames that have no time because too few of their sample have
  // one, and passes without a time that use a pipeline for the first time.
  uint64_t dispatches_untimed = 0, passes_untimed = 0;
  std::vector<std::string> shader_names;      // by shader: see names.h
  std::vector<std::string> shader_constants;  // by shader: ShaderConstants::specialized
  std::vector<std::string> pipeline_names;    // by pipeline: see names.h
  std::vector<bool> shader_selected;          // by shader
  std::vector<bool> selected_by_pipeline;     // by shader: only in selected pipelines
  std::vector<bool> pipeline_selected;        // by pipeline: the selection names it
  std::vector<bool> used_before;              // by pipeline: used before the selected frames

  // The granularity of `commands`.
  enum class Detail {
    Commands,  // each command
    Batches,   // each batch: `runs` counts its commands; their call, label, time and order are
               // unknown
  };

  // The shader that a pipeline runs in a stage; kNone where it has none. If there are several (ray
  // tracing), it is the one at the position `sub`.
  uint32_t shader_of(uint32_t pipeline, uint32_t sub, uint32_t stage) const;
  // The enclosing label, or kNone. A parent is always an older row, so following parents
  // terminates.
  uint32_t parent_of_label(uint32_t label) const;
  bool frame_selected(uint32_t frame) const;
  // True if what the shader runs in this pipeline is selected.
  bool is_selected(uint32_t shader, uint32_t pipeline) const;
  // For all others, the tables say "dispatch". Commands that the device generates inside a render
  // pass are draws: nothing else may be there.
  bool is_draw(const Command& command) const;
};

// Loads the selected part of a capture into a Model.

Result<Model> load_model(store::Reader reader, const Selection& selection,
                         Model::Detail detail = Model::Detail::Commands);

// The same of a file. Errors begin with its name.
Result<Model> open_model(const std::string& file, const Selection& selection = {},
                         Model::Detail detail = Model::Detail::Commands);

}  // namespace tally::analysis
