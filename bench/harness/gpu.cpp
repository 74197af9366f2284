#include "harness/gpu.h"

#include <fmt/format.h>

#include <array>

#include "spirv/plan/options.h"

namespace tally::bench {

using test::check;

Capabilities::Capabilities(VkPhysicalDevice gpu) {
  VkPhysicalDeviceDriverProperties driver_properties = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &driver_properties};
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            &subgroup};
  vkGetPhysicalDeviceProperties2(gpu, &properties);
  VkPhysicalDeviceShaderAtomicInt64Features atomics = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &atomics};
  vkGetPhysicalDeviceFeatures2(gpu, &features);

  int64 = features.features.shaderInt64;
  int64_atomics = int64 && atomics.shaderBufferInt64Atomics;
  prefers_small_code = driver_properties.driverID == VK_DRIVER_ID_MESA_LLVMPIPE &&
                       subgroup.subgroupSize <= spirv::kMaxLanesOfSmallCode;
  software = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  constexpr VkSubgroupFeatureFlags kNeeded =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
      VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  if ((subgroup.supportedOperations & kNeeded) == kNeeded) {
    subgroup_stages = subgroup.supportedStages;
  }
  subgroup_size = subgroup.subgroupSize;
  name = properties.properties.deviceName;
  driver = fmt::format("{} {}", driver_properties.driverName, driver_properties.driverInfo);
}

namespace {

uint32_t memory_type(VkPhysicalDevice gpu, uint32_t allowed, Residence residence) {
  constexpr VkMemoryPropertyFlags kMapped =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const std::array<VkMemoryPropertyFlags, 2> wanted =
      residence == Residence::Device ? std::array{kLocal, VkMemoryPropertyFlags{0}}
                                     : std::array{kLocal | kMapped, kMapped};
  VkPhysicalDeviceMemoryProperties memory = {};
  vkGetPhysicalDeviceMemoryProperties(gpu, &memory);
  for (VkMemoryPropertyFlags flags : wanted) {
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      if ((allowed >> i & 1) && (memory.memoryTypes[i].propertyFlags & flags) == flags) return i;
    }
  }
  throw std::runtime_error("no memory type for a buffer");
}

}  // namespace

DeviceBuffer::DeviceBuffer(const test::Context& context, VkDeviceSize size, Residence residence)
    : size_(size) {
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = size;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  check(vkCreateBuffer(context.device(), &info, nullptr, &buffer));
  buffer_ = {context.device(), buffer};

  VkMemoryRequirements requirements = {};
  vkGetBufferMemoryRequirements(context.device(), buffer, &requirements);
  VkMemoryAllocateFlagsInfo flags = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
  allocate.allocationSize = requirements.size;
  allocate.memoryTypeIndex = memory_type(context.gpu(), requirements.memoryTypeBits, residence);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(vkAllocateMemory(context.device(), &allocate, nullptr, &memory));
  memory_ = {context.device(), memory};
  check(vkBindBufferMemory(context.device(), buffer, memory, 0));
  if (residence == Residence::Visible) {
    check(vkMapMemory(context.device(), memory, 0, VK_WHOLE_SIZE, 0, &data_));
  }
  VkBufferDeviceAddressInfo address = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = buffer;
  address_ = vkGetBufferDeviceAddress(context.device(), &address);
}

GpuTimer::GpuTimer(const test::Context& context) : context_(context) {
  VkQueryPoolCreateInfo info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 2;
  VkQueryPool pool = VK_NULL_HANDLE;
  check(vkCreateQueryPool(context.device(), &info, nullptr, &pool));
  pool_ = {context.device(), pool};
}

void GpuTimer::begin(VkCommandBuffer commands) const {
  vkCmdResetQueryPool(commands, pool_, 0, 2);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, pool_, 0);
}

void GpuTimer::end(VkCommandBuffer commands) const {
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, pool_, 1);
}

double GpuTimer::nanoseconds() const {
  std::array<uint64_t, 2> ticks = {};
  check(vkGetQueryPoolResults(context_.device(), pool_, 0, 2, sizeof ticks, ticks.data(),
                              sizeof ticks[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  return static_cast<double>(ticks[1] - ticks[0]) *
         static_cast<double>(context_.properties().limits.timestampPeriod);
}

}  // namespace tally::bench
