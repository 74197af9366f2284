// The bindings of a command buffer, as far as the layer needs them: pipelines and their variants,
// the push constants around the record pointer, and the state that primitive assembly depends on.
#pragma once

#include <tally/vulkan_newest.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/features/queries/indirect_counts.h"
#include "counters/layouts/pipeline_layout.h"
#include "counters/memory/chunk.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/pipelines/shader_set.h"
#include "counters/pipelines/variants.h"
#include "counters/shaders/internal_objects.h"
#include "vk/own_call.h"
#include "vk/pipeline.h"

namespace tally::counters {

struct ObjectState;

// The state of the layer that the next command of a command buffer depends on, and the first
// failure since the recording began.

struct RecordingStatus {
  enum Flag : uint32_t {
    kInstrumented = 1,    // shader instrumentation is active: every action takes a result index
    kRegions = 2,         // graphics commands are counted by region
    kQueryShaders = 4,    // active queries count in shaders
    kQueryCommands = 8,   // active queries count commands
    kDropActions = 16,    // draws, dispatches and traces are left out
    kDirtyGraphics = 32,  // a feature began or ended: the next draw may need another variant
    kDirtyPointer = 64,   // a counting variant is bound, and nothing counts: it needs null pointers
    kDirtyConstants = 128,    // the layer overwrote push constants of the application
    kQuerySamples = 256,      // an occlusion query is active: each draw chooses who counts samples
    kLostGuard = 512,         // push constants of the application overwrote PushGuard
    kOnlyInvocations = 1024,  // with kRegions: nothing else is counted by region
    // The driver rejected a pipeline that the application bound: actions are left out, and the end
    // of the command buffer fails.
    kLostPipeline = 2048,
    kDirtyOthers = 4096,  // as kDirtyGraphics, for dispatches and traces
    kDirtyPipelines = kDirtyGraphics | kDirtyOthers
  };

  uint32_t flags = 0;
  // Draws may be counted by queries of the driver, so many of them although nothing is known of
  // their size.
  bool driver_counts = false;
  uint32_t draws_of_unknown_size = 64;
  uint32_t tiles = 1;  // of the render area of the last pass, each of 64 x 64 pixels
  VkResult error = VK_SUCCESS;
  vk::OwnFailure failure;  // of `error`

  bool has(uint32_t any_of) const { return (flags & any_of) != 0; }
  void set(Flag flag) { flags |= flag; }
  void clear(Flag flag) { flags &= ~flag; }
  void assign(Flag flag, bool value) { value ? set(flag) : clear(flag); }
  // Keeps the first error. After it nothing more is counted, and the end of the command buffer
  // reports it.
  void note(VkResult result) {
    if (result >= VK_SUCCESS || error != VK_SUCCESS) return;
    error = result;
    failure = vk::take_own_failure(result);
  }
};

// The push data of the application in a command buffer: all bytes are its own. Record pointers of
// the layer write over some of them, which are pushed again before a command that reads them; and
// shaders whose push-constant blocks were moved to memory read copies.

class PushData {
 public:
  // At the begin of a recording. The memory of copies stays.
  void reset();
  // The application's values are lost.
  void clear();
  // An update by the application.
  void keep(const VkPushDataInfoEXT& info);

  // The layer writes the bytes [begin, end).
  void note_overwritten(uint32_t begin, uint32_t end);
  // True if values of the application are overwritten.
  bool needs_restore() const { return overwritten(0, 0); }
  bool needs_restore_outside(uint32_t begin, uint32_t end) const { return overwritten(begin, end); }
  void restore(VkCommandBuffer commands, const DeviceTable& next);

  // The address of a copy of `size` bytes of the current values. 0 if there is no memory.
  VkDeviceAddress copy(const MemoryContext& memory, uint32_t size);

 private:
  bool overwritten(uint32_t except_begin, uint32_t except_end) const;

  std::vector<std::byte> bytes_;
  uint32_t begin_ = 0, end_ = 0;                // of the values that are known; empty when equal
  uint32_t lost_begin_ = 0, lost_end_ = 0;      // of the bytes that the layer wrote
  VkDeviceAddress copy_ = 0;                    // of the current values; 0: none
  std::vector<std::unique_ptr<Chunk>> chunks_;  // of copies
  size_t chunk_ = 0;                            // the one that the next copy is in
  VkDeviceSize used_ = 0;                       // of it
};

// The application's own push constants in the bytes of the slot, for layouts that reach there: what
// the layer pushes writes over them, and they are pushed again before a command that reads them.

class SlotConstants {
 public:
  bool empty() const { return begin_ == end_; }
  void clear() { begin_ = end_ = 0; }
  // An update by the application.
  void keep(const PipelineLayout& layout, uint32_t offset, uint32_t size, const void* values);
  void restore(const PipelineLayout& layout, VkCommandBuffer commands) const;

