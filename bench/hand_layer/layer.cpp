// A layer that counts with the least work: a bound of what a layer can reach. Each shader module
// counts its invocations at an address that is part of its code. At each present the counters are
// read and written to /dev/null, without waiting. At the end it prints the counts to stderr.
//
// It is for programs on lavapipe that use one device and one thread, and asks for no feature that
// it needs. TALLY_BY_HAND has words: "sums" (one lane adds for its subgroup; in vertex shaders,
// where lavapipe offers no subgroup operations, each lane adds), "layer" (the code knows only what
// a layer knows: the address of the counters, which may be null, is pushed when a pipeline is
// bound), "off" (with "layer": nothing counts), "times" (the device's time before and after each
// render pass, written too; not of passes that vkCmdBeginRenderPass2 begins).
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

namespace tally::bench {
namespace {

#define TALLY_HAND_FUNCTIONS(X)      \
  X(AllocateMemory, "")              \
  X(BindBufferMemory, "")            \
  X(CmdBeginRenderPass, "")          \
  X(CmdBeginRendering, "KHR")        \
  X(CmdBindPipeline, "")             \
  X(CmdEndRendering, "KHR")          \
  X(CmdEndRenderPass, "")            \
  X(CmdPushConstants, "")            \
  X(CmdResetQueryPool, "")           \
  X(CmdWriteTimestamp, "")           \
  X(CreateBuffer, "")                \
  X(CreatePipelineLayout, "")        \
  X(CreateQueryPool, "")             \
  X(CreateShaderModule, "")          \
  X(DestroyDevice, "")               \
  X(DeviceWaitIdle, "")              \
  X(GetBufferDeviceAddress, "KHR")   \
  X(GetBufferMemoryRequirements, "") \
  X(GetQueryPoolResults, "")         \
  X(MapMemory, "")                   \
  X(QueuePresentKHR, "")
TALLY_VK_TABLE(Functions, TALLY_HAND_FUNCTIONS)

constexpr uint32_t kLineBytes = 64, kCounters = 1024, kPasses = 64;

bool has_word(std::string_view word) {
  const char* words = std::getenv("TALLY_BY_HAND");
  return words != nullptr && std::string_view(words).find(word) != std::string_view::npos;
}

vk::NextInstance g_next_instance;
vk::NextDevice g_next_device;
VkInstance g_instance;

// State of the device.
struct State {
  Functions next;
  VkDevice device = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  // With the word "layer": a layout with all push constants in all stages, and what is pushed.
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDeviceAddress pushed = 0;
  std::byte* counters = nullptr;
  uint32_t modules = 0;
  std::array<uint64_t, kCounters> last{};  // what was read at the last present
  VkQueryPool times = VK_NULL_HANDLE;
  uint32_t passes = 0;  // recorded ones
  int file = -1;

  uint64_t& counter(uint32_t module) const {
    return *reinterpret_cast<uint64_t*>(counters + size_t{module} * kLineBytes);
  }
};
State g_state;

// In the first type of memory: lavapipe has no other.
void make_counters() {
  const VkBufferCreateInfo buffer_info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = VkDeviceSize{kCounters} * kLineBytes,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
  VkBuffer buffer = VK_NULL_HANDLE;
  g_state.next.CreateBuffer(g_state.device, &buffer_info, nullptr, &buffer);
  VkMemoryRequirements needs;
  g_state.next.GetBufferMemoryRequirements(g_state.device, buffer, &needs);
  const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo memory_info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &flags,
                                         .allocationSize = needs.size};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  g_state.next.AllocateMemory(g_state.device, &memory_info, nullptr, &memory);
  g_state.next.BindBufferMemory(g_state.device, buffer, memory, 0);
  void* words = nullptr;
  g_state.next.MapMemory(g_state.device, memory, 0, VK_WHOLE_SIZE, 0, &words);
  const VkBufferDeviceAddressInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                       .buffer = buffer};
  g_state.address = g_state.next.GetBufferDeviceAddress(g_state.device, &info);
  if (words == nullptr || g_state.address == 0) std::abort();
  std::memset(words, 0, needs.size);
  g_state.counters = static_cast<std::byte*>(words);
  g_state.file = ::open("/dev/null", O_WRONLY);
  if (!has_word("times")) return;
  const VkQueryPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = 2 * kPasses};
  g_state.next.CreateQueryPool(g_state.device, &pool, nullptr, &g_state.times);
}

