#include "capture/testing/extension_scenarios.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>

#include "capture/testing/painter.h"
#include "increment.comp.h"
#include "pushed.comp.h"
#include "support/every_feature.h"
#include "support/generated_commands.h"
#include "support/shader_objects.h"

namespace tally::test {
namespace {

// True if an extension is listed, its feature offered, a device created with it, and its function
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

// A dispatch on a device with every extension and feature that is listed, but those of counters
// where nothing is hidden. Exits with 78 if an extension by itself cannot be enabled, or if the
// results are wrong.
void everything(Context& first) {
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, first.queue_family(), 1, &priority};
  EveryFeature all(first.gpu());
  for (const std::string& extension : all.listed()) {
    std::fprintf(stderr, "listed: %s\n", extension.c_str());
    EveryFeature alone(first.gpu(), extension);
    const std::vector<const char*> names = alone.extensions();
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, alone.features()};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = names.data();
    VkDevice device = VK_NULL_HANDLE;
    if (const VkResult result = vkCreateDevice(first.gpu(), &info, nullptr, &device)) {
      std::fprintf(stderr, "%s: %d\n", extension.c_str(), result);
      std::exit(78);
    }
    vkDestroyDevice(device, nullptr);
  }
  all.leave_out("VK_ARM_shader_instrumentation",
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM);
  Context context({.device_extensions = all.extensions(),
                   .core_features = false,
                   .device_next = all.features()});
  const Buffer numbers(context, 4096);
  numbers.as<uint32_t>()[3] = 7;
  const StorageSet set(context, {numbers});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&set_layout, 1});
  const Pipeline pipeline =
      make_compute_pipeline(context, {.shader = {.code = double_comp}, .layout = layout});
  context.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set.bind(commands, layout);
    vkCmdDispatch(commands, 3, 1, 1);
    full_barrier(commands);
  });
  if (numbers.as<uint32_t>()[3] != 14) std::exit(78);
}

