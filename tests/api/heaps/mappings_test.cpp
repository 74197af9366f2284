// Bindings that are mapped to push data, to what a heap holds in place of descriptors, and to
// shader records. stand_in/newest/ does not stand for these.
#include <array>
#include <cstring>

#include "api/heaps/kit.h"
#include "bound.comp.h"
#include "bound.rcall.h"
#include "bound.rgen.h"
#include "support/ray_tracing.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

class HeapMappings : public NativeHeapsTest {
 protected:
  // A buffer of words that shaders find by its address.
  Buffer make_words(std::initializer_list<uint64_t> words) {
    Buffer buffer(context(), 256,
                  VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                      VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    buffer.clear();
    std::ranges::copy(words, buffer.as<uint64_t>().begin());
    return buffer;
  }
  // A binding table of bound.rgen, whose record begins with `record`, and two callable shaders
  // whose summands are 10 and 20.
  BindingTable make_table(VkPipeline pipeline, std::array<uint32_t, 4> record) {
    BindingTable::Parts parts;
    parts.callable = {1, 1};
    parts.record_words = record.size();
    parts.records.assign(record.begin(), record.end());
    for (const uint32_t summand : {10, 20}) {
      parts.records.insert(parts.records.end(), {summand, 0, 0, 0});
    }
    return {context(), pipeline, 2, parts};
  }
  Pipeline make_rays(const Mappings& generation) {
    const Mappings called(0, VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_DATA_EXT,
                          {.shaderRecordDataOffset = 0});
    return make_ray_pipeline(context(), {.stages = {{.stage = VK_SHADER_STAGE_RAYGEN_BIT_KHR,
                                                     .code = bound_rgen,
                                                     .next = generation.chain()},
                                                    {.stage = VK_SHADER_STAGE_CALLABLE_BIT_KHR,
                                                     .code = bound_rcall,
                                                     .next = called.chain()}},
                                         .groups = {{.general = 0}, {.general = 1}},
                                         .flags = kHeapBit});
  }
  // Traces 24 and 16 rays of the table; the second trace is not counted.
  void trace(const Instrumentation& instrumentation, VkPipeline pipeline,
             const BindingTable& table) {
    context().run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      bind_resource_heap(commands);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
      trace_rays(context(), commands, table, 24, 1);
      full_barrier(commands);
      instrumentation.end(commands);
      trace_rays(context(), commands, table, 16, 1);
      full_barrier(commands);
    });
  }
  void expect_traced(const Instrumentation& instrumentation, const Buffer& values, uint32_t add) {
    const auto executions = [&](VkShaderStageFlagBits stage, std::span<const uint32_t> code) {
      const Counts counts(instrumentation, stage, code);
      return std::vector<uint64_t>(counts.executions().begin(), counts.executions().end());
    };
    EXPECT_THAT(executions(VK_SHADER_STAGE_RAYGEN_BIT_KHR, bound_rgen), ElementsAre(24, 12, 24));
    EXPECT_THAT(executions(VK_SHADER_STAGE_CALLABLE_BIT_KHR, bound_rcall), ElementsAre(24));
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t times = (i < 24 ? 1 : 0) + (i < 16 ? 1 : 0);
      EXPECT_EQ(values.as<uint32_t>()[i], times * (added(i, add) + ((i & 1) != 0 ? 20 : 10))) << i;
    }
  }
};

