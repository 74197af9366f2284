// VK_EXT_device_generated_commands: sequences of a push constant of 4 bytes and one command.
#pragma once

#include <tally/vulkan_generated.h>

#include <deque>
#include <memory>
#include <vector>

#include "support/pipeline.h"

namespace tally::test {

class GeneratedCommands {
 public:
  struct Info {
    VkShaderStageFlags stages = VK_SHADER_STAGE_COMPUTE_BIT;
    VkIndirectCommandsTokenTypeEXT command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT;
    // Null: the constant is push data, for descriptor heaps.
    VkPipelineLayout layout = VK_NULL_HANDLE;
    // Each sequence begins with the index of a pipeline in the execution set.
    bool from_set = false;
    // Of all sequences.
    std::vector<uint32_t> words;
    uint32_t sequences = 1;
  };
  GeneratedCommands(const Context& context, const Info& info);
  ~GeneratedCommands();
  GeneratedCommands(const GeneratedCommands&) = delete;
  GeneratedCommands& operator=(const GeneratedCommands&) = delete;

  // Runs the sequences with what is bound, which `names` names: VkGeneratedCommandsPipelineInfoEXT
  // or VkGeneratedCommandsShaderInfoEXT, or null where there is an execution set.
  void execute(VkCommandBuffer commands, void* names,
               VkIndirectExecutionSetEXT set = VK_NULL_HANDLE);

 private:
  const Context& context_;
  Info info_;
  Buffer words_;
  VkIndirectCommandsLayoutEXT layout_ = VK_NULL_HANDLE;
  std::deque<Buffer> scratch_;
};

// An execution set of pipelines.
class ExecutionSet {
 public:
  ExecutionSet(const Context& context, VkPipeline initial, uint32_t size);
  ~ExecutionSet();
  ExecutionSet(const ExecutionSet&) = delete;
  ExecutionSet& operator=(const ExecutionSet&) = delete;

  void write(uint32_t index, VkPipeline pipeline) const;
  operator VkIndirectExecutionSetEXT() const { return handle_; }

 private:
  const Context& context_;
  VkIndirectExecutionSetEXT handle_ = VK_NULL_HANDLE;
};

// A device with the extension, and with shader objects. Null if the driver lacks one of them.
std::unique_ptr<Context> make_generated_context(bool instrumented);

}  // namespace tally::test