// Four threads submit on a queue that synchronizes itself, each with labels.
void shared_queue(Context&) {
  VkPhysicalDeviceInternallySynchronizedQueuesFeaturesKHR feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INTERNALLY_SYNCHRONIZED_QUEUES_FEATURES_KHR, nullptr,
      VK_TRUE};
  Context context({.device_extensions = {VK_KHR_INTERNALLY_SYNCHRONIZED_QUEUES_EXTENSION_NAME},
                   .device_next = &feature,
                   .queue_flags = VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR});
  const Doubler doubler(context);
  const auto begin =
      context.function<PFN_vkQueueBeginDebugUtilsLabelEXT>("vkQueueBeginDebugUtilsLabelEXT");
  const auto end =
      context.function<PFN_vkQueueEndDebugUtilsLabelEXT>("vkQueueEndDebugUtilsLabelEXT");
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i <= 4; ++i) {
    const VkCommandBuffer commands = context.begin_commands(0);
    doubler.dispatch(commands, i);
    check(vkEndCommandBuffer(commands));
    threads.emplace_back([&, commands] {
      const VkDebugUtilsLabelEXT label{
          VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, "thread", {}};
      for (int submission = 0; submission < 10; ++submission) {
        begin(context.queue(), &label);
        context.submit_and_wait(commands);
        end(context.queue());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
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

// Dispatches of a pipeline with descriptor heaps, in a secondary command buffer too, between others
// with descriptor sets, on a device of its own. Exits with 78 if push data were lost.
void heaps(Context&) {
  VkPhysicalDeviceDescriptorHeapFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT, nullptr, VK_TRUE};
  Context context(
      {.device_extensions = {VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME}, .device_next = &feature});
  const Doubler doubler(context);
  const VkPipelineCreateFlags2CreateInfoKHR flags{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
      VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT};
  const Pipeline pipeline = make_compute_pipeline(
      context, {{VK_SHADER_STAGE_COMPUTE_BIT, pushed_comp}, VK_NULL_HANDLE, {}, 0, &flags});
  Buffer numbers(context, 4096,
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  numbers.clear();
  const auto push_data = context.function<PFN_vkCmdPushDataEXT>("vkCmdPushDataEXT");
  const auto dispatch = [&](VkCommandBuffer commands, uint64_t add, uint32_t groups) {
    const uint64_t words[] = {numbers.address(), add};
    const VkPushDataInfoEXT info{
        VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, 0, {words, sizeof words}};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    push_data(commands, &info);
    for (uint32_t i = 1; i <= groups; ++i) {
      vkCmdDispatch(commands, i, 1, 1);
      full_barrier(commands);
    }
  };
  const VkCommandBuffer secondary = context.begin_secondary();
  dispatch(secondary, 10, 1);
  check(vkEndCommandBuffer(secondary));
  context.run([&](VkCommandBuffer commands) {
    dispatch(commands, 1, 2);
    doubler.dispatch(commands, 3);
    dispatch(commands, 100, 1);
    vkCmdExecuteCommands(commands, 1, &secondary);
  });
  for (uint32_t i = 0; i < 64; ++i) {
    if (numbers.as<uint32_t>()[i] != (i < 32 ? 112u : 1u)) std::exit(78);
  }
}

// A draw that needs no descriptors while descriptor heaps are in use.
void mixed_heaps(Context&) {
  VkPhysicalDeviceDescriptorHeapFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT, nullptr, VK_TRUE};
  Context context(
      {.device_extensions = {VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME}, .device_next = &feature});
  const Painter painter(context, Painter::Passes::Dynamic);
  context.run([&](VkCommandBuffer commands) {
    painter.target().begin(commands);
    painter.draw(commands, 1);
    const uint32_t word = 1;
    const VkPushDataInfoEXT info{
        VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, 0, {&word, sizeof word}};
    context.function<PFN_vkCmdPushDataEXT>("vkCmdPushDataEXT")(commands, &info);
    painter.draw(commands, 2);
    painter.target().end(commands);
  });
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

// Draws with two sets of shader objects, of which one has names. Exits with 77 if there are none.
void named_shader_objects(Context&) {
  const auto context = make_shader_object_context(false);
  if (!context) std::exit(77);
  const RenderTarget target(*context);
  const std::vector<ShaderObjectInfo> infos{
      {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}, VK_SHADER_STAGE_FRAGMENT_BIT, 0},
      {{VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}, 0, 0}};
  const ShaderObjects others(*context, infos), named(*context, infos);
  for (const size_t stage : {0, 1}) {
    set_name(*context, VK_OBJECT_TYPE_SHADER_EXT, named[stage], "the chosen one");
    set_name(*context, VK_OBJECT_TYPE_SHADER_EXT, others[stage], "another");
  }
  context->run([&](VkCommandBuffer commands) {
    target.begin(commands);
    set_draw_state(*context, commands);
    unbind_graphics_shaders(*context, commands);
    others.bind(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    named.bind(commands);
    vkCmdDraw(commands, 3, 2, 0, 0);
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

// A draw in a pass that the device generates, with the pipeline that is bound or from an execution
// set. Exits with 77 if it cannot.
void generated_draw(Context&, bool from_set) {
  const auto context = make_generated_context(false);
  if (!context) std::exit(77);
  const PipelineLayout layout = make_pipeline_layout(*context, {}, 4);
  const Pipeline pipeline =
      make_graphics_pipeline(*context, {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                                   {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}},
                                        .layout = layout,
                                        .next = &kBindable});
  const ExecutionSet set(*context, pipeline, 1);
  GeneratedCommands commands_of_device(
      *context, {.stages = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT,
                 .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                 .layout = layout,
                 .from_set = from_set,
                 .words = from_set ? std::vector<uint32_t>{0, 0, 3, 2, 0, 0}
                                   : std::vector<uint32_t>{0, 3, 2, 0, 0}});
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  const RenderTarget target(*context);
  context->run([&](VkCommandBuffer commands) {
    target.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    if (from_set) {
      commands_of_device.execute(commands, nullptr, set);
    } else {
      commands_of_device.execute(commands, &names);
    }
    target.end(commands);
  });
}

// Three workgroups of one pipeline and two of another, out of an execution set, between a dispatch
// of one workgroup and one of two.
void generated_set(Context&) {
  const auto context = make_generated_context(false);
  if (!context) std::exit(77);
  const Buffer values(*context, 4096);
  const StorageSet bound(*context, {values});
  const VkDescriptorSetLayout set_layout = bound.layout();
  const PipelineLayout layout = make_pipeline_layout(*context, {&set_layout, 1}, 4);
  const auto make_pipeline = [&](std::span<const uint32_t> code) {
    return make_compute_pipeline(*context,
                                 {.shader = {.code = code}, .layout = layout, .next = &kBindable});
  };
  const Pipeline pipeline = make_pipeline(double_comp);
  const Pipeline other = make_pipeline(increment_comp);
  const Pipeline unused = make_pipeline(increment_comp);
  const ExecutionSet set(*context, pipeline, 3);
  set.write(1, other);
  set.write(2, unused);
  GeneratedCommands commands_of_device(*context, {.layout = layout,
                                                  .from_set = true,
                                                  .words = {0, 0, 3, 1, 1, 1, 0, 2, 1, 1},
                                                  .sequences = 2});
  context->run([&](VkCommandBuffer commands) {
    const auto bind = [&] {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      bound.bind(commands, layout);
    };
    bind();
    vkCmdDispatch(commands, 1, 1, 1);
    commands_of_device.execute(commands, nullptr, set);
    bind();
    vkCmdDispatch(commands, 2, 1, 1);
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

// A device that links pipelines from libraries and takes shader code in the stages. Exits with 77
// if there is none.
std::unique_ptr<Context> make_library_context(const Context& first) {
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &feature};
  vkGetPhysicalDeviceFeatures2(first.gpu(), &features);
  if (!feature.graphicsPipelineLibrary) std::exit(77);
  ContextOptions options;
  options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                               VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
  options.device_next = &feature;
  return std::make_unique<Context>(options);
}

// A dispatch of two workgroups of a pipeline whose stage has its code in pNext, and no module.
void inline_module(Context& first) {
  const auto context = make_library_context(first);
  const Buffer values(*context, 4096);
  const StorageSet set(*context, {values});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(*context, {&set_layout, 1});
  VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  code.codeSize = sizeof double_comp;
  code.pCode = double_comp;
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, &code};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  info.layout = layout;
  info.basePipelineIndex = -1;
  VkPipeline handle = VK_NULL_HANDLE;
  check(vkCreateComputePipelines(context->device(), VK_NULL_HANDLE, 1, &info, nullptr, &handle));
  const Pipeline pipeline(context->device(), handle);
  context->run([&](VkCommandBuffer commands) {
    set.bind(commands, layout);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdDispatch(commands, 2, 1, 1);
  });
}

// A draw over 64x64 pixels of a pipeline that is linked from two libraries, of which each has a
// shader.
void libraries(Context& first) {
  const auto context = make_library_context(first);
  const PipelineLayout layout = make_pipeline_layout(*context);
  const RenderTarget target(*context);
  const Pipeline before =
      make_pipeline_library(*context,
                            VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                                VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
                            {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}},
                             .layout = layout,
                             .render_pass = target.render_pass()});
  const Pipeline after =
      make_pipeline_library(*context,
                            VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                                VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
                            {.stages = {{VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}},
                             .layout = layout,
                             .render_pass = target.render_pass()});
  const std::array<VkPipeline, 2> parts = {before, after};
  const VkPipelineLibraryCreateInfoKHR linked{VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
                                              nullptr, 2, parts.data()};
  VkGraphicsPipelineCreateInfo info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &linked};
  info.layout = layout;
  info.basePipelineIndex = -1;
  VkPipeline handle = VK_NULL_HANDLE;
  check(vkCreateGraphicsPipelines(context->device(), VK_NULL_HANDLE, 1, &info, nullptr, &handle));
  const Pipeline pipeline(context->device(), handle);
  context->run([&](VkCommandBuffer commands) {
    target.begin_render_pass(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    target.set_viewport(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target.end_render_pass(commands);
  });
}

// Two pipelines; the application asks for the statistics of the first one.
void own_statistics(Context&) {
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, nullptr,
      VK_TRUE};
  ContextOptions options;
  options.device_extensions = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME};
  options.device_next = &feature;
  Context context(options);
  const Buffer buffer(context, 4096);
  const StorageSet set(context, {buffer});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&set_layout, 1});
  std::vector<Pipeline> pipelines;
  for (const VkPipelineCreateFlags flags :
       {VkPipelineCreateFlags{VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR},
        VkPipelineCreateFlags{0}}) {
    pipelines.push_back(make_compute_pipeline(
        context,
        {.shader = {VK_SHADER_STAGE_COMPUTE_BIT, double_comp}, .layout = layout, .flags = flags}));
  }
  context.run([&](VkCommandBuffer commands) {
    set.bind(commands, layout);
    for (const Pipeline& pipeline : pipelines) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdDispatch(commands, 1, 1, 1);
      full_barrier(commands);
    }
  });
}

// A pipeline that never runs: for drivers that compile and can do nothing else.
void compiled_alone(Context& context) {
  const VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                             VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  info.bindingCount = 1;
  info.pBindings = &binding;
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  check(vkCreateDescriptorSetLayout(context.device(), &info, nullptr, &set));
  {
    const PipelineLayout layout = make_pipeline_layout(context, {&set, 1});
    make_compute_pipeline(context,
                          {.shader = {VK_SHADER_STAGE_COMPUTE_BIT, double_comp}, .layout = layout});
  }
  vkDestroyDescriptorSetLayout(context.device(), set, nullptr);
}

}  // namespace

const Scenarios& extension_scenarios() {
  static const Scenarios scenarios = {
      {"uncountable", uncountable},
      {"everything", everything},
      {"shared_queue", shared_queue},
      {"addressed", addressed},
      {"shader_objects", shader_objects},
      {"named_shader_objects", named_shader_objects},
      {"generated", generated},
      {"generated_set", generated_set},
      {"generated_draw", [](Context& context) { generated_draw(context, false); }},
      {"generated_draw_set", [](Context& context) { generated_draw(context, true); }},
      {"identifiers", identifiers},
      {"inline_module", inline_module},
      {"libraries", libraries},
      {"heaps", heaps},
      {"mixed_heaps", mixed_heaps},
      {"own_statistics", own_statistics},
      {"compiled_alone", compiled_alone}};
  return scenarios;
}

}  // namespace tally::test
