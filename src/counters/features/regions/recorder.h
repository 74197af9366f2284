// Counters by region while a command buffer is recorded: the memory of render passes that capture
// counters, and the commands around them.
//
// Before each pass the GPU zeroes its accumulators and links its secondary command buffers. After
// it, a dispatch writes the application's values from the accumulators. So the recording may be
// submitted again. The pass that resumes a suspended one writes the values of both; it may be in
// another command buffer, and the host joins the two when they are submitted.
//
// A secondary command buffer that continues a pass does not know which. It has its own block: the
// GPU copies the block of the pass into it before the pass, and zeroes it after the pass. This is
// not possible for passes that began in another command buffer.
//
// Used by one thread at a time, as the command buffer is. reset() returns the memory.
#pragma once

#include <tally/vulkan_arm.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/features/regions/exclusive_mode.h"
#include "counters/features/regions/state.h"
#include "counters/memory/device_memory.h"
#include "counters/shaders/internal_objects.h"
#include "probe/region.h"

namespace tally::counters {

// A VkRenderPassPerformanceCountersByRegionBeginInfoARM, validated.

struct RegionState;

// The render pass instance that begins.
struct RenderPassInstance {
  VkRect2D area{};
  uint32_t subpasses = 1;
  uint32_t layers = 1;  // or views
  bool multiview = false;
  bool may_execute_secondaries = true;
  bool suspending = false;
  bool resuming = false;
};

struct RegionRequest {
  RenderPassInstance instance;
  uint32_t columns = 0, rows = 0;  // regions
  uint32_t region_bytes = 0, row_bytes = 0;
  uint32_t wanted = 0;                     // bit mask of accumulators
  uint32_t primitive_limit = 0;            // of a region; 0: primitives are not counted
  std::vector<uint32_t> counters;          // the accumulator of each enabled counter
  std::vector<VkDeviceAddress> addresses;  // by subpass, then layer; null: not captured
  DrawListPlace draws;

  // The block of a subpass, without the address of its accumulators.
  probe::RegionBlock block(const RegionState& state) const;
  bool subpass_wanted(uint32_t subpass) const;
  bool counts_primitives() const { return primitive_limit != 0; }
  bool counts_draws() const { return draws.buffer != VK_NULL_HANDLE; }
  bool counts_only_invocations() const;
  // The size of the sets of primitives of all subpasses.
  uint64_t table_bytes() const;
};

// Reports misuse. Returns nothing if nothing can be captured. Addresses that must not be written to
// become null.
std::optional<RegionRequest> check_region_request(
    const RegionState& state, VkCommandBuffer commands,
    const VkRenderPassPerformanceCountersByRegionBeginInfoARM& info,
    const RenderPassInstance& instance);

// A render pass that captures counters by region: its memory, and what the host changes in it when
// it is submitted.

// The list of secondary command buffers that a pass executes, as the GPU reads it
// (glsl/region_links.comp).
class SecondaryLinks {
 public:
  VkResult create(HostBlocks& memory);
  bool exist() const { return first_.chunk != nullptr; }
  VkDeviceAddress address() const { return first_.address; }
  // The GPU copies the block at `from` to the one at `to`.
  VkResult add(HostBlocks& memory, VkDeviceAddress from, VkDeviceAddress to);

 private:
  HostBlock first_;
  HostBlock last_;
  uint32_t entries_ = 0;  // in the last node
};

struct RegionPass {
  RegionRequest request;
  std::vector<HostBlock> blocks;  // by subpass
  SecondaryLinks links;           // none if the pass can have no secondaries
  RegionDraws draws;
  bool began_elsewhere = false;  // it resumes a pass of another command buffer
  bool enabled = true;

  // Allocates and fills the blocks, but for the addresses of accumulators and tables.
  VkResult make_blocks(const RegionState& state, HostBlocks& memory);
  uint64_t accumulator_bytes() const;  // of one subpass
  // The block of the subpass, for a draw that has accumulators of its own.
  probe::RegionBlock block_of_draw(RegionState& state, uint32_t subpass) const;
  void set_accumulators(VkDeviceAddress address) const;
  void set_primitive_tables(VkDeviceAddress address) const;

  // Disabled: the values are 0, because the work could not run exclusively.
  void enable(bool enable);
  // True if a set of primitives overflowed in an earlier execution.
  bool overflowed() const;
  // Continues in the memory of the suspended pass.
  void join(const RegionPass& suspended_pass) const;
};

class RegionRecorder {
 public:
  // `descriptors`: what the application uses.
  RegionRecorder(RegionState& state, VkCommandBuffer commands, const DescriptorMode& descriptors);
  ~RegionRecorder() { reset(); }
  RegionRecorder(const RegionRecorder&) = delete;
  RegionRecorder& operator=(const RegionRecorder&) = delete;

