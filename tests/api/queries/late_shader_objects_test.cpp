// Variants of shader objects are made when a recording first wants them. The test driver counts the
// shader objects that it creates, and refuses set layouts that do not exist.
#include "api/queries/late_variants.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "stand_in/performance/answers.h"
#include "support/counting_allocator.h"
#include "support/shader_objects.h"

namespace tally::test {
namespace {

class LateShaderObjects : public LateVariantsTest,
                          public testing::WithParamInterface<VkShaderCreateFlagsEXT> {
 protected:
  void SetUp() override {
    if (!Context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) {
      GTEST_SKIP() << "no shader objects";
    }
    static VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
    static VkPhysicalDeviceShaderObjectFeaturesEXT shaders{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, &instrumentation, VK_TRUE};
    start(true, {.driver_layers = {"VK_LAYER_TALLY_test_performance_driver"},
                 .device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME,
                                       VK_EXT_SHADER_OBJECT_EXTENSION_NAME},
                 .device_next = &shaders});
  }

  uint32_t created() {
    return context().function<performance::CreatedShaders>(performance::kCreatedShaders)(
        context().device());
  }
  uint32_t set_layouts() {
    return context().function<performance::SetLayouts>(performance::kSetLayouts)(
        context().device());
  }
  std::unique_ptr<ShaderObjects> make_orange(VkShaderCreateFlagsEXT flags = 0,
                                             std::vector<VkDescriptorSetLayout> sets = {}) {
    flags |= GetParam();
    return std::make_unique<ShaderObjects>(
        context(), std::vector<ShaderObjectInfo>{
                       {{kVertex, full_screen_vert}, VK_SHADER_STAGE_FRAGMENT_BIT, flags, sets},
                       {{kFragment, orange_frag}, 0, flags, sets}});
  }
  VkDescriptorSetLayout make_set_layout(const VkAllocationCallbacks* callbacks = nullptr) {
    constexpr VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                   VK_SHADER_STAGE_ALL, nullptr};
    const VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                               nullptr, 0, 1, &binding};
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    check(vkCreateDescriptorSetLayout(context().device(), &info, callbacks, &layout));
    return layout;
  }
  Draw draw_with(const ShaderObjects& shaders) {
    return [&](VkCommandBuffer commands) {
      set_draw_state(context(), commands);
      unbind_graphics_shaders(context(), commands);
      shaders.bind(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
    };
  }
};

TEST_P(LateShaderObjects, have_no_variants_until_a_query_wants_them) {
  const auto shaders = make_orange();
  EXPECT_EQ(created(), 2u);
  draw_uncounted(draw_with(*shaders));
  EXPECT_EQ(created(), 2u);
  EXPECT_EQ(fragments_of(draw_with(*shaders)), kPixels);
  EXPECT_EQ(fragments_of(draw_with(*shaders)), kPixels);
  EXPECT_EQ(created(), 4u);
}

TEST_P(LateShaderObjects, with_the_flag_have_no_variants_until_they_run_instrumented) {
  const auto shaders = make_orange(VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM);
  draw_uncounted(draw_with(*shaders));
  EXPECT_EQ(created(), 2u);
  EXPECT_EQ(instrumented_fragments(draw_with(*shaders)), kPixels);
  EXPECT_EQ(fragments_of(draw_with(*shaders)), kPixels);
  EXPECT_EQ(created(), 4u);
}

TEST_P(LateShaderObjects, keep_the_set_layouts_that_the_application_has_destroyed) {
  const uint32_t before = set_layouts();
  const VkDescriptorSetLayout layout = make_set_layout();
  auto first = make_orange(0, {layout});
  auto second = make_orange(0, {layout});
  const uint32_t alive = set_layouts();
  vkDestroyDescriptorSetLayout(context().device(), layout, nullptr);
  EXPECT_EQ(set_layouts(), alive);
  first.reset();
  EXPECT_EQ(fragments_of(draw_with(*second)), kPixels);
  EXPECT_EQ(created(), 6u);
  second.reset();
  EXPECT_EQ(set_layouts() - before, alive - before - 1);
}

TEST_P(LateShaderObjects, whose_set_layouts_have_allocation_callbacks_have_variants_at_once) {
  CountingAllocator allocator;
  const VkAllocationCallbacks callbacks = allocator.callbacks();
  const VkDescriptorSetLayout layout = make_set_layout(&callbacks);
  const auto shaders = make_orange(0, {layout});
  const uint32_t all = created();
  EXPECT_GE(all, 4u);
  vkDestroyDescriptorSetLayout(context().device(), layout, &callbacks);
  EXPECT_EQ(allocator.alive, 0);
  EXPECT_EQ(fragments_of(draw_with(*shaders)), kPixels);
  EXPECT_EQ(created(), all);
}

TEST_P(LateShaderObjects, that_threads_bind_at_once_share_their_variants) {
  const auto shaders = make_orange();
  EXPECT_THAT(fragments_in_threads(draw_with(*shaders)), testing::Each(kPixels));
  EXPECT_EQ(created(), 4u);
}

TEST_P(LateShaderObjects, that_the_driver_refuses_are_named_once_and_run_plain) {
  const auto shaders = make_orange();
  set_variable("TALLY_TEST_REFUSE_INSTRUMENTED", "1");
  EXPECT_EQ(fragments_of(draw_with(*shaders)), 0u);
  EXPECT_EQ(fragments_of(draw_with(*shaders)), 0u);
  EXPECT_EQ(notices("a fragment shader"), 1u);
  draw_uncounted(draw_with(*shaders));
  EXPECT_EQ(created(), 2u);
}

INSTANTIATE_TEST_SUITE_P(, LateShaderObjects,
                         testing::Values(VkShaderCreateFlagsEXT{0},
                                         VK_SHADER_CREATE_LINK_STAGE_BIT_EXT),
                         [](const auto& parameter) {
                           return parameter.param == 0 ? "separate" : "linked";
                         });

}  // namespace
}  // namespace tally::test
