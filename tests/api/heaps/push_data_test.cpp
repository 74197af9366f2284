// All bytes of push data are the application's, also those of a program that takes 256 bytes for
// granted and never asks: shaders that read all of them count, and read what was pushed.
#include <array>
#include <numeric>

#include "add.comp.h"
#include "api/heaps/kit.h"
#include "api/queries/kit.h"
#include "bound.comp.h"
#include "crowded.comp.h"
#include "far.comp.h"
#include "full.comp.h"
#include "full.frag.h"
#include "full.rgen.h"
#include "full_rounds.comp.h"
#include "rectangle.vert.h"
#include "support/generated_commands.h"
#include "support/ray_tracing.h"
#include "support/shader_objects.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr VkExtent2D kExtent = {128, 96};
constexpr uint64_t kPixels = uint64_t{128} * 96;
constexpr uint32_t kGuaranteed = 256;

// All words of push data.
struct FullPush {
  VkDeviceAddress values;
  std::array<uint32_t, 62> words;

  uint32_t sum() const { return std::accumulate(words.begin(), words.end(), 0u); }
};
static_assert(sizeof(FullPush) == kGuaranteed);

FullPush make_push(VkDeviceAddress values) {
  FullPush push{values, {}};
  for (uint32_t i = 0; i < push.words.size(); ++i) push.words[i] = 1 + i * i;
  return push;
}

// For rectangle.vert, then the colours of full.frag.
struct FullRectangle {
  RectanglePush rectangle;
  uint32_t unused = 0;
  std::array<std::array<uint32_t, 4>, 14> words;
};
static_assert(sizeof(FullRectangle) == kGuaranteed);

FullRectangle make_rectangle(float x0, float y0, float x1, float y1) {
  FullRectangle push{{x0, y0, x1, y1, 128, 96}, 0, {}};
  for (uint32_t i = 0; i < push.words.size(); ++i) push.words[i] = {i, 1, 2 * i, 9};
  return push;
}

template <typename Base>
class FullPushData : public Base {
 protected:
  bool start_full(const LayerSettings::Pairs& settings = {}, ContextOptions options = {}) {
    if (!this->start_heaps(settings, std::move(options))) {
      reason_ = this->missing();
      return false;
    }
    reason_ = "the driver has fewer bytes of push data";
    return this->max_push_data(Context(this->without_counters())) >= kGuaranteed;
  }
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

class PushDataOfPrograms : public FullPushData<HeapsTest> {
 protected:
  void SetUp() override {
    if (!start_full()) GTEST_SKIP() << reason();
  }
};

TEST_F(PushDataOfPrograms, are_as_many_as_every_driver_has) {
  EXPECT_GE(max_push_data(), kGuaranteed);
}

TEST_F(PushDataOfPrograms, are_read_to_the_last_byte_and_counted) {
  const Buffer values = make_values();
  const Pipeline full = make_heap_compute(full_comp);
  const Pipeline plain = make_heap_compute(full_comp, kHeapBit);
  const Pipeline near = make_heap_compute(add_comp);
  FullPush pushed = make_push(values.address());
  const Instrumentation instrumentation(context());
  const uint32_t first = pushed.sum();
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    push(commands, pushed);
    vkCmdBindPipeline(commands, kCompute, full);
    dispatch_groups(commands, 2);
    dispatch_groups(commands, 1);
    pushed.words[61] = 1000;
    push(commands, pushed.words[61], kGuaranteed - 4);
    dispatch_groups(commands, 3);
    vkCmdBindPipeline(commands, kCompute, near);
    dispatch_groups(commands, 4);
    vkCmdBindPipeline(commands, kCompute, plain);
    dispatch_groups(commands, 5);
    vkCmdBindPipeline(commands, kCompute, full);
    dispatch_groups(commands, 6);
    instrumentation.end(commands);
    dispatch_groups(commands, 7);
  });
  const uint32_t second = pushed.sum();
  EXPECT_THAT(invocations(instrumentation),
              ElementsAre(Pair(0, 16), Pair(1, 8), Pair(2, 24), Pair(3, 32), Pair(5, 48)));
  expect_added(values, {{16, first},
                        {8, first},
                        {24, second},
                        {32, pushed.words[0]},
                        {40, second},
                        {48, second},
                        {56, second}});
  EXPECT_FALSE(has_message("TALLY-uninstrumented-shader"));
}

