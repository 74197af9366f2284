// Random draws of pipelines that the driver may count: of every kind of draw command, with random
// state, in random passes, recordings and executions. A seed gives the same scene on each device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "stand_in/watched/begun_statistics.h"
#include "support/context.h"
#include "support/instrumentation.h"

namespace tally::test {

// The features of extensions that scenes use.
struct SceneExtensions {
  explicit SceneExtensions(const Context& context);
  // With the layer, and the stand-in that watches queries. The chain points to this object.
  ContextOptions options();

  bool conditional_rendering, transform_feedback, multi_draw, libraries, list_restart;
  // A restart in every topology needs patches, too, which some drivers lack.

 private:
  VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation_{};
  VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional_rendering_{};
  VkPhysicalDeviceTransformFeedbackFeaturesEXT transform_feedback_{};
  VkPhysicalDeviceMultiDrawFeaturesEXT multi_draw_{};
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT libraries_{};
  VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT list_restart_{};
};

// Pipeline statistics queries that the driver of the device has begun.
uint64_t begun_statistics(const Context& context);

struct SceneOutcome {
  std::vector<uint64_t> values;     // all values of all objects, with their headers
  std::vector<std::byte> pictures;  // and depth and stencil
  std::vector<uint64_t> others;     // what the application's queries and buffers have
  uint64_t by_driver = 0;           // recorded draws that the driver should count
};

SceneOutcome run_random_scene(Context& context, const SceneExtensions& extensions, uint64_t seed,
                              VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT);

}  // namespace tally::test
