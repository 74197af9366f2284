// Counters by region while a command buffer is recorded: the memory of its capturing passes, and
// the commands around them.
//
// Around each pass: accumulators are zeroed and secondary command buffers linked before it begins;
// when it has ended, a dispatch writes the application's values from the accumulators. So the same
// recording may be submitted again. A pass that is suspended is ended by the one that resumes it,
// which may stand in another command buffer: they are joined when both are submitted, by the host.
//
// A secondary command buffer that continues a pass cannot know which; it has a block of its own,
// into which the GPU copies that of the pass before the pass begins, and zeros when it has ended.
// (Not of a pass that began in another command buffer: there it is too late for commands.)
//
// Used by one thread at a time, as the command buffer is. Its memory goes back at reset().
#pragma once

#include <vulkan/vulkan_core.h>

#include <deque>
#include <vector>

#include "counters/memory/host_blocks.h"
#include "counters/memory/word_pages.h"
#include "counters/regions/request.h"

namespace tally::counters {

class RegionRecorder {
 public:
  struct Pass {
    RegionRequest request;
    std::vector<HostBlock> blocks;  // by subpass
    HostBlock links;                // first node of the list of secondaries, if it may have any
    HostBlock last_node;
    uint32_t last_entries = 0;  // in the last node
    bool began_elsewhere = false;
    bool suspended = false;
    bool enabled = true;
  };

  RegionRecorder(Device& device, VkCommandBuffer commands);
  ~RegionRecorder() { reset(); }
  RegionRecorder(const RegionRecorder&) = delete;
  RegionRecorder& operator=(const RegionRecorder&) = delete;

  void reset();

  // What the next graphics command finds its region's accumulators by; 0 outside of capturing
  // passes. Where primitives are counted it is another word for each command.
  VkResult next_word(uint64_t& word);
  // Words for pipelines that find them in the reserved descriptor set.
  VkResult next_words(WordPage& page, uint32_t& index) { return words_.next(page, index); }

  // A secondary command buffer that continues a pass.
  VkResult begin_continuing();
  // Before the command that begins the pass. Whether a dispatch of ours changed what is bound.
  VkResult begin_pass(RegionRequest request);
  void next_subpass() { ++subpass_; }
  // After the command that ends it.
  void end_pass();
  bool in_pass() const { return current_ != nullptr; }
  // A secondary command buffer is executed in the pass.
  VkResult link(const RegionRecorder& secondary);

  // --- when submitted
  bool captures() const { return !passes_.empty(); }
  // Whether the values are counted, or 0 because they cannot be had exclusively.
  void enable(bool enabled);
  // The pass that goes on from another command buffer's, if the first does; and the one that is
  // left suspended.
  Pass* resumed_pass();
  Pass* suspended_pass() { return suspended_; }
  static void join(const Pass& suspended, Pass& resumed);

 private:
  static constexpr uint32_t kHeaders = 64;  // taken at once

  // Of the pass's block, or this command buffer's own; 0 outside of capturing passes.
  VkDeviceAddress block_address() const;
  VkResult next_header(VkDeviceAddress block, uint64_t& word);
  VkResult make_blocks(Pass& pass);
  VkResult make_accumulators(Pass& pass, RecordPage& page);
  VkResult make_tables(Pass& pass, RecordPage& page);
  void record_begin(const Pass& pass, const RecordPage& page, const RecordPage& tables);
  void report_too_many() const;
  void record_end(const Pass& pass);
  VkResult add_link(Pass& pass, const HostBlock& secondary);

  Device& device_;
  VkCommandBuffer commands_;
  std::deque<Pass> passes_;
  Pass* current_ = nullptr;    // capturing
  Pass* suspended_ = nullptr;  // the last one, if it was suspended and not resumed here
  uint32_t subpass_ = 0;
  HostBlock own_block_;  // of a secondary that continues a pass
  HostBlock headers_;    // of draws whose primitives are counted
  uint32_t used_headers_ = kHeaders;
  uint32_t first_draw_ = 0;  // number of the draw of the first header
  std::vector<RecordPage> accumulator_pages_;
  HostBlocks host_blocks_;
  WordPages words_;
};

}  // namespace tally::counters
