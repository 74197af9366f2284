// A Vulkan program for the tests of the capture layer: `capture_client SCENARIO [HOW]`. It knows
// nothing of Tally.
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tally/vulkan_newest.h>

#include "base/live_counters.h"
#include "capture/testing/doubler.h"
#include "capture/testing/frame_scenarios.h"
#include "capture/testing/painter.h"
#include "capture/testing/region_scenarios.h"
#include "support/context.h"
#include "support/environment.h"
#include "support/generated_commands.h"
#include "support/shader_objects.h"

namespace {

using namespace tally::test;

constexpr VkCommandBufferUsageFlags kReusable = 0;

void set_name(const Context& context, VkObjectType type, const void* handle, const char* name) {
  const VkDebugUtilsObjectNameInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                           nullptr, type, reinterpret_cast<uint64_t>(handle), name};
  context.function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT")(
      context.device(), &info);
}

class Label {
 public:
  Label(const Context& context, VkCommandBuffer commands, const char* name)
      : context_(context), commands_(commands) {
    const VkDebugUtilsLabelEXT label{VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, name, {}};
    context.function<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT")(commands,
                                                                                       &label);
  }
  ~Label() {
    context_.function<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT")(commands_);
  }

 private:
  const Context& context_;
  VkCommandBuffer commands_;
};

void submit(const Context& context, std::vector<VkCommandBuffer> commands,
            VkFence fence = VK_NULL_HANDLE) {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  check(vkQueueSubmit(context.queue(), 1, &info, fence));
}

VkCommandBuffer secondary(const Context& context, const VkCommandBufferInheritanceInfo& inheritance,
                          VkCommandBufferUsageFlags usage) {
  const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             nullptr, context.command_pool(),
                                             VK_COMMAND_BUFFER_LEVEL_SECONDARY, 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(context.device(), &allocate, &commands));
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, usage,
                                       &inheritance};
  check(vkBeginCommandBuffer(commands, &begin));
  return commands;
}

// Whether an extension is listed, its feature offered, a device created with it, and its function
// resolved.
void uncountable(Context& context) {
  VkPhysicalDeviceSubpassShadingFeaturesHUAWEI feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBPASS_SHADING_FEATURES_HUAWEI};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &feature};
  vkGetPhysicalDeviceFeatures2(context.gpu(), &features);
  const char* const extension = VK_HUAWEI_SUBPASS_SHADING_EXTENSION_NAME;
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, context.queue_family(), 1, &priority};
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = 1;
  info.ppEnabledExtensionNames = &extension;
  VkDevice device = VK_NULL_HANDLE;
  const VkResult result = vkCreateDevice(context.gpu(), &info, nullptr, &device);
  if (result == VK_SUCCESS) vkDestroyDevice(device, nullptr);
  context.take_errors();  // the loader's, where it cannot be created
  const bool function =
      vkGetDeviceProcAddr(context.device(), "vkCmdSubpassShadingHUAWEI") != nullptr;
  std::fprintf(stderr, "listed=%d feature=%u created=%d function=%d\n",
               context.has_extension(extension), feature.subpassShading, result, function);
}

// Dispatches and draws whose arguments an address names, on a device of its own.
void addressed(Context&) {
  VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_ADDRESS_COMMANDS_FEATURES_KHR, nullptr, VK_TRUE};
  Context context({.device_extensions = {VK_KHR_DEVICE_ADDRESS_COMMANDS_EXTENSION_NAME},
                   .device_next = &feature});
  const Doubler doubler(context);
  const Painter painter(context, Painter::Passes::Dynamic);
  const Buffer arguments(
      context, 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  const uint32_t words[] = {3, 1, 1, 0, 3, 2, 0, 0, 3, 1, 0, 0, 1};
  std::memcpy(arguments.as<uint32_t>().data(), words, sizeof words);
  const VkDispatchIndirect2InfoKHR groups{.sType = VK_STRUCTURE_TYPE_DISPATCH_INDIRECT_2_INFO_KHR,
                                          .addressRange = {arguments.address(), 12}};
  const VkDrawIndirect2InfoKHR draws{.sType = VK_STRUCTURE_TYPE_DRAW_INDIRECT_2_INFO_KHR,
                                     .addressRange = {arguments.address() + 16, 32, 16},
                                     .drawCount = 2};
  context.run([&](VkCommandBuffer commands) {
    doubler.bind(commands);
    context.function<PFN_vkCmdDispatchIndirect2KHR>("vkCmdDispatchIndirect2KHR")(commands, &groups);
    full_barrier(commands);
    painter.target().begin(commands);
    painter.draw(commands, 1);
    context.function<PFN_vkCmdDrawIndirect2KHR>("vkCmdDrawIndirect2KHR")(commands, &draws);
    painter.target().end(commands);
  });
}

