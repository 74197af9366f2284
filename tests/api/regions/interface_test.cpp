// The interface: what is offered, what is checked, and that the application's state is not
// disturbed.
#include <algorithm>

#include "api/regions/kit.h"
#include "catalogue/catalogue.h"
#include "classes.frag.h"
#include "discard.frag.h"
#include "plain.frag.h"
#include "support/environment.h"

namespace tally::test {
namespace {

using testing::ElementsAre;

class RegionInterface : public RegionsTest {
 protected:
  auto enumerate() {
    return reinterpret_cast<PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM>(
        vkGetInstanceProcAddr(
            context().instance(),
            "vkEnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM"));
  }
  bool driver_has_the_clock() {
    if (!context().has_extension(VK_KHR_SHADER_CLOCK_EXTENSION_NAME)) return false;
    VkPhysicalDeviceShaderClockFeaturesKHR clock = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};
    VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &clock};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
    return clock.shaderSubgroupClock == VK_TRUE;
  }
  bool driver_has_primitive_ids() {
    VkPhysicalDeviceShaderAtomicInt64Features atomics = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES};
    VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &atomics};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
    return features.features.geometryShader && features.features.shaderInt64 &&
           atomics.shaderBufferInt64Atomics;
  }
  // Number and name of every region counter that the driver can support, in the catalogue's order.
  std::vector<std::pair<uint32_t, std::string_view>> catalogue_ids() {
    std::vector<std::pair<uint32_t, std::string_view>> all;
    for (const catalogue::Counter* one : catalogue::counters_of(catalogue::Scope::Region)) {
      if (one->id == "shader_clock" && !driver_has_the_clock()) continue;
      if (one->id == "fragment_primitives" && !driver_has_primitive_ids()) continue;
      all.emplace_back(static_cast<uint32_t>(one->number), one->name);
    }
    return all;
  }
  std::vector<std::string> error_ids() {
    std::vector<std::string> ids;
    for (const Message& message : context().take_errors()) ids.push_back(message.id);
    return ids;
  }
};

TEST_F(RegionInterface, counters_are_enumerated_with_either_array_or_both) {
  const auto wanted = catalogue_ids();
  uint32_t count = 0;
  ASSERT_EQ(enumerate()(context().gpu(), context().queue_family(), &count, nullptr, nullptr),
            VK_SUCCESS);
  ASSERT_EQ(count, wanted.size());
  EXPECT_EQ(region_properties(context()).maxPerRegionPerformanceCounters, count);
  // As some callers do: with the structure types of the KHR structs.
  std::vector<VkPerformanceCounterARM> counters(count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR});
  std::vector<VkPerformanceCounterDescriptionARM> descriptions(
      count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR});
  ASSERT_EQ(
      enumerate()(context().gpu(), context().queue_family(), &count, counters.data(), nullptr),
      VK_SUCCESS);
  ASSERT_EQ(
      enumerate()(context().gpu(), context().queue_family(), &count, nullptr, descriptions.data()),
      VK_SUCCESS);
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(counters[i].counterID, wanted[i].first);
    EXPECT_EQ(descriptions[i].name, wanted[i].second);
    EXPECT_EQ(counters[i].sType, VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR);
  }
  EXPECT_STREQ(descriptions[0].name, "Fragment warps");
}

TEST_F(RegionInterface, a_short_array_of_counters_gives_incomplete) {
  uint32_t count = 2;
  VkPerformanceCounterARM counters[3] = {};
  EXPECT_EQ(enumerate()(context().gpu(), context().queue_family(), &count, counters, nullptr),
            VK_INCOMPLETE);
  EXPECT_EQ(count, 2u);
  EXPECT_NE(counters[1].counterID, 0u);
  EXPECT_EQ(counters[2].counterID, 0u);
}

