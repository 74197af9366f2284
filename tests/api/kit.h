// Shared by the tests of the counters layer's API: a device with chosen settings, a compute shader
// with simple counts, and direct access to the functions of VK_ARM_shader_instrumentation.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>

#include "support/instrumentation.h"
#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::test {

// work.comp's SPIR-V.
std::span<const uint32_t> work_shader();

// kInstrument plus a Vulkan 1.1 flag, because the struct replaces the flags of the create info.
inline constexpr VkPipelineCreateFlags2CreateInfoKHR kInstrumentWithBase = {
    VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
    VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM | VK_PIPELINE_CREATE_DISPATCH_BASE_BIT};

// Settings of the layer, passed through VK_EXT_layer_settings. With the validation layer below,
// whose version reports that struct as an error, they are passed through the environment for the
// lifetime of this object.
class LayerSettings {
 public:
  using Pairs = std::vector<std::pair<const char*, const char*>>;
  explicit LayerSettings(const Pairs& pairs);
  ~LayerSettings();
  LayerSettings(const LayerSettings&) = delete;
  LayerSettings& operator=(const LayerSettings&) = delete;
  const void* next() const { return by_environment_ ? nullptr : &info_; }

 private:
  const bool by_environment_;
  std::vector<std::string> variables_;
  std::vector<const char*> values_;
  std::vector<VkLayerSettingEXT> settings_;
  VkLayerSettingsCreateInfoEXT info_;
};

class CountersTest : public testing::Test {
 protected:
  static constexpr VkPipelineBindPoint kCompute = VK_PIPELINE_BIND_POINT_COMPUTE;
  static constexpr VkPipelineBindPoint kGraphics = VK_PIPELINE_BIND_POINT_GRAPHICS;

  // Creates the device. If this is not called, the first use creates one with default settings.
  Context& start(const LayerSettings::Pairs& settings = {}, ContextOptions options = {});
  Context& context() { return context_ ? *context_ : start(); }

  // Objects for dispatches of work.comp: 1024 values, a set, a layout with 4 bytes of push
  // constants, and pipelines.
  struct Work {
    explicit Work(Context& context, uint32_t push_bytes = 4);
    Buffer values;
    StorageSet set;
    PipelineLayout layout;
    Pipeline counting;  // created with the instrumentation flag
    Pipeline plain;     // created without the flag
  };
  Work& work();
  Pipeline make_work(VkPipelineLayout layout, const void* next = &kInstrument);

  // Binds `pipeline`, pushes `add`, then dispatches `groups`.
  void dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t groups, uint32_t add = 1);

  // The invocations of each stage of a dispatch of two groups, whose measure begins and ends with
  // it.
  std::vector<std::pair<uint32_t, uint64_t>> measure(VkPipeline pipeline);
  PipelineCache make_cache(VkPipelineCacheCreateFlags flags = 0);

  // An instrumented pipeline of full_screen.vert and orange.frag, and draws of its triangle in a
  // pass.
  Pipeline make_orange(VkPipelineLayout layout);
  static void draw_orange(VkCommandBuffer commands, const RenderTarget& target, VkPipeline pipeline,
                          uint32_t draws = 1);

  // A command pool with one command buffer in the recording state.
  struct Recording {
    explicit Recording(const Context& context, VkCommandPoolCreateFlags flags = 0)
        : device(context.device()) {
      VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
      info.flags = flags;
      info.queueFamilyIndex = context.queue_family();
      VkCommandPool handle = VK_NULL_HANDLE;
      check(vkCreateCommandPool(device, &info, nullptr, &handle));
      pool = CommandPool(device, handle);
      VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
      allocate.commandPool = handle;
      allocate.commandBufferCount = 1;
      check(vkAllocateCommandBuffers(device, &allocate, &commands));
      begin();
    }
    void begin() const {
      const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
      check(vkBeginCommandBuffer(commands, &info));
    }
    VkDevice device;
    CommandPool pool;
    VkCommandBuffer commands = VK_NULL_HANDLE;
  };

  // Executions of each block of each result, by result index: {{block 0, block 1, ...}, ...}; the
  // stages follow each other.
  using Results = std::vector<std::pair<uint32_t, std::vector<uint64_t>>>;
  Results results(const Instrumentation& instrumentation);
  // Invocations (executions of block 0 of the compute shader) of each result that contains blocks.
  std::vector<std::pair<uint32_t, uint64_t>> invocations(const Instrumentation& instrumentation);

  // Takes the ids of all errors reported so far; they no longer fail the test.
  std::vector<std::string> error_ids();

  template <typename Function>
  Function function(const char* name) {
    return context().function<Function>(name);
  }

 private:
  std::optional<Context> context_;
  std::optional<Work> work_;
};

}  // namespace tally::test
