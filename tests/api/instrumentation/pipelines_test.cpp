// Creation of pipelines: all forms in which SPIR-V and flags are passed, and all failures.
#include "api/kit.h"
#include "support/counting_allocator.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Pair = std::pair<uint32_t, uint64_t>;

class Pipelines : public CountersTest {
 protected:
  // The create info of a pipeline of work.comp. The structs that it points to live as long as this
  // object.
  struct WorkInfo {
    WorkInfo(Context& context, VkPipelineLayout layout)
        : module(make_shader_module(context, work_shader())) {
      info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, &flags};
      info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
      info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
      info.stage.module = module;
      info.stage.pName = "main";
      info.layout = layout;
      info.basePipelineIndex = -1;
    }
    ShaderModule module;
    VkPipelineCreateFlags2CreateInfoKHR flags = kInstrument;
    VkComputePipelineCreateInfo info{};
  };
  VkResult create(const std::vector<VkComputePipelineCreateInfo>& infos,
                  std::vector<Pipeline>& pipelines, VkPipelineCache cache = VK_NULL_HANDLE) {
    std::vector<VkPipeline> handles(infos.size(), VK_NULL_HANDLE);
    const VkResult result =
        vkCreateComputePipelines(context().device(), cache, static_cast<uint32_t>(infos.size()),
                                 infos.data(), nullptr, handles.data());
    pipelines.clear();
    for (const VkPipeline handle : handles) pipelines.emplace_back(context().device(), handle);
    return result;
  }
};

TEST_F(Pipelines, one_call_makes_counting_and_plain_ones) {
  const WorkInfo counting(context(), work().layout);
  WorkInfo plain(context(), work().layout);
  plain.info.pNext = nullptr;
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({counting.info, plain.info, counting.info}, pipelines), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
  EXPECT_THAT(measure(pipelines[1]), IsEmpty());
  EXPECT_THAT(measure(pipelines[2]), ElementsAre(Pair(0, 16)));
}

// The struct replaces the flags of the create info. A driver without maintenance5 must not see it.
TEST_F(Pipelines, the_struct_of_flags_replaces_the_field) {
  WorkInfo info(context(), work().layout);
  info.info.flags = VK_PIPELINE_CREATE_DERIVATIVE_BIT;  // would be illegal without a base pipeline
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({info.info}, pipelines), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
}

TEST_F(Pipelines, flags_without_ours_in_the_struct_work_on_every_driver) {
  WorkInfo info(context(), work().layout);
  info.flags.flags = VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT;
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({info.info}, pipelines), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), IsEmpty());
}

TEST_F(Pipelines, flags_pass_through_maintenance5_where_the_driver_has_it) {
  if (!context().has_extension(VK_KHR_MAINTENANCE_5_EXTENSION_NAME))
    GTEST_SKIP() << "no maintenance5";
  VkPhysicalDeviceMaintenance5FeaturesKHR feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, nullptr, VK_TRUE};
  start({}, {.device_extensions = {VK_KHR_MAINTENANCE_5_EXTENSION_NAME}, .device_next = &feature});
  const WorkInfo info(context(), work().layout);
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({info.info}, pipelines), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
}

TEST_F(Pipelines, the_module_may_be_destroyed_and_its_words_overwritten) {
  std::vector<uint32_t> words(work_shader().begin(), work_shader().end());
  VkShaderModuleCreateInfo create_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  create_info.codeSize = words.size() * 4;
  create_info.pCode = words.data();
  VkShaderModule handle = VK_NULL_HANDLE;
  check(vkCreateShaderModule(context().device(), &create_info, nullptr, &handle));
  std::fill(words.begin(), words.end(), 0);
  WorkInfo info(context(), work().layout);
  info.info.stage.module = handle;
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({info.info}, pipelines), VK_SUCCESS);
  vkDestroyShaderModule(context().device(), handle, nullptr);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
}

