#include "counters/shader/stage_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tally::counters {

StageVariants::~StageVariants() {
  for (const VkShaderModule module : modules_) next_.DestroyShaderModule(device_, module, nullptr);
}

void StageVariants::build(Instrumenter& instrumenter, const std::vector<Stage>& stages,
                          const Addressing& addressing, bool alpha_to_coverage) {
  for (const Stage& stage : stages) infos_.push_back(*stage.info);
  // In the order of the stage bits, which is that of the record.
  std::vector<size_t> order(stages.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return stages[i].info->stage; });
  for (const size_t i : order) {
    const Status added =
        add_instrumented(instrumenter, stages[i], addressing, alpha_to_coverage, infos_[i]);
    if (added) continue;
    infos_[i] = *stages[i].info;
    refusals_.push_back({stages[i].info->stage, stages[i].code ? stages[i].code->hash : Hash128{},
                         added.error().message});
  }
}

Status StageVariants::add_instrumented(Instrumenter& instrumenter, const Stage& stage,
                                       const Addressing& addressing, bool alpha_to_coverage,
                                       VkPipelineShaderStageCreateInfo& target) {
  if (!stage.code) return Error{"its SPIR-V is not known"};
  const bool fragment = stage.info->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
  const AddressSlot slot =
      fragment && addressing.separate_fragment ? AddressSlot::Fragment : AddressSlot::Main;
  const Instrumenter::Request request{
      stage.info->stage, stage.info->pName,
      slot == AddressSlot::Main ? addressing.main : addressing.fragment,
      fragment && alpha_to_coverage};
  const auto shader = instrumenter.instrument(*stage.code, request);
  if (!shader) return shader.error();
  const InstrumentedShader& instrumented = **shader;

  const uint32_t first_counter = program_.strides[static_cast<size_t>(slot)];
  if (first_counter != 0 && !instrumented.first_counter_spec_id) {
    return Error{"it has no free specialization constant id"};
  }
  const Result<VkShaderModule> module = create_module(instrumented.words);
  if (!module) return module.error();
  target.module = *module;
  vk::ChainCopy& chain = chains_.emplace_back(target.pNext);
  chain.remove(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  chain.remove(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
  target.pNext = chain.head();
  if (first_counter != 0) {
    target.pSpecializationInfo =
        specialize(target.pSpecializationInfo, *instrumented.first_counter_spec_id, first_counter);
  }
  program_.add(stage.info->stage, slot, instrumented.info);
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