// A block of two members, the second one in the last bytes.
TEST_F(PushDataOfPrograms, that_are_read_at_the_end_alone_are_counted) {
  const uint32_t last = max_push_data(Context(without_counters())) - 4;
  std::vector<uint32_t> code(std::begin(far_comp), std::end(far_comp));
  constexpr uint32_t kOffset[] = {35, 124};  // the decoration
  const auto offset = std::search(code.begin(), code.end(), std::begin(kOffset), std::end(kOffset));
  ASSERT_NE(offset, code.end());
  *std::next(offset) = last;
  const Buffer values = make_values();
  const Pipeline far = make_heap_compute(code);
  const Pipeline near = make_heap_compute(add_comp);
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    push(commands, AddPush{values.address(), 3});
    push(commands, uint32_t{100}, last);
    for (const Pipeline* const pipeline : {&near, &far, &near}) {
      vkCmdBindPipeline(commands, kCompute, *pipeline);
      dispatch_groups(commands, 1);
    }
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(1, 8), Pair(2, 8)));
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(values.as<uint32_t>()[i], 100 + added(i, 6)) << i;
  EXPECT_FALSE(has_message("TALLY-uninstrumented-shader"));
}

// More copies than one piece of memory holds, and a command buffer that is recorded again.
TEST_F(PushDataOfPrograms, of_many_dispatches_are_those_of_each) {
  constexpr uint32_t kDispatches = 600;
  const Pipeline full = make_heap_compute(full_comp);
  for (const uint32_t round : {0, 1}) {
    const Buffer values = make_values();
    FullPush pushed = make_push(values.address());
    const Instrumentation instrumentation(context());
    uint32_t sum = 0;
    instrumentation.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kCompute, full);
      for (uint32_t i = 0; i < kDispatches; ++i) {
        pushed.words[i % 62] = round + i;
        push(commands, pushed);
        sum += pushed.sum();
        dispatch_groups(commands, 1);
      }
    });
    EXPECT_EQ(invocations(instrumentation).size(), kDispatches);
    expect_added(values, {{8, sum}});
  }
}

TEST_F(PushDataOfPrograms, are_read_by_draws_that_count) {
  const RenderTarget target(context(), {.extent = kExtent});
  const auto draw = [&](VkPipeline pipeline, const Instrumentation& instrumentation) {
    context().run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      push(commands, make_rectangle(0, 0, 128, 96));
      vkCmdDraw(commands, 4, 1, 0, 0);
      FullRectangle other = make_rectangle(50, 20, 71, 41);
      other.words[13][1] = 200;
      push(commands, other);
      vkCmdDraw(commands, 4, 1, 0, 0);
      push(commands, RectanglePush{0, 0, 10, 10, 128, 96});
      vkCmdDraw(commands, 4, 2, 0, 0);
      target.end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    return target.read();
  };
  const Instrumentation uncounted(context());
  const Instrumentation counted(context());
  const std::vector<uint32_t> bare = draw(make_heap_rectangles(full_frag, kHeapBit), uncounted);
  EXPECT_EQ(bare[60], 0x7eb60e5bu) << "14 times 9, twice 91, 14, 91";
  EXPECT_EQ(draw(make_heap_rectangles(full_frag), counted), bare);
  const uint64_t pixels[] = {kPixels, 441, 200};
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Counts(counted, VK_SHADER_STAGE_FRAGMENT_BIT, full_frag, i).invocations(), pixels[i]);
  }
}

class PushDataInQueries : public FullPushData<HeapsTest> {
 protected:
  void SetUp() override {
    if (!start_full({{"emulate_queries", "all"}})) GTEST_SKIP() << reason();
  }
};

// Each query changes the record that the pointer is for.
TEST_F(PushDataInQueries, are_read_to_the_last_byte_and_counted) {
  const Buffer values = make_values();
  const Pipeline full = make_heap_compute(full_comp, kHeapBit);
  const FullPush pushed = make_push(values.address());
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2,
                        VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    vkCmdBindPipeline(commands, kCompute, full);
    push(commands, pushed);
    for (const uint32_t query : {0, 1}) {
      queries.begin(commands, query);
      dispatch_groups(commands, 3 + query);
      queries.end(commands, query);
      dispatch_groups(commands, 1);
    }
  });
  EXPECT_EQ(queries.read(0)[0], 24u);
  EXPECT_EQ(queries.read(1)[0], 32u);
  const uint32_t sum = pushed.sum();
  expect_added(values, {{24, sum}, {8, sum}, {32, sum}, {8, sum}});
}

