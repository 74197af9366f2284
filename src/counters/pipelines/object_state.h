// The objects that the application created on a device, as far as the layer tracks them: shader
// modules, pipeline layouts, pipelines, shader objects and render passes.
#pragma once

#include <tally/vulkan_generated.h>
#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>

#include "counters/base/physical_device.h"
#include "counters/base/submission.h"
#include "counters/layouts/pipeline_layout.h"
#include "counters/pipelines/compile_threads.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/pipelines/shader_set.h"
#include "counters/pipelines/variants.h"
#include "counters/shaders/instrumenter.h"
#include "counters/shaders/internal_objects.h"
#include "counters/shaders/program.h"
#include "vk/handles.h"

namespace tally::counters {

class ExecutionSet;

// Which features of the device need variants of pipelines.
struct PipelineNeeds {
  bool instrumentation = false;  // VK_ARM_shader_instrumentation, for pipelines that ask for it
  bool regions = false;          // counters by region, for every pipeline with fragment shaders
  bool queries = false;          // emulated queries read the primitive assembly state
  bool query_counters = false;   // ... and count in the shaders of every pipeline
  bool driver_counts = false;    // queries of the driver may count draws
  // The driver gets a pipeline with the flag when a recording first binds it.
  bool late = false;
};

struct ObjectState {
  ObjectState(const DeviceContext& device_context, const PipelineNeeds& pipeline_needs,
              const LayoutRules& rules, const InstrumenterOptions& options, size_t threads = 0)
      : device(device_context),
        needs(pipeline_needs),
        layout_rules(rules),
        heap_layouts(rules, device.next),
        push_guard(device.handle, device.next, rules),
        stand_ins(device.handle, device.next),
        timelines(device.handle, device.next),
        instrumenter(options),
        set_layouts(device.handle, device.next, rules.shader_slots),
        compile_threads(threads) {
    device.report(vk::take_own_failure(),
                  "vkCreateDevice(): the layer repeated a call that failed");
  }

  const DeviceContext& device;
  const PipelineNeeds needs;
  const LayoutRules layout_rules;
  const HeapLayouts heap_layouts;
  const PushGuard push_guard;
  StandIns stand_ins;
  QueueTimelines timelines;
  ShaderCodeStore codes;
  Instrumenter instrumenter;

  vk::HandleMap<VkShaderModule, std::shared_ptr<const ShaderCode>> shader_modules;
  vk::HandleMap<VkPipelineLayout, std::shared_ptr<PipelineLayout>> layouts;
  vk::HandleMap<VkPipeline, std::shared_ptr<Pipeline>> pipelines;
  vk::HandleMap<VkShaderEXT, std::shared_ptr<ShaderObject>> shaders;
  SetLayouts set_layouts;
  ShaderSets shader_sets;
  ShaderBinaries shader_binaries;
  vk::HandleMap<VkRenderPass, RenderPassShape> render_passes;
  CounterRanges counter_ranges;
  vk::HandleMap<VkIndirectExecutionSetEXT, std::shared_ptr<ExecutionSet>> execution_sets;
  // Which push constants or push data the commands of a layout write, if any.
  vk::HandleMap<VkIndirectCommandsLayoutEXT, uint64_t> generated_push_data;  // PushReads::mask()
  // For layouts with explicit preprocessing: the same layouts without.
  vk::HandleMap<VkIndirectCommandsLayoutEXT, VkIndirectCommandsLayoutEXT> implicit_layouts;

  // Set once a pipeline cache exists that was created with allocation callbacks.
  std::atomic<bool> has_callbacks = false;

  // Set once a layout exists for which the layer must inspect updates of push constants.
  std::atomic<bool> inspects_constants = false;

  // The last member: its threads use the others.
  CompileThreads compile_threads;
};

}  // namespace tally::counters