  void reset();

  // The pointer through which shaders of the next graphics command find the accumulators; null
  // outside of capturing passes. Each command has another one if primitives are counted.
  VkResult next_pointer(uint64_t& pointer);
  // Before each command that draws, counted or not.
  void count_draw() {
    if (current_) current_->draws.count_draw();
  }
  // A pair of record pointers in a descriptor set.
  VkResult next_words(WordPage& page, uint32_t& index) { return words_.next(page, index); }

  // This is a secondary command buffer that continues a pass.
  VkResult begin_continuing();
  // Before the command that begins the pass.
  VkResult begin_pass(RegionRequest request);
  void next_subpass() { ++subpass_; }
  // After the command that ends it.
  void end_pass();
  bool in_pass() const { return current_ != nullptr; }
  // The pass executes a secondary command buffer.
  VkResult link(const RegionRecorder& secondary);

  // --- submission
  bool captures() const { return !passes_.empty(); }
  // Disabled: the values are 0, because the work could not run exclusively.
  void enable(bool enabled);
  // The first pass, if it resumes one of another command buffer; and the pass that is left
  // suspended.
  RegionPass* resumed_pass();
  RegionPass* suspended_pass() { return suspended_; }

 private:
  static constexpr uint32_t kHeaders = 64;  // allocated together

  // The block of the pass or of a secondary command buffer; null outside of capturing passes.
  VkDeviceAddress block_address() const;
  InternalCommands dispatches() const { return {commands_, descriptors_.uses_heaps()}; }
  VkResult next_header(VkDeviceAddress block, uint64_t& pointer);
  VkResult make_accumulators(const RegionPass& pass, RecordPage& page);
  VkResult make_tables(const RegionPass& pass, RecordPage& page);
  void record_begin(const RegionPass& pass, const RecordPage& page, const RecordPage& tables);
  void report_overflows() const;
  void record_end(const RegionPass& pass);
  void record_draws(const RegionPass& pass) const;

  RegionState& state_;
  const DeviceTable& next_;
  VkCommandBuffer commands_;
  const DescriptorMode& descriptors_;
  std::deque<RegionPass> passes_;
  RegionPass* current_ = nullptr;    // capturing
  RegionPass* suspended_ = nullptr;  // the last one, if it was suspended and not resumed here
  uint32_t subpass_ = 0;
  HostBlock own_block_;  // of a secondary that continues a pass
  HostBlock headers_;    // one for each draw, if primitives are counted
  uint32_t used_headers_ = kHeaders;
  uint32_t first_draw_ = 0;  // number of the draw of the first header
  std::vector<RecordPage> accumulator_pages_;
  HostBlocks host_blocks_;
  WordPages words_;
};

// Counters by region in one submission: joins passes that are suspended in one command buffer and
// resumed in another, and runs capturing work in exclusive mode.

struct RegionState;
class QueueTimelines;

class RegionSubmission {
 public:
  RegionSubmission(RegionState& state, QueueTimelines& timelines)
      : state_(state), timelines_(timelines) {}
  ~RegionSubmission() {
    if (hold_) ExclusiveMode::instance().leave(*hold_);
  }
  RegionSubmission(const RegionSubmission&) = delete;
  RegionSubmission& operator=(const RegionSubmission&) = delete;

  // Call for the command buffers in the order of their execution.
  void add(RegionRecorder& recorder);
  // The semaphores that capturing work waits for and signals.
  void wait(SemaphoreValue semaphore) { work_.waits.push_back(semaphore); }
  void signal(SemaphoreValue semaphore) { work_.signals.push_back(semaphore); }
  bool captures() const { return !recorders_.empty(); }

  // Call before the submission: waits until it may run. After a timeout its counters read 0.
  void enter(VkQueue queue);
  // Call after the submission.
  void submitted(VkQueue queue, VkResult result);

 private:
  void report_timeout() const;
  void await_untracked(VkQueue queue) const;

  RegionState& state_;
  QueueTimelines& timelines_;
  std::vector<RegionRecorder*> recorders_;
  RegionPass* suspended_ = nullptr;
  CapturingWork work_;
  bool waits_for_host_ = false;  // it may wait for a semaphore that the application signals later
  std::optional<uint64_t> hold_;
};

}  // namespace tally::counters