TEST_F(PushDataInQueries, of_draws_in_queries_of_their_own_are_read) {
  const Pipeline pipeline = make_heap_rectangles(full_frag, kHeapBit);
  const RenderTarget target(context(), {.extent = kExtent});
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2,
                        VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  const auto draw = [&](bool counts) {
    context().run([&](VkCommandBuffer commands) {
      if (counts) queries.reset(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      push(commands, make_rectangle(0, 0, 128, 96));
      for (const uint32_t query : {0, 1}) {
        if (counts) queries.begin(commands, query);
        for (uint32_t i = 0; i < 30; ++i) vkCmdDraw(commands, 4, 1, 0, 0);
        if (counts) queries.end(commands, query);
        push(commands, RectanglePush{50, 20, 71, 41, 128, 96});
      }
      target.end(commands);
      full_barrier(commands);
    });
    return target.read();
  };
  const std::vector<uint32_t> bare = draw(false);
  EXPECT_EQ(draw(true), bare);
  EXPECT_EQ(queries.read(0)[0], 30 * kPixels);
  EXPECT_EQ(queries.read(1)[0], 30u * 441);
}

class PushDataByRegion : public FullPushData<HeapsTest> {
 protected:
  void SetUp() override {
    if (!start_full({},
                    {.device_extensions = {VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME},
                     .device_next = &feature_})) {
      GTEST_SKIP() << reason();
    }
  }

 private:
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM feature_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, nullptr,
      VK_TRUE};
};

TEST_F(PushDataByRegion, are_read_to_the_last_byte_and_counted) {
  const Pipeline pipeline = make_heap_rectangles(full_frag, kHeapBit);
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent});
  const auto draw = [&](const void* next) {
    context().run([&](VkCommandBuffer commands) {
      push(commands, make_rectangle(0, 0, 128, 96));
      target.begin(commands, {0, 0, 0, 0}, 0, next);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      vkCmdDraw(commands, 4, 1, 0, 0);
      push(commands, RectanglePush{50, 20, 71, 41, 128, 96});
      vkCmdDraw(commands, 4, 1, 0, 0);
      target.end(commands);
      full_barrier(commands);
    });
    return target.read();
  };
  const std::vector<uint32_t> bare = draw(nullptr);
  EXPECT_EQ(draw(values.begin_info()), bare);
  expect_pixels(
      values, "fragment_invocations", context(), {{0, 0}, kExtent},
      [](uint32_t x, uint32_t y) { return 1 + (x >= 50 && x < 71 && y >= 20 && y < 41 ? 1 : 0); });
}

class PushDataOfShaderObjects : public FullPushData<HeapsTest> {
 protected:
  static constexpr VkShaderCreateFlagsEXT kFlags =
      VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM | VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT;
  void SetUp() override {
    if (!Context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) {
      GTEST_SKIP() << "no shader objects";
    }
    if (!start_full({}, {.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME},
                         .device_next = &feature_})) {
      GTEST_SKIP() << reason();
    }
  }

 private:
  VkPhysicalDeviceShaderObjectFeaturesEXT feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
};

// One flag for both, or for one alone: where shaders are linked, the other one must be changed too.
TEST_F(PushDataOfShaderObjects, are_read_to_the_last_byte_and_counted) {
  const RenderTarget target(context(), {.extent = kExtent});
  for (const VkShaderCreateFlagsEXT link : {0u, 1u}) {
    SCOPED_TRACE(link);
    const auto draw = [&](VkShaderCreateFlagsEXT vertex, VkShaderCreateFlagsEXT fragment,
                          const Instrumentation& instrumentation) {
      const ShaderObjects shaders(
          context(),
          {{.shader = {VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert},
            .next_stage = VK_SHADER_STAGE_FRAGMENT_BIT,
            .flags = vertex | link},
           {.shader = {VK_SHADER_STAGE_FRAGMENT_BIT, full_frag}, .flags = fragment | link}});
      context().run([&](VkCommandBuffer commands) {
        instrumentation.begin(commands);
        push(commands, make_rectangle(50, 20, 71, 41));
        target.begin(commands);
        set_draw_state(context(), commands,
                       {.extent = kExtent, .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP});
        unbind_graphics_shaders(context(), commands);
        shaders.bind(commands);
        vkCmdDraw(commands, 4, 1, 0, 0);
        target.end(commands);
        instrumentation.end(commands);
        full_barrier(commands);
      });
      return target.read();
    };
    constexpr VkShaderCreateFlagsEXT kPlain = VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT;
    const Instrumentation none(context());
    const Instrumentation both(context());
    const Instrumentation fragments(context());
    const Instrumentation vertices(context());
    const std::vector<uint32_t> bare = draw(kPlain, kPlain, none);
    EXPECT_EQ(draw(kFlags, kFlags, both), bare);
    EXPECT_EQ(draw(kPlain, kFlags, fragments), bare);
    EXPECT_EQ(draw(kFlags, kPlain, vertices), bare);
    for (const Instrumentation* counted : {&both, &fragments}) {
      EXPECT_EQ(Counts(*counted, VK_SHADER_STAGE_FRAGMENT_BIT, full_frag, 0).invocations(), 441u);
    }
    EXPECT_EQ(Counts(both, VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert, 0).invocations(), 4u);
  }
}