// Push data: the values' address, the summand, the address of a table with the values' address and
// the index of their descriptor, and the address of the summand.
TEST_F(HeapMappings, to_push_data_and_through_them_are_read_and_counted) {
  if (!start_native()) GTEST_SKIP() << "no descriptor heaps";
  const Buffer values = make_values();
  const Buffer summand = make_words({5});
  write_descriptor(0, summand);
  const uint32_t size = write_descriptor(1, summand);
  write_descriptor(3, values);
  const Buffer table = make_words({0, values.address(), uint64_t{3} << 32});
  const uint32_t number = write_number(5);
  struct {
    uint64_t values;
    uint32_t summand, number = 0;
    uint64_t table, summand_at;
  } const pushed{values.address(), 5, 0, table.address(), summand.address()};
  using Data = VkDescriptorMappingSourceDataEXT;
  const std::pair<VkDescriptorMappingSourceEXT, Data> of_values[] = {
      {VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT, {.pushAddressOffset = 0}},
      {VK_DESCRIPTOR_MAPPING_SOURCE_INDIRECT_ADDRESS_EXT,
       {.indirectAddress = {.pushOffset = 16, .addressOffset = 8}}},
      {VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT,
       {.indirectIndex = {.pushOffset = 16, .addressOffset = 20, .heapIndexStride = size}}},
      {VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_ARRAY_EXT,
       {.indirectIndexArray = {.pushOffset = 16, .addressOffset = 20, .heapIndexStride = size}}}};
  const std::pair<VkDescriptorMappingSourceEXT, Data> of_summand[] = {
      {VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT, {.pushDataOffset = 8}},
      {VK_DESCRIPTOR_MAPPING_SOURCE_RESOURCE_HEAP_DATA_EXT,
       {.heapData = {.heapOffset = number, .pushOffset = 12}}},
      {VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT, {.pushAddressOffset = 24}},
      {VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT, {.pushDataOffset = 8}}};
  std::vector<Pipeline> pipelines;
  for (size_t i = 0; i < std::size(of_values); ++i) {
    Mappings mappings(0, of_values[i].first, of_values[i].second);
    mappings.add(1, of_summand[i].first, of_summand[i].second);
    pipelines.push_back(make_mapped(bound_comp, mappings));
  }
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    bind_resource_heap(commands);
    push(commands, pushed);
    uint32_t groups = 0;
    for (const Pipeline& pipeline : pipelines) {
      vkCmdBindPipeline(commands, kCompute, pipeline);
      dispatch_groups(commands, ++groups);
    }
  });
  EXPECT_THAT(results(instrumentation),
              ElementsAre(Pair(0, ElementsAre(8, 4, 8)), Pair(1, ElementsAre(16, 8, 16)),
                          Pair(2, ElementsAre(24, 12, 24)), Pair(3, ElementsAre(32, 16, 32))));
  expect_added(values, {{8, 5}, {16, 5}, {24, 5}, {32, 5}});
}

TEST_F(HeapMappings, to_shader_records_are_read_and_counted) {
  if (!RayTracingDevice::supported(Context())) GTEST_SKIP() << "no ray-tracing pipelines";
  RayTracingDevice rays;
  if (!start_native({}, rays.options())) GTEST_SKIP() << "no descriptor heaps";
  const Buffer values = make_values();
  Mappings mappings(0, VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_ADDRESS_EXT,
                    {.shaderRecordAddressOffset = 0});
  mappings.add(1, VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_DATA_EXT,
               {.shaderRecordDataOffset = 8});
  const Pipeline pipeline = make_rays(mappings);
  const VkDeviceAddress address = values.address();
  const BindingTable table = make_table(
      pipeline, {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32), 5, 0});
  const Instrumentation instrumentation(context());
  trace(instrumentation, pipeline, table);
  expect_traced(instrumentation, values, 5);
}

TEST_F(HeapMappings, to_a_heap_by_an_index_of_shader_records_are_read_and_counted) {
  if (!RayTracingDevice::supported(Context())) GTEST_SKIP() << "no ray-tracing pipelines";
  RayTracingDevice rays;
  if (!start_native({}, rays.options())) GTEST_SKIP() << "no descriptor heaps";
  const Buffer values = make_values();
  const uint32_t first = write_descriptor(4, make_values());
  const uint32_t size = write_descriptor(5, values) - first;
  Mappings mappings(0, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_SHADER_RECORD_INDEX_EXT,
                    {.shaderRecordIndex = {
                         .heapOffset = first, .shaderRecordOffset = 4, .heapIndexStride = size}});
  mappings.add(1, VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_DATA_EXT,
               {.shaderRecordDataOffset = 8});
  const Pipeline pipeline = make_rays(mappings);
  const BindingTable table = make_table(pipeline, {0, 1, 7, 0});
  const Instrumentation instrumentation(context());
  trace(instrumentation, pipeline, table);
  expect_traced(instrumentation, values, 7);
}

}  // namespace
}  // namespace tally::test