// One recording, submitted twice: the second submission's values are its own.
void resubmit(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands(kReusable);
  for (const uint32_t groups : {1u, 2u, 3u}) doubler.dispatch(commands, groups);
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
  context.submit_and_wait(commands);
}

// The same recording several times in flight.
void simultaneous(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands =
      context.begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  doubler.dispatch(commands, 5);
  check(vkEndCommandBuffer(commands));
  for (int i = 0; i < 20; ++i) submit(context, {commands, commands});
  check(vkQueueWaitIdle(context.queue()));
}

// Ends the process in the way that is asked for; returns where it is to end by itself.
void end_process(const std::string& how) {
  if (how == "_exit") ::_exit(3);
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "abort") std::abort();
  if (how == "exit") std::exit(4);
  if (how == "quick_exit") std::quick_exit(5);
  if (how == "segv") ::raise(SIGSEGV);
  if (how == "exec") ::execl("/bin/true", "true", nullptr);
  if (how == "fork" && ::fork() == 0) ::_exit(0);
}

// Small draws, TEST_DRAWS in each of TEST_FRAMES frames; every third frame is not waited for. The
// n-th draw of a frame has n % 3 + 1 instances.
void draws(Context& context, const std::string& how) {
  const uint32_t count = static_cast<uint32_t>(std::stoul(std::getenv("TEST_DRAWS")));
  const uint32_t frames = static_cast<uint32_t>(std::stoul(std::getenv("TEST_FRAMES")));
  RenderTargetInfo info;
  info.extent = {4, 4};
  const Painter painter(context, Painter::Passes::Objects, info);
  for (uint32_t frame = 0; frame < frames; ++frame) {
    const VkCommandBuffer commands = context.begin_commands();
    painter.target().begin_render_pass(commands);
    painter.draw(commands, 1);
    for (uint32_t i = 1; i < count; ++i) vkCmdDraw(commands, 3, i % 3 + 1, 0, 0);
    painter.target().end_render_pass(commands);
    check(vkEndCommandBuffer(commands));
    submit(context, {commands});
    if (frame % 3 != 0) check(vkQueueWaitIdle(context.queue()));
  }
  if (how != "unwaited") check(vkQueueWaitIdle(context.queue()));
  end_process(how == "unwaited" ? "exit" : how);
}

// One dispatch, then the end that is asked for.
void ending(Context& context, const std::string& how) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands();
  doubler.dispatch(commands, 7);
  check(vkEndCommandBuffer(commands));
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  check(vkCreateFence(context.device(), &info, nullptr, &fence));
  submit(context, {commands}, fence);
  check(vkWaitForFences(context.device(), 1, &fence, VK_TRUE, UINT64_MAX));
  end_process(how);
  vkDestroyFence(context.device(), fence, nullptr);
}

