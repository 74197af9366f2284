// Transform feedback queries: the primitives written to the buffers, and those that would have been
// written. Every scene runs with the layer's queries and with the driver's.
#include <functional>

#include "api/queries/kit.h"
#include "feedback.tese.h"
#include "feedback.vert.h"
#include "level.tesc.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "streams.geom.h"
#include "support/stages.h"

namespace tally::test {
namespace {

constexpr uint32_t kPlenty = 1 << 16;

using Sizes = std::vector<VkDeviceSize>;
// Primitives written and needed, query by query.
using Numbers = std::vector<uint64_t>;

// Queries with their index, and the buffers of one device.
struct Scene {
  Scene(Context& context, VkPipeline bound, uint32_t query_count)
      : pipeline(bound),
        target(context),
        queries(context, VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, query_count),
        captured(context, 3 * kPlenty, VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT),
        counters(context, 64,
                 VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT |
                     VK_BUFFER_USAGE_TRANSFER_DST_BIT),
        arguments(context, 64,
                  VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT) {
    const auto load = [&](auto& function, const char* name) {
      function = context.function<std::remove_reference_t<decltype(function)>>(name);
    };
    load(begin_indexed, "vkCmdBeginQueryIndexedEXT");
    load(end_indexed, "vkCmdEndQueryIndexedEXT");
    load(bind_buffers, "vkCmdBindTransformFeedbackBuffersEXT");
    load(begin_feedback, "vkCmdBeginTransformFeedbackEXT");
    load(end_feedback, "vkCmdEndTransformFeedbackEXT");
  }

  // A pass with the commands of `body`, with parts of the captured buffer bound.
  void pass(const Sizes& sizes, const std::function<void()>& body) const {
    target.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    const auto count = static_cast<uint32_t>(sizes.size());
    const std::vector<VkBuffer> buffers(count, captured);
    std::vector<VkDeviceSize> offsets;
    for (uint32_t i = 0; i < count; ++i) offsets.push_back(VkDeviceSize{i} * kPlenty);
    bind_buffers(commands, 0, count, buffers.data(), offsets.data(), sizes.data());
    body();
    target.end(commands);
    full_barrier(commands);
  }
  void start(uint32_t count = 0) const { change(begin_feedback, count); }
  void stop(uint32_t count = 0) const { change(end_feedback, count); }
  void draw(uint32_t vertices, uint32_t instances = 1) const {
    vkCmdDraw(commands, vertices, instances, 0, 0);
  }
  void begin(uint32_t query, uint32_t stream = 0) const {
    begin_indexed(commands, queries, query, 0, stream);
  }
  void end(uint32_t query, uint32_t stream = 0) const {
    end_indexed(commands, queries, query, stream);
  }

  VkPipeline pipeline;
  RenderTarget target;
  Queries queries;
  Buffer captured, counters, arguments;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  PFN_vkCmdBeginQueryIndexedEXT begin_indexed = nullptr;
  PFN_vkCmdEndQueryIndexedEXT end_indexed = nullptr;
  PFN_vkCmdBindTransformFeedbackBuffersEXT bind_buffers = nullptr;
  PFN_vkCmdBeginTransformFeedbackEXT begin_feedback = nullptr;
  PFN_vkCmdEndTransformFeedbackEXT end_feedback = nullptr;

 private:
  // Begins from or ends to the counters of the first `count` buffers.
  template <typename Command>
  void change(Command command, uint32_t count) const {
    const std::vector<VkBuffer> buffers(count, counters);
    std::vector<VkDeviceSize> offsets;
    for (uint32_t i = 0; i < count; ++i) offsets.push_back(VkDeviceSize{i} * 8);
    command(commands, 0, count, count != 0 ? buffers.data() : nullptr, offsets.data());
  }
};

class TransformFeedbackQueries : public QueriesTest {
 protected:
  using Body = std::function<void(Scene&)>;

  bool start_feedback(bool emulated, bool streams = false) {
    start(emulated);
    if (!context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)) return false;
    feedback_ = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &feedback_};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
    VkPhysicalDeviceTransformFeedbackPropertiesEXT properties{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &properties};
    vkGetPhysicalDeviceProperties2(context().gpu(), &all);
    if (!feedback_.transformFeedback || !properties.transformFeedbackQueries) return false;
    if (streams && !feedback_.geometryStreams) return false;
    start(emulated, {.device_extensions = {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME},
                     .device_next = &feedback_});
    return true;
  }

