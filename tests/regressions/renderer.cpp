// A small renderer for the tests of `tally diff` and `tally check`: one frame of four passes.
//   regression_renderer SHADERS [twice] [far-first] [small-lamps]
// SHADERS is a folder of .spv files. "twice" draws the lamps a second time; "far-first" draws the
// crates in the order in which each hides the one before; "small-lamps" draws the left half of the
// lamps.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>

#include "lanterns/labels.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"
#include "support/render_target.h"

namespace {

using lanterns::Label;
using namespace tally::test;

constexpr VkExtent2D kSize = {32, 32};

std::vector<uint32_t> read_words(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw std::runtime_error(path + ": cannot be read");
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

class Renderer {
 public:
  Renderer(Context& context, std::string shaders, const std::set<std::string>& options)
      : context_(context),
        folder_(std::move(shaders)),
        options_(options),
        target_(context, {.extent = kSize, .depth_format = VK_FORMAT_D32_SFLOAT}),
        grass_(context, {{4, 4},
                         VK_FORMAT_R8G8B8A8_UNORM,
                         VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT}) {
    create_texture();
    const VkDescriptorSetLayout set_layout = set_.layout();
    layout_ = make_pipeline_layout(context, {&set_layout, 1}, 4);
    vertex_ = read_words(folder_ + "/quad.vert.spv");
  }

  void draw_frame() {
    const Pipeline sky = make("sky"), ground = make("ground"), lamps = make("lamps"),
                   crates = make("crates");
    context_.run([&](VkCommandBuffer commands) {
      clear_texture(commands);
      draw(commands, "sky", sky, {0.5f});
      draw(commands, "ground", ground, {0.5f});
      if (options_.contains("twice")) {
        draw(commands, "lamps", lamps, {0.5f, 0.4f});
      } else {
        draw(commands, "lamps", lamps, {0.5f});
      }
      if (options_.contains("far-first")) {
        draw(commands, "crates", crates, {0.6f, 0.4f, 0.2f});
      } else {
        draw(commands, "crates", crates, {0.2f, 0.4f, 0.6f});
      }
    });
  }

 private:
  void create_texture() {
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                                                  VK_SHADER_STAGE_FRAGMENT_BIT, nullptr};
    set_ = DescriptorSet(context_, {&binding, 1});
    VkSamplerCreateInfo sampler = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkSampler sampler_handle = VK_NULL_HANDLE;
    check(vkCreateSampler(context_.device(), &sampler, nullptr, &sampler_handle));
    sampler_ = {context_.device(), sampler_handle};
    const VkDescriptorImageInfo image = {sampler_, grass_.view(), VK_IMAGE_LAYOUT_GENERAL};
    set_.write(0, &image);
  }

  void clear_texture(VkCommandBuffer commands) const {
    change_layout(commands, grass_, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    const VkClearColorValue green = {{0.2f, 0.7f, 0.1f, 1.0f}};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    vkCmdClearColorImage(commands, grass_, VK_IMAGE_LAYOUT_GENERAL, &green, 1, &all);
    full_barrier(commands);
  }

  Pipeline make(const std::string& name) const {
    const std::vector<uint32_t> fragment = read_words(folder_ + "/" + name + ".frag.spv");
    return make_graphics_pipeline(context_, {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, vertex_},
                                                        {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}},
                                             .layout = layout_,
                                             .depth_format = VK_FORMAT_D32_SFLOAT,
                                             .depth_test = true,
                                             .depth_write = true});
  }

  void draw(VkCommandBuffer commands, const char* name, VkPipeline pipeline,
            const std::vector<float>& depths) const {
    const Label label(context_, commands, name);
    target_.begin(commands);
    target_.set_viewport(commands);
    if (name == std::string("lamps") && options_.contains("small-lamps")) {
      const VkRect2D half = {{0, 0}, {kSize.width / 2, kSize.height}};
      vkCmdSetScissor(commands, 0, 1, &half);
    }
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    set_.bind(commands, layout_, VK_PIPELINE_BIND_POINT_GRAPHICS);
    for (const float depth : depths) {
      vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof(depth), &depth);
      vkCmdDraw(commands, 3, 1, 0, 0);
    }
    target_.end(commands);
  }

  Context& context_;
  const std::string folder_;
  const std::set<std::string> options_;
  RenderTarget target_;
  Image grass_;
  DescriptorSet set_;
  Sampler sampler_;
  PipelineLayout layout_;
  std::vector<uint32_t> vertex_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  try {
    Context context;
    Renderer(context, argv[1], {argv + 2, argv + argc}).draw_frame();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "regression_renderer: %s\n", error.what());
    return 2;
  }
}
