// Descriptor heaps with pipelines that stand_in/newest/ does not stand for: of rays, and of
// commands that the device generates.
#include "add.rgen.h"
#include "api/heaps/kit.h"
#include "rounds.comp.h"
#include "support/generated_commands.h"
#include "support/ray_tracing.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

class HeapStages : public HeapsTest {
 protected:
  static bool has_heaps() { return Context().has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME); }
};

TEST_F(HeapStages, traces_count_and_nothing_counts_outside_of_a_range) {
  if (!has_heaps()) GTEST_SKIP() << "no descriptor heaps";
  if (!RayTracingDevice::supported(Context())) GTEST_SKIP() << "no ray-tracing pipelines";
  RayTracingDevice rays;
  start_heaps({}, rays.options());
  const Buffer values = make_values();
  const Pipeline pipeline =
      make_ray_pipeline(context(), {.stages = {{VK_SHADER_STAGE_RAYGEN_BIT_KHR, add_rgen}},
                                    .groups = {{.general = 0}},
                                    .flags = kHeapBit});
  const BindingTable table(context(), pipeline, 1, {});
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
    push(commands, AddPush{values.address(), 5});
    trace_rays(context(), commands, table, 8, 1);
    full_barrier(commands);
    instrumentation.begin(commands);
    trace_rays(context(), commands, table, 24, 1);
    full_barrier(commands);
    push(commands, AddPush{values.address(), 100});
    trace_rays(context(), commands, table, 16, 1);
    full_barrier(commands);
    instrumentation.end(commands);
    trace_rays(context(), commands, table, 8, 1);
    full_barrier(commands);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 24), Pair(1, 16)));
  expect_added(values, {{8, 5}, {24, 5}, {16, 100}, {8, 100}});
}

TEST_F(HeapStages, generated_dispatches_count_with_push_data_of_their_own) {
  if (!has_heaps()) GTEST_SKIP() << "no descriptor heaps";
  if (!Context().has_extension(VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME)) {
    GTEST_SKIP() << "no generated commands";
  }
  VkPhysicalDeviceMaintenance5FeaturesKHR maintenance = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, nullptr, VK_TRUE};
  VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_FEATURES_EXT, &maintenance,
      VK_TRUE, VK_FALSE};
  start_heaps({}, {.device_extensions = {VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME},
                   .device_next = &feature});
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(rounds_comp);
  GeneratedCommands generated(context(),
                              {.words = {5, 2, 1, 1, 0, 1, 3, 1, 7, 1, 1, 4}, .sequences = 3});
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, pipeline);
    push(commands, uint64_t{values.address()}, 8);
    generated.execute(commands, &names);
    full_barrier(commands);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8 * (2 + 3 + 4))));
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(values.as<uint32_t>()[i], 2u * 5 + 3 * 0 + 4 * 7) << i;
  }
}

}  // namespace
}  // namespace tally::test
