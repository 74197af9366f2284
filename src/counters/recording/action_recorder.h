// Action commands (draws, dispatches and traces): selects the records that their shaders count
// into. No lock is taken and nothing is allocated in steady state.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>

#include "counters/features/instrumentation/state.h"
#include "counters/features/queries/driver_queries.h"
#include "counters/features/queries/recorder.h"
#include "counters/features/regions/recorder.h"
#include "counters/recording/bound_state.h"
#include "counters/recording/device_state.h"
#include "probe/record.h"

namespace tally::counters {

// The state of a command buffer: what is bound, and the features that are told of each command.
//
// The order of the features is instrumentation, regions, queries, from the outermost to the
// innermost: the members are declared in this order, and ActionRecorder and CommandBuffer call them
// in it. A feature does not know the others. Calls are static.
struct CommandState {
  CommandState(VkCommandBuffer command_buffer, DeviceState& device_state);
  CommandState(const CommandState&) = delete;
  CommandState& operator=(const CommandState&) = delete;

  void reset();

  VkCommandBuffer handle;
  DeviceState& device;
  const DeviceTable& next;
  RecordingStatus status;
  BoundState bound;

  InstrumentationRecorder instrumentation;
  std::unique_ptr<InvocationRecorder> invocations;  // null where the driver counts no draws
  std::unique_ptr<RegionRecorder> regions;          // null where counters by region are not enabled
  std::unique_ptr<QueryRecorder> queries;           // null where no query is emulated
  // Null where no query pool can have counters of the driver.
  std::unique_ptr<DriverQueries> driver_queries;
};

// Tells the shaders of the next command where their records are: writes tagged record pointers to
// the push constants or the reserved descriptor set of the pipeline's layout.

class PointerWriter {
 public:
  explicit PointerWriter(CommandState& state) : state_(state) {}

  // The pointers of the record's slots. The pointer to the region's accumulators, or to the sets of
  // virtual subgroups, is added. Fails where there is no memory for a pointer or for a copy of push
  // data; null pointers need none.
  bool write(VkPipelineBindPoint point, const BoundState::Bound& bound,
             const SlotPointers& pointers);
  // The shaders count nothing. Fails where there is no memory for a copy of push data.
  bool write_null(VkPipelineBindPoint point, const BoundState::Bound& bound) {
    return write(point, bound, {});
  }

 private:
  bool push(const BoundState::Bound& bound, const SlotPointers& pointers, uint64_t region);
  uint64_t region_pointer(const BoundState::Bound& bound);
  VkResult next_words(WordPage& page, uint32_t& index);
  bool write_descriptor(VkPipelineBindPoint point, const PipelineLayout& layout, uint64_t record,
                        uint64_t region);

  CommandState& state_;
};

class ActionRecorder {
 public:
  explicit ActionRecorder(CommandState& state) : state_(state), pointers_(state) {}

