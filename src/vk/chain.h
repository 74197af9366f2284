// Functions for pNext chains: search a chain, unlink structs from an output chain, edit a private
// copy of a const chain.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

namespace tally::vk {

// The first struct of `chain` that has this type, or null.
template <typename T>
const T* find_in_chain(const void* chain, VkStructureType type) {
  for (auto* node = static_cast<const VkBaseInStructure*>(chain); node; node = node->pNext) {
    if (node->sType == type) return reinterpret_cast<const T*>(node);
  }
  return nullptr;
}

// The same for a chain of output structs, such as a VkPhysicalDeviceFeatures2 chain.
template <typename T>
T* find_in_out_chain(void* chain, VkStructureType type) {
  for (auto* node = static_cast<VkBaseOutStructure*>(chain); node; node = node->pNext) {
    if (node->sType == type) return reinterpret_cast<T*>(node);
  }
  return nullptr;
}

// Unlinks structs of the given types from an output chain, so that the next layer does not see
// them. The destructor links them back in their original positions.
class UnlinkedStructs {
 public:
  // `head` is the struct whose pNext starts the chain; it stays linked.
  UnlinkedStructs(void* head, std::initializer_list<VkStructureType> types);
  ~UnlinkedStructs();
  UnlinkedStructs(const UnlinkedStructs&) = delete;
  UnlinkedStructs& operator=(const UnlinkedStructs&) = delete;

 private:
  struct Cut {
    VkBaseOutStructure* before;
    VkBaseOutStructure* node;
  };
  std::vector<Cut> cuts_;
};

// A private copy of a const chain. The copy is shallow: pointers inside the structs still refer to
// the application's memory. Structs of types that Tally does not know are copied with a margin,
// because their size is unknown (see chain.cpp).
class ChainCopy {
 public:
  ChainCopy() = default;
  explicit ChainCopy(const void* chain);
  ChainCopy(const ChainCopy&) = delete;
  ChainCopy& operator=(const ChainCopy&) = delete;
  ChainCopy(ChainCopy&&) = default;
  ChainCopy& operator=(ChainCopy&&) = default;

  void* head() const { return head_; }

  template <typename T>
  T* find(VkStructureType type) const {
    return find_in_out_chain<T>(head_, type);
  }

  // Removes every struct of this type. Returns whether there was one.
  bool remove(VkStructureType type);

  // Inserts a copy of `value` at the front and sets its pNext.
  template <typename T>
  T* add(const T& value) {
    return static_cast<T*>(add_bytes(&value, sizeof value));
  }

 private:
  void* add_bytes(const void* data, size_t size);

  VkBaseOutStructure* head_ = nullptr;
  std::vector<std::unique_ptr<std::max_align_t[]>> storage_;
};

// The size of the struct with this type; 0 if Tally does not know the type.
size_t struct_size(VkStructureType type);

}  // namespace tally::vk