  Numbers run(const Pipeline& pipeline, uint32_t queries, const Body& body, int submissions) {
    Scene scene(context(), pipeline, queries);
    context().run([&](VkCommandBuffer commands) { scene.queries.reset(commands); });
    scene.commands = context().begin_commands(0);
    vkCmdFillBuffer(scene.commands, scene.counters, 0, VK_WHOLE_SIZE, 0);
    scene.queries.reset(scene.commands);
    full_barrier(scene.commands);
    body(scene);
    check(vkEndCommandBuffer(scene.commands));
    for (int i = 0; i < submissions; ++i) context().submit_and_wait(scene.commands);
    Numbers numbers;
    for (uint32_t query = 0; query < queries; ++query) {
      const std::vector<uint64_t> pair = scene.queries.read(query);
      numbers.insert(numbers.end(), pair.begin(), pair.end());
    }
    return numbers;
  }

  // Expects the same numbers, `expected`, from our queries and the driver's.
  void expect(const Numbers& expected, const Body& body,
              VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
              bool streams = false, int submissions = 1) {
    for (const bool emulated : {true, false}) {
      if (!start_feedback(emulated, streams)) {
        if (emulated) GTEST_SKIP() << "no transform feedback";
        return;
      }
      GraphicsPipelineInfo info;
      info.topology = topology;
      info.primitive_restart = topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
      const bool patches = topology == VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
      if (patches) info.patch_control_points = 3;
      std::vector<Stage> stages = {{kVertex, feedback_vert}, {kFragment, plain_frag}};
      if (streams) {
        stages = {{kVertex, patch_vert}, {kGeometry, streams_geom}, {kFragment, plain_frag}};
      } else if (patches) {
        stages = {{kVertex, patch_vert},
                  {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, level_tesc},
                  {VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, feedback_tese},
                  {kFragment, plain_frag}};
      }
      const Pipeline pipeline = make_graphics(stages, info);
      const auto queries = static_cast<uint32_t>(expected.size() / 2);
      EXPECT_EQ(run(pipeline, queries, body, submissions), expected)
          << (emulated ? "emulated" : "native");
    }
  }

  VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback_{};
};

Sizes capacity_for(uint32_t triangles) { return {triangles * 48, triangles * 96}; }

TEST_F(TransformFeedbackQueries, count_what_fits) {
  expect({10, 10}, [](Scene& scene) {
    scene.pass({kPlenty, kPlenty}, [&] {
      scene.begin(0);
      scene.start();
      scene.draw(31);
      scene.stop();
      scene.end(0);
    });
  });
}

TEST_F(TransformFeedbackQueries, count_what_overflows_as_needed_alone) {
  const auto body = [](const Sizes& sizes) {
    return [sizes](Scene& scene) {
      scene.pass(sizes, [&] {
        scene.begin(0);
        scene.start();
        scene.draw(9);
        scene.draw(21);
        scene.stop();
        scene.end(0);
      });
    };
  };
  expect({7, 10}, body(capacity_for(7)));
  expect({6, 10}, body({7 * 48 - 4, kPlenty}));
  expect({6, 10}, body({kPlenty, 7 * 96 - 32}));
  expect({0, 10}, body({44, kPlenty}));
}

TEST_F(TransformFeedbackQueries, count_primitives_of_every_topology) {
  const Body body = [](Scene& scene) {
    scene.pass({kPlenty, kPlenty}, [&] {
      scene.begin(0);
      scene.start();
      scene.draw(10, 3);
      scene.stop();
      scene.end(0);
    });
  };
  expect({30, 30}, body, VK_PRIMITIVE_TOPOLOGY_POINT_LIST);
  expect({15, 15}, body, VK_PRIMITIVE_TOPOLOGY_LINE_LIST);
  expect({27, 27}, body, VK_PRIMITIVE_TOPOLOGY_LINE_STRIP);
  expect({24, 24}, body, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP);
  expect({24, 24}, body, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN);
}

TEST_F(TransformFeedbackQueries, know_where_transform_feedback_is_resumed) {
  expect({4, 4, 1, 4, 0, 4}, [](Scene& scene) {
    for (uint32_t query = 0; query < 3; ++query) {
      scene.pass(capacity_for(5), [&] {
        scene.begin(query);
        if (query == 0) {
          scene.start();
        } else {
          scene.start(2);
        }
        scene.draw(12);
        scene.stop(2);
        scene.end(query);
      });
    }
  });
}

