#include "counters/shader/program.h"

namespace tally::counters {

void note_uncounted(Program& program, VkShaderStageFlags stages) {
  VkShaderStageFlags counted = 0;
  VkShaderStageFlags outputs = 0;
  for (const StageProgram& stage : program.stages) {
    counted |= stage.stage;
    const uint32_t output = stage.info->plan.output_counters[0];
    if (output == spirv::CounterPlan::kZero) continue;
    outputs |= stage.stage;
    if (stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT) {
      program.samples =
          stage.info->tests_early ? Program::Samples::AfterTests : Program::Samples::BeforeTests;
    }
  }
  VkShaderStageFlags makers =
      VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_GEOMETRY_BIT | VK_SHADER_STAGE_MESH_BIT_EXT;
  if ((stages & VK_SHADER_STAGE_GEOMETRY_BIT) == 0) {
    makers |= VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
  }
  program.uncounted = stages & ~counted;
  program.uncounted_outputs = stages & makers & ~outputs;
}

}  // namespace tally::counters
