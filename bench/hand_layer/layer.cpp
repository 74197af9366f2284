// A layer that counts with the least work: a bound of what a layer can reach. Each shader module
// counts its invocations at an address that is part of its code. At each present the counters are
// read and written to a file, without waiting. At the end it prints the counts to stderr.
//
// It is for programs on lavapipe that use one device and one thread, and asks for no feature that
// it needs. TALLY_BY_HAND has words: "sums" (one lane adds for its subgroup), "times" (the device's
// time before and after each render pass, written too).
#include "vk/layer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "hand_layer/count_invocations.h"
#include "vk/dispatch.h"

namespace tally::bench {
namespace {

#define TALLY_HAND_FUNCTIONS(X)                                                                    \
  X(AllocateMemory, "")                                                                            \
  X(BindBufferMemory, "") X(CmdBeginRenderPass, "") X(CmdEndRenderPass, "")                        \
      X(CmdResetQueryPool, "") X(CmdWriteTimestamp, "") X(CreateBuffer, "") X(CreateQueryPool, "") \
          X(CreateShaderModule, "") X(DestroyDevice, "") X(DeviceWaitIdle, "")                     \
              X(GetBufferDeviceAddress, "KHR") X(GetBufferMemoryRequirements, "")                  \
                  X(GetQueryPoolResults, "") X(MapMemory, "") X(QueuePresentKHR, "")
TALLY_VK_TABLE(Functions, TALLY_HAND_FUNCTIONS)

constexpr uint32_t kLineBytes = 64, kCounters = 1024, kPasses = 64;

bool has_word(std::string_view word) {
  const char* words = std::getenv("TALLY_BY_HAND");
  return words != nullptr && std::string_view(words).find(word) != std::string_view::npos;
}

vk::NextInstance g_next_instance;
vk::NextDevice g_next_device;
VkInstance g_instance;

// Of the device.
struct State {
  Functions next;
  VkDevice device = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  uint32_t* words = nullptr;
  uint32_t modules = 0;
  std::array<uint32_t, kCounters> last{};  // what was read at the last present
  VkQueryPool times = VK_NULL_HANDLE;
  uint32_t passes = 0;  // recorded ones
  int file = -1;

  uint32_t count(uint32_t module) const { return words[module * kLineBytes / sizeof(uint32_t)]; }
};
State g;

// Whatever memory is: lavapipe has one type, which is visible.
void make_counters() {
  const VkBufferCreateInfo buffer_info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = VkDeviceSize{kCounters} * kLineBytes,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
  VkBuffer buffer = VK_NULL_HANDLE;
  g.next.CreateBuffer(g.device, &buffer_info, nullptr, &buffer);
  VkMemoryRequirements needs;
  g.next.GetBufferMemoryRequirements(g.device, buffer, &needs);
  const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo memory_info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &flags,
                                         .allocationSize = needs.size};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  g.next.AllocateMemory(g.device, &memory_info, nullptr, &memory);
  g.next.BindBufferMemory(g.device, buffer, memory, 0);
  void* words = nullptr;
  g.next.MapMemory(g.device, memory, 0, VK_WHOLE_SIZE, 0, &words);
  const VkBufferDeviceAddressInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                       .buffer = buffer};
  g.address = g.next.GetBufferDeviceAddress(g.device, &info);
  if (words == nullptr || g.address == 0) std::abort();
  std::memset(words, 0, needs.size);
  g.words = static_cast<uint32_t*>(words);
  g.file = ::open("/dev/null", O_WRONLY);
  if (!has_word("times")) return;
  const VkQueryPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = 2 * kPasses};
  g.next.CreateQueryPool(g.device, &pool, nullptr, &g.times);
}

VKAPI_ATTR VkResult VKAPI_CALL create_shader_module(VkDevice device,
                                                    const VkShaderModuleCreateInfo* info,
                                                    const VkAllocationCallbacks* allocator,
                                                    VkShaderModule* module) {
  const CountInvocations options{g.address + g.modules * kLineBytes, has_word("sums")};
  const auto counted =
      g.modules < kCounters
          ? count_invocations({info->pCode, info->codeSize / sizeof(uint32_t)}, options)
          : std::nullopt;
  VkShaderModuleCreateInfo changed = *info;
  if (counted) {
    ++g.modules;
    changed.pCode = counted->data();
    changed.codeSize = counted->size() * sizeof(uint32_t);
  }
  return g.next.CreateShaderModule(device, &changed, allocator, module);
}