TEST_F(TransformFeedbackQueries, go_on_over_a_pause_and_do_not_count_in_it) {
  expect({5, 6}, [](Scene& scene) {
    scene.pass(capacity_for(5), [&] {
      scene.begin(0);
      scene.start();
      scene.draw(9);
      scene.stop(2);
      scene.draw(300);
      scene.end(0);
    });
    scene.queries.reset(scene.commands);
    scene.pass(capacity_for(5), [&] {
      scene.begin(0);
      scene.start();
      scene.draw(9);
      scene.stop();
      scene.start();
      scene.draw(9);
      scene.stop();
      scene.end(0);
    });
    // Two times three from the start; then one that continues.
    scene.queries.reset(scene.commands);
    full_barrier(scene.commands);
    scene.pass(capacity_for(8), [&] {
      scene.begin(0);
      scene.start(2);
      scene.draw(18);
      scene.stop();
      scene.end(0);
    });
  });
}

TEST_F(TransformFeedbackQueries, begin_and_end_while_it_is_active) {
  expect({2, 2, 3, 5}, [](Scene& scene) {
    scene.pass(capacity_for(6), [&] {
      scene.start();
      scene.draw(3);
      scene.begin(0);
      scene.draw(6);
      scene.end(0);
      scene.begin(1);
      scene.draw(6);
      scene.draw(9);
      scene.end(1);
      scene.stop();
    });
  });
}

TEST_F(TransformFeedbackQueries, count_every_stream) {
  expect(
      {21, 21, 20, 22, 5, 5},
      [](Scene& scene) {
        scene.pass({kPlenty, 20 * 8, kPlenty}, [&] {
          for (const uint32_t stream : {0u, 1u, 3u}) scene.begin(std::min(stream, 2u), stream);
          scene.start();
          scene.draw(11);
          scene.stop();
          for (const uint32_t stream : {0u, 1u, 3u}) scene.end(std::min(stream, 2u), stream);
        });
      },
      VK_PRIMITIVE_TOPOLOGY_POINT_LIST, true);
}

TEST_F(TransformFeedbackQueries, count_draws_whose_arguments_stand_in_a_buffer) {
  expect({15, 20}, [](Scene& scene) {
    const uint32_t words[] = {30, 2, 0, 0};
    std::ranges::copy(words, scene.arguments.as<uint32_t>().begin());
    scene.pass(capacity_for(15), [&] {
      scene.begin(0);
      scene.start();
      vkCmdDrawIndirect(scene.commands, scene.arguments, 0, 1, 16);
      scene.stop();
      scene.end(0);
    });
  });
}

TEST_F(TransformFeedbackQueries, count_no_primitive_over_an_index_that_restarts) {
  const Body body = [](Scene& scene) {
    constexpr uint32_t kRestart = ~0u;
    const uint32_t indices[] = {0, 1, 2, 3, kRestart, 4, 5, kRestart, kRestart, 6, 7, 8};
    std::ranges::copy(indices, scene.arguments.as<uint32_t>().begin());
    scene.pass(capacity_for(5), [&] {
      scene.begin(0);
      scene.start();
      vkCmdBindIndexBuffer(scene.commands, scene.arguments, 0, VK_INDEX_TYPE_UINT32);
      vkCmdDrawIndexed(scene.commands, 12, 2, 0, 0, 0);
      scene.stop();
      scene.end(0);
    });
  };
  expect({5, 6}, body, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP);
}

TEST_F(TransformFeedbackQueries, count_primitives_of_tessellated_patches) {
  expect(
      {70, 72},
      [&](Scene& scene) {
        scene.pass(capacity_for(70), [&] {
          const float level = 4;
          vkCmdPushConstants(scene.commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof level,
                             &level);
          scene.begin(0);
          scene.start();
          scene.draw(9);
          scene.stop();
          scene.end(0);
        });
      },
      VK_PRIMITIVE_TOPOLOGY_PATCH_LIST);
}

TEST_F(TransformFeedbackQueries, count_again_when_submitted_again) {
  expect(
      {3, 4},
      [](Scene& scene) {
        scene.pass(capacity_for(3), [&] {
          scene.begin(0);
          scene.start(2);
          scene.draw(12);
          scene.stop(2);
          scene.end(0);
        });
      },
      VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, false, 3);
}

}  // namespace
}  // namespace tally::test