class PushDataOfStages : public FullPushData<HeapsTest> {
 protected:
  static bool has_heaps() { return Context().has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME); }
};

// The code of a trace that is not counted reads a copy too.
TEST_F(PushDataOfStages, of_rays_are_read_to_the_last_byte_and_counted) {
  if (!has_heaps()) GTEST_SKIP() << "no descriptor heaps";
  if (!RayTracingDevice::supported(Context())) GTEST_SKIP() << "no ray-tracing pipelines";
  RayTracingDevice rays;
  ASSERT_TRUE(start_full({}, rays.options()));
  const Buffer values = make_values();
  const Pipeline pipeline =
      make_ray_pipeline(context(), {.stages = {{VK_SHADER_STAGE_RAYGEN_BIT_KHR, full_rgen}},
                                    .groups = {{.general = 0}},
                                    .flags = kHeapBit});
  const BindingTable table(context(), pipeline, 1, {});
  FullPush pushed = make_push(values.address());
  const uint32_t first = pushed.sum();
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    const auto trace = [&](uint32_t width) {
      trace_rays(context(), commands, table, width, 1);
      full_barrier(commands);
    };
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
    push(commands, pushed);
    trace(8);
    instrumentation.begin(commands);
    trace(24);
    pushed.words[61] = 7;
    push(commands, pushed.words[61], kGuaranteed - 4);
    trace(16);
    instrumentation.end(commands);
    trace(8);
  });
  const uint32_t second = pushed.sum();
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 24), Pair(1, 16)));
  expect_added(values, {{8, first}, {24, first}, {16, second}, {8, second}});
}

// The device writes to a block that the layer would have to copy before: the commands run as they
// are, whether their pipeline is bound or comes from a set.
TEST_F(PushDataOfStages, that_the_device_writes_to_a_full_block_are_left_alone_and_named) {
  if (!has_heaps()) GTEST_SKIP() << "no descriptor heaps";
  if (!GeneratedDevice::supported()) GTEST_SKIP() << "no generated commands";
  GeneratedDevice device;
  ASSERT_TRUE(start_full({}, device.options()));
  const Buffer values = make_values();
  constexpr uint64_t kSetBits = kCountingHeapBits | kIndirectBindable;
  const Pipeline pipeline = make_heap_compute(full_rounds_comp, kSetBits);
  const ExecutionSet set(context(), pipeline, 1);
  GeneratedCommands bound(context(), {.words = {5, 2, 1, 1, 3, 1, 1, 1}, .sequences = 2});
  GeneratedCommands of_set(context(), {.from_set = true, .words = {0, 4, 3, 1, 1}, .sequences = 1});
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  std::array<uint32_t, 64> words{};
  const VkDeviceAddress at = values.address();
  std::memcpy(words.data() + 2, &at, sizeof at);
  words[63] = 10;
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    for (const bool from_set : {false, true}) {
      vkCmdBindPipeline(commands, kCompute, pipeline);
      words[0] = 2;
      push(commands, words);
      dispatch_groups(commands, 1);
      from_set ? of_set.execute(commands, nullptr, set) : bound.execute(commands, &names);
      full_barrier(commands);
    }
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(2, 8)));
  EXPECT_TRUE(has_message("TALLY-generated-commands"));
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(values.as<uint32_t>()[i], 10u * (2 + 2 * 5 + 3 + 2 + 3 * 4)) << i;
  }
}