TEST_F(RegionInterface, a_queue_family_that_does_not_exist_has_no_counters) {
  uint32_t count = 77;
  EXPECT_EQ(enumerate()(context().gpu(), 1000, &count, nullptr, nullptr), VK_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(RegionInterface, queue_families_without_graphics_have_no_counters) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(context().gpu(), &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(context().gpu(), &count, families.data());
  for (uint32_t family = 0; family < families.size(); ++family) {
    const bool graphics = (families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
    uint32_t counters = 77;
    EXPECT_EQ(enumerate()(context().gpu(), family, &counters, nullptr, nullptr), VK_SUCCESS);
    EXPECT_EQ(counters, graphics ? catalogue_ids().size() : 0) << "family " << family;
  }
}

TEST_F(RegionInterface, the_bytes_of_a_region_do_not_depend_on_the_counters) {
  const auto properties = region_properties(context());
  EXPECT_GE(properties.regionAlignment, 4 * properties.maxPerRegionPerformanceCounters);
  EXPECT_TRUE(properties.identityTransformOrder);
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM ours = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &ours};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  EXPECT_TRUE(ours.performanceCountersByRegion);
}

TEST_F(RegionInterface, a_device_without_the_feature_calls_the_driver_directly) {
  const Context bare({.core_features = false});
  const Context layered({.layers = {"VK_LAYER_TALLY_counters"}, .core_features = false});
  for (const char* name : {"vkCmdBeginRendering", "vkCmdEndRenderPass", "vkCreateRenderPass",
                           "vkCreateBuffer", "vkGetBufferDeviceAddress", "vkQueueSubmit"}) {
    EXPECT_EQ(vkGetDeviceProcAddr(layered.device(), name), vkGetDeviceProcAddr(bare.device(), name))
        << name;
    EXPECT_NE(vkGetDeviceProcAddr(context().device(), name),
              vkGetDeviceProcAddr(bare.device(), name))
        << name;
  }
}

TEST_F(RegionInterface, counters_stand_in_the_order_of_the_application) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(discard_frag);
  const Capture one(context(),
                    {kExtent, {"discarded_invocations", kInvocations, "fragment_warps"}});
  const Capture other(context(), {kExtent, {"fragment_warps", "discarded_invocations"}});
  for (const Capture* values : {&one, &other}) {
    capture(target, *values,
            [&](VkCommandBuffer commands) { draw(commands, pipeline, whole(target)); });
    EXPECT_EQ(values->sum("discarded_invocations"), 128u * 64 / 2);
    EXPECT_EQ(values->sum("fragment_warps"), 128u * 64 / context().subgroup_size());
    values->expect_layout();
  }
  EXPECT_EQ(one.sum(kInvocations), 128u * 64);
}

// --- rules that no validation layer checks

constexpr const char* kRule = "VUID-VkRenderPassPerformanceCountersByRegionBeginInfoARM-";

class RegionRules : public RegionInterface {
 protected:
  // Captures with `change` applied to a valid begin struct.
  template <typename Change>
  std::unique_ptr<Capture> capture_with(Change&& change) {
    auto values = std::make_unique<Capture>(context(), Capture::Info{kExtent});
    change(*values->begin_info());
    const RenderTarget target(context(), {.extent = kExtent});
    const Pipeline pipeline = make_rectangles(plain_frag);
    capture(target, *values,
            [&](VkCommandBuffer commands) { draw(commands, pipeline, whole(target)); });
    return values;
  }
};

TEST_F(RegionRules, the_number_of_addresses_is_subpasses_times_layers) {
  const VkDeviceAddress two[2] = {};
  const auto values = capture_with([&](BeginInfo& info) {
    info.counterAddressCount = 2;
    info.pCounterAddresses = two;
  });
  EXPECT_THAT(error_ids(), ElementsAre(std::string(kRule) + "counterAddressCount-11815"));
  EXPECT_TRUE(values->untouched(0));
}

TEST_F(RegionRules, an_address_is_one_of_a_buffer) {
  const VkDeviceAddress nowhere = 0x10;
  const auto values = capture_with([&](BeginInfo& info) { info.pCounterAddresses = &nowhere; });
  EXPECT_THAT(error_ids(), ElementsAre(std::string(kRule) + "pCounterAddresses-11816"));
  EXPECT_TRUE(values->untouched(0));
}

TEST_F(RegionRules, the_values_fit_into_the_buffer) {
  VkDeviceAddress late = 0;
  const auto values = capture_with([&](BeginInfo& info) {
    late = info.pCounterAddresses[0] + 64;
    info.pCounterAddresses = &late;
  });
  EXPECT_THAT(error_ids(), ElementsAre(std::string(kRule) + "pCounterAddresses-11817"));
  EXPECT_TRUE(values->untouched(0));
}

TEST_F(RegionRules, no_more_counters_than_there_are) {
  std::vector<uint32_t> many(region_properties(context()).maxPerRegionPerformanceCounters + 1,
                             counter_id(kInvocations));
  const auto values = capture_with([&](BeginInfo& info) {
    info.counterIndexCount = static_cast<uint32_t>(many.size());
    info.pCounterIndices = many.data();
  });
  EXPECT_THAT(error_ids(), ElementsAre(std::string(kRule) + "counterIndexCount-11818"));
  EXPECT_TRUE(values->untouched(0));
}

TEST_F(RegionRules, an_unknown_counter_reads_zero) {
  uint32_t unknown = 12345;
  const auto values = capture_with([&](BeginInfo& info) { info.pCounterIndices = &unknown; });
  EXPECT_THAT(error_ids(), ElementsAre(std::string(kRule) + "pCounterIndices-parameter"));
  EXPECT_EQ(values->sum(kInvocations), 0u);
  values->expect_layout();
}

// A layer cannot order a driver's fragments, and reports that; the counts do not depend on it.
TEST_F(RegionRules, serialized_regions_have_the_same_counts_and_a_message) {
  std::unique_ptr<Capture> values;
  for (int i = 0; i < 2; ++i) {
    values = capture_with([](BeginInfo& info) { info.serializeRegions = VK_TRUE; });
  }
  EXPECT_EQ(values->sum(kInvocations), uint64_t{kExtent.width} * kExtent.height);
  EXPECT_EQ(std::ranges::count(context().messages(), "TALLY-serialize-regions", &Message::id), 1);
}

// --- state that must not be disturbed

// A dispatch after the pass sees the pipeline, constants and descriptors that were bound before it.
TEST_F(RegionInterface, compute_state_survives_the_pass) {
  const Buffer data(context(), 4096);
  const StorageSet set(context(), {data});
  std::ranges::fill(data.as<uint32_t>(), 0u);
  const PipelineLayout compute_layout = make_pipeline_layout(context(), {{set.layout()}}, 4);
  const Pipeline work = make_compute_pipeline(
      context(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_shader()}, compute_layout});
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent});
  const auto run = [&](const void* next) {
    std::ranges::fill(data.as<uint32_t>(), 0u);
    context().run([&](VkCommandBuffer commands) {
      const uint32_t add = 5;
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, work);
      set.bind(commands, compute_layout, VK_PIPELINE_BIND_POINT_COMPUTE);
      vkCmdPushConstants(commands, compute_layout, VK_SHADER_STAGE_ALL, 0, sizeof add, &add);
      target.begin(commands, {0, 0, 0, 0}, 0, next);
      target.end(commands);
      vkCmdDispatch(commands, 4, 1, 1);
      full_barrier(commands);
    });
    const auto words = data.as<uint32_t>();
    return std::vector<uint32_t>(words.begin(), words.end());
  };
  const std::vector<uint32_t> plain = run(nullptr);
  EXPECT_EQ(run(values.begin_info()), plain);
  EXPECT_TRUE(std::ranges::any_of(plain, [](uint32_t word) { return word != 0; }));
  values.expect_layout();
}