// Legal with graphicsPipelineLibrary or maintenance5.
TEST_F(Pipelines, spirv_may_be_chained_into_the_stage) {
  if (!context().has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME))
    GTEST_SKIP() << "no pipeline libraries";
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
  start({}, {.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                   VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
             .device_next = &feature});
  WorkInfo info(context(), work().layout);
  VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  code.codeSize = work_shader().size_bytes();
  code.pCode = work_shader().data();
  info.info.stage.module = VK_NULL_HANDLE;
  info.info.stage.pNext = &code;
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({info.info}, pipelines), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
}

TEST_F(Pipelines, specialization_constants_keep_their_values) {
  WorkInfo info(context(), work().layout);
  const uint32_t value = 10;
  const VkSpecializationMapEntry entry{3, 0, 4};
  const VkSpecializationInfo specialization{1, &entry, 4, &value};
  info.info.stage.pSpecializationInfo = &specialization;
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({info.info}, pipelines), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
  EXPECT_EQ(work().values.as<uint32_t>()[1], 11u);
}

TEST_F(Pipelines, caches_are_used_and_can_be_read_back) {
  const PipelineCache cache = make_cache();
  const WorkInfo info(context(), work().layout);
  std::vector<Pipeline> pipelines;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(create({info.info}, pipelines, cache), VK_SUCCESS);
    EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
  }
  size_t size = 0;
  check(vkGetPipelineCacheData(context().device(), cache, &size, nullptr));
  EXPECT_GT(size, 0u);
}

TEST_F(Pipelines, derivatives_of_counting_pipelines_count) {
  WorkInfo base(context(), work().layout), by_index(context(), work().layout),
      by_handle(context(), work().layout);
  base.flags.flags |= VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT;
  by_index.flags.flags |= VK_PIPELINE_CREATE_DERIVATIVE_BIT;
  by_index.info.basePipelineIndex = 0;
  std::vector<Pipeline> pipelines, derived;
  ASSERT_EQ(create({base.info, by_index.info}, pipelines), VK_SUCCESS);
  by_handle.flags.flags |= VK_PIPELINE_CREATE_DERIVATIVE_BIT;
  by_handle.info.basePipelineHandle = pipelines[0];
  ASSERT_EQ(create({by_handle.info}, derived), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
  EXPECT_THAT(measure(pipelines[1]), ElementsAre(Pair(0, 16)));
  EXPECT_THAT(measure(derived[0]), ElementsAre(Pair(0, 16)));
}

// Compilation is forbidden: either the pipeline is created with its counts, or creation fails.
TEST_F(Pipelines, a_pipeline_that_may_not_be_compiled_counts_or_is_refused) {
  const PipelineCache cache = make_cache();
  WorkInfo info(context(), work().layout);
  info.flags.flags |= VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
  std::vector<Pipeline> pipelines;
  const VkResult result = create({info.info, info.info}, pipelines, cache);
  if (result == VK_PIPELINE_COMPILE_REQUIRED) {
    EXPECT_EQ(pipelines[0].get(), VkPipeline(VK_NULL_HANDLE));
    EXPECT_EQ(pipelines[1].get(), VkPipeline(VK_NULL_HANDLE));
  } else {
    ASSERT_EQ(result, VK_SUCCESS);
    EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
    EXPECT_THAT(measure(pipelines[1]), ElementsAre(Pair(0, 16)));
  }
}

TEST_F(Pipelines, creation_feedback_is_of_the_applications_pipeline) {
  WorkInfo info(context(), work().layout);
  VkPipelineCreationFeedback whole{}, stage{};
  const VkPipelineCreationFeedbackCreateInfo feedback{
      VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO, &info.flags, &whole, 1, &stage};
  info.info.pNext = &feedback;
  std::vector<Pipeline> pipelines;
  ASSERT_EQ(create({info.info}, pipelines), VK_SUCCESS);
  EXPECT_THAT(measure(pipelines[0]), ElementsAre(Pair(0, 16)));
}

// Covers the driver objects that the application creates. Objects of the layer itself are excluded.
TEST_F(Pipelines, allocation_callbacks_reach_the_driver_as_without_the_layer) {
  const auto allocate_and_free = [&](const Context& context, const void* next) {
    CountingAllocator counter;
    const VkAllocationCallbacks callbacks = counter.callbacks();
    const Buffer values(context, 4096);
    const StorageSet set(context, {values});
    const VkDescriptorSetLayout set_layout = set.layout();
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
    const VkPipelineLayoutCreateInfo layout_info{
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, &set_layout, 1, &range};
    VkPipelineLayout layout = VK_NULL_HANDLE;
    check(vkCreatePipelineLayout(context.device(), &layout_info, &callbacks, &layout));
    const ShaderModule module = make_shader_module(context, work_shader());
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, next};
    info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout;
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(vkCreateComputePipelines(context.device(), VK_NULL_HANDLE, 1, &info, &callbacks,
                                   &pipeline));
    vkDestroyPipeline(context.device(), pipeline, &callbacks);
    vkDestroyPipelineLayout(context.device(), layout, &callbacks);
    EXPECT_EQ(counter.alive, 0);
    return counter.calls;
  };
  const Context bare;
  EXPECT_EQ(allocate_and_free(context(), &kInstrument), allocate_and_free(bare, nullptr));
}

