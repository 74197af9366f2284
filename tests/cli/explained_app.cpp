// An application for the tests of `tally explain`: draws a target of 64 x 64 pixels, or dispatches,
// as the case says. Usage: explained_app CASE. "ends-at-once" destroys nothing and exits with
// status 37. Cases whose names begin with "no-" do not have what
// a rule looks for.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "again.frag.h"
#include "branch.frag.h"
#include "brighter.frag.h"
#include "copy.frag.h"
#include "discard.frag.h"
#include "fetch.frag.h"
#include "full.vert.h"
#include "groups.comp.h"
#include "heavy.vert.h"
#include "loop.frag.h"
#include "plain.frag.h"
#include "support/context.h"
#include "support/pipeline.h"
#include "support/render_target.h"
#include "uniform.frag.h"
#include "varying.frag.h"

namespace {

using namespace tally::test;

constexpr uint32_t kSize = 64;

struct Draw {
  std::span<const uint32_t> fragment = plain_frag;
  std::span<const uint32_t> vertex = full_vert;
  uint32_t vertices = 3;
  float constant = 0;  // SpecId 0 of the fragment shader
  uint32_t times = 1;
};

class App {
 public:
  // `image` or a buffer is what the fragments read.
  void draw_reading(const Draw& draw, bool image) {
    const Image picture(context_, {.extent = {kSize, kSize},
                                   .format = VK_FORMAT_R8G8B8A8_UNORM,
                                   .usage = VK_IMAGE_USAGE_STORAGE_BIT});
    const Buffer values(context_, VkDeviceSize{16} * kSize);
    const VkImageView view = picture.view();
    const ImageSet images(context_, {&view, 1});
    const StorageSet buffers(context_, {values});
    context_.run([&](VkCommandBuffer commands) {
      change_layout(commands, picture, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    });
    const VkDescriptorSetLayout layout = image ? images.layout() : buffers.layout();
    const VkDescriptorSet set = image ? images.set() : buffers.set();
    draw_with({draw}, 0, {&layout, 1}, {&set, 1});
  }

  void draw(std::initializer_list<Draw> draws, uint32_t empty_passes = 0) {
    draw_with(draws, empty_passes, {}, {});
  }

  void draw_with(std::initializer_list<Draw> draws, uint32_t empty_passes,
                 std::span<const VkDescriptorSetLayout> set_layouts,
                 std::span<const VkDescriptorSet> sets) {
    const PipelineLayout layout = make_pipeline_layout(context_, set_layouts, 16);
    const RenderTarget target(context_, {.extent = {kSize, kSize}});
    std::vector<Pipeline> pipelines;
    for (const Draw& draw : draws) {
      const VkSpecializationMapEntry entry{0, 0, sizeof draw.constant};
      const VkSpecializationInfo constants{1, &entry, sizeof draw.constant, &draw.constant};
      pipelines.push_back(make_graphics_pipeline(
          context_, {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, draw.vertex},
                                {VK_SHADER_STAGE_FRAGMENT_BIT, draw.fragment, "main", &constants}},
                     .layout = layout}));
    }
    const std::array<float, 4> sun = {0.5f, 0.25f, 1, 2};
    context_.run([&](VkCommandBuffer commands) {
      for (uint32_t i = 0; i < empty_passes; ++i) {
        target.begin(commands);
        target.end(commands);
      }
      target.begin(commands);
      if (!sets.empty()) {
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1,
                                sets.data(), 0, nullptr);
      }
      size_t pipeline = 0;
      for (const Draw& draw : draws) {
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines[pipeline++]);
        vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof sun, sun.data());
        for (uint32_t i = 0; i < draw.times; ++i) vkCmdDraw(commands, draw.vertices, 1, 0, 0);
      }
      target.end(commands);
    });
  }

  enum class Between { Nothing, Dispatch, OtherTarget };

  // Two render passes that clear their target and draw, with a VkRenderPass each.
  void draw_twice(Between between) {
    const PipelineLayout layout = make_pipeline_layout(context_);
    const RenderTarget first(context_, {.extent = {kSize, kSize}});
    const RenderTarget other(context_, {.extent = {kSize, kSize}});
    const Pipeline pipeline =
        make_graphics_pipeline(context_, {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_vert},
                                                     {VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag}},
                                          .layout = layout,
                                          .render_pass = first.render_pass()});
    const Pipeline compute =
        make_compute_pipeline(context_, {.shader = {.code = groups_comp}, .layout = layout});
    context_.run([&](VkCommandBuffer commands) {
      for (const RenderTarget* target :
           {&first, between == Between::OtherTarget ? &other : &first}) {
        target->begin_render_pass(commands);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
        vkCmdDraw(commands, 3, 1, 0, 0);
        target->end_render_pass(commands);
        if (between != Between::Dispatch) continue;
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, compute);
        vkCmdDispatch(commands, 1, 1, 1);
      }
    });
  }

  void dispatch(uint32_t workgroup, uint32_t lanes, uint32_t groups, uint32_t times = 1) {
    const std::array<uint32_t, 2> values = {workgroup, lanes};
    const std::array<VkSpecializationMapEntry, 2> entries = {{{0, 0, 4}, {1, 4, 4}}};
    const VkSpecializationInfo constants{2, entries.data(), sizeof values, values.data()};
    const PipelineLayout layout = make_pipeline_layout(context_);
    const Pipeline pipeline = make_compute_pipeline(
        context_,
        {.shader = {.code = groups_comp, .specialization = &constants}, .layout = layout});
    context_.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      for (uint32_t i = 0; i < times; ++i) vkCmdDispatch(commands, groups, 1, 1);
    });
  }

 private:
  Context context_;
};

