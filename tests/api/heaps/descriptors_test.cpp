// Descriptors in heaps, which only a driver with the extension has.
#include "api/heaps/kit.h"
#include "api/queries/kit.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr uint32_t kHeapAdd[] = {
#include "api/heaps/shaders/heap_add.inc"
};

class HeapDescriptors : public NativeHeapsTest {};

TEST_F(HeapDescriptors, of_mapped_bindings_are_read_and_counted) {
  if (!start_native()) GTEST_SKIP() << "no descriptor heaps";
  const Buffer values = make_values();
  const Buffer others = make_values();
  const uint32_t first = write_descriptor(0, values);
  const uint32_t second = write_descriptor(1, others);
  const Mappings constant(0, first);
  const Mappings indexed(
      0, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT,
      {.pushIndex = {.heapOffset = first, .pushOffset = 16, .heapIndexStride = second - first}});
  const Pipeline by_offset = make_mapped(work_shader(), constant);
  const Pipeline by_index = make_mapped(work_shader(), indexed);
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    bind_resource_heap(commands);
    push(commands, uint32_t{5});
    vkCmdBindPipeline(commands, kCompute, by_offset);
    dispatch_groups(commands, 2);
    push(commands, uint32_t{1}, 16);
    vkCmdBindPipeline(commands, kCompute, by_index);
    vkCmdDispatch(commands, 3, 1, 1);
    vkCmdBindPipeline(commands, kCompute, by_offset);
    vkCmdDispatch(commands, 1, 1, 1);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 16), Pair(1, 24), Pair(2, 8)));
  expect_added(values, {{16, 5}, {8, 5}});
  expect_added(others, {{24, 5}});
}

// Late variants are made of a copy of the mapping.
TEST_F(HeapDescriptors, stay_bound_when_queries_are_resolved) {
  if (!start_native({{"emulate_queries", "all"}})) GTEST_SKIP() << "no descriptor heaps";
  const Buffer values = make_values();
  const Mappings mappings(0, write_descriptor(3, values));
  const Pipeline pipeline = make_mapped(work_shader(), mappings, kHeapBit);
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                        VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    bind_resource_heap(commands);
    push(commands, uint32_t{5});
    vkCmdBindPipeline(commands, kCompute, pipeline);
    queries.begin(commands);
    dispatch_groups(commands, 2);
    queries.end(commands);
    dispatch_groups(commands, 3);
  });
  EXPECT_EQ(queries.read()[0], 16u);
  expect_added(values, {{16, 5}, {24, 5}});
}

TEST_F(HeapDescriptors, that_a_secondary_command_buffer_inherits_are_read) {
  if (!start_native()) GTEST_SKIP() << "no descriptor heaps";
  const Buffer values = make_values();
  const Mappings mappings(0, write_descriptor(0, values));
  const Pipeline pipeline = make_mapped(work_shader(), mappings);
  const VkCommandBuffer secondary = begin_secondary();
  const Instrumentation instrumentation(context());
  instrumentation.begin(secondary);
  vkCmdBindPipeline(secondary, kCompute, pipeline);
  push(secondary, uint32_t{5});
  dispatch_groups(secondary, 2);
  instrumentation.end(secondary);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    bind_resource_heap(commands);
    vkCmdExecuteCommands(commands, 1, &secondary);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 16)));
  expect_added(values, {{16, 5}});
}

// SPV_EXT_descriptor_heap, which SPIRV-Tools of Debian 12 cannot validate.
TEST_F(HeapDescriptors, that_a_shader_finds_in_the_heap_itself_are_read_and_counted) {
  if (!start_native({{"validate_spirv", "false"}})) GTEST_SKIP() << "no descriptor heaps";
  const Buffer values = make_values();
  write_descriptor(2, values);
  const Pipeline pipeline = make_heap_compute(kHeapAdd);
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    bind_resource_heap(commands);
    const uint32_t words[] = {2, 5};
    push_bytes(commands, 0, words, sizeof words);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    vkCmdDispatch(commands, 3, 1, 1);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_THAT(results(instrumentation), ElementsAre(Pair(0, ElementsAre(24, 12, 24))));
  expect_added(values, {{24, 5}});
}

}  // namespace
}  // namespace tally::test