// fork() while a thread of the layer waits for its receiver, of which the labels ask too much. The
// child, which has no such thread, runs the exit handlers. quick_exit() runs none of the driver's,
// which may wait for its threads in vain.
void fork_while_sending(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands();
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::string(60'000, 'x') + std::to_string(i);
    const Label label(context, commands, name.c_str());
    doubler.dispatch(commands, 1);
  }
  check(vkEndCommandBuffer(commands));
  submit(context, {commands});
  ::usleep(500'000);
  const pid_t child = ::fork();
  if (child == 0) std::quick_exit(0);
  int status = 0;
  for (int i = 0; i < 1000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child) break;
    ::usleep(10'000);
    if (i != 999) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  if (status != 0) ::_exit(7);
  check(vkQueueWaitIdle(context.queue()));
}

// exit() while a submission has not been waited for.
void exit_unwaited(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands();
  doubler.dispatch(commands, 7);
  check(vkEndCommandBuffer(commands));
  submit(context, {commands});
  std::exit(0);
}

void render_pass(Context& context) {
  const Painter painter(context, Painter::Passes::Objects);
  set_name(context, VK_OBJECT_TYPE_RENDER_PASS, (void*)painter.target().render_pass(), "main pass");
  context.run([&](VkCommandBuffer commands) {
    const Label frame(context, commands, "Frame");
    painter.target().begin_render_pass(commands);
    {
      const Label shadow(context, commands, "Orange");
      painter.draw(commands, 2);
      painter.draw(commands, 3);
    }
    painter.target().end_render_pass(commands);
  });
}

// Secondaries that continue the primary's pass, one of them executed twice; dispatches around.
void secondaries(Context& context) {
  const Painter painter(context, Painter::Passes::Objects);
  const Doubler doubler(context);
  VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  inheritance.renderPass = painter.target().render_pass();
  const auto continues = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT;
  const VkCommandBuffer once = secondary(context, inheritance, continues);
  {
    const Label label(context, once, "Inner");
    painter.draw(once, 2);
  }
  check(vkEndCommandBuffer(once));
  const VkCommandBuffer twice =
      secondary(context, inheritance, continues | VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  painter.draw(twice, 5);
  check(vkEndCommandBuffer(twice));
  const VkCommandBufferInheritanceInfo outside{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  const VkCommandBuffer computes = secondary(context, outside, 0);
  doubler.dispatch(computes, 9);
  check(vkEndCommandBuffer(computes));
  context.run([&](VkCommandBuffer commands) {
    doubler.dispatch(commands, 1);
    const Label label(context, commands, "Outer");
    painter.target().begin_render_pass(commands, {}, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    const VkCommandBuffer all[] = {once, twice, twice};
    vkCmdExecuteCommands(commands, 3, all);
    painter.target().end_render_pass(commands);
    vkCmdExecuteCommands(commands, 1, &computes);
    doubler.dispatch(commands, 4);
  });
}

// One dynamic render pass suspended and resumed, within and across command buffers.
void suspended(Context& context) {
  const Painter painter(context, Painter::Passes::Dynamic);
  const Doubler doubler(context);
  const auto begin = [&](VkCommandBuffer commands, VkRenderingFlags flags) {
    VkRenderingAttachmentInfo color{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    color.imageView = painter.target().color().view();
    color.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO, nullptr, flags};
    info.renderArea.extent = painter.target().info().extent;
    info.layerCount = 1;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &color;
    vkCmdBeginRendering(commands, &info);
  };
  const VkCommandBuffer first = context.begin_commands();
  change_layout(first, painter.target().color(), VK_IMAGE_LAYOUT_UNDEFINED,
                VK_IMAGE_LAYOUT_GENERAL);
  doubler.dispatch(first, 1);
  begin(first, VK_RENDERING_SUSPENDING_BIT);
  painter.draw(first, 1);
  vkCmdEndRendering(first);
  begin(first, VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT);
  painter.draw(first, 2);
  vkCmdEndRendering(first);
  check(vkEndCommandBuffer(first));
  const VkCommandBuffer second = context.begin_commands();
  begin(second, VK_RENDERING_RESUMING_BIT);
  painter.draw(second, 3);
  vkCmdEndRendering(second);
  doubler.dispatch(second, 2);
  check(vkEndCommandBuffer(second));
  const VkCommandBuffer both[] = {first, second};
  context.submit_and_wait(both);
}

// The pipeline is named after it was used.
void late_names(Context& context) {
  const Doubler doubler(context);
  context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, 1); });
  set_name(context, VK_OBJECT_TYPE_PIPELINE, (void*)doubler.pipeline(), "the doubler");
  set_name(context, VK_OBJECT_TYPE_QUEUE, context.queue(), "the queue");
  context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, 1); });
}

// Ten submissions of one dispatch each; the n-th (from 0) has n+1 groups.
void ten(Context& context) {
  const Doubler doubler(context);
  for (uint32_t i = 0; i < 10; ++i) {
    context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, i + 1); });
  }
}

// More commands than one instrumentation object holds.
void many(Context& context) {
  const Doubler doubler(context);
  context.run([&](VkCommandBuffer commands) {
    for (uint32_t i = 0; i < 2500; ++i) doubler.dispatch(commands, i % 7 + 1);
  });
}