TEST_F(RegionInterface, a_compute_shader_object_survives_the_pass) {
  if (!context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME))
    GTEST_SKIP() << "no shader objects";
  VkPhysicalDeviceShaderObjectFeaturesEXT feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
  start({}, false,
        {.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME}, .device_next = &feature});
  const Buffer data(context(), 4096);
  const StorageSet set(context(), {data});
  std::ranges::fill(data.as<uint32_t>(), 0u);
  const PipelineLayout compute_layout = make_pipeline_layout(context(), {{set.layout()}}, 4);
  const VkDescriptorSetLayout set_layout = set.layout();
  const VkPushConstantRange range = {VK_SHADER_STAGE_ALL, 0, 4};
  VkShaderCreateInfoEXT info = {VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT};
  info.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
  info.codeSize = work_shader().size_bytes();
  info.pCode = work_shader().data();
  info.pName = "main";
  info.setLayoutCount = 1;
  info.pSetLayouts = &set_layout;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  VkShaderEXT shader = VK_NULL_HANDLE;
  check(context().function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(context().device(), 1,
                                                                         &info, nullptr, &shader));
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent});
  context().run([&](VkCommandBuffer commands) {
    const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
    const uint32_t add = 5;
    context().function<PFN_vkCmdBindShadersEXT>("vkCmdBindShadersEXT")(commands, 1, &stage,
                                                                       &shader);
    set.bind(commands, compute_layout, VK_PIPELINE_BIND_POINT_COMPUTE);
    vkCmdPushConstants(commands, compute_layout, VK_SHADER_STAGE_ALL, 0, sizeof add, &add);
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    target.end(commands);
    vkCmdDispatch(commands, 4, 1, 1);
    full_barrier(commands);
  });
  context().function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(context().device(), shader,
                                                                   nullptr);
  EXPECT_TRUE(std::ranges::any_of(data.as<uint32_t>(), [](uint32_t word) { return word != 0; }));
  values.expect_layout();
}

