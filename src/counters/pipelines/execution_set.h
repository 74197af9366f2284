// Execution sets (VK_EXT_device_generated_commands), from which the GPU chooses pipelines or shader
// objects by index. Beside the application's set the layer keeps sets of the variants that count.
//
// All entries of a set count their blocks into one record, so pipelines and shader objects that may
// be in a set have disjoint ranges of counters (CounterRanges).
#pragma once

#include <tally/vulkan_generated.h>
#include <vulkan/vulkan_core.h>

#include <memory>
#include <span>
#include <vector>

#include "counters/shaders/program.h"

namespace tally::counters {

struct ObjectState;
struct Pipeline;
class WordPool;

// Thread-safe where the application may use the set in several threads: to record with it.
class ExecutionSet {
 public:
  ExecutionSet() = default;
  virtual ~ExecutionSet() = default;
  ExecutionSet(const ExecutionSet&) = delete;
  ExecutionSet& operator=(const ExecutionSet&) = delete;

  // A set of the driver with variants of the entries. Destroyed with the last reference.
  class Copy {
   public:
    Copy(const ObjectState& state, VkIndirectExecutionSetEXT handle)
        : state_(state), handle_(handle) {}
    ~Copy();
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    VkIndirectExecutionSetEXT handle() const { return handle_; }

   private:
    const ObjectState& state_;
    VkIndirectExecutionSetEXT handle_;
  };

  // The set that a command records in place of the application's. The program has the stages of all
  // entries that count blocks; their sub-index is the entry's index in the set.
  struct Recorded {
    std::shared_ptr<const Copy> copy;        // the recording keeps it; null: nothing counts
    std::shared_ptr<const Program> program;  // null if the variant counts no blocks
  };
  virtual Recorded record(Variant variant) = 0;
  // The newest set of each variant that there is one of, or that the application asked for.
  virtual std::vector<VkIndirectExecutionSetEXT> newest() = 0;
  // Before the driver's own set is updated.
  virtual void update(std::span<const VkWriteIndirectExecutionSetPipelineEXT>) {}
  virtual void update(std::span<const VkWriteIndirectExecutionSetShaderEXT>) {}
};

// Creates the application's set and notes what is in it.
VkResult create_execution_set(ObjectState& state, WordPool& words,
                              const VkIndirectExecutionSetCreateInfoEXT& info,
                              const VkAllocationCallbacks* allocator,
                              VkIndirectExecutionSetEXT& handle);

}  // namespace tally::counters
