// A render target: a colour image, an optional depth image, and a single-sampled image to read
// from.
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
  uint32_t view_mask = 0;  // multiview; the images get that many layers
  uint32_t layers = 1;     // for layered rendering
  VkRect2D area = {};      // render area; empty: the whole target
};

class RenderTarget {
 public:
  RenderTarget(Context& context, const RenderTargetInfo& info = {});

  // One render pass over the whole target, dynamic or (begin_render_pass) with a VkRenderPass,
  // cleared to `color`, depth 1 and stencil 0; `next` extends the begin info. After end(), read()
  // can read the image.
  void begin(VkCommandBuffer commands, std::array<float, 4> color = {0, 0, 0, 0},
             VkRenderingFlags flags = 0, const void* next = nullptr) const;
  void end(VkCommandBuffer commands) const;

  // The same with vkCmdBeginRenderPass and vkCmdEndRenderPass. Pipelines need render_pass().
  void begin_render_pass(VkCommandBuffer commands, std::array<float, 4> color = {0, 0, 0, 0},
                         VkSubpassContents contents = VK_SUBPASS_CONTENTS_INLINE,
                         const void* next = nullptr) const;
  void end_render_pass(VkCommandBuffer commands) const;
  VkRenderPass render_pass() const { return render_pass_; }
  VkFramebuffer framebuffer() const { return framebuffer_; }

  void set_viewport(VkCommandBuffer commands) const;
  // All texels, layer by layer, row by row.
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
