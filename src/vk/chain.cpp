#include "vk/chain.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tally::vk {
namespace {

// Larger than every struct that extends a create info today.
constexpr size_t kUnknownStructSize = 512;

std::unique_ptr<std::max_align_t[]> allocate(size_t size) {
  return std::make_unique<std::max_align_t[]>((size + sizeof(std::max_align_t) - 1) /
                                              sizeof(std::max_align_t));
}

// Copies a struct of unknown size: as many of the next `size` bytes as this process may read. The
// kernel copies, because the memory after the struct may be unmapped. If the kernel refuses
// (sandbox), only the rest of the page is copied; it is readable, since the struct begins on it.
#if defined(__clang__)
__attribute__((no_sanitize("address", "thread")))
#else
__attribute__((no_sanitize_address, no_sanitize_thread))
#endif
void copy_readable(void* target, const void* source, size_t size) {
  iovec local{target, size};
  iovec remote{const_cast<void*>(source), size};
  if (::syscall(SYS_process_vm_readv, ::getpid(), &local, 1ul, &remote, 1ul, 0ul) > 0) return;
  const auto address = reinterpret_cast<uintptr_t>(source);
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t readable = std::min(size, page - address % page);
  const auto* from = static_cast<const volatile char*>(source);
  for (size_t i = 0; i < readable; ++i) static_cast<char*>(target)[i] = from[i];
}

}  // namespace

UnlinkedStructs::UnlinkedStructs(void* head, std::initializer_list<VkStructureType> types) {
  auto* before = static_cast<VkBaseOutStructure*>(head);
  while (before && before->pNext) {
    VkBaseOutStructure* node = before->pNext;
    if (std::find(types.begin(), types.end(), node->sType) == types.end()) {
      before = node;
      continue;
    }
    cuts_.push_back({before, node});
    before->pNext = node->pNext;
  }
}

UnlinkedStructs::~UnlinkedStructs() {
  for (auto cut = cuts_.rbegin(); cut != cuts_.rend(); ++cut) cut->before->pNext = cut->node;
}

ChainCopy::ChainCopy(const void* chain) {
  VkBaseOutStructure** link = &head_;
  for (auto* node = static_cast<const VkBaseInStructure*>(chain); node; node = node->pNext) {
    const size_t known = struct_size(node->sType);
    const size_t size = known != 0 ? known : kUnknownStructSize;
    storage_.push_back(allocate(size));
    auto* copy = reinterpret_cast<VkBaseOutStructure*>(storage_.back().get());
    if (known != 0) {
      std::memcpy(copy, node, size);
    } else {
      copy_readable(copy, node, size);
    }
    copy->pNext = nullptr;
    *link = copy;
    link = &copy->pNext;
  }
}

bool ChainCopy::remove(VkStructureType type) {
  bool removed = false;
  for (VkBaseOutStructure** link = &head_; *link;) {
    if ((*link)->sType == type) {
      *link = (*link)->pNext;
      removed = true;
    } else {
      link = &(*link)->pNext;
    }
  }
  return removed;
}

void* ChainCopy::add_bytes(const void* data, size_t size) {
  storage_.push_back(allocate(size));
  auto* node = reinterpret_cast<VkBaseOutStructure*>(storage_.back().get());
  std::memcpy(node, data, size);
  node->pNext = head_;
  head_ = node;
  return node;
}

// struct_sizes.py generates the rows from the registry of Vulkan 1.3.239. Newer structs that Tally
// itself declares are listed by hand.
size_t struct_size(VkStructureType type) {
  switch (static_cast<uint32_t>(type)) {
#define TALLY_STRUCT(value, name) \
  case value:                     \
    return sizeof(name);
#include "vk/struct_sizes.inc"
    TALLY_STRUCT(VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, VkLayerInstanceCreateInfo)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VkLayerDeviceCreateInfo)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
                 VkPhysicalDeviceMaintenance5FeaturesKHR)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR,
                 VkBufferUsageFlags2CreateInfoKHR)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
                 VkPipelineCreateFlags2CreateInfoKHR)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, VkLayerSettingsCreateInfoEXT)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT,
                 VkPhysicalDeviceFrameBoundaryFeaturesEXT)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT, VkFrameBoundaryEXT)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM,
                 VkPhysicalDeviceShaderInstrumentationFeaturesARM)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
                 VkPhysicalDevicePerformanceCountersByRegionFeaturesARM)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM,
                 VkRenderPassPerformanceCountersByRegionBeginInfoARM)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM,
                 VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM)
#undef TALLY_STRUCT
    default:
      return 0;
  }
}

}  // namespace tally::vk
