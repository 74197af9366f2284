// Execution sets (VK_EXT_device_generated_commands), from which the GPU chooses pipelines or shader
// objects by index. A set stands for a pipeline of the capture that has the shaders of all entries.
// Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_generated.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/recording/shader_objects.h"
#include "capture/recording/shaders.h"
#include "vk/handle_map.h"

namespace tally::capture {

class ExecutionSets {
 public:
  ExecutionSets(StreamConnection& connection, const ShaderRegistry& pipelines,
                const ShaderObjectRegistry& shaders)
      : connection_(connection), pipelines_(pipelines), shaders_(shaders) {}

  void add(VkIndirectExecutionSetEXT handle, const VkIndirectExecutionSetCreateInfoEXT& info);
  void remove(VkIndirectExecutionSetEXT handle);
  void update(VkIndirectExecutionSetEXT handle,
              std::span<const VkWriteIndirectExecutionSetPipelineEXT> writes);
  void update(VkIndirectExecutionSetEXT handle,
              std::span<const VkWriteIndirectExecutionSetShaderEXT> writes);

  // The current entries of the set. Null if the set is unknown.
  std::shared_ptr<Pipeline> pipeline(VkIndirectExecutionSetEXT handle);

 private:
  struct Entry {
    std::vector<std::shared_ptr<Shader>> shaders;
    Hash128 hash;
    std::string not_instrumented, diagnostics;
  };
  struct Set {
    const char* noun;
    VkPipelineBindPoint bind_point;
    std::vector<Entry> entries;          // without shaders: not written, or not known
    std::shared_ptr<Pipeline> pipeline;  // of the entries; null: not made yet
  };

  Entry entry_of(VkPipeline handle) const;
  Entry entry_of(VkShaderEXT handle) const;
  template <typename Write, typename Handle>
  void write(VkIndirectExecutionSetEXT set, std::span<const Write> writes, Handle Write::*written);
  std::shared_ptr<Pipeline> make_pipeline(const Set& set, const Hash128& hash) const;

  StreamConnection& connection_;
  const ShaderRegistry& pipelines_;
  const ShaderObjectRegistry& shaders_;
  std::mutex mutex_;  // guards the members below
  std::unordered_map<VkIndirectExecutionSetEXT, Set> sets_;
  std::unordered_map<Hash128, std::shared_ptr<Pipeline>> made_;
};

}  // namespace tally::capture
