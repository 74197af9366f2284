// Images and samplers in heaps, and embedded samplers. stand_in/newest/ does not stand for these.
#include <array>
#include <utility>

#include "api/heaps/kit.h"
#include "api/queries/kit.h"
#include "full_screen.vert.h"
#include "stripe.comp.h"
#include "stripes.frag.h"
#include "stripes_combined.frag.h"
#include "support/shader_objects.h"

namespace tally::test {
namespace {

using testing::ElementsAre;

constexpr uint32_t kHeapStripes[] = {
#include "api/heaps/shaders/heap_stripes.inc"
};

constexpr uint64_t kTargetPixels = 64 * 64;
constexpr VkSamplerCreateInfo sampler_with(VkSamplerAddressMode mode) {
  VkSamplerCreateInfo info{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  info.addressModeU = info.addressModeV = info.addressModeW = mode;
  info.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
  return info;
}
// How many pixels of stripes.frag are bright with it: of 4 columns of texels, each of 8 pixels in
// 32 rows, the first one is.
struct Mode {
  VkSamplerCreateInfo sampler;
  uint64_t bright;
};
constexpr std::array<Mode, 3> kModes = {
    {{sampler_with(VK_SAMPLER_ADDRESS_MODE_REPEAT), 2 * 8 * 64},
     {sampler_with(VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE), 8 * 64},
     {sampler_with(VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER), kTargetPixels - 32 * 32 + 8 * 32}}};

class HeapImages : public NativeHeapsTest {
 protected:
  bool start_images(const LayerSettings::Pairs& settings = {}, ContextOptions options = {}) {
    if (!start_native(settings, std::move(options))) return false;
    image_ = Image(context(), {.extent = {4, 4},
                               .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT});
    written_ = write_image(0, image_, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE);
    read_ = write_image(1, image_, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE);
    return true;
  }
  uint32_t read() const { return read_; }

  // stripe.comp writes the image.
  void write_stripe(const Instrumentation* instrumentation, uint64_t flags) {
    const Mappings mappings(0, written_);
    const Pipeline pipeline = make_mapped(stripe_comp, mappings, flags);
    context().run([&](VkCommandBuffer commands) {
      change_layout(commands, image_, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
      if (instrumentation) instrumentation->begin(commands);
      bind_resource_heap(commands);
      vkCmdBindPipeline(commands, kCompute, pipeline);
      vkCmdDispatch(commands, 1, 1, 1);
      if (instrumentation) instrumentation->end(commands);
      full_barrier(commands);
    });
  }
  // stripes.frag, or another fragment shader.
  Pipeline make_stripes(const void* stage_chain, uint64_t flags,
                        std::span<const uint32_t> fragment = stripes_frag) {
    const VkPipelineCreateFlags2CreateInfoKHR next{
        VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr, flags};
    return make_graphics_pipeline(
        context(),
        {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                    {.stage = VK_SHADER_STAGE_FRAGMENT_BIT, .code = fragment, .next = stage_chain}},
         .next = &next});
  }
  // Draws after what `prepare` records: without a pipeline, it binds shader objects.
  template <typename Prepare>
  std::vector<uint32_t> draw(VkPipeline pipeline, const Instrumentation* instrumentation,
                             const Prepare& prepare) {
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      if (instrumentation) instrumentation->begin(commands);
      bind_resource_heap(commands);
      bind_sampler_heap(commands);
      target.begin(commands);
      if (pipeline != VK_NULL_HANDLE) vkCmdBindPipeline(commands, kGraphics, pipeline);
      prepare(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
      target.end(commands);
      if (instrumentation) instrumentation->end(commands);
      full_barrier(commands);
    });
    return target.read();
  }
  static void expect_picture(const std::vector<uint32_t>& texels, VkSamplerAddressMode mode) {
    constexpr uint32_t kOrange = 0xff0080ff, kBlue = 0xffff0000;
    for (uint32_t i = 0; i < texels.size(); ++i) {
      const uint32_t x = i % 64, y = i / 64;
      const bool outside = x >= 32 || y >= 32;
      const bool bright = mode == VK_SAMPLER_ADDRESS_MODE_REPEAT          ? x % 32 < 8
                          : mode == VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE ? x < 8
                                                                          : outside || x < 8;
      ASSERT_EQ(texels[i], bright ? kOrange : kBlue) << x << ", " << y;
    }
  }
  // The value of the draw in its own result.
  static void expect_counts(const Instrumentation& instrumentation, uint64_t bright,
                            std::span<const uint32_t> fragment = stripes_frag) {
    const Counts counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, fragment, 0);
    EXPECT_THAT(counts.executions(),
                ElementsAre(kTargetPixels, bright, kTargetPixels - bright, kTargetPixels));
  }
  // Both pipelines draw as the mode says, and the second one counts.
  template <typename Prepare>
  void expect_mode(const Mode& mode, VkPipeline plain, VkPipeline counting, const Prepare& prepare,
                   std::span<const uint32_t> fragment = stripes_frag) {
    const Instrumentation instrumentation(context());
    const std::vector<uint32_t> bare = draw(plain, nullptr, prepare);
    expect_picture(bare, mode.sampler.addressModeU);
    EXPECT_EQ(draw(counting, &instrumentation, prepare), bare);
    expect_counts(instrumentation, mode.bright, fragment);
  }