// Four threads record and submit; one mutex guards the queue.
void threads(Context& context) {
  std::mutex queue;
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&, worker] {
      const Doubler doubler(context);
      const VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
                                         VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                         context.queue_family()};
      VkCommandPool created = VK_NULL_HANDLE;
      check(vkCreateCommandPool(context.device(), &info, nullptr, &created));
      const CommandPool pool(context.device(), created);
      const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 nullptr, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
      VkCommandBuffer commands = VK_NULL_HANDLE;
      check(vkAllocateCommandBuffers(context.device(), &allocate, &commands));
      for (uint32_t i = 0; i < 25; ++i) {
        const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        check(vkBeginCommandBuffer(commands, &begin));
        doubler.dispatch(commands, worker + 1);
        check(vkEndCommandBuffer(commands));
        const std::lock_guard lock(queue);
        submit(context, {commands});
        check(vkQueueWaitIdle(context.queue()));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void two_devices(Context& context) {
  Context other;
  const Doubler here(context);
  const Doubler there(other);
  context.run([&](VkCommandBuffer commands) { here.dispatch(commands, 1); });
  other.run([&](VkCommandBuffer commands) { there.dispatch(commands, 2); });
}

// Draws with shader objects: separate ones, linked ones, and the fragment shader changed. Exits
// with 77 if the device has none.
void shader_objects(Context&) {
  const auto context = make_shader_object_context(false);
  if (!context) std::exit(77);
  const RenderTarget target(*context);
  const Stage vertex{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert};
  const Stage fragment{VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag};
  const auto make = [&](VkShaderCreateFlagsEXT flags) {
    return std::vector<ShaderObjectInfo>{{vertex, VK_SHADER_STAGE_FRAGMENT_BIT, flags},
                                         {fragment, 0, flags}};
  };
  const ShaderObjects separate(*context, make(0));
  const ShaderObjects others(*context, make(0));
  const ShaderObjects linked(*context, make(VK_SHADER_CREATE_LINK_STAGE_BIT_EXT));
  context->run([&](VkCommandBuffer commands) {
    target.begin(commands);
    set_draw_state(*context, commands);
    unbind_graphics_shaders(*context, commands);
    separate.bind(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    bind_shader(*context, commands, VK_SHADER_STAGE_FRAGMENT_BIT, others[1]);
    vkCmdDraw(commands, 3, 2, 0, 0);
    linked.bind(commands);
    vkCmdDraw(commands, 3, 3, 0, 0);
    target.end(commands);
  });
}

// A dispatch of three workgroups that the device generates. Exits with 77 if it cannot.
void generated(Context&) {
  const auto context = make_generated_context(false);
  if (!context) std::exit(77);
  const Buffer values(*context, 4096);
  const StorageSet set(*context, {values});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(*context, {&set_layout, 1}, 4);
  const Pipeline pipeline =
      make_compute_pipeline(*context, {.shader = {.code = double_comp}, .layout = layout});
  GeneratedCommands commands_of_device(*context, {.layout = layout, .words = {0, 3, 1, 1}});
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  context->run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set.bind(commands, layout);
    commands_of_device.execute(commands, &names);
  });
}

// Two pipelines in one call, of which the first has an identifier in place of its shader. No driver
// here has VK_EXT_shader_module_identifier; the identifier must not reach it. Exits with 78 if the
// answer does not ask for the SPIR-V.
void identifiers(Context& context) {
  const ShaderModule module = make_shader_module(context, double_comp);
  const std::array<uint8_t, 4> bytes = {1, 2, 3, 4};
  const VkPipelineShaderStageModuleIdentifierCreateInfoEXT identifier{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT, nullptr,
      static_cast<uint32_t>(bytes.size()), bytes.data()};
  const Buffer values(context, 4096);
  const StorageSet set(context, {values});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&set_layout, 1});
  std::array<VkComputePipelineCreateInfo, 2> infos{};
  for (VkComputePipelineCreateInfo& info : infos) {
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout;
    info.basePipelineIndex = -1;
  }
  infos[0].flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
  infos[0].stage.module = VK_NULL_HANDLE;
  infos[0].stage.pNext = &identifier;
  std::array<VkPipeline, 2> pipelines{};
  const VkResult result = vkCreateComputePipelines(context.device(), VK_NULL_HANDLE, 2,
                                                   infos.data(), nullptr, pipelines.data());
  if (result != VK_PIPELINE_COMPILE_REQUIRED || pipelines[0] || !pipelines[1]) std::exit(78);
  const Pipeline created(context.device(), pipelines[1]);
  context.run([&](VkCommandBuffer commands) {
    set.bind(commands, layout);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, created);
    vkCmdDispatch(commands, 5, 1, 1);
  });
}

