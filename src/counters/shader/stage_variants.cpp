#include "counters/shader/stage_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tally::counters {

StageVariants::~StageVariants() {
  for (const VkShaderModule module : modules_) next_.DestroyShaderModule(device_, module, nullptr);
}

void StageVariants::build(Instrumenter& instrumenter, const std::vector<Stage>& stages,
                          const Request& request) {
  for (const Stage& stage : stages) infos_.push_back(*stage.info);
  // In the order of the stage bits, which is that of the record.
  std::vector<size_t> order(stages.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return stages[i].info->stage; });
  for (const size_t i : order) {
    const bool has_regions = tally::counters::counts_regions(request.variant) &&
                             stages[i].info->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    const bool has_blocks = counts_blocks(request.variant);
    Variant variant = make_variant(has_blocks, has_regions);
    while (variant != Variant::Plain) {
      const Status added = add_instrumented(instrumenter, stages[i], request, variant, infos_[i]);
      if (added) break;
      infos_[i] = *stages[i].info;
      refuse(stages[i], added.error());
      variant = variant == Variant::Both ? Variant::Blocks : Variant::Plain;
    }
    if (tally::counters::counts_regions(variant)) counts_regions_ = true;
  }
}

void StageVariants::refuse(const Stage& stage, const Error& error) {
  refusals_.push_back(
      {stage.info->stage, stage.code ? stage.code->hash : Hash128{}, error.message});
}

Status StageVariants::add_instrumented(Instrumenter& instrumenter, const Stage& stage,
                                       const Request& request, Variant variant,
                                       VkPipelineShaderStageCreateInfo& target) {
  if (!stage.code) return Error{"its SPIR-V is not known"};
  const Addressing& addressing = request.addressing;
  const bool fragment = stage.info->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
  const bool control = stage.info->stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
  const AddressSlot slot =
      fragment && addressing.separate_fragment ? AddressSlot::Fragment : AddressSlot::Main;
  const Instrumenter::Request wanted{
      stage.info->stage,
      stage.info->pName,
      slot == AddressSlot::Main ? addressing.main : addressing.fragment,
      fragment && request.alpha_to_coverage,
      variant,
      request.multiview,
      fragment && request.primitive_ids,
      request.dispatch_base,
      control ? request.tessellation : std::nullopt};
  const auto shader = instrumenter.instrument(*stage.code, wanted);
  if (!shader) return shader.error();
  const InstrumentedShader& instrumented = **shader;

  const uint32_t first_counter = program_.strides[static_cast<size_t>(slot)];
  if (counts_blocks(variant) && first_counter != 0 && !instrumented.first_counter_spec_id) {
    return Error{"it has no free specialization constant id"};
  }
  const Result<VkShaderModule> module = create_module(instrumented.words);
  if (!module) return module.error();
  target.module = *module;
  vk::ChainCopy& chain = chains_.emplace_back(target.pNext);
  chain.remove(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  chain.remove(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
  target.pNext = chain.head();
  if (counts_blocks(variant) && first_counter != 0) {
    target.pSpecializationInfo =
        specialize(target.pSpecializationInfo, *instrumented.first_counter_spec_id, first_counter);
  }
  if (counts_blocks(variant)) program_.add(stage.info->stage, slot, instrumented.info);
  return {};
}

Result<VkShaderModule> StageVariants::create_module(const std::vector<uint32_t>& words) {
  const VkShaderModuleCreateInfo info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = words.size() * sizeof(uint32_t),
                                      .pCode = words.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  modules_.reserve(modules_.size() + 1);
  const VkResult result = next_.CreateShaderModule(device_, &info, nullptr, &module);
  if (result != VK_SUCCESS) {
    return Error{
        fmt::format("the driver refused the instrumented module ({})", static_cast<int>(result))};
  }
  modules_.push_back(module);
  return module;
}

const VkSpecializationInfo* StageVariants::specialize(const VkSpecializationInfo* original,
                                                      uint32_t id, uint32_t value) {
  Specialization& result = specializations_.emplace_back();
  if (original) {
    result.entries.assign(original->pMapEntries, original->pMapEntries + original->mapEntryCount);
    const auto* bytes = static_cast<const std::byte*>(original->pData);
    result.data.assign(bytes, bytes + original->dataSize);
  }
  result.data.resize((result.data.size() + sizeof value - 1) / sizeof value * sizeof value);
  result.entries.push_back({id, static_cast<uint32_t>(result.data.size()), sizeof value});
  result.data.resize(result.data.size() + sizeof value);
  std::memcpy(result.data.data() + result.data.size() - sizeof value, &value, sizeof value);
  result.info = {static_cast<uint32_t>(result.entries.size()), result.entries.data(),
                 result.data.size(), result.data.data()};
  return &result.info;
}

}  // namespace tally::counters
