// Execution sets of pipelines (VK_EXT_device_generated_commands), from which the GPU chooses by
// index. Beside the application's set the layer keeps one of the variants that count blocks.
//
// All pipelines of a set count into one record, so pipelines that may be in a set have disjoint
// ranges of counters (CounterRanges).
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_generated.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "counters/objects/pipeline.h"

namespace tally::counters {

struct ObjectState;

// Thread-safe where the application may use the set in several threads: to record with it.
class ExecutionSet {
 public:
  ExecutionSet(ObjectState& state, std::shared_ptr<Pipeline> initial, uint32_t size);
  ~ExecutionSet();
  ExecutionSet(const ExecutionSet&) = delete;
  ExecutionSet& operator=(const ExecutionSet&) = delete;

  // Whether there is a set of variants.
  bool create();
  // What a command records. The program has the stages of all pipelines that count; their
  // sub-index is that of the pipeline in the set.
  struct Recorded {
    VkIndirectExecutionSetEXT handle = VK_NULL_HANDLE;
    std::shared_ptr<const Program> program;  // null: nothing counts
  };
  Recorded record();
  VkIndirectExecutionSetEXT newest() const { return sets_.back(); }
  // Before the driver's own set is updated.
  void update(std::span<const VkWriteIndirectExecutionSetPipelineEXT> writes);

 private:
  struct Entry {
    std::shared_ptr<Pipeline> known;  // null: not known, or not written
    VkPipeline plain = VK_NULL_HANDLE;
  };

  VkPipeline handle_of(const Entry& entry) const;
  VkIndirectExecutionSetEXT create_set() const;
  void write(VkIndirectExecutionSetEXT set, uint32_t index, VkPipeline pipeline) const;
  bool replace_recorded();
  void refuse(Entry& entry) const;
  std::shared_ptr<const Program> make_program() const;

  ObjectState& state_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<VkIndirectExecutionSetEXT> sets_;  // the last one is up to date
  std::shared_ptr<const Program> program_;       // of the last one, once it is recorded
  bool recorded_ = false;                        // the last one
};

// Whether a command that runs the pipeline out of a set counts it.
bool counts_in_sets(const Pipeline& pipeline);

// Call after the driver has created the set.
void add_execution_set(ObjectState& state, const VkIndirectExecutionSetCreateInfoEXT& info,
                       VkIndirectExecutionSetEXT handle);

}  // namespace tally::counters