bool run(const std::string& name) {
  App app;
  if (name == "vertex-bound") return app.draw({{.vertex = heavy_vert, .vertices = 30000}}), true;
  if (name == "fragment-bound") return app.draw({{}}), true;
  if (name == "overdraw") return app.draw({{.times = 3}}), true;
  if (name == "no-overdraw") return app.draw({{.times = 1}}), true;
  if (name == "discard") return app.draw({{.fragment = discard_frag, .constant = 32}}), true;
  if (name == "no-discard") return app.draw({{.fragment = discard_frag, .constant = 4}}), true;
  if (name == "loop-limit") return app.draw({{.fragment = loop_frag, .constant = 1000}}), true;
  if (name == "no-loop-limit") return app.draw({{.fragment = loop_frag, .constant = 4}}), true;
  if (name == "one-way-branch") return app.draw({{.fragment = branch_frag, .constant = 0}}), true;
  if (name == "no-one-way-branch")
    return app.draw({{.fragment = branch_frag, .constant = 32}}), true;
  if (name == "uniform-work") return app.draw({{.fragment = uniform_frag}}), true;
  if (name == "no-uniform-work") return app.draw({{.fragment = varying_frag}}), true;
  if (name == "same-code") return app.draw({{}, {.fragment = again_frag}}), true;
  if (name == "no-same-code") return app.draw({{}, {.fragment = varying_frag}}), true;
  if (name == "empty-pass") return app.draw({{}}, 2), true;
  if (name == "bytes-requested")
    return app.draw_reading({.fragment = fetch_frag, .constant = 32}, false), true;
  if (name == "no-bytes-requested")
    return app.draw_reading({.fragment = fetch_frag, .constant = 2}, false), true;
  if (name == "copy-pass") return app.draw_reading({.fragment = copy_frag}, true), true;
  if (name == "no-copy-pass") return app.draw_reading({.fragment = brighter_frag}, true), true;
  if (name == "overwritten-pass") return app.draw_twice(App::Between::Nothing), true;
  if (name == "no-overwritten-pass") return app.draw_twice(App::Between::OtherTarget), true;
  if (name == "dispatch-between") return app.draw_twice(App::Between::Dispatch), true;
  if (name == "tiny-commands") return app.dispatch(64, 8, 1, 200), true;
  if (name == "no-tiny-commands") return app.dispatch(64, 8, 16, 200), true;
  if (name == "small-workgroup") return app.dispatch(8, 8, 8), true;
  if (name == "no-small-workgroup") return app.dispatch(64, 8, 8), true;
  if (name == "low-simd-efficiency") return app.dispatch(64, 1, 8), true;
  if (name == "ends-at-once") app.dispatch(64, 8, 16), std::_Exit(37);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && run(argv[1])) return 0;
    std::fputs("explained_app CASE\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "explained_app: %s\n", error.what());
  }
  return 2;
}
