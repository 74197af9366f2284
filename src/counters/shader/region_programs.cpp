#include "counters/shader/region_programs.h"

#include <algorithm>
#include <iterator>
#include <spirv/unified1/spirv.hpp11>
#include <vector>

#include "catalogue/catalogue.h"
#include "region_links.comp.h"
#include "region_values.comp.h"

namespace tally::counters {
namespace {

constexpr uint32_t kOffsetInSource = 96;  // of the push constant, in region_block.glsl
constexpr size_t kHeaderWords = 5;

// The words with the push constant where this device has it. (An offset cannot be a specialization
// constant.)
std::vector<uint32_t> with_offset(std::span<const uint32_t> code, uint32_t offset) {
  std::vector<uint32_t> words(code.begin(), code.end());
  for (size_t i = kHeaderWords; i < words.size(); i += std::max(1u, words[i] >> 16)) {
    const bool decorates_member =
        (words[i] & 0xffff) == static_cast<uint32_t>(spv::Op::OpMemberDecorate);
    if (decorates_member && words[i + 3] == static_cast<uint32_t>(spv::Decoration::Offset) &&
        words[i + 4] == kOffsetInSource) {
      words[i + 4] = offset;
    }
  }
  return words;
}

uint32_t accumulator_of(catalogue::Number number) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  return static_cast<uint32_t>(std::ranges::find(all, number, &catalogue::Counter::number) -
                               all.begin());
}

}  // namespace

RegionPrograms::~RegionPrograms() {
  if (values_ != VK_NULL_HANDLE) next_.DestroyPipeline(device_, values_, nullptr);
  if (links_ != VK_NULL_HANDLE) next_.DestroyPipeline(device_, links_, nullptr);
  if (layout_ != VK_NULL_HANDLE) next_.DestroyPipelineLayout(device_, layout_, nullptr);
}

VkResult RegionPrograms::prepare() {
  const std::lock_guard lock(mutex_);
  if (layout_ == VK_NULL_HANDLE) {
    if (const VkResult result = make_layout(); result != VK_SUCCESS) return result;
  }
  if (values_ == VK_NULL_HANDLE) {
    const VkResult result = make_pipeline(region_values_comp, values_);
    if (result != VK_SUCCESS) return result;
  }
  return links_ == VK_NULL_HANDLE ? make_pipeline(region_links_comp, links_) : VK_SUCCESS;
}

VkResult RegionPrograms::make_layout() {
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, push_offset_, sizeof(uint64_t)};
  const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .pushConstantRangeCount = 1,
                                        .pPushConstantRanges = &range};
  return next_.CreatePipelineLayout(device_, &info, nullptr, &layout_);
}

VkResult RegionPrograms::make_pipeline(std::span<const uint32_t> code, VkPipeline& pipeline) const {
  const std::vector<uint32_t> words = with_offset(code, push_offset_);
  const VkShaderModuleCreateInfo module_info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = words.size() * sizeof(uint32_t),
                                             .pCode = words.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = next_.CreateShaderModule(device_, &module_info, nullptr, &module);
  if (result != VK_SUCCESS) return result;
  const uint32_t constants[] = {accumulator_of(catalogue::Number::FragmentWarps),
                                accumulator_of(catalogue::Number::FragmentInvocations)};
  const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}};
  const VkSpecializationInfo specialization{2, entries, sizeof constants, constants};
  const VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &specialization},
      .layout = layout_};
  result = next_.CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
  next_.DestroyShaderModule(device_, module, nullptr);
  return result;
}

void RegionPrograms::push(VkCommandBuffer commands, VkPipeline pipeline, uint64_t address) const {
  next_.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  next_.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, push_offset_,
                         sizeof address, &address);
}

void RegionPrograms::write_values(VkCommandBuffer commands, VkDeviceAddress block, uint32_t columns,
                                  uint32_t rows, uint32_t layers) const {
  push(commands, values_, block);
  next_.CmdDispatch(commands, (columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile, layers);
}

void RegionPrograms::link(VkCommandBuffer commands, VkDeviceAddress list, bool unlink) const {
  push(commands, links_, list | (unlink ? 1 : 0));
  next_.CmdDispatch(commands, 1, 1, 1);
}

}  // namespace tally::counters
