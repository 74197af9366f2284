// Shader objects that are bound together. The command buffer treats them like one pipeline with
// variants; the application has no handle of it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <bit>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "counters/objects/shader_object.h"

namespace tally::counters {

struct Pipeline;

// Indexed by the number of the stage's bit: vertex to mesh, and compute between them.
inline constexpr size_t kShaderStages = 8;
using BoundShaders = std::array<VkShaderEXT, kShaderStages>;  // null: none

inline constexpr size_t kComputeShader = 5;
constexpr size_t shader_index(VkShaderStageFlagBits stage) {
  return static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(stage)));
}

class ShaderSet {
 public:
  using Shaders = std::array<std::shared_ptr<ShaderObject>, kShaderStages>;
  explicit ShaderSet(Shaders shaders) : shaders_(std::move(shaders)) {}

  // True if the shaders can count exactly this. Makes their variants if they are not made yet.
  bool has(Variant which) const;
  // True if the shaders keep their record pointers at different places in push data, or one reads
  // where another keeps its own.
  bool mixes_heap_layouts() const;
  // Binds this variant of every shader.
  void bind(VkCommandBuffer commands, const DeviceTable& next, Variant variant) const;
  // True if draws with alpha to coverage have the variants of covering().
  bool has_covering() const;
  std::shared_ptr<const ShaderSet> covering() const;
  bool instrumented() const;
  VkShaderStageFlags stages() const;
  // The one that the layer uses, with its handle. Null if no shader has a layout.
  std::shared_ptr<PipelineLayout> layout() const;
  // The stages that this variant counts.
  std::shared_ptr<const Program> make_program(Variant variant) const;

 private:
  bool lacks_moved_blocks(Variant variant) const;

  Shaders shaders_;
};

// The sets of a device, as pipelines. Thread-safe.
class ShaderSets {
 public:
  // Null if none of the shaders is known.
  std::shared_ptr<Pipeline> find(const BoundShaders& bound) const;
  std::shared_ptr<Pipeline> add(const BoundShaders& bound,
                                const std::shared_ptr<Pipeline>& pipeline);
  // Before the driver destroys the shader.
  void remove(VkShaderEXT shader);

 private:
  struct Hash {
    size_t operator()(const BoundShaders& bound) const;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<BoundShaders, std::shared_ptr<Pipeline>, Hash> sets_;
};

}  // namespace tally::counters
