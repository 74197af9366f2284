#include "vk/chain.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

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

}  // namespace tally::vk