void prepare_pushes() {
  g_state.pushed = has_word("off") ? 0 : g_state.address;
  const VkPushConstantRange range{VK_SHADER_STAGE_ALL, 0, kPushOffset + sizeof(uint64_t)};
  const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .pushConstantRangeCount = 1,
                                        .pPushConstantRanges = &range};
  g_state.next.CreatePipelineLayout(g_state.device, &info, nullptr, &g_state.layout);
}

VKAPI_ATTR VkResult VKAPI_CALL create_shader_module(VkDevice device,
                                                    const VkShaderModuleCreateInfo* info,
                                                    const VkAllocationCallbacks* allocator,
                                                    VkShaderModule* module) {
  const bool as_layer = has_word("layer");
  const uint64_t first = as_layer ? 0 : g_state.address;
  const CountInvocations options{first + g_state.modules * kLineBytes, has_word("sums"), as_layer};
  const auto counted =
      g_state.modules < kCounters
          ? count_invocations({info->pCode, info->codeSize / sizeof(uint32_t)}, options)
          : std::nullopt;
  VkShaderModuleCreateInfo changed = *info;
  if (counted) {
    ++g_state.modules;
    changed.pCode = counted->data();
    changed.codeSize = counted->size() * sizeof(uint32_t);
  }
  return g_state.next.CreateShaderModule(device, &changed, allocator, module);
}

// The ranges of the application begin before kPushOffset, so each is made longer.
VKAPI_ATTR VkResult VKAPI_CALL create_pipeline_layout(VkDevice device,
                                                      const VkPipelineLayoutCreateInfo* info,
                                                      const VkAllocationCallbacks* allocator,
                                                      VkPipelineLayout* layout) {
  std::vector<VkPushConstantRange> ranges(info->pPushConstantRanges,
                                          info->pPushConstantRanges + info->pushConstantRangeCount);
  VkShaderStageFlags others = VK_SHADER_STAGE_ALL;
  for (VkPushConstantRange& range : ranges) {
    range.size = kPushOffset + sizeof(uint64_t) - range.offset;
    others &= ~range.stageFlags;
  }
  if (others != 0) ranges.push_back({others, kPushOffset, sizeof(uint64_t)});
  VkPipelineLayoutCreateInfo changed = *info;
  changed.pushConstantRangeCount = static_cast<uint32_t>(ranges.size());
  changed.pPushConstantRanges = ranges.data();
  return g_state.next.CreatePipelineLayout(device, &changed, allocator, layout);
}

VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                         VkPipeline pipeline) {
  g_state.next.CmdBindPipeline(commands, point, pipeline);
  g_state.next.CmdPushConstants(commands, g_state.layout, VK_SHADER_STAGE_ALL, kPushOffset,
                                sizeof g_state.pushed, &g_state.pushed);
}

void begin_time(VkCommandBuffer commands) {
  if (g_state.times == VK_NULL_HANDLE) return;
  const uint32_t first = g_state.passes % kPasses * 2;
  g_state.next.CmdResetQueryPool(commands, g_state.times, first, 2);
  g_state.next.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g_state.times, first);
}

void end_time(VkCommandBuffer commands) {
  if (g_state.times == VK_NULL_HANDLE) return;
  const uint32_t first = g_state.passes++ % kPasses * 2;
  g_state.next.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, g_state.times,
                                 first + 1);
}

