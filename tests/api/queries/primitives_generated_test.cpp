// Primitives generated queries.
#include "amplify.geom.h"
#include "api/queries/scenes.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

class GeneratedPrimitives : public QueryTypes {
 protected:
  Context& start_with_feature(bool emulated) {
    ContextOptions options{.device_extensions = {VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME},
                           .device_next = &feature_};
    // The driver's own query needs transform feedback.
    if (transform_feedback_) {
      options.device_extensions.push_back(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
    }
    return start(emulated, options);
  }
  bool driver_has_it() {
    start(false);
    transform_feedback_ = context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
    return context().has_extension(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME);
  }
  uint64_t count(VkPipeline pipeline, uint32_t vertices, uint32_t instances = 1) {
    const RenderTarget target(context());
    const Queries queries(context(), VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      queries.begin(commands);
      draw(commands, pipeline, vertices, instances);
      queries.end(commands);
      target.end(commands);
    });
    return queries.read()[0];
  }

 private:
  bool transform_feedback_ = false;
  VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT feature_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT, nullptr, VK_TRUE};
};

TEST_F(GeneratedPrimitives, are_those_that_the_last_stage_puts_out) {
  const bool native = driver_has_it();
  const auto scene = [&] {
    const Pipeline triangles =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
    GraphicsPipelineInfo strip;
    strip.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    const Pipeline strips =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, strip);
    std::vector<uint64_t> counts = {count(triangles, 31), count(strips, 10, 3)};
    if (context().features().geometryShader) {
      const Pipeline amplified = make_graphics(
          {{kVertex, patch_vert}, {kGeometry, amplify_geom}, {kFragment, plain_frag}});
      counts.push_back(count(amplified, 9));
    }
    return counts;
  };
  start_with_feature(true);
  const auto ours = scene();
  EXPECT_EQ(ours[0], 10u);
  EXPECT_EQ(ours[1], 24u);
  if (ours.size() > 2) {
    EXPECT_EQ(ours[2], 3u * 2 * 4);
  }
  if (!native) return;
  start_with_feature(false);
  EXPECT_EQ(ours, scene());
}

}  // namespace
}  // namespace tally::test