 private:
  Image image_;
  uint32_t written_ = 0, read_ = 0;
};

TEST_F(HeapImages, are_written_and_each_texel_counts) {
  if (!start_images()) GTEST_SKIP() << "no descriptor heaps";
  const Instrumentation instrumentation(context());
  write_stripe(&instrumentation, kCountingHeapBits);
  EXPECT_THAT(results(instrumentation), ElementsAre(testing::Pair(0, ElementsAre(16, 4, 12, 16))));
  const uint32_t sampler = write_sampler(0, kModes[0].sampler);
  Mappings mappings(0, read());
  mappings.add_resource(1, sampler);
  const Pipeline pipeline = make_stripes(mappings.chain(), kHeapBit);
  expect_picture(draw(pipeline, nullptr, [](VkCommandBuffer) {}), VK_SAMPLER_ADDRESS_MODE_REPEAT);
}

// Push data choose the sampler.
TEST_F(HeapImages, are_sampled_with_samplers_of_a_heap_and_counted) {
  if (!start_images()) GTEST_SKIP() << "no descriptor heaps";
  write_stripe(nullptr, kHeapBit);
  for (uint32_t i = 0; i < kModes.size(); ++i) write_sampler(1 + i, kModes[i].sampler);
  Mappings mappings(0, read());
  mappings.add(
      1, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT,
      {.pushIndex = {
           .heapOffset = sampler_size(), .pushOffset = 4, .heapIndexStride = sampler_size()}});
  const Pipeline plain = make_stripes(mappings.chain(), kHeapBit);
  const Pipeline counting = make_stripes(mappings.chain(), kCountingHeapBits);
  for (uint32_t i = 0; i < kModes.size(); ++i) {
    SCOPED_TRACE(i);
    const auto prepare = [&](VkCommandBuffer commands) { push(commands, i, 4); };
    expect_mode(kModes[i], plain, counting, prepare);
  }
}

// One word of push data is the index of the image and, above it, of the sampler.
TEST_F(HeapImages, combined_with_samplers_by_one_index_are_sampled_and_counted) {
  if (!start_images()) GTEST_SKIP() << "no descriptor heaps";
  write_stripe(nullptr, kHeapBit);
  for (uint32_t i = 0; i < kModes.size(); ++i) write_sampler(i, kModes[i].sampler);
  const Mappings mappings(0, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT,
                          {.pushIndex = {.pushOffset = 12,
                                         .heapIndexStride = image_size(),
                                         .useCombinedImageSamplerIndex = VK_TRUE,
                                         .samplerHeapIndexStride = sampler_size()}});
  const Pipeline plain = make_stripes(mappings.chain(), kHeapBit, stripes_combined_frag);
  const Pipeline counting =
      make_stripes(mappings.chain(), kCountingHeapBits, stripes_combined_frag);
  for (uint32_t i = 0; i < kModes.size(); ++i) {
    SCOPED_TRACE(i);
    const auto prepare = [&](VkCommandBuffer commands) {
      push(commands, read() / image_size() | i << 20, 12);
    };
    expect_mode(kModes[i], plain, counting, prepare, stripes_combined_frag);
  }
}

TEST_F(HeapImages, are_sampled_with_embedded_samplers_and_counted) {
  if (!start_images()) GTEST_SKIP() << "no descriptor heaps";
  write_stripe(nullptr, kHeapBit);
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.bright);
    Mappings mappings(0, read());
    mappings.add_sampler(1, mode.sampler);
    const Pipeline plain = make_stripes(mappings.chain(), kHeapBit);
    const Pipeline counting = make_stripes(mappings.chain(), kCountingHeapBits);
    expect_mode(mode, plain, counting, [](VkCommandBuffer) {});
  }
}

