// The inputs and outputs of the shaders of the real set: one descriptor set for all of them.
#pragma once

#include <vector>

#include "harness/gpu.h"
#include "support/pipeline.h"

namespace tally::bench {

// Bindings 0 to 3: storage buffers of numbers between -1 and 1, of which shaders write the last.
// Bindings 4 to 7: the textures of shaders/real/inputs.comp.
class RealInputs {
 public:
  RealInputs(test::Context& context, const Capabilities& capabilities);

  VkExtent2D extent() const { return extent_; }  // of the textures
  VkDescriptorSetLayout layout() const { return set_.layout(); }
  void bind(VkCommandBuffer commands, VkPipelineLayout layout, VkPipelineBindPoint point) const {
    set_.bind(commands, layout, point);
  }

 private:
  void make_set();
  void draw_textures();

  test::Context& context_;
  VkExtent2D extent_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<test::Image> images_;
  test::Sampler sampler_;
  test::DescriptorSet set_;
};

}  // namespace tally::bench
