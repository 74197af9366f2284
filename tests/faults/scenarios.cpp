#include "faults/scenarios.h"

#include <tally/vulkan_arm.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "capture/testing/client_kit.h"
#include "capture/testing/painter.h"
#include "support/instrumentation.h"
#include "support/queries.h"

namespace tally::test {
namespace {

constexpr auto kGraphics = VK_PIPELINE_BIND_POINT_GRAPHICS;

// Waits before objects are destroyed. The wait itself may be what fails.
class Idle {
 public:
  explicit Idle(const Context& context) : device_(context.device()) {}
  ~Idle() {
    if (vkDeviceWaitIdle(device_) != VK_SUCCESS) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

 private:
  VkDevice device_;
};

Fence make_fence(const Context& context) {
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  check(vkCreateFence(context.device(), &info, nullptr, &fence));
  return {context.device(), fence};
}

void submit(const Context& context, VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  check(vkQueueSubmit(context.queue(), 1, &info, fence));
}

void submit2(const Context& context, VkCommandBuffer commands, VkFence fence) {
  const VkCommandBufferSubmitInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, nullptr,
                                         commands, 0};
  VkSubmitInfo2 info{VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
  info.commandBufferInfoCount = 1;
  info.pCommandBufferInfos = &buffer;
  check(vkQueueSubmit2(context.queue(), 1, &info, fence));
}

void wait(const Context& context, VkFence fence) {
  check(vkWaitForFences(context.device(), 1, &fence, VK_TRUE, UINT64_MAX));
}

// A frame of dispatches, a secondary and two render passes, and a command buffer that is submitted
// twice.
constexpr int64_t kFrameCommands = 3 + 5 + 2 * 2;

void record_frame(Context& context, VkCommandBuffer commands, const Doubler& doubler,
                  const Painter& objects, const Painter& dynamic) {
  const VkCommandBuffer secondary = context.begin_secondary();
  doubler.dispatch(secondary, 3);
  check(vkEndCommandBuffer(secondary));
  doubler.dispatch(commands, 1);
  doubler.dispatch(commands, 2);
  vkCmdExecuteCommands(commands, 1, &secondary);
  objects.target().begin_render_pass(commands);
  for (uint32_t i = 1; i <= 3; ++i) objects.draw(commands, i);
  objects.target().end_render_pass(commands);
  dynamic.target().begin(commands);
  for (uint32_t i = 1; i <= 2; ++i) dynamic.draw(commands, i);
  dynamic.target().end(commands);
}

std::vector<std::string> draw_frame(Context& context) {
  const Doubler doubler(context);
  const Painter objects(context, Painter::Passes::Objects);
  const Painter dynamic(context, Painter::Passes::Dynamic);
  const Fence first = make_fence(context);
  const Fence second = make_fence(context);
  const Idle idle(context);
  const VkCommandBuffer once = context.begin_commands();
  record_frame(context, once, doubler, objects, dynamic);
  check(vkEndCommandBuffer(once));
  submit(context, once, first);
  const VkCommandBuffer again = context.begin_commands(0);
  doubler.dispatch(again, 4);
  dynamic.target().begin(again);
  dynamic.draw(again, 1);
  dynamic.target().end(again);
  check(vkEndCommandBuffer(again));
  submit2(context, again, second);
  wait(context, first);
  wait(context, second);
  submit(context, again, VK_NULL_HANDLE);
  check(vkQueueWaitIdle(context.queue()));
  return {};
}

// --- queries that the layer emulates

class Pool {
 public:
  Pool(const Context& context, VkQueryType type, VkQueryPipelineStatisticFlags statistics = 0)
      : device_(context.device()), pool_(make_query_pool(context, type, 1, statistics)) {}
  operator VkQueryPool() const { return pool_; }
  uint64_t read() const {
    uint64_t value = 0;
    check(vkGetQueryPoolResults(device_, pool_, 0, 1, sizeof value, &value, sizeof value,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    return value;
  }

 private:
  VkDevice device_;
  QueryPool pool_;
};

void expect(std::vector<std::string>& wrong, const char* what, uint64_t value, uint64_t wanted) {
  if (value == wanted) return;
  wrong.push_back(std::string(what) + ": " + std::to_string(value) + ", not " +
                  std::to_string(wanted));
}

std::vector<std::string> use_queries(Context& context) {
  const Doubler doubler(context);
  const Painter painter(context, Painter::Passes::Dynamic);
  const Pool dispatched(context, VK_QUERY_TYPE_PIPELINE_STATISTICS,
                        VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  const Pool drawn(context, VK_QUERY_TYPE_PIPELINE_STATISTICS,
                   VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT);
  const Pool samples(context, VK_QUERY_TYPE_OCCLUSION);
  const Pool time(context, VK_QUERY_TYPE_TIMESTAMP);
  const Buffer copied(context, 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const Fence fence = make_fence(context);
  const Idle idle(context);
  const VkCommandBuffer commands = context.begin_commands();
  for (const Pool* pool : {&dispatched, &drawn, &samples, &time}) {
    vkCmdResetQueryPool(commands, *pool, 0, 1);
  }
  vkCmdBeginQuery(commands, dispatched, 0, 0);
  doubler.dispatch(commands, 2);
  doubler.dispatch(commands, 1);
  vkCmdEndQuery(commands, dispatched, 0);
  painter.target().begin(commands);
  vkCmdBeginQuery(commands, drawn, 0, 0);
  vkCmdBeginQuery(commands, samples, 0, VK_QUERY_CONTROL_PRECISE_BIT);
  painter.draw(commands, 1);
  painter.draw(commands, 2);
  vkCmdEndQuery(commands, samples, 0);
  vkCmdEndQuery(commands, drawn, 0);
  painter.target().end(commands);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, time, 0);
  vkCmdCopyQueryPoolResults(commands, dispatched, 0, 1, copied, 0, 8,
                            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  full_barrier(commands);
  check(vkEndCommandBuffer(commands));
  submit(context, commands, fence);
  wait(context, fence);
  std::vector<std::string> wrong;
  expect(wrong, "invocations", dispatched.read(), 3 * 32);
  expect(wrong, "copied invocations", copied.as<uint64_t>()[0], 3 * 32);
  expect(wrong, "vertices", drawn.read(), 3 * 3);
  expect(wrong, "samples", samples.read(), 3 * 64 * 64);
  if (time.read() == 0) wrong.emplace_back("no time");
  return wrong;
}

// --- an application that counts itself

std::vector<std::string> count_itself(Context& context) {
  const Buffer buffer(context, Doubler::kMostGroups * 32 * sizeof(uint32_t));
  const StorageSet set(context, {buffer});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&set_layout, 1});
  const Pipeline pipeline =
      make_compute_pipeline(context, {.shader = {VK_SHADER_STAGE_COMPUTE_BIT, double_comp},
                                      .layout = layout,
                                      .next = &kInstrument});
  const Instrumentation counts(context);
  const Fence fence = make_fence(context);
  const Idle idle(context);
  const VkCommandBuffer commands = context.begin_commands();
  counts.begin(commands);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  set.bind(commands, layout);
  vkCmdDispatch(commands, 2, 1, 1);
  vkCmdDispatch(commands, 3, 1, 1);
  counts.end(commands);
  check(vkEndCommandBuffer(commands));
  submit(context, commands, fence);
  wait(context, fence);
  uint64_t invocations = 0;
  const size_t executions = counts.metric("executions");
  for (const BlockValues& block : counts.read()) {
    if (block.header.basicBlockIndex == 0) invocations += block.metrics[executions];
  }
  std::vector<std::string> wrong;
  expect(wrong, "invocations", invocations, 5 * 32);
  return wrong;
}

Scenario captured(std::string name, std::map<std::string, std::string> settings) {
  return {.name = std::move(name),
          .layers = {"VK_LAYER_TALLY_capture", "VK_LAYER_TALLY_counters"},
          .settings = std::move(settings),
          .commands = kFrameCommands,
          .run = draw_frame};
}

// One draw with a pipeline that is linked from two libraries.
std::vector<std::string> draw_linked(Context& context) {
  const PipelineLayout layout = make_pipeline_layout(context);
  const RenderTarget target(context);
  GraphicsPipelineInfo vertex_info, fragment_info;
  vertex_info.layout = fragment_info.layout = layout;
  vertex_info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}};
  fragment_info.stages = {{VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
  const Pipeline vertex =
      make_pipeline_library(context,
                            VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                                VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
                            vertex_info);
  const Pipeline fragment =
      make_pipeline_library(context,
                            VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                                VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
                            fragment_info);
  const VkPipeline libraries[] = {vertex, fragment};
  const Pipeline linked = link_graphics_pipeline(context, layout, libraries, 0);
  const Fence fence = make_fence(context);
  const Idle idle(context);
  const VkCommandBuffer commands = context.begin_commands();
  target.begin(commands);
  vkCmdBindPipeline(commands, kGraphics, linked);
  target.set_viewport(commands);
  vkCmdDraw(commands, 3, 1, 0, 0);
  target.end(commands);
  check(vkEndCommandBuffer(commands));
  submit(context, commands, fence);
  wait(context, fence);
  return {};
}

Scenario linking(std::string name, std::map<std::string, std::string> settings) {
  static VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
  Scenario scenario = captured(std::move(name), std::move(settings));
  scenario.extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                         VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
  scenario.features = &feature;
  scenario.commands = 1;
  scenario.run = draw_linked;
  return scenario;
}

Scenario counting(std::string name, std::map<std::string, std::string> settings) {
  static VkPhysicalDeviceShaderInstrumentationFeaturesARM feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  return {.name = std::move(name),
          .layers = {"VK_LAYER_TALLY_counters"},
          .extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME},
          .settings = std::move(settings),
          .features = &feature,
          .run = count_itself};
}

}  // namespace

std::vector<Scenario> fault_scenarios() {
  return {
      captured("Capture", {}),
      captured("Regions", {{"TALLY_REGIONS", "true"}}),
      captured("Copies", {{"TALLY_FRAMES", "0-100"}}),
      captured("Ahead", {{"TALLY_COMPILE_AHEAD", "always"}}),
      captured("Descriptors", {{"TALLY_RECORD_ADDRESS", "descriptor"}}),
      {.name = "Queries",
       .layers = {"VK_LAYER_TALLY_counters"},
       .settings = {{"TALLY_EMULATE_QUERIES", "all"}},
       .run = use_queries},
      linking("Libraries", {}),
      linking("LibraryRegions", {{"TALLY_REGIONS", "true"}}),
      counting("Counting", {}),
      counting("DeviceMemory", {{"TALLY_RECORD_MEMORY", "device"}}),
  };
}

}  // namespace tally::test