// The same if the application's constants extend into the bytes that the layer uses.
TEST_F(RegionInterface, constants_that_fill_the_device_survive_the_pass) {
  const Buffer data(context(), 4096);
  const StorageSet set(context(), {data});
  const uint32_t size = context().properties().limits.maxPushConstantsSize;
  const PipelineLayout compute_layout = make_pipeline_layout(context(), {{set.layout()}}, size);
  const Pipeline work = make_compute_pipeline(
      context(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_shader()}, compute_layout});
  std::vector<uint32_t> constants(size / 4, 7);
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent});
  std::ranges::fill(data.as<uint32_t>(), 0u);
  context().run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, work);
    set.bind(commands, compute_layout, VK_PIPELINE_BIND_POINT_COMPUTE);
    vkCmdPushConstants(commands, compute_layout, VK_SHADER_STAGE_ALL, 0, size, constants.data());
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    target.end(commands);
    vkCmdDispatch(commands, 1, 1, 1);
    full_barrier(commands);
  });
  EXPECT_TRUE(std::ranges::any_of(data.as<uint32_t>(), [](uint32_t word) { return word != 0; }));
  values.expect_layout();
}

TEST_F(RegionInterface, the_picture_is_the_same) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(discard_frag);
  const auto picture = [&](const void* next) {
    context().run([&](VkCommandBuffer commands) {
      target.begin(commands, {0.5f, 0, 0, 0}, 0, next);
      draw(commands, pipeline, {5, 7, 101, 50, 128, 64});
      target.end(commands);
    });
    return target.read();
  };
  const Capture values(context(), {kExtent});
  EXPECT_EQ(picture(values.begin_info()), picture(nullptr));
}

// --- together with shader instrumentation

class RegionsAndBlocks : public RegionInterface {
 protected:
  void SetUp() override {
    start({}, true);
    set_.emplace(context(), std::vector<VkBuffer>{data_.emplace(context(), 256)});
    layout_.emplace(make_pipeline_layout(context(), {{set_->layout()}}, sizeof(RectanglePush)));
    target_.emplace(context(), RenderTargetInfo{.extent = kExtent});
    pipeline_.emplace(make_rectangles(classes_frag, {.layout = *layout_, .next = &kInstrument}));
  }
  void draw_all(VkCommandBuffer commands) {
    set_->bind(commands, *layout_, VK_PIPELINE_BIND_POINT_GRAPHICS);
    const RectanglePush push = {3, 5, 99, 60, 128, 64};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, *pipeline_);
    vkCmdPushConstants(commands, *layout_, VK_SHADER_STAGE_ALL, 0, sizeof(push), &push);
    vkCmdDraw(commands, 4, 2, 0, 0);
  }
  // The driver chooses the number of subgroups for the same fragments: new lavapipe chooses
  // differently for different code.
  static bool subgroups_are_stable() { return driver_name() != "lavapipe-new"; }
  std::vector<std::vector<uint64_t>> metrics(const Instrumentation& instrumentation) {
    std::vector<std::vector<uint64_t>> all;
    for (const BlockValues& block : instrumentation.read()) {
      all.push_back(block.metrics);
      if (!subgroups_are_stable()) all.back()[instrumentation.metric("subgroups")] = 0;
    }
    return all;
  }
  // All but the clock, whose values differ each time.
  std::vector<std::string_view> counters() {
    std::vector<std::string_view> ids;
    for (const catalogue::Counter* one : catalogue::counters_of(catalogue::Scope::Region)) {
      if (one->id != "shader_clock" && offers_counter(context(), one->id)) ids.push_back(one->id);
    }
    return ids;
  }

  std::optional<Buffer> data_;
  std::optional<StorageSet> set_;
  std::optional<PipelineLayout> layout_;
  std::optional<RenderTarget> target_;
  std::optional<Pipeline> pipeline_;
};

