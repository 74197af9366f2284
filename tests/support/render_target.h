// What a test draws into: a colour image, a depth image where wanted, and a single-sampled image to
// read from.
#pragma once

#include <array>
#include <vector>

#include "support/memory.h"

namespace tally::test {

struct RenderTargetInfo {
  VkExtent2D extent = {64, 64};
  VkFormat color_format = VK_FORMAT_R8G8B8A8_UNORM;
  VkFormat depth_format = VK_FORMAT_UNDEFINED;
  VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;  // several: resolved when the pass ends
  uint32_t view_mask = 0;  // multiview; the images get as many layers
  uint32_t layers = 1;     // of layered rendering
  VkRect2D area = {};      // that is rendered to; empty: all
};

class RenderTarget {
 public:
  RenderTarget(Context& context, const RenderTargetInfo& info = {});

  // One render pass, dynamic or (begin_render_pass) of a VkRenderPass, over the whole target,
  // cleared to `color` and to depth 1; `next` goes into the chain. end() leaves the picture ready
  // for read().
  void begin(VkCommandBuffer commands, std::array<float, 4> color = {0, 0, 0, 0},
             VkRenderingFlags flags = 0, const void* next = nullptr) const;
  void end(VkCommandBuffer commands) const;

  // The same through vkCmdBeginRenderPass and vkCmdEndRenderPass. Pipelines need render_pass().
  void begin_render_pass(VkCommandBuffer commands, std::array<float, 4> color = {0, 0, 0, 0},
                         VkSubpassContents contents = VK_SUBPASS_CONTENTS_INLINE,
                         const void* next = nullptr) const;
  void end_render_pass(VkCommandBuffer commands) const;
  VkRenderPass render_pass() const { return render_pass_; }
  VkFramebuffer framebuffer() const { return framebuffer_; }

  void set_viewport(VkCommandBuffer commands) const;
  // All texels, layer after layer, row after row.
  std::vector<uint32_t> read() const;
  const Image& color() const { return color_; }
  const RenderTargetInfo& info() const { return info_; }

 private:
  bool resolved() const { return info_.samples != VK_SAMPLE_COUNT_1_BIT; }
  VkRect2D area() const;
  bool has_depth() const { return info_.depth_format != VK_FORMAT_UNDEFINED; }
  void create_render_pass();
  void create_framebuffer();
  void finish(VkCommandBuffer commands) const;

  Context& context_;
  RenderTargetInfo info_;
  Image color_, depth_, resolve_;
  RenderPass render_pass_;
  Framebuffer framebuffer_;
};

}  // namespace tally::test
