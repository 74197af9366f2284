// A pipeline of the application and its instrumented twin: a second driver pipeline of the same
// state whose shaders count. The application holds the handle of the plain one. Only pipelines that
// the layer must know of have one of these.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/device_table.h"
#include "counters/shader/program.h"
#include "counters/state/pipeline_layout.h"

namespace tally::counters {

struct Pipeline {
  Pipeline(VkDevice owner, const DeviceTable& table) : device(owner), next(table) {}
  ~Pipeline() {
    if (counting != VK_NULL_HANDLE) next.DestroyPipeline(device, counting, nullptr);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  VkDevice device;
  const DeviceTable& next;
  VkPipeline plain = VK_NULL_HANDLE;
  VkPipeline counting = VK_NULL_HANDLE;    // null: runs as the application wrote it, always
  std::shared_ptr<const Program> program;  // set when `counting` is
  std::shared_ptr<PipelineLayout> layout;  // may be null for a library without shaders
};

}  // namespace tally::counters
