// VK_LAYER_TALLY_fake_instrumentation: VK_ARM_shader_instrumentation as a strict driver would have
// it natively, with values that a test can foretell. It stands below the layer under test. Whoever
// breaks one of the extension's rules is named in the file that FAKE_INSTRUMENTATION_REPORT names.
//
// An instrumented stage has three blocks. A draw of v vertices and i instances, or a dispatch of so
// many groups, with n = v * i (groups) runs block 0 n times, block 1 2n times, block 2 never. "fma"
// is 3 times the executions, "subgroups" is executions / 8 rounded up: not a multiple. Values are
// added when a command buffer is submitted.
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "vk/chain.h"
#include "vk/dispatch.h"
#include "vk/layer.h"

namespace {

using namespace tally;

#define FAKE_INSTANCE_FUNCTIONS(X)          \
  X(DestroyInstance, "")                    \
  X(EnumerateDeviceExtensionProperties, "") \
  X(GetPhysicalDeviceFeatures2, "KHR")      \
  X(GetPhysicalDeviceProperties2, "KHR")
#define FAKE_DEVICE_FUNCTIONS(X) \
  X(BeginCommandBuffer, "")      \
  X(CmdBeginRenderPass, "")      \
  X(CmdBeginRendering, "KHR")    \
  X(CmdBindPipeline, "")         \
  X(CmdDispatch, "")             \
  X(CmdDraw, "")                 \
  X(CmdEndRenderPass, "")        \
  X(CmdEndRendering, "KHR")      \
  X(CmdExecuteCommands, "")      \
  X(CmdNextSubpass, "")          \
  X(CreateComputePipelines, "")  \
  X(CreateGraphicsPipelines, "") \
  X(DestroyDevice, "")           \
  X(DestroyPipeline, "")         \
  X(EndCommandBuffer, "")        \
  X(QueueSubmit, "")             \
  X(QueueSubmit2, "KHR")
TALLY_VK_TABLE(InstanceTable, FAKE_INSTANCE_FUNCTIONS)
TALLY_VK_TABLE(DeviceTable, FAKE_DEVICE_FUNCTIONS)

constexpr const char* kMetrics[] = {"executions", "fma", "subgroups"};
constexpr uint32_t kMetricCount = 3;
constexpr uint32_t kBlocks = 3;

struct Object {
  uint32_t next_result = 0;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> executions;  // result, stage, block
};

struct Count {
  Object* object;
  uint32_t result;
  uint32_t stages;
  uint64_t times;
};

struct Recorded {
  std::vector<Count> counts;
  std::vector<VkCommandBuffer> secondaries;
  Object* active = nullptr;
  uint32_t stages = 0;  // of the bound instrumented pipeline
  bool secondary_contents = false;
  bool suspending = false;
  bool between_suspended = false;
};

// One mutex for everything: this is a test double.
std::mutex mutex;
std::map<void*, std::pair<VkInstance, vk::NextInstance>> instances;
std::map<void*, InstanceTable> instance_tables;
std::map<void*, DeviceTable> devices;
std::map<void*, PFN_vkGetDeviceProcAddr> device_next;
std::map<VkCommandBuffer, Recorded> recorded;
std::map<VkPipeline, uint32_t> pipelines;  // instrumented ones: their stages
std::set<Object*> objects;

InstanceTable& instance_table(const void* handle) {
  return instance_tables.at(vk::dispatch_key(handle));
}
DeviceTable& device_table(const void* handle) { return devices.at(vk::dispatch_key(handle)); }

void broken(const char* rule) {
  const char* path = std::getenv("FAKE_INSTRUMENTATION_REPORT");
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  std::fprintf(file ? file : stderr, "%s\n", rule);
  if (file) std::fclose(file);
}

void check_place(const Recorded& state, const char* what) {
  if (state.between_suspended)
    broken((std::string(what) + " between suspended render passes").c_str());
  if (state.secondary_contents)
    broken((std::string(what) + " in a subpass of secondaries").c_str());
}

VKAPI_ATTR VkResult VKAPI_CALL
CreateShaderInstrumentation(VkDevice, const VkShaderInstrumentationCreateInfoARM* info,
                            const VkAllocationCallbacks*, VkShaderInstrumentationARM* handle) {
  if (info->sType != VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM)
    broken("wrong sType");
  const std::lock_guard lock(mutex);
  auto* object = new Object;
  objects.insert(object);
  *handle = (VkShaderInstrumentationARM)object;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL DestroyShaderInstrumentation(VkDevice, VkShaderInstrumentationARM handle,
                                                        const VkAllocationCallbacks*) {
  const std::lock_guard lock(mutex);
  auto* object = (Object*)handle;
  if (objects.erase(object) == 0) broken("destroyed what does not exist");
  delete object;
}

VKAPI_ATTR void VKAPI_CALL CmdBeginShaderInstrumentation(VkCommandBuffer b,
                                                         VkShaderInstrumentationARM handle) {
  const std::lock_guard lock(mutex);
  Recorded& state = recorded[b];
  if (state.active) broken("begin while active");
  check_place(state, "begin");
  state.active = (Object*)handle;
}

VKAPI_ATTR void VKAPI_CALL CmdEndShaderInstrumentation(VkCommandBuffer b) {
  const std::lock_guard lock(mutex);
  Recorded& state = recorded[b];
  if (!state.active) broken("end while inactive");
  check_place(state, "end");
  state.active = nullptr;
}

void write_block(uint64_t* words, const std::tuple<uint32_t, uint32_t, uint32_t>& key,
                 uint64_t executions) {
  const VkShaderInstrumentationMetricDataHeaderARM header{std::get<0>(key), 0, std::get<1>(key),
                                                          std::get<2>(key)};
  std::memcpy(words, &header, sizeof header);
  words[2] = executions;
  words[3] = executions * 3;
  words[4] = (executions + 7) / 8;
}

VKAPI_ATTR VkResult VKAPI_CALL GetShaderInstrumentationValues(VkDevice,
                                                              VkShaderInstrumentationARM handle,
                                                              uint32_t* count, void* values,
                                                              VkFlags) {
  const std::lock_guard lock(mutex);
  const auto& executions = ((Object*)handle)->executions;
  if (!values) {
    *count = static_cast<uint32_t>(executions.size());
    return VK_SUCCESS;
  }
  uint32_t written = 0;
  for (auto at = executions.begin(); at != executions.end() && written < *count; ++at, ++written) {
    write_block(static_cast<uint64_t*>(values) + written * (2 + kMetricCount), at->first,
                at->second);
  }
  *count = written;
  return written < executions.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL ClearShaderInstrumentationMetrics(VkDevice,
                                                             VkShaderInstrumentationARM handle) {
  const std::lock_guard lock(mutex);
  for (auto& [key, executions] : ((Object*)handle)->executions) executions = 0;
}

VKAPI_ATTR VkResult VKAPI_CALL EnumerateMetrics(
    VkPhysicalDevice, uint32_t* count, VkShaderInstrumentationMetricDescriptionARM* metrics) {
  if (!metrics) {
    *count = kMetricCount;
    return VK_SUCCESS;
  }
  const uint32_t written = *count < kMetricCount ? *count : kMetricCount;
  for (uint32_t i = 0; i < written; ++i) {
    std::snprintf(metrics[i].name, sizeof metrics[i].name, "%s", kMetrics[i]);
    std::snprintf(metrics[i].description, sizeof metrics[i].description, "fake %s", kMetrics[i]);
  }
  *count = written;
  return written < kMetricCount ? VK_INCOMPLETE : VK_SUCCESS;
}

void action(Recorded& state, uint64_t times) {
  if (!state.active) return;
  const uint32_t result = state.active->next_result++;
  if (state.stages != 0) state.counts.push_back({state.active, result, state.stages, times});
}

VKAPI_ATTR void VKAPI_CALL CmdDraw(VkCommandBuffer b, uint32_t vertices, uint32_t copies,
                                   uint32_t first_vertex, uint32_t first_instance) {
  {
    const std::lock_guard lock(mutex);
    action(recorded[b], uint64_t{vertices} * copies);
  }
  device_table(b).CmdDraw(b, vertices, copies, first_vertex, first_instance);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer b, uint32_t x, uint32_t y, uint32_t z) {
  {
    const std::lock_guard lock(mutex);
    action(recorded[b], uint64_t{x} * y * z);
  }
  device_table(b).CmdDispatch(b, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL CmdBindPipeline(VkCommandBuffer b, VkPipelineBindPoint point,
                                           VkPipeline pipeline) {
  {
    const std::lock_guard lock(mutex);
    const auto found = pipelines.find(pipeline);
    recorded[b].stages = found == pipelines.end() ? 0 : found->second;
  }
  device_table(b).CmdBindPipeline(b, point, pipeline);
}

VKAPI_ATTR void VKAPI_CALL CmdExecuteCommands(VkCommandBuffer b, uint32_t count,
                                              const VkCommandBuffer* secondaries) {
  {
    const std::lock_guard lock(mutex);
    Recorded& state = recorded[b];
    if (state.active) broken("secondaries executed while active");
    state.secondaries.insert(state.secondaries.end(), secondaries, secondaries + count);
  }
  device_table(b).CmdExecuteCommands(b, count, secondaries);
}

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer b,
                                                  const VkCommandBufferBeginInfo* info) {
  {
    const std::lock_guard lock(mutex);
    recorded[b] = {};
  }
  return device_table(b).BeginCommandBuffer(b, info);
}

VKAPI_ATTR VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer b) {
  {
    const std::lock_guard lock(mutex);
    if (recorded[b].active) broken("active at the end of the command buffer");
  }
  return device_table(b).EndCommandBuffer(b);
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRenderPass(VkCommandBuffer b, const VkRenderPassBeginInfo* info,
                                              VkSubpassContents contents) {
  device_table(b).CmdBeginRenderPass(b, info, contents);
  const std::lock_guard lock(mutex);
  recorded[b].secondary_contents = contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS;
}

VKAPI_ATTR void VKAPI_CALL CmdNextSubpass(VkCommandBuffer b, VkSubpassContents contents) {
  device_table(b).CmdNextSubpass(b, contents);
  const std::lock_guard lock(mutex);
  recorded[b].secondary_contents = contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS;
}

VKAPI_ATTR void VKAPI_CALL CmdEndRenderPass(VkCommandBuffer b) {
  device_table(b).CmdEndRenderPass(b);
  const std::lock_guard lock(mutex);
  recorded[b].secondary_contents = false;
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRendering(VkCommandBuffer b, const VkRenderingInfo* info) {
  device_table(b).CmdBeginRendering(b, info);
  const std::lock_guard lock(mutex);
  Recorded& state = recorded[b];
  state.secondary_contents =
      (info->flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT) != 0;
  state.suspending = (info->flags & VK_RENDERING_SUSPENDING_BIT) != 0;
  state.between_suspended = false;
}

VKAPI_ATTR void VKAPI_CALL CmdEndRendering(VkCommandBuffer b) {
  device_table(b).CmdEndRendering(b);
  const std::lock_guard lock(mutex);
  Recorded& state = recorded[b];
  state.secondary_contents = false;
  state.between_suspended = state.suspending;
}

// With the mutex held.
void run(VkCommandBuffer b) {
  for (const Count& count : recorded[b].counts) {
    if (!objects.contains(count.object)) {
      broken("submitted with a destroyed object");
      continue;
    }
    for (uint32_t stage = 1; stage != 0; stage <<= 1) {
      if ((count.stages & stage) == 0) continue;
      for (uint32_t block = 0; block < kBlocks; ++block) {
        const uint64_t times = block == 0 ? count.times : block == 1 ? count.times * 2 : 0;
        count.object->executions[{count.result, stage, block}] += times;
      }
    }
  }
  for (const VkCommandBuffer secondary : recorded[b].secondaries) run(secondary);
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  {
    const std::lock_guard lock(mutex);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < infos[i].commandBufferCount; ++j) run(infos[i].pCommandBuffers[j]);
    }
  }
  return device_table(queue).QueueSubmit(queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* infos, VkFence fence) {
  {
    const std::lock_guard lock(mutex);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < infos[i].commandBufferInfoCount; ++j)
        run(infos[i].pCommandBufferInfos[j].commandBuffer);
    }
  }
  return device_table(queue).QueueSubmit2(queue, count, infos, fence);
}

uint32_t stages_of(const VkComputePipelineCreateInfo& info) { return info.stage.stage; }
uint32_t stages_of(const VkGraphicsPipelineCreateInfo& info) {
  uint32_t stages = 0;
  for (uint32_t i = 0; i < info.stageCount; ++i) stages |= info.pStages[i].stage;
  return stages;
}

// A driver of this age does not know the flags struct: it is taken out.
template <typename Info, typename Create>
VkResult create_pipelines(uint32_t count, const Info* infos, VkPipeline* handles, Create create) {
  constexpr VkStructureType kFlags = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
  std::vector<Info> copies(infos, infos + count);
  std::vector<std::unique_ptr<vk::ChainCopy>> chains;
  std::vector<bool> instrumented;
  for (Info& info : copies) {
    auto& chain = chains.emplace_back(std::make_unique<vk::ChainCopy>(info.pNext));
    const auto* flags = chain->template find<VkPipelineCreateFlags2CreateInfoKHR>(kFlags);
    instrumented.push_back(flags &&
                           (flags->flags & VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM));
    if (flags) info.flags = static_cast<VkPipelineCreateFlags>(flags->flags);
    chain->remove(kFlags);
    info.pNext = chain->head();
    if (instrumented.back() && std::getenv("FAKE_INSTRUMENTATION_REFUSE"))
      return VK_ERROR_FEATURE_NOT_PRESENT;
  }
  const VkResult result = create(copies.data());
  const std::lock_guard lock(mutex);
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; ++i) {
    if (instrumented[i]) pipelines[handles[i]] = stages_of(infos[i]);
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice d, VkPipelineCache cache,
                                                      uint32_t count,
                                                      const VkComputePipelineCreateInfo* infos,
                                                      const VkAllocationCallbacks* a,
                                                      VkPipeline* handles) {
  return create_pipelines(count, infos, handles, [&](const VkComputePipelineCreateInfo* copies) {
    return device_table(d).CreateComputePipelines(d, cache, count, copies, a, handles);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateGraphicsPipelines(VkDevice d, VkPipelineCache cache,
                                                       uint32_t count,
                                                       const VkGraphicsPipelineCreateInfo* infos,
                                                       const VkAllocationCallbacks* a,
                                                       VkPipeline* handles) {
  return create_pipelines(count, infos, handles, [&](const VkGraphicsPipelineCreateInfo* copies) {
    return device_table(d).CreateGraphicsPipelines(d, cache, count, copies, a, handles);
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice d, VkPipeline pipeline,
                                           const VkAllocationCallbacks* a) {
  {
    const std::lock_guard lock(mutex);
    pipelines.erase(pipeline);
  }
  device_table(d).DestroyPipeline(d, pipeline, a);
}

VKAPI_ATTR VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(
    VkPhysicalDevice d, const char* layer, uint32_t* count, VkExtensionProperties* properties) {
  InstanceTable& next = instance_table(d);
  if (layer) return next.EnumerateDeviceExtensionProperties(d, layer, count, properties);
  uint32_t below = 0;
  next.EnumerateDeviceExtensionProperties(d, nullptr, &below, nullptr);
  std::vector<VkExtensionProperties> all(below);
  next.EnumerateDeviceExtensionProperties(d, nullptr, &below, all.data());
  VkExtensionProperties ours{};
  std::strcpy(ours.extensionName, VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  ours.specVersion = VK_ARM_SHADER_INSTRUMENTATION_SPEC_VERSION;
  all.push_back(ours);
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice d,
                                                      VkPhysicalDeviceFeatures2* features) {
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM;
  {
    const vk::UnlinkedStructs without(features, {kType});
    instance_table(d).GetPhysicalDeviceFeatures2(d, features);
  }
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(features,
                                                                                           kType)) {
    ours->shaderInstrumentation = VK_TRUE;
  }
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice d,
                                                        VkPhysicalDeviceProperties2* properties) {
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM;
  {
    const vk::UnlinkedStructs without(properties, {kType});
    instance_table(d).GetPhysicalDeviceProperties2(d, properties);
  }
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationPropertiesARM>(
          properties, kType)) {
    ours->numMetrics = kMetricCount;
    ours->perBasicBlockGranularity = VK_TRUE;
  }
}

PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice d, const char* name);

VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice d, const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* a, VkDevice* device) {
  const vk::NextDevice next = vk::take_next_device(*info);
  vk::ChainCopy chain(info->pNext);
  const bool enabled =
      chain.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM);
  std::vector<const char*> extensions;
  bool named = false;
  for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
    const char* name = info->ppEnabledExtensionNames[i];
    const bool ours = std::strcmp(name, VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME) == 0;
    named |= ours;
    if (!ours) extensions.push_back(name);
  }
  if (enabled != named) broken("the feature without the extension, or the other way round");
  VkDeviceCreateInfo copy = *info;
  copy.pNext = chain.head();
  copy.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  copy.ppEnabledExtensionNames = extensions.data();
  const auto instance = instances.at(vk::dispatch_key(d)).first;
  const auto create =
      reinterpret_cast<PFN_vkCreateDevice>(next.get_instance_proc_addr(instance, "vkCreateDevice"));
  const VkResult result = create(d, &copy, a, device);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(mutex);
  device_next[vk::dispatch_key(*device)] = next.get_device_proc_addr;
  devices[vk::dispatch_key(*device)].load(
      [&](const char* name) { return next.get_device_proc_addr(*device, name); });
  return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice d, const VkAllocationCallbacks* a) {
  if (!objects.empty()) broken("objects outlive the device");
  device_table(d).DestroyDevice(d, a);
}

VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* a,
                                              VkInstance* instance) {
  const vk::NextInstance next = vk::take_next_instance(*info);
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(
      next.get_instance_proc_addr(nullptr, "vkCreateInstance"));
  const VkResult result = create(info, a, instance);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(mutex);
  void* const key = vk::dispatch_key(*instance);
  instances[key] = {*instance, next};
  instance_tables[key].load(
      [&](const char* name) { return next.get_instance_proc_addr(*instance, name); });
  return result;
}

struct Row {
  const char* name;
  PFN_vkVoidFunction function;
};

template <typename Function>
Row row(const char* name, Function* function) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

PFN_vkVoidFunction find(const std::vector<Row>& rows, const char* name) {
  for (const Row& one : rows) {
    if (std::strcmp(one.name, name) == 0) return one.function;
  }
  return nullptr;
}

PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice d, const char* name) {
  static const std::vector<Row> rows = {
      row("vkGetDeviceProcAddr", GetDeviceProcAddr),
      row("vkDestroyDevice", DestroyDevice),
      row("vkCreateShaderInstrumentationARM", CreateShaderInstrumentation),
      row("vkDestroyShaderInstrumentationARM", DestroyShaderInstrumentation),
      row("vkCmdBeginShaderInstrumentationARM", CmdBeginShaderInstrumentation),
      row("vkCmdEndShaderInstrumentationARM", CmdEndShaderInstrumentation),
      row("vkGetShaderInstrumentationValuesARM", GetShaderInstrumentationValues),
      row("vkClearShaderInstrumentationMetricsARM", ClearShaderInstrumentationMetrics),
      row("vkCmdDraw", CmdDraw),
      row("vkCmdDispatch", CmdDispatch),
      row("vkCmdBindPipeline", CmdBindPipeline),
      row("vkCmdExecuteCommands", CmdExecuteCommands),
      row("vkBeginCommandBuffer", BeginCommandBuffer),
      row("vkEndCommandBuffer", EndCommandBuffer),
      row("vkCmdBeginRenderPass", CmdBeginRenderPass),
      row("vkCmdNextSubpass", CmdNextSubpass),
      row("vkCmdEndRenderPass", CmdEndRenderPass),
      row("vkCmdBeginRendering", CmdBeginRendering),
      row("vkCmdEndRendering", CmdEndRendering),
      row("vkQueueSubmit", QueueSubmit),
      row("vkQueueSubmit2", QueueSubmit2),
      row("vkCreateComputePipelines", CreateComputePipelines),
      row("vkCreateGraphicsPipelines", CreateGraphicsPipelines),
      row("vkDestroyPipeline", DestroyPipeline),
  };
  if (const PFN_vkVoidFunction ours = find(rows, name)) return ours;
  return device_next.at(vk::dispatch_key(d))(d, name);
}

PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance instance, const char* name) {
  static const std::vector<Row> rows = {
      row("vkGetInstanceProcAddr", GetInstanceProcAddr),
      row("vkGetDeviceProcAddr", GetDeviceProcAddr),
      row("vkCreateInstance", CreateInstance),
      row("vkCreateDevice", CreateDevice),
      row("vkEnumerateDeviceExtensionProperties", EnumerateDeviceExtensionProperties),
      row("vkGetPhysicalDeviceFeatures2", GetPhysicalDeviceFeatures2),
      row("vkGetPhysicalDeviceFeatures2KHR", GetPhysicalDeviceFeatures2),
      row("vkGetPhysicalDeviceProperties2", GetPhysicalDeviceProperties2),
      row("vkGetPhysicalDeviceProperties2KHR", GetPhysicalDeviceProperties2),
      row("vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM", EnumerateMetrics),
  };
  if (const PFN_vkVoidFunction ours = find(rows, name)) return ours;
  if (!instance) return nullptr;
  return instances.at(vk::dispatch_key(instance)).second.get_instance_proc_addr(instance, name);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  return tally::vk::negotiate(version, GetInstanceProcAddr, GetDeviceProcAddr, nullptr);
}
