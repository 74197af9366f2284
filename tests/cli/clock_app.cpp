// An application for the tests of `tally run --clocks`: dispatches one workgroup of 64 invocations
// of each kernel, one kernel after the other. Usage: clock_app ITERATIONS ROUNDS.
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "buffer_loads.comp.h"
#include "chain.comp.h"
#include "shared_loads.comp.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"
#include "wait.comp.h"

namespace {

using namespace tally::test;

constexpr uint32_t kInvocations = 64;

void run(uint32_t iterations, uint32_t rounds) {
  Context context;
  Buffer words(context, VkDeviceSize{4} * 2 * kInvocations);
  const StorageSet set(context, {words});
  const VkDescriptorSetLayout layout_of_set = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&layout_of_set, 1}, 16);
  const std::array<std::span<const uint32_t>, 4> kernels = {chain_comp, shared_loads_comp,
                                                            buffer_loads_comp, wait_comp};
  std::vector<Pipeline> pipelines;
  for (const std::span<const uint32_t> kernel : kernels)
    pipelines.push_back(
        make_compute_pipeline(context, {.shader = {.code = kernel}, .layout = layout}));
  const std::array<uint32_t, 4> numbers = {iterations};
  for (uint32_t round = 0; round < rounds; ++round) {
    for (const Pipeline& pipeline : pipelines) {
      words.clear();  // all loads go to the first word
      context.run([&](VkCommandBuffer commands) {
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        set.bind(commands, layout);
        vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof numbers,
                           numbers.data());
        vkCmdDispatch(commands, 1, 1, 1);
      });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3) {
      run(static_cast<uint32_t>(std::stoul(argv[1])), static_cast<uint32_t>(std::stoul(argv[2])));
      return 0;
    }
    std::fputs("clock_app ITERATIONS ROUNDS\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "clock_app: %s\n", error.what());
  }
  return 2;
}
