// Pipelines for a single entry point of any module. Everything else a pipeline needs (layout,
// stages before and after, vertex attributes, attachments) is generated to match.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "corpus/shader_interface.h"
#include "spirv/instrument/block_count.h"
#include "support/pipeline.h"

namespace tally::test {

class EntryPipeline {
 public:
  // The reason why no pipeline can be created here, or nothing.
  static std::optional<std::string> obstacle(const Context& context, const spirv::Module& module,
                                             const spirv::EntryPoint& entry);

  // Requires that there is no obstacle. The layout has push constants up to the device's limit, and
  // a dynamic uniform buffer as the only binding of set address_set().
  EntryPipeline(const Context& context, const spirv::Module& module,
                const spirv::EntryPoint& entry);

  // Creates a pipeline with these words for the entry point's stage, original or instrumented.
  VkResult create(std::span<const uint32_t> words, VkPipelineCreateFlags flags,
                  Pipeline& pipeline) const;

  VkShaderStageFlagBits stage() const;
  uint32_t address_set() const { return static_cast<uint32_t>(set_layouts_.size()) - 1; }

 private:
  using Words = std::vector<uint32_t>;

  void make_layout(const ShaderInterface& interface);
  void make_partners(const ShaderInterface& interface);
  VkResult create_compute(const VkPipelineShaderStageCreateInfo& stage, VkPipelineCreateFlags flags,
                          Pipeline& pipeline) const;
  VkResult create_graphics(std::span<const VkPipelineShaderStageCreateInfo> stages,
                           VkPipelineCreateFlags flags, Pipeline& pipeline) const;

  const Context& context_;
  spv::ExecutionModel model_;
  std::string name_;
  std::vector<SetLayout> set_layouts_;
  PipelineLayout layout_;
  std::vector<std::pair<VkShaderStageFlagBits, Words>> partners_;  // the other stages
  std::vector<VkVertexInputAttributeDescription> attributes_;
  std::vector<VkFormat> colour_formats_;
  VkPrimitiveTopology topology_ = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
};

// Instruments the module as a layer would for this device: the address is in the push constants if
// the module leaves space, otherwise in the descriptor set.
Result<spirv::BlockCountResult> instrument_for(const Context& context, const EntryPipeline& target,
                                               const spirv::Module& module,
                                               const spirv::EntryPoint& entry);

}  // namespace tally::test