VKAPI_ATTR void VKAPI_CALL begin_render_pass(VkCommandBuffer commands,
                                             const VkRenderPassBeginInfo* info,
                                             VkSubpassContents contents) {
  begin_time(commands);
  g_state.next.CmdBeginRenderPass(commands, info, contents);
}

VKAPI_ATTR void VKAPI_CALL end_render_pass(VkCommandBuffer commands) {
  g_state.next.CmdEndRenderPass(commands);
  end_time(commands);
}

VKAPI_ATTR void VKAPI_CALL begin_rendering(VkCommandBuffer commands, const VkRenderingInfo* info) {
  begin_time(commands);
  g_state.next.CmdBeginRendering(commands, info);
}

VKAPI_ATTR void VKAPI_CALL end_rendering(VkCommandBuffer commands) {
  g_state.next.CmdEndRendering(commands);
  end_time(commands);
}

// The counts of the frames that are complete by now.
void write_values() {
  std::array<uint64_t, kCounters> values;
  for (uint32_t i = 0; i < g_state.modules; ++i) {
    const uint64_t count = g_state.counter(i);
    values[i] = count - g_state.last[i];
    g_state.last[i] = count;
  }
  if (::write(g_state.file, values.data(), g_state.modules * sizeof(uint64_t)) < 0) std::abort();
  if (g_state.times == VK_NULL_HANDLE || g_state.passes == 0) return;
  std::array<uint64_t, 2> times{};
  // The time of a pass some frames ago, or of the first one of a program that records its commands
  // once.
  const uint32_t pass = g_state.passes > 3 ? g_state.passes - 4 : 0;
  const uint32_t first = pass % kPasses * 2;
  g_state.next.GetQueryPoolResults(g_state.device, g_state.times, first, 2, sizeof times,
                                   times.data(), sizeof times[0], VK_QUERY_RESULT_64_BIT);
  if (::write(g_state.file, times.data(), sizeof times) < 0) std::abort();
}

VKAPI_ATTR VkResult VKAPI_CALL queue_present(VkQueue queue, const VkPresentInfoKHR* info) {
  write_values();
  return g_state.next.QueuePresentKHR(queue, info);
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (device == g_state.device) {
    g_state.next.DeviceWaitIdle(device);
    std::fprintf(stderr, "by hand:");
    for (uint32_t i = 0; i < g_state.modules; ++i)
      std::fprintf(stderr, " %llu", static_cast<unsigned long long>(g_state.counter(i)));
    std::fprintf(stderr, "\n");
  }
  g_state.next.DestroyDevice(device, allocator);
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
  g_state = {};
  g_state.device = *device;
  g_state.next.load(
      [&](const char* name) { return g_next_device.get_device_proc_addr(*device, name); });
  make_counters();
  if (has_word("layer")) prepare_pushes();
  return result;
}

PFN_vkVoidFunction hook(std::string_view name) {
  const auto is = [&](std::string_view other, auto function) {
    return name == other ? reinterpret_cast<PFN_vkVoidFunction>(function) : nullptr;
  };
  const bool as_layer = has_word("layer");
  for (const PFN_vkVoidFunction found :
       {is("vkCreateShaderModule", create_shader_module), is("vkDestroyDevice", destroy_device),
        is("vkQueuePresentKHR", queue_present), is("vkCmdBeginRenderPass", begin_render_pass),
        is("vkCmdEndRenderPass", end_render_pass), is("vkCmdBeginRendering", begin_rendering),
        is("vkCmdBeginRenderingKHR", begin_rendering), is("vkCmdEndRendering", end_rendering),
        is("vkCmdEndRenderingKHR", end_rendering),
        is("vkCreatePipelineLayout", as_layer ? create_pipeline_layout : nullptr),
        is("vkCmdBindPipeline", as_layer ? bind_pipeline : nullptr)}) {
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