// Recorded, reset, recorded anew, pool reset; only what is submitted counts.
void resets(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands(kReusable);
  doubler.dispatch(commands, 11);
  check(vkEndCommandBuffer(commands));
  check(vkResetCommandBuffer(commands, 0));
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commands, &begin));
  doubler.dispatch(commands, 12);
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
  check(vkResetCommandPool(context.device(), context.command_pool(), 0));
  check(vkBeginCommandBuffer(commands, &begin));
  doubler.dispatch(commands, 13);
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
}

// A child of fork() runs Vulkan too; the parent has not begun, and outlives it.
int forked() {
  const pid_t child = ::fork();
  {
    Context context;
    const Doubler doubler(context);
    context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, child == 0 ? 3 : 2); });
  }
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) != child) return 1;
  return status == 0 ? 0 : 1;
}

const TallyLiveCounters* find_live_counters() {
  const auto look = [](dl_phdr_info* info, size_t, void* found) {
    if (!std::string_view(info->dlpi_name).ends_with(tally::kLiveCountersLibrary)) return 0;
    *static_cast<void**>(found) = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
  };
  void* library = nullptr;
  dl_iterate_phdr(look, &library);
  const auto get =
      reinterpret_cast<TallyGetLiveCounters*>(dlsym(library, tally::kLiveCountersSymbol));
  return get(tally::kLiveCountersVersion);
}

// Once nothing is left of Vulkan.
void print_live_counters() {
  const TallyLiveCounters& live = *find_live_counters();
  std::vector<uint64_t> values(live.count());
  live.read(values.data(), live.count());
  for (uint32_t i = 0; i < values.size(); ++i) {
    TallyLiveCounter counter;
    live.describe(i, &counter);
    std::fprintf(stderr, "%s=%llu\n", counter.name, static_cast<unsigned long long>(values[i]));
  }
}

}  // namespace

// TEST_LIVE_COUNTERS prints the layer's live counters at the end; "wanted": wants them.
int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "";
  const std::string how = argc > 2 ? argv[2] : "";
  set_default_environment();
  if (scenario == "forked") return forked();
  std::map<std::string, std::function<void(Context&)>> scenarios = {
      {"resubmit", resubmit},
      {"simultaneous", simultaneous},
      {"render_pass", render_pass},
      {"secondaries", secondaries},
      {"suspended", suspended},
      {"late_names", late_names},
      {"ten", ten},
      {"many", many},
      {"uncountable", uncountable},
      {"addressed", addressed},
      {"threads", threads},
      {"two_devices", two_devices},
      {"resets", resets},
      {"generated", generated},
      {"identifiers", identifiers},
      {"shader_objects", shader_objects},
      {"exit_unwaited", exit_unwaited},
      {"fork_while_sending", fork_while_sending},
      {"draws", [&](Context& context) { draws(context, how); }},
      {"ending", [&](Context& context) { ending(context, how); }},
  };
  scenarios.insert(frame_scenarios().begin(), frame_scenarios().end());
  scenarios.insert(region_scenarios().begin(), region_scenarios().end());
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return 2;
  const char* const live = std::getenv("TEST_LIVE_COUNTERS");
  bool failed = false;
  static bool said = false;
  set_error_report([](const Message& message) {
    said = true;
    std::fprintf(stderr, "%s: %s\n", message.id.c_str(), message.text.c_str());
  });
  {
    Context context;
    if (live && std::string_view(live) == "wanted") find_live_counters()->request(1);
    found->second(context);
    for (const Message& message : context.take_errors()) {
      std::fprintf(stderr, "%s: %s\n", message.id.c_str(), message.text.c_str());
      failed = true;
    }
  }
  if (live) print_live_counters();
  return failed || said ? 9 : 0;
}
