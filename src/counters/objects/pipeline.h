// A pipeline of the application and its variants: driver pipelines with the same state whose
// shaders count. The application holds the handle of the plain one. Exists only for pipelines that
// a feature of the layer needs. A ray-tracing pipeline that counts is its own variant: the plain
// handle and that of Variant::Blocks are the same.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/objects/counter_ranges.h"
#include "counters/objects/pipeline_contents.h"
#include "counters/objects/pipeline_layout.h"
#include "counters/objects/shader_set.h"
#include "counters/shader/program.h"
#include "counters/shader/variant.h"

namespace tally::counters {

struct Pipeline {
  Pipeline(VkDevice owner, const DeviceTable& table) : device(owner), next(table) {}
  ~Pipeline() { destroy_variants(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Null if it could not be created: choose() then selects another. The application owns and
  // destroys that of Variant::Plain.
  VkPipeline& variant(Variant which) { return variants[static_cast<size_t>(which)]; }
  VkPipeline variant(Variant which) const { return variants[static_cast<size_t>(which)]; }
  bool has(Variant which) const {
    return shaders ? shaders->has(which) : variant(which) != VK_NULL_HANDLE;
  }
  Variant choose(Variant wanted) const { return choose_variant(*this, wanted); }
  void destroy_variants() {
    for (size_t i = 1; i < kVariants; ++i) {
      const VkPipeline handle = std::exchange(variants[i], VK_NULL_HANDLE);
      if (handle == VK_NULL_HANDLE || handle == variants[0]) continue;
      next.DestroyPipeline(device, handle, nullptr);
    }
  }

  bool instrumented = false;  // has the flag of VK_ARM_shader_instrumentation
  VkDevice device;
  const DeviceTable& next;
  std::array<VkPipeline, kVariants> variants{};
  std::array<std::shared_ptr<const Program>, kVariants> programs;  // of variants that count blocks
  StatedFacts facts;                                               // of graphics pipelines
  uint32_t ray_stages = 0;                                         // with those of libraries
  // Of a ray-tracing library: where the counters of its stages are, with those of its libraries.
  std::vector<std::shared_ptr<const CounterRanges::Range>> ranges;
  std::shared_ptr<PipelineLayout> layout;  // may be null for a library without shaders
  // Not null: this stands for shader objects that are bound together, and has no handles.
  std::shared_ptr<const ShaderSet> shaders;
};

}  // namespace tally::counters
