// Ray-tracing pipelines with descriptor heaps that are linked from libraries: each reads up to all
// bytes of push data, whichever of the libraries count.
#include <array>
#include <numeric>

#include "api/heaps/kit.h"
#include "bytes.rcall.h"
#include "calls.rgen.h"
#include "full.rcall.h"
#include "near.rcall.h"
#include "support/ray_tracing.h"

namespace tally::test {
namespace {

constexpr uint32_t kInvocations = 24;

// All 256 bytes.
struct LinkedPush {
  VkDeviceAddress values;
  std::array<uint32_t, 62> words;
};

class HeapRayLibraries : public HeapsTest {
 protected:
  void SetUp() override {
    if (!RayTracingDevice::supported(Context())) GTEST_SKIP() << "no ray-tracing pipelines";
    if (!start_heaps({}, rays_.options())) GTEST_SKIP() << missing();
    if (max_push_data(Context(without_counters())) < sizeof(LinkedPush)) {
      GTEST_SKIP() << "the driver has fewer bytes of push data";
    }
    values_ = make_values();
    pushed_.values = values_.address();
    std::iota(pushed_.words.begin(), pushed_.words.end(), 1u);
  }

  Pipeline make_library(std::span<const uint32_t> code, bool instrumented) {
    return make_ray_pipeline(context(), {.stages = {{VK_SHADER_STAGE_CALLABLE_BIT_KHR, code}},
                                         .groups = {{.general = 0}},
                                         .flags = kHeapBit | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                                         .instrumented = instrumented,
                                         .interface = true});
  }
  // calls.rgen, with the callable shaders of the libraries for even and odd indices.
  Pipeline link(VkPipeline even, VkPipeline odd, bool instrumented) {
    return make_ray_pipeline(context(), {.stages = {{VK_SHADER_STAGE_RAYGEN_BIT_KHR, calls_rgen}},
                                         .groups = {{.general = 0}},
                                         .libraries = {even, odd},
                                         .flags = kHeapBit,
                                         .instrumented = instrumented,
                                         .interface = true});
  }

  // Traces before, within and after the range of the instrumentation, and looks at the values.
  void trace(const Instrumentation& instrumentation, VkPipeline pipeline,
             std::span<const uint32_t> more) {
    const BindingTable table(context(), pipeline, 3, {.callable = {1, 2}});
    std::ranges::fill(values_.as<uint32_t>(), 0);
    context().run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
      push(commands, pushed_);
      const auto trace_once = [&] {
        trace_rays(context(), commands, table, kInvocations, 1);
        full_barrier(commands);
      };
      trace_once();
      instrumentation.begin(commands);
      trace_once();
      instrumentation.end(commands);
      trace_once();
    });
    const uint32_t sum = std::accumulate(pushed_.words.begin(), pushed_.words.end(), 0u);
    for (uint32_t i = 0; i < kInvocations; ++i) {
      EXPECT_EQ(values_.as<uint32_t>()[i], 3 * (sum + more[i & 1])) << i;
    }
  }
  static uint64_t callables(const Instrumentation& instrumentation, std::span<const uint32_t> code,
                            uint32_t sub) {
    return Counts(instrumentation, VK_SHADER_STAGE_CALLABLE_BIT_KHR, code, 0, sub).invocations();
  }
  static uint64_t rays(const Instrumentation& instrumentation) {
    return Counts(instrumentation, VK_SHADER_STAGE_RAYGEN_BIT_KHR, calls_rgen, 0).invocations();
  }

  // What the callable shaders return. words[0] and words[1] of theirs are the address.
  uint32_t of_full() const { return 1000 * pushed_.words[61] + pushed_.words[57]; }
  uint32_t of_near() const { return 7 * pushed_.words[1]; }

  VkPhysicalDevice8BitStorageFeatures bytes_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, nullptr, VK_FALSE, VK_FALSE,
      VK_TRUE};
  RayTracingDevice rays_{&bytes_};
  Buffer values_;
  LinkedPush pushed_{};
};

TEST_F(HeapRayLibraries, whose_blocks_are_full_read_all_of_it_and_are_counted) {
  const Pipeline full = make_library(full_rcall, true);
  const Pipeline near = make_library(near_rcall, true);
  const Pipeline pipeline = link(full, near, true);
  const Instrumentation instrumentation(context());
  trace(instrumentation, pipeline, std::array{of_full(), of_near()});
  EXPECT_EQ(rays(instrumentation), kInvocations);
  EXPECT_EQ(callables(instrumentation, full_rcall, 1), kInvocations / 2);
  EXPECT_EQ(callables(instrumentation, near_rcall, 2), kInvocations / 2);
  EXPECT_FALSE(has_message("TALLY-uninstrumented-shader"));
}

// The pointers of those that count are where the others read.
TEST_F(HeapRayLibraries, that_do_not_count_read_all_of_it_among_others_that_do) {
  const Pipeline full = make_library(full_rcall, false);
  const Pipeline near = make_library(near_rcall, true);
  for (const bool instrumented : {true, false}) {
    const Pipeline pipeline = link(full, near, instrumented);
    const Instrumentation instrumentation(context());
    trace(instrumentation, pipeline, std::array{of_full(), of_near()});
    if (!instrumented) {
      EXPECT_TRUE(instrumentation.read().empty());
      continue;
    }
    EXPECT_EQ(rays(instrumentation), kInvocations);
    EXPECT_EQ(callables(instrumentation, near_rcall, 2), kInvocations / 2);
  }
}

TEST_F(HeapRayLibraries, that_count_may_be_parts_of_libraries) {
  const Pipeline full = make_library(full_rcall, true);
  const Pipeline near = make_library(near_rcall, false);
  const Pipeline both =
      make_ray_pipeline(context(), {.libraries = {full, near},
                                    .flags = kHeapBit | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                                    .interface = true});
  const Pipeline pipeline =
      make_ray_pipeline(context(), {.stages = {{VK_SHADER_STAGE_RAYGEN_BIT_KHR, calls_rgen}},
                                    .groups = {{.general = 0}},
                                    .libraries = {both},
                                    .flags = kHeapBit,
                                    .interface = true});
  const Instrumentation instrumentation(context());
  trace(instrumentation, pipeline, std::array{of_full(), of_near()});
  EXPECT_EQ(rays(instrumentation), kInvocations);
  EXPECT_EQ(callables(instrumentation, full_rcall, 1), kInvocations / 2);
}

// No library reads what it should where another one has its pointers: all run as they are.
TEST_F(HeapRayLibraries, with_one_whose_block_cannot_move_are_left_alone_and_named) {
  const Pipeline bytes = make_library(bytes_rcall, true);
  const Pipeline near = make_library(near_rcall, true);
  const Pipeline pipeline = link(bytes, near, true);
  const Instrumentation instrumentation(context());
  trace(instrumentation, pipeline, std::array{of_full(), of_near()});
  EXPECT_TRUE(instrumentation.read().empty());
  EXPECT_TRUE(has_message("TALLY-uninstrumented-shader"));
  // The library without such neighbours still counts.
  const Pipeline full = make_library(full_rcall, true);
  const Pipeline counted = link(full, near, true);
  const Instrumentation second(context());
  trace(second, counted, std::array{of_full(), of_near()});
  EXPECT_EQ(callables(second, near_rcall, 2), kInvocations / 2);
}

}  // namespace
}  // namespace tally::test