 private:
  std::array<std::byte, 8 * (kAddressSlots + 2)> bytes_{};  // with region slot and PushGuard
  uint32_t begin_ = 0, end_ = 0;  // offsets in push constants; empty when equal
};

class BoundState {
 public:
  // Consecutive draws whose records differ in their address alone.
  struct DrawRun {
    const Program* program = nullptr;  // null: no run
    uint64_t bytes = 0;                // of each record
  };
  // Consecutive draws that share the record of active queries.
  struct QueryRun {
    uint32_t interval = 0;        // QueryRecorder::interval(); 0: no run
    uint64_t pushed_pointer = 0;  // the record's, or what the index is the distance from
    uint32_t packed_index = 0;
  };
  struct Bound {
    VkPipeline handle = VK_NULL_HANDLE;  // the application's
    bool shaders = false;                // shader objects are bound instead
    std::shared_ptr<Bindable> pipeline;  // looked up when first needed
    Variant variant = Variant::Plain;    // the one that is bound
    // The program of the bound variant; null if that is the plain one.
    const std::shared_ptr<const Program>* counted = nullptr;
    bool alpha_to_coverage = false;  // draws bind the variants for it
    uint32_t actions = 0;            // recorded since it was bound
    DrawRun run;                     // the last of them, with packed draw indices
    QueryRun query_run;
    uint32_t moves = 0;  // of the pushed pointer to another record, with Variant::Unnumbered
    std::optional<DrawFacts> facts;  // with the dynamic state
    // The program of the execution set that the next commands come from.
    std::shared_ptr<const Program> set_program;

    bool empty() const { return handle == VK_NULL_HANDLE && !shaders; }
    const std::shared_ptr<const Program>& program() const {
      return set_program ? set_program : *counted;
    }
  };

  BoundState(VkCommandBuffer commands, ObjectState& objects, RecordingStatus& status);
  BoundState(const BoundState&) = delete;
  BoundState& operator=(const BoundState&) = delete;

  void reset();

  // --- pipelines
  Bound* at(VkPipelineBindPoint point) {
    const size_t index = vk::bind_point_index(point);
    return index < bound_.size() ? &bound_[index] : nullptr;
  }
  Bound& graphics() { return *at(VK_PIPELINE_BIND_POINT_GRAPHICS); }
  // Null for a pipeline that the layer has no variants of.
  Bindable* resolve(Bound& bound) { return bound.pipeline ? bound.pipeline.get() : look_up(bound); }
  void bind_pipeline(VkPipelineBindPoint point, VkPipeline pipeline);
  // A null pointer stands for null handles.
  void bind_shaders(uint32_t count, const VkShaderStageFlagBits* stages,
                    const VkShaderEXT* shaders);
  void bind_variant(VkPipelineBindPoint point, Bound& bound, Variant variant);
  // Binds a variant for the driver alone.
  void bind_handles(VkPipelineBindPoint point, Bound& bound, Variant variant);
  // Binds the variant that the active features need at a bind point, if it is dirty. A pipeline of
  // another point must not be bound: it may set state that the application has changed since then.
  void bind_wanted(VkPipelineBindPoint point);
  // The same at all points, whether they are dirty or not.
  void bind_wanted();
  void bind_plain();
  // True if another variant may be bound. Ray-tracing pipelines have none, and no pipeline may be
  // bound while transform feedback is active.
  bool can_bind(VkPipelineBindPoint point) const {
    if (point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) return false;
    return point != VK_PIPELINE_BIND_POINT_GRAPHICS || !transform_feedback_;
  }
  // Until the end, a pipeline with dynamic alpha to coverage has the variants for draws that enable
  // it.
  void begin_transform_feedback();
  void end_transform_feedback() { transform_feedback_ = false; }
  // The application bound something that has no variants, or nothing is bound.
  void invalidate_pipelines();
  void invalidate_pipeline(VkPipelineBindPoint point);
  // A dispatch of the layer changed the compute pipeline and the push constants.
  void restore_after_dispatch();
  void update_dirty_pointer();
  // The next draw begins a new run.
  void end_runs();

