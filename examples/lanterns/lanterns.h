// A small frame with typical profiling targets: an expensive full-screen pass, overdraw with
// discards, two compute dispatches and a final pass, all with names and labels.
#pragma once

#include <vector>

#include "support/memory.h"
#include "support/pipeline.h"

namespace lanterns {

using namespace tally::test;

class Lanterns {
 public:
  Lanterns(Context& context, VkExtent2D extent);

  // Renders the image at `time` seconds into frame_image() and waits for completion.
  void draw_frame(float time);
  const Image& frame_image() const { return frame_; }

 private:
  // A set of two images that a shader reads and writes as bindings 0 and 1 of set 0.
  VkDescriptorSet make_image_set(const Image& first, const Image& second) const;
  void create_sets();
  void create_pipelines();
  void draw_scene(VkCommandBuffer commands, float time) const;
  void blur(VkCommandBuffer commands) const;
  void composite(VkCommandBuffer commands) const;
  void begin_pass(VkCommandBuffer commands, const Image& target, VkImageLayout layout) const;

  Context& context_;
  VkExtent2D extent_;
  Image scene_, row_blurred_, bloom_, frame_;
  SetLayout set_layout_;
  DescriptorPool pool_;
  VkDescriptorSet blur_rows_ = VK_NULL_HANDLE, blur_columns_ = VK_NULL_HANDLE,
                  final_set_ = VK_NULL_HANDLE;
  PipelineLayout layout_;
  Pipeline scene_pipeline_, firefly_pipeline_, blur_pipeline_, composite_pipeline_;
};

}  // namespace lanterns