  // Call before every action command while a flag of the status is set.
  void prepare(VkPipelineBindPoint point, uint64_t work) noexcept { prepare(point, work, nullptr); }
  // Draws of one pipeline usually differ in nothing that active queries need: then a direct draw
  // needs no other call. Changes the firstInstance to record as prepare_draw does.
  bool repeat_for_queries(uint32_t instances, uint32_t& first_instance) {
    constexpr uint32_t kIrrelevant = Status::kDirtyPointer | Status::kDirtyOthers |
                                     Status::kQueryCommands | Status::kQuerySamples;
    if ((state_.status.flags & ~kIrrelevant) != Status::kQueryShaders) return false;
    Bound& bound = state_.bound.graphics();
    const BoundState::QueryRun& run = bound.query_run;
    if (run.interval != state_.queries->interval() ||
        run.pushed_pointer != state_.bound.pushed_pointer() ||
        !leaves_upper_half({first_instance, instances})) {
      return false;
    }
    first_instance |= run.packed_index << probe::kPackedDrawIndexShift;
    ++bound.actions;
    return true;
  }
  // As prepare() before a direct draw. Returns the firstInstance to record: the upper half may hold
  // a packed draw index.
  uint32_t prepare_draw(uint64_t vertices, uint32_t instances, uint32_t first_instance) noexcept;
  // Records the action: once, or with the counting and the plain pipeline for different passes.
  template <typename Action>
  void record(VkPipelineBindPoint point, const Action& action) {
    if (state_.invocations && state_.invocations->in_draw()) {
      action();
      state_.invocations->end();
      return;
    }
    if (!state_.status.has(RecordingStatus::kQueryShaders) || !state_.queries->times_apart() ||
        !runs_twice(point)) {
      return action();
    }
    Bound& bound = *state_.bound.at(point);
    if (!begin_variant(true)) return action();
    action();
    end_variant();
    state_.bound.bind_handles(point, bound, Variant::Plain);
    begin_variant(false);
    action();
    end_variant();
    state_.bound.bind_handles(point, bound, bound.variant);
  }
  // Binds the variant that the next command of the bind point needs, and returns it.
  Variant choose_variant(VkPipelineBindPoint point);
  // Call before commands that the device generates. `program`: of the execution set that they come
  // from; null without a set, or if the set counts no blocks.
  void prepare_generated(VkPipelineBindPoint point,
                         std::shared_ptr<const Program> program) noexcept;
  // Generated commands that run with the plain pipelines: they take a result index, and active
  // queries lack what their shaders count.
  void prepare_uncounted(VkPipelineBindPoint point);

 private:
  using Bound = BoundState::Bound;
  using Status = RecordingStatus;
  struct DrawInstances {
    uint32_t first = 0, count = 0;
    uint32_t packed_index = 0;  // distance of the record from the pushed pointer
  };
  // True if the instances leave the upper half of the instance index free.
  static bool leaves_upper_half(const DrawInstances& draw) {
    return uint64_t{draw.first} + draw.count <= uint64_t{1} << probe::kPackedDrawIndexShift;
  }

  // `draw`: null unless the command is a direct draw.
  void prepare(VkPipelineBindPoint point, uint64_t work, DrawInstances* draw) noexcept;
  void instrument(VkPipelineBindPoint point, Bound& bound, uint64_t work, DrawInstances* draw);
  VkResult count_by_driver(const Bound& bound, uint32_t index);
  void leave_to_shaders(Bound& bound);
  bool repeat_draw(Bound& bound, uint64_t vertices, DrawInstances& draw);
  bool may_pack_index(const Program& program, const DrawInstances& draw) const;
  bool may_pack_query_index(const Program& program, const DrawInstances& draw) const;
  bool pack_index(uint64_t pointer, DrawInstances& draw) const;
  bool write_packed(const Bound& bound, uint64_t pointer, DrawInstances& draw);
  void count_for_queries(VkPipelineBindPoint point, Bound& bound, uint64_t work,
                         DrawInstances* draw);
  bool point_at(VkPipelineBindPoint point, Bound& bound, const SharedRecord& record,
                DrawInstances* draw);
  bool push_pointer(VkPipelineBindPoint point, Bound& bound, const SharedRecord& record);
  void note_move(Bound& bound);
  void run_uncounted(VkPipelineBindPoint point, Bound& bound);
  void count_for_regions(VkPipelineBindPoint point);
  void choose_sample_counter(SampleCounter counter);
  void keep_descriptors(VkPipelineBindPoint point, Bound& bound);
  void restore_constants(Bound& bound);
  void write_null(VkPipelineBindPoint point, Bound& bound);
  static uint64_t estimate_draw(const Bound& bound, uint64_t vertices);
  bool runs_twice(VkPipelineBindPoint point);
  bool begin_variant(bool counting);
  void end_variant() const { state_.queries->passes().end_variant(); }

  CommandState& state_;
  PointerWriter pointers_;
};

}  // namespace tally::counters
