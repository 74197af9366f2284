#include "counters/objects/stage_code.h"

#include "counters/objects/object_state.h"
#include "vk/chain.h"

namespace tally::counters {

void notice_late_tests(Messages& messages, VkObjectType type, uint64_t object) {
  messages.notice(
      "TALLY-late-tests", type, object,
      "alpha to coverage is dynamic state of what an execution set may hold: its fragment "
      "shaders may also run, and count, for fragments that depth and stencil tests reject");
}

std::shared_ptr<const ShaderCode> find_code(ObjectState& state,
                                            const VkPipelineShaderStageCreateInfo& stage) {
  if (stage.module != VK_NULL_HANDLE) return state.shader_modules.find(stage.module);
  const auto* chained = vk::find_in_chain<VkShaderModuleCreateInfo>(
      stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  if (!chained) return nullptr;
  return state.codes.add({chained->pCode, chained->codeSize / sizeof(uint32_t)});
}

}  // namespace tally::counters
