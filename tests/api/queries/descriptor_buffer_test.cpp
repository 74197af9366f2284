// VK_EXT_descriptor_buffer: a layout cannot mix its sets with one from a pool, so the address of
// the record is in push constants.
#include "api/queries/kit.h"
#include "support/environment.h"

namespace tally::test {
namespace {

class DescriptorBuffers : public QueriesTest {
 protected:
  bool start_source(bool emulated) {
    start(emulated);
    if (!context().has_extension(VK_EXT_DESCRIPTOR_BUFFER_EXTENSION_NAME)) return false;
    start(emulated, {.device_extensions = {VK_EXT_DESCRIPTOR_BUFFER_EXTENSION_NAME},
                     .device_next = &feature_});
    return true;
  }
  SetLayout make_set_layout() {
    const VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                               VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    return test::make_set_layout(context(), {&binding, 1},
                                 VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT);
  }
  // A buffer with one descriptor, of `values`.
  Buffer make_descriptor(const Buffer& values) {
    Buffer descriptors(context(), 4096,
                       VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT |
                           VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    VkPhysicalDeviceDescriptorBufferPropertiesEXT sizes{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &sizes};
    vkGetPhysicalDeviceProperties2(context().gpu(), &all);
    const VkDescriptorAddressInfoEXT range{VK_STRUCTURE_TYPE_DESCRIPTOR_ADDRESS_INFO_EXT, nullptr,
                                           values.address(), values.size(), VK_FORMAT_UNDEFINED};
    VkDescriptorGetInfoEXT info{VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT};
    info.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    info.data.pStorageBuffer = &range;
    context().function<PFN_vkGetDescriptorEXT>("vkGetDescriptorEXT")(
        context().device(), &info, sizes.storageBufferDescriptorSize,
        descriptors.as<std::byte>().data());
    return descriptors;
  }

 private:
  VkPhysicalDeviceDescriptorBufferFeaturesEXT feature_{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_FEATURES_EXT,
      .descriptorBuffer = VK_TRUE};
};

TEST_F(DescriptorBuffers, are_counted_and_read_as_without_the_layer) {
  for (const bool emulated : {true, false}) {
    if (!start_source(emulated)) GTEST_SKIP() << "the driver has no descriptor buffers";
    const Buffer values(
        context(), 64 * sizeof(uint32_t),
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    std::ranges::fill(values.as<uint32_t>(), 0u);
    const Buffer descriptors = make_descriptor(values);
    const SetLayout set = make_set_layout();
    const VkDescriptorSetLayout sets[] = {set};
    const PipelineLayout layout = make_pipeline_layout(context(), sets, 4);
    const Pipeline pipeline =
        make_compute_pipeline(context(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_shader()},
                                          layout,
                                          VK_NULL_HANDLE,
                                          VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT});
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                          VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      queries.begin(commands);
      vkCmdBindPipeline(commands, kCompute, pipeline);
      const VkDescriptorBufferBindingInfoEXT binding{
          VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_INFO_EXT, nullptr, descriptors.address(),
          VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT};
      context().function<PFN_vkCmdBindDescriptorBuffersEXT>("vkCmdBindDescriptorBuffersEXT")(
          commands, 1, &binding);
      const uint32_t index = 0;
      const VkDeviceSize offset = 0;
      context().function<PFN_vkCmdSetDescriptorBufferOffsetsEXT>(
          "vkCmdSetDescriptorBufferOffsetsEXT")(commands, kCompute, layout, 0, 1, &index, &offset);
      const uint32_t add = 5;
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof add, &add);
      vkCmdDispatch(commands, 3, 1, 1);
      queries.end(commands);
      full_barrier(commands);
    });
    // The layer's own pipelines use no descriptors. The validation layer objects to the descriptor
    // buffer that is still bound, although the rule is about the descriptors that a pipeline uses.
    if (emulated) {
      for (const Message& message : context().take_errors()) {
        EXPECT_EQ(message.id, "VUID-vkCmdDispatch-None-08115") << message.text;
      }
    }
    EXPECT_EQ(queries.read()[0], 24u) << (emulated ? "emulated" : "native");
    for (uint32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(values.as<uint32_t>()[i], i >= 24 ? 0u : i % 2 == 0 ? 5u : 15u) << i;
    }
  }
}

}  // namespace
}  // namespace tally::test