TEST_F(RegionsAndBlocks, together_give_the_numbers_of_each_alone) {
  const Instrumentation alone(context());
  const Instrumentation together(context());
  const Capture regions_alone(context(), {kExtent, counters()});
  const Capture regions_together(context(), {kExtent, counters()});
  context().run([&](VkCommandBuffer commands) {
    alone.begin(commands);
    target_->begin(commands);
    draw_all(commands);
    target_->end(commands);
    alone.end(commands);

    target_->begin(commands, {0, 0, 0, 0}, 0, regions_alone.begin_info());
    draw_all(commands);
    target_->end(commands);

    target_->begin(commands, {0, 0, 0, 0}, 0, regions_together.begin_info());
    together.begin(commands);
    draw_all(commands);
    together.end(commands);
    target_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(metrics(alone), metrics(together));
  for (const std::string_view id : counters()) {
    if (!subgroups_are_stable() && (id == "fragment_subgroups" || id == "helper_invocations"))
      continue;
    for (uint32_t row = 0; row < regions_alone.rows(); ++row) {
      for (uint32_t column = 0; column < regions_alone.columns(); ++column) {
        EXPECT_EQ(regions_alone.value(id, column, row), regions_together.value(id, column, row))
            << id;
      }
    }
  }
  EXPECT_EQ(regions_together.sum(kInvocations), 96u * 55 * 2);
}

// Each class is the sum of the metrics named in its description.
TEST_F(RegionsAndBlocks, agree_about_instructions) {
  const Instrumentation blocks(context());
  const Capture regions(context(), {kExtent, counters()});
  context().run([&](VkCommandBuffer commands) {
    target_->begin(commands, {0, 0, 0, 0}, 0, regions.begin_info());
    blocks.begin(commands);
    draw_all(commands);
    blocks.end(commands);
    target_->end(commands);
    full_barrier(commands);
  });
  const Counts counts(blocks, VK_SHADER_STAGE_FRAGMENT_BIT, classes_frag);
  const auto total = [&](std::initializer_list<const char*> ids) {
    uint64_t sum = 0;
    for (const char* id : ids) sum += counts.total(id);
    return sum;
  };
  EXPECT_EQ(regions.sum("fragment_instructions"), total({"instructions"}));
  EXPECT_EQ(regions.sum("fragment_fma"), total({"fma"}));
  EXPECT_EQ(regions.sum("fragment_arithmetic"),
            total({"float16", "float32", "float64", "int8", "int16", "int32", "int64", "division",
                   "logic", "derivative"}));
  EXPECT_EQ(regions.sum("fragment_conversions"), total({"conversion"}));
  EXPECT_EQ(regions.sum("fragment_special_functions"), total({"special_function"}));
  EXPECT_EQ(regions.sum("fragment_loads"), total({"buffer_loads", "uniform_loads"}));
  EXPECT_EQ(regions.sum("fragment_stores"), total({"buffer_stores"}));
  EXPECT_EQ(regions.sum("fragment_bytes_loaded"),
            total({"buffer_bytes_loaded", "uniform_bytes_loaded"}));
  EXPECT_EQ(regions.sum("fragment_bytes_stored"), total({"buffer_bytes_stored"}));
  EXPECT_EQ(regions.sum("fragment_atomics"), total({"atomics"}));
  EXPECT_EQ(regions.sum("fragment_varyings"), total({"varying_loads", "varying_stores"}));
  EXPECT_EQ(regions.sum("fragment_control_flow"), total({"control_flow"}));
  // Worked out by hand: one atomic each; one 16-byte store per loop, one to the left of x = 32 and
  // three to the right.
  EXPECT_EQ(regions.sum("fragment_atomics"), 96u * 55 * 2);
  EXPECT_EQ(regions.sum("fragment_bytes_stored"), 16u * 55 * 2 * (29 * 1 + 67 * 3));
  EXPECT_EQ(regions.sum("fragment_special_functions"), 2u * 55 * 2 * (29 * 1 + 67 * 3));
}

// A pipeline without the shader-instrumentation flag is still counted by region.
TEST_F(RegionsAndBlocks, do_not_need_each_other) {
  const Pipeline plain = make_rectangles(plain_frag);
  const Instrumentation blocks(context());
  const Capture values(context(), {kExtent});
  context().run([&](VkCommandBuffer commands) {
    target_->begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    blocks.begin(commands);
    draw(commands, plain, whole(*target_));
    blocks.end(commands);
    target_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(values.sum(kInvocations), 128u * 64);
  EXPECT_TRUE(blocks.read().empty());
}

}  // namespace
}  // namespace tally::test