class HeapImagesOfShaderObjects : public HeapImages {
 protected:
  void SetUp() override {
    if (!Context().has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME)) {
      GTEST_SKIP() << "no descriptor heaps";
    }
    if (!Context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) {
      GTEST_SKIP() << "no shader objects";
    }
    start_images(
        {}, {.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME}, .device_next = &feature_});
    write_stripe(nullptr, kHeapBit);
  }
  static std::vector<ShaderObjectInfo> infos(VkShaderCreateFlagsEXT flags, const void* chain) {
    return {{.shader = {VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
             .next_stage = VK_SHADER_STAGE_FRAGMENT_BIT,
             .flags = flags},
            {.shader = {.stage = VK_SHADER_STAGE_FRAGMENT_BIT, .code = stripes_frag, .next = chain},
             .flags = flags}};
  }
  std::vector<uint32_t> draw_with(const ShaderObjects& shaders,
                                  const Instrumentation* instrumentation) {
    return draw(VK_NULL_HANDLE, instrumentation, [&](VkCommandBuffer commands) {
      set_draw_state(context(), commands);
      unbind_graphics_shaders(context(), commands);
      shaders.bind(commands);
    });
  }
  static constexpr VkShaderCreateFlagsEXT kPlain = VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT;
  static constexpr VkShaderCreateFlagsEXT kCounting =
      kPlain | VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;

 private:
  VkPhysicalDeviceShaderObjectFeaturesEXT feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
};

TEST_F(HeapImagesOfShaderObjects, are_sampled_and_counted) {
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.bright);
    Mappings mappings(0, read());
    mappings.add_sampler(1, mode.sampler);
    const ShaderObjects plain(context(), infos(kPlain, mappings.chain()));
    const ShaderObjects counting(context(), infos(kCounting, mappings.chain()));
    const Instrumentation instrumentation(context());
    const std::vector<uint32_t> bare = draw_with(plain, nullptr);
    expect_picture(bare, mode.sampler.addressModeU);
    EXPECT_EQ(draw_with(counting, &instrumentation), bare);
    expect_counts(instrumentation, mode.bright);
  }
}

// The binaries are created without the mappings and the samplers of their SPIR-V.
TEST_F(HeapImagesOfShaderObjects, are_sampled_and_counted_after_they_are_restored) {
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.bright);
    std::vector<std::byte> binaries[2];
    {
      Mappings mappings(0, read());
      mappings.add_sampler(1, mode.sampler);
      const ShaderObjects source(context(), infos(kCounting, mappings.chain()));
      for (const size_t i : {0, 1}) binaries[i] = source.binary(i);
    }
    std::vector<ShaderObjectInfo> restored = infos(kCounting, nullptr);
    for (const size_t i : {0, 1}) restored[i].binary = binaries[i];
    const ShaderObjects shaders(context(), restored);
    const Instrumentation instrumentation(context());
    expect_picture(draw_with(shaders, &instrumentation), mode.sampler.addressModeU);
    expect_counts(instrumentation, mode.bright);
  }
}

// The variants are made later, of copies of the samplers.
TEST_F(HeapImages, with_embedded_samplers_are_sampled_in_emulated_queries) {
  if (!start_images({{"emulate_queries", "all"}})) GTEST_SKIP() << "no descriptor heaps";
  write_stripe(nullptr, kHeapBit);
  std::optional<VkSamplerCreateInfo> sampler = kModes[2].sampler;
  Mappings mappings(0, read());
  mappings.add_sampler(1, *sampler);
  const Pipeline pipeline = make_stripes(mappings.chain(), kHeapBit);
  sampler = kModes[0].sampler;  // what the pipeline was made of is no more
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                        VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  const RenderTarget target(context());
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    bind_resource_heap(commands);
    bind_sampler_heap(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    queries.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    queries.end(commands);
    target.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(queries.read()[0], kTargetPixels);
  expect_picture(target.read(), VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER);
}

// SPV_EXT_descriptor_heap, which SPIRV-Tools of Debian 12 cannot validate.
TEST_F(HeapImages, that_a_shader_finds_in_the_heap_itself_are_sampled_and_counted) {
  if (!start_images({{"validate_spirv", "false"}})) GTEST_SKIP() << "no descriptor heaps";
  write_stripe(nullptr, kHeapBit);
  for (uint32_t i = 0; i < kModes.size(); ++i) write_sampler(i, kModes[i].sampler);
  const Pipeline plain = make_stripes(nullptr, kHeapBit, kHeapStripes);
  const Pipeline counting = make_stripes(nullptr, kCountingHeapBits, kHeapStripes);
  for (uint32_t i = 0; i < kModes.size(); ++i) {
    SCOPED_TRACE(i);
    const auto prepare = [&](VkCommandBuffer commands) {
      const uint32_t words[] = {read() / image_size(), i};
      push_bytes(commands, 0, words, sizeof words);
    };
    expect_mode(kModes[i], plain, counting, prepare, kHeapStripes);
  }
}

}  // namespace
}  // namespace tally::test
