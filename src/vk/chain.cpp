#include "vk/chain.h"

#include <vulkan/vk_layer.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/log.h"

namespace tally::vk {
namespace {

static_assert(sizeof(void*) == 8, "the sizes in chained_structs.inc are those of 64-bit programs");

struct ChainedStruct {
  uint32_t type;  // VkStructureType
  uint32_t size;
  bool flat;
};

// Ascending by type. struct_sizes.py makes the rows from the registry of Vulkan 1.4.363.
constexpr ChainedStruct kChainedStructs[] = {
#include "vk/chained_structs.inc"
};
static_assert(std::ranges::is_sorted(kChainedStructs, {}, &ChainedStruct::type));

// The loader is not in the registry.
constexpr ChainedStruct kLoaderInstance = {0, sizeof(VkLayerInstanceCreateInfo), false};
constexpr ChainedStruct kLoaderDevice = {0, sizeof(VkLayerDeviceCreateInfo), false};

const ChainedStruct* find_chained(VkStructureType type) {
  if (type == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO) return &kLoaderInstance;
  if (type == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO) return &kLoaderDevice;
  const auto wanted = static_cast<uint32_t>(type);
  const auto* found = std::ranges::lower_bound(kChainedStructs, wanted, {}, &ChainedStruct::type);
  return found != std::end(kChainedStructs) && found->type == wanted ? found : nullptr;
}

constexpr size_t kAlignment = alignof(std::max_align_t);
constexpr size_t kBlockSize = 1024;

}  // namespace

UnlinkedStructs::UnlinkedStructs(void* head, const std::vector<VkStructureType>& types) {
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

void* CopyMemory::take(size_t size) {
  size = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (blocks_.empty() || used_ + size > size_) {
    size_ = std::max(size, blocks_.empty() ? kBlockSize : kBlockSize / 2);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size_));
    used_ = 0;
  }
  void* taken = blocks_.back().get() + used_;
  used_ += size;
  return taken;
}

void* CopyMemory::copy_bytes(const void* from, size_t size) {
  return std::memcpy(take(size), from, size);
}

VkBaseOutStructure* CopyMemory::copy_struct(const VkBaseInStructure* from) {
  const size_t size = struct_size(from->sType);
  return size == 0 ? nullptr : static_cast<VkBaseOutStructure*>(copy_bytes(from, size));
}

ChainCopy::ChainCopy(const void* chain) : rest_(static_cast<const VkBaseInStructure*>(chain)) {
  copy_known();
}

// The last link that the copy owns.
VkBaseOutStructure** ChainCopy::end() {
  VkBaseOutStructure** link = &head_;
  while (*link && *link != reinterpret_cast<const VkBaseOutStructure*>(rest_)) {
    link = &(*link)->pNext;
  }
  return link;
}

// Copies the structs of rest_ up to the next unknown one, and links that.
void ChainCopy::copy_known() {
  VkBaseOutStructure** link = end();
  for (; rest_; rest_ = rest_->pNext) {
    VkBaseOutStructure* copy = memory_.copy_struct(rest_);
    if (!copy) break;
    *link = copy;
    link = &copy->pNext;
  }
  // Nobody writes to it: find() and remove() copy what they change.
  *link = const_cast<VkBaseOutStructure*>(reinterpret_cast<const VkBaseOutStructure*>(rest_));
}

// Leaves out the unknown structs before a struct of this type.
void ChainCopy::copy_up_to(VkStructureType type) {
  while (find_in_chain<VkBaseInStructure>(rest_, type)) {
    log_once(LogLevel::Warning,
             "the layer omits a struct of the unknown type {} from a pNext chain, because it must "
             "change the struct of type {} behind it",
             static_cast<uint32_t>(rest_->sType), static_cast<uint32_t>(type));
    VkBaseOutStructure** link = end();
    rest_ = rest_->pNext;
    *link = const_cast<VkBaseOutStructure*>(reinterpret_cast<const VkBaseOutStructure*>(rest_));
    copy_known();
  }
}

bool ChainCopy::remove(VkStructureType type) {
  copy_up_to(type);
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

size_t struct_size(VkStructureType type) {
  const ChainedStruct* known = find_chained(type);
  return known ? known->size : 0;
}

bool is_flat(VkStructureType type) {
  const ChainedStruct* known = find_chained(type);
  return known && known->flat;
}

}  // namespace tally::vk