class PushDataOfMappings : public FullPushData<NativeHeapsTest> {
 protected:
  using Data = VkDescriptorMappingSourceDataEXT;
  void SetUp() override {
    if (!Context().has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME)) {
      GTEST_SKIP() << "no descriptor heaps";
    }
    start_native();
  }
  static constexpr uint32_t kEnd = kGuaranteed;
};

// The sources take bytes from the end on, up to all of them.
TEST_F(PushDataOfMappings, at_the_end_are_read_and_counted) {
  const Buffer values = make_values();
  const auto make = [&](uint32_t address, uint32_t summand) {
    Mappings mappings(0, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT,
                      {.pushAddressOffset = address});
    mappings.add(1, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT, {.pushDataOffset = summand});
    return make_mapped(bound_comp, mappings);
  };
  const std::pair<uint32_t, uint32_t> places[] = {
      {0, kEnd - 4}, {kEnd - 8, 0}, {kEnd - 24, kEnd - 8}, {0, 8}, {112, 128}};
  std::vector<Pipeline> pipelines;
  for (const auto& [address, summand] : places) pipelines.push_back(make(address, summand));
  const Pipeline full = make_heap_compute(full_comp);
  const Instrumentation instrumentation(context());
  uint32_t sum = 0;
  instrumentation.run([&](VkCommandBuffer commands) {
    for (size_t i = 0; i < pipelines.size(); ++i) {
      FullPush pushed = make_push(values.address());
      std::array<uint32_t, 64> words{};
      std::memcpy(words.data(), &pushed, sizeof pushed);
      const auto& [address, summand] = places[i];
      const VkDeviceAddress at = values.address();
      std::memcpy(words.data() + address / 4, &at, sizeof at);
      words[summand / 4] = static_cast<uint32_t>(10 + i);
      push(commands, words);
      vkCmdBindPipeline(commands, kCompute, pipelines[i]);
      dispatch_groups(commands, 1);
      dispatch_groups(commands, 1);
      sum += 2 * static_cast<uint32_t>(10 + i);
      // A block that reads what both have pushed.
      std::memcpy(words.data(), &at, sizeof at);
      push(commands, at);
      sum += std::accumulate(words.begin() + 2, words.end(), 0u);
      vkCmdBindPipeline(commands, kCompute, full);
      dispatch_groups(commands, 1);
    }
  });
  EXPECT_EQ(invocations(instrumentation).size(), 3 * std::size(places));
  expect_added(values, {{8, sum}});
  EXPECT_FALSE(has_message("TALLY-uninstrumented-shader"));
}

// A mapping that fills all bytes: the pipeline runs as it is, and a message says so.
TEST_F(PushDataOfMappings, that_leave_no_room_are_left_alone_and_named) {
  const Buffer values = make_values();
  const Mappings mappings(0, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT, {.pushDataOffset = 0});
  const Pipeline crowded = make_mapped(crowded_comp, mappings);
  const Pipeline near = make_heap_compute(add_comp);
  const FullPush pushed = make_push(values.address());
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    push(commands, pushed);
    for (const Pipeline* const pipeline : {&near, &crowded, &near}) {
      vkCmdBindPipeline(commands, kCompute, *pipeline);
      dispatch_groups(commands, 1);
    }
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(2, 8)));
  expect_added(values, {{8, 2 * pushed.words[0] + pushed.words[61]}});
  EXPECT_TRUE(has_message("TALLY-uninstrumented-shader"));
}

// As applications do that give each shader the mappings of all.
TEST_F(PushDataOfMappings, of_bindings_that_a_shader_lacks_take_no_room) {
  const Buffer values = make_values();
  Mappings mappings(0, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT, {.pushAddressOffset = 0});
  mappings.add(1, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT, {.pushDataOffset = 8});
  for (uint32_t offset = 16; offset < kEnd; offset += 8) {
    mappings.add(offset, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT,
                 {.pushAddressOffset = offset});
  }
  const Pipeline pipeline = make_mapped(bound_comp, mappings);
  const FullPush pushed = make_push(values.address());
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    push(commands, pushed);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    dispatch_groups(commands, 1);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8)));
  expect_added(values, {{8, pushed.words[0]}});
}

}  // namespace
}  // namespace tally::test