// Fails with out-of-memory after this many allocations.
struct ShortAllocator : CountingAllocator {
  static void* VKAPI_CALL allocate_few(void* self, size_t size, size_t alignment,
                                       VkSystemAllocationScope scope) {
    auto* counter = static_cast<ShortAllocator*>(self);
    return counter->calls < counter->capacity ? allocate(self, size, alignment, scope) : nullptr;
  }
  VkAllocationCallbacks callbacks() {
    return {
        static_cast<CountingAllocator*>(this), allocate_few, reallocate, release, nullptr, nullptr};
  }
  int capacity = 0;
};

TEST_F(Pipelines, a_creation_that_fails_gives_nothing_and_leaks_nothing) {
  const WorkInfo info(context(), work().layout);
  ShortAllocator allocator;
  const VkAllocationCallbacks callbacks = allocator.callbacks();
  const auto create_two = [&](VkPipeline* pipelines) {
    const VkComputePipelineCreateInfo infos[] = {info.info, info.info};
    return vkCreateComputePipelines(context().device(), VK_NULL_HANDLE, 2, infos, &callbacks,
                                    pipelines);
  };
  VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
  int failures = 0;
  for (; result != VK_SUCCESS && failures < 100; ++failures) {
    allocator.calls = 0;
    allocator.capacity = failures;
    VkPipeline pipelines[2] = {};
    result = create_two(pipelines);
    for (const VkPipeline pipeline : pipelines) {
      if (pipeline != VK_NULL_HANDLE) {
        EXPECT_THAT(measure(pipeline), ElementsAre(Pair(0, 16))) << failures;
      }
      vkDestroyPipeline(context().device(), pipeline, &callbacks);
    }
    EXPECT_EQ(allocator.alive, 0) << failures;
  }
  EXPECT_EQ(result, VK_SUCCESS);
  if (failures == 1) GTEST_SKIP() << "this driver's pipelines are not allocated through them";
}

TEST_F(Pipelines, an_object_may_be_made_with_allocation_callbacks) {
  CountingAllocator counter;
  const VkAllocationCallbacks callbacks = counter.callbacks();
  const VkShaderInstrumentationCreateInfoARM info{
      VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM};
  VkShaderInstrumentationARM object = VK_NULL_HANDLE;
  check(function<PFN_vkCreateShaderInstrumentationARM>("vkCreateShaderInstrumentationARM")(
      context().device(), &info, &callbacks, &object));
  function<PFN_vkDestroyShaderInstrumentationARM>("vkDestroyShaderInstrumentationARM")(
      context().device(), object, &callbacks);
  EXPECT_EQ(counter.alive, 0);
}

}  // namespace
}  // namespace tally::test