VKAPI_ATTR void VKAPI_CALL begin_render_pass(VkCommandBuffer commands,
                                             const VkRenderPassBeginInfo* info,
                                             VkSubpassContents contents) {
  if (g.times != VK_NULL_HANDLE) {
    const uint32_t first = g.passes % kPasses * 2;
    g.next.CmdResetQueryPool(commands, g.times, first, 2);
    g.next.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g.times, first);
  }
  g.next.CmdBeginRenderPass(commands, info, contents);
}

VKAPI_ATTR void VKAPI_CALL end_render_pass(VkCommandBuffer commands) {
  g.next.CmdEndRenderPass(commands);
  if (g.times == VK_NULL_HANDLE) return;
  const uint32_t first = g.passes++ % kPasses * 2;
  g.next.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, g.times, first + 1);
}

// Of the frames that are complete by now.
void write_values() {
  std::array<uint32_t, kCounters> values;
  for (uint32_t i = 0; i < g.modules; ++i) {
    const uint32_t count = g.count(i);
    values[i] = count - g.last[i];
    g.last[i] = count;
  }
  if (::write(g.file, values.data(), g.modules * sizeof(uint32_t)) < 0) std::abort();
  if (g.times == VK_NULL_HANDLE || g.passes < 4) return;
  std::array<uint64_t, 2> times{};
  const uint32_t first = (g.passes - 4) % kPasses * 2;
  g.next.GetQueryPoolResults(g.device, g.times, first, 2, sizeof times, times.data(),
                             sizeof times[0], VK_QUERY_RESULT_64_BIT);
  if (::write(g.file, times.data(), sizeof times) < 0) std::abort();
}

VKAPI_ATTR VkResult VKAPI_CALL queue_present(VkQueue queue, const VkPresentInfoKHR* info) {
  write_values();
  return g.next.QueuePresentKHR(queue, info);
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (device == g.device) {
    g.next.DeviceWaitIdle(device);
    std::fprintf(stderr, "by hand:");
    for (uint32_t i = 0; i < g.modules; ++i) std::fprintf(stderr, " %u", g.count(i));
    std::fprintf(stderr, "\n");
  }
  g.next.DestroyDevice(device, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) {
  g_next_instance = vk::take_next_instance(*info);
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(
      g_next_instance.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, instance);
  if (result == VK_SUCCESS) g_instance = *instance;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* device) {
  g_next_device = vk::take_next_device(*info);
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(
      g_next_device.get_instance_proc_addr(g_instance, "vkCreateDevice"));
  VkDeviceCreateInfo changed = *info;
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  extensions.push_back(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  changed.ppEnabledExtensionNames = extensions.data();
  changed.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  const VkResult result = create(gpu, &changed, allocator, device);
  if (result != VK_SUCCESS) return result;
  g = {};
  g.device = *device;
  g.next.load([&](const char* name) { return g_next_device.get_device_proc_addr(*device, name); });
  make_counters();
  return result;
}

PFN_vkVoidFunction hook(std::string_view name) {
  const auto is = [&](std::string_view other, auto function) {
    return name == other ? reinterpret_cast<PFN_vkVoidFunction>(function) : nullptr;
  };
  for (const PFN_vkVoidFunction found :
       {is("vkCreateShaderModule", create_shader_module), is("vkDestroyDevice", destroy_device),
        is("vkQueuePresentKHR", queue_present), is("vkCmdBeginRenderPass", begin_render_pass),
        is("vkCmdEndRenderPass", end_render_pass)}) {
    if (found) return found;
  }
  return nullptr;
}

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
  const PFN_vkVoidFunction next = g_next_device.get_device_proc_addr(device, name);
  const PFN_vkVoidFunction ours = hook(name);
  return next && ours ? ours : next;
}

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkCreateInstance") return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
  if (wanted == "vkCreateDevice") return reinterpret_cast<PFN_vkVoidFunction>(create_device);
  if (wanted == "vkGetInstanceProcAddr") {
    return reinterpret_cast<PFN_vkVoidFunction>(get_instance_proc_addr);
  }
  if (wanted == "vkGetDeviceProcAddr") {
    return reinterpret_cast<PFN_vkVoidFunction>(get_device_proc_addr);
  }
  if (const PFN_vkVoidFunction ours = hook(wanted)) return ours;
  return instance ? g_next_instance.get_instance_proc_addr(instance, name) : nullptr;
}

PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance instance, const char* name) {
  const auto next = g_next_instance.get_physical_device_proc_addr;
  return next ? next(instance, name) : nullptr;
}

}  // namespace
}  // namespace tally::bench

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  return tally::vk::negotiate(interface, tally::bench::get_instance_proc_addr,
                              tally::bench::get_device_proc_addr,
                              tally::bench::get_physical_device_proc_addr);
}
