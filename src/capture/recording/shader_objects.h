// Shader objects, and the sets of them that commands run with. A set stands for a pipeline: the
// same shaders in the same stages are one pipeline of the capture. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newer.h>

#include <array>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "capture/recording/shaders.h"
#include "vk/handle_map.h"

namespace tally::capture {

struct ShaderObject {
  PipelineDraft draft;           // of this stage alone
  std::string not_instrumented;  // the reason, "" = its commands are counted
  std::string diagnostics;       // messages about instrumentation during its creation
  bool has_flag = false;         // created with the flag
};

// Indexed by the number of the stage's bit; null: no shader.
inline constexpr size_t kShaderStages = 8;
using BoundShaders = std::array<std::shared_ptr<const ShaderObject>, kShaderStages>;

class ShaderObjectRegistry {
 public:
  explicit ShaderObjectRegistry(StreamConnection& connection) : connection_(connection) {}

  void add(VkShaderEXT handle, ShaderObject object) {
    objects_.insert(handle, std::make_shared<const ShaderObject>(std::move(object)));
  }
  void remove(VkShaderEXT handle) { objects_.take(handle); }
  // Selects the object if it has the flag and the pattern matches. Command buffers that bind it
  // later count its commands.
  void select_named(VkShaderEXT handle, const std::string& name, const std::string& pattern);
  // An object without shaders if the handle is unknown. Null for a null handle.
  std::shared_ptr<const ShaderObject> find(VkShaderEXT handle) const;

  // The origin of a shader's binary.
  void add_binary(VkShaderEXT handle, std::span<const std::byte> binary);
  std::shared_ptr<const ShaderObject> find_binary(std::span<const std::byte> binary) const;

  // Null if there are no shaders.
  std::shared_ptr<Pipeline> pipeline(VkPipelineBindPoint bind_point, const BoundShaders& shaders);

 private:
  std::shared_ptr<Pipeline> make_pipeline(VkPipelineBindPoint bind_point, const Hash128& hash,
                                          const BoundShaders& shaders) const;

  StreamConnection& connection_;
  vk::HandleMap<VkShaderEXT, std::shared_ptr<const ShaderObject>> objects_;
  mutable std::shared_mutex mutex_;  // guards the members below
  std::unordered_map<Hash128, std::shared_ptr<Pipeline>> pipelines_;
  std::unordered_map<Hash128, std::shared_ptr<const ShaderObject>> binaries_;
};

}  // namespace tally::capture