  // --- push constants
  // The record pointer that graphics shaders read from push constants; 0: not known.
  uint64_t pushed_pointer() const { return pushed_pointer_; }
  void set_pushed_pointer(const Bound& bound, uint64_t pointer);
  void invalidate_pointer() { pushed_pointer_ = 0; }
  // The application updates push constants up to the byte `end`.
  void invalidate_pointer(VkPipelineLayout layout, uint32_t end);
  // At the begin of a recording.
  void push_guard();
  // Another command buffer or generated commands were executed.
  void invalidate_guard();
  // The layer wrote to the bytes of the slot.
  void note_overwritten_constants();
  // The application updates push constants. Returns the stages that the command must name.
  VkShaderStageFlags note_constants(VkPipelineLayout layout, VkShaderStageFlags stages,
                                    uint32_t offset, uint32_t size, const void* values);
  // Before an action, where kDirtyConstants or kLostGuard is set.
  void restore_constants(Bound& bound);
  // The application updates push data.
  void push_data(const VkPushDataInfoEXT& info);
  // Before the layer writes the record pointers of a layout with heaps to push data [begin, end).
  void overwrite_push_data(uint32_t begin, uint32_t end);
  // The address of a copy of push data. 0 if there is no memory.
  VkDeviceAddress copy_push_data(const MemoryContext& memory);

  // --- descriptors
  void set_descriptors(DescriptorKind kind);
  const DescriptorMode& descriptors() const { return descriptors_; }
  // True if a record pointer for what is bound would invalidate descriptors of the application.
  bool disturbs_descriptors(const Bound& bound) const;

  // --- primitive assembly and samples
  // For a change, after which draws are not equal to those before.
  DynamicDrawFacts& dynamic_facts() {
    graphics().query_run = {};
    graphics().facts.reset();
    return dynamic_facts_;
  }
  // The state of a pipeline where it is dynamic.
  void set_alpha_to_coverage(bool enabled);
  // The next draw chooses again who counts it.
  void begin_pass(VkExtent2D area);
  // Derived from the bound graphics pipeline and the dynamic state. Defaults where no pipeline is
  // known.
  const DrawFacts& draw_facts() {
    Bound& bound = graphics();
    return bound.facts ? *bound.facts : state_facts(bound);
  }
  // Who counts the samples of the next draw.
  SampleCounter sample_counter();
  void bind_indices(const IndexRange& indices) { indices_ = indices; }
  void set_restart_index(uint32_t index) { indices_.restart = index; }
  const IndexRange& indices() const { return indices_; }

 private:
  Bindable* look_up(Bound& bound);
  const DrawFacts& state_facts(Bound& bound);
  bool has_counting_features() const {
    using Status = RecordingStatus;
    return status_.has(Status::kInstrumented | Status::kRegions | Status::kQueryShaders);
  }
  // Returns whether draws now bind other variants.
  bool choose_alpha_to_coverage(bool enabled);
  void restore_push_data(const Bound& bound, const PipelineLayout* layout);
  bool driver_should_count(Bindable& pipeline) const;
  Variant wanted_variant(VkPipelineBindPoint point, Bound& bound);
  void forget_shaders(bool compute);
  void bind_plain_shaders(VkPipelineBindPoint point) const;
  void bind_late(VkPipelineBindPoint point, Bound& bound);
  void bind_wanted(VkPipelineBindPoint point, Bound& bound);
  std::shared_ptr<ShaderSet> find_shader_set(const Bound& bound);

  VkCommandBuffer commands_;
  const DeviceTable& next_;
  ObjectState& objects_;
  RecordingStatus& status_;
  std::array<Bound, vk::kBindPoints.size()> bound_;
  BoundShaders shaders_{};  // of the bind points with Bound::shaders
  // The sets that were looked up last. A recording keeps its shaders alive.
  struct KnownSet {
    BoundShaders shaders{};
    std::shared_ptr<ShaderSet> set;
  };
  std::array<KnownSet, 8> known_sets_;
  size_t next_known_set_ = 0;
  bool transform_feedback_ = false;
  uint64_t pushed_pointer_ = 0;
  const PipelineLayout* pushed_layout_ = nullptr;
  SlotConstants constants_;
  PushData push_data_;
  DescriptorMode descriptors_;
  DynamicDrawFacts dynamic_facts_;
  IndexRange indices_;
};

}  // namespace tally::counters
