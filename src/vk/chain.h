// Tools for pNext chains: look into one, take structs out of one the driver fills, edit a private
// copy of a const one.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

namespace tally::vk {

// The first struct of `chain` with this type, or null.
template <typename T>
const T* find_in_chain(const void* chain, VkStructureType type) {
  for (auto* node = static_cast<const VkBaseInStructure*>(chain); node; node = node->pNext) {
    if (node->sType == type) return reinterpret_cast<const T*>(node);
  }
  return nullptr;
}

// The same for a chain whose structs are written to, such as VkPhysicalDeviceFeatures2's.
template <typename T>
T* find_in_out_chain(void* chain, VkStructureType type) {
  for (auto* node = static_cast<VkBaseOutStructure*>(chain); node; node = node->pNext) {
    if (node->sType == type) return reinterpret_cast<T*>(node);
  }
  return nullptr;
}

// Takes the structs of some types out of an output chain for as long as it lives, so that the next
// layer does not see them, and puts them back where they were.
class UnlinkedStructs {
 public:
  // `head` is the struct whose pNext begins the chain; it stays.
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

// A private copy of a const chain. Each struct is copied flat: what it points to is still the
// application's. Structs of types that Tally does not know are copied with a margin, because their
// size is unknown (chain.cpp says how).
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

  // Takes every struct of this type out; whether there was one.
  bool remove(VkStructureType type);

  // Puts a copy of `value` at the front (its pNext is set).
  template <typename T>
  T* add(const T& value) {
    return static_cast<T*>(add_bytes(&value, sizeof value));
  }

 private:
  void* add_bytes(const void* data, size_t size);

  VkBaseOutStructure* head_ = nullptr;
  std::vector<std::unique_ptr<std::max_align_t[]>> storage_;
};

// sizeof the struct with this type, 0 for one that Tally does not know.
size_t struct_size(VkStructureType type);

}  // namespace tally::vk
