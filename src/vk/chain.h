// Functions for pNext chains: search a chain, unlink structs from an output chain, edit a private
// copy of a const chain.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

// The features of a feature struct, all of which follow pNext.
inline std::span<VkBool32> feature_flags(VkBaseOutStructure* features, uint32_t count) {
  struct AnyFeatures {
    VkStructureType sType;
    void* pNext;
    VkBool32 first;
  };
  return {&reinterpret_cast<AnyFeatures*>(features)->first, count};
}

// Unlinks structs of the given types from an output chain, so that the next layer does not see
// them. The destructor links them back in their original positions.
class UnlinkedStructs {
 public:
  // `head` is the struct whose pNext starts the chain; it stays linked.
  UnlinkedStructs(void* head, const std::vector<VkStructureType>& types);
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

// The memory of copies that end together.
class CopyMemory {
 public:
  // `size` bytes, aligned for every type.
  void* take(size_t size);

  void* copy_bytes(const void* from, size_t size);
  template <typename T>
  T* copy(const T* from, size_t count) {
    return count == 0 ? nullptr : static_cast<T*>(copy_bytes(from, count * sizeof(T)));
  }
  // A copy of one struct of a chain; null where Tally does not know its type, and so its size.
  VkBaseOutStructure* copy_struct(const VkBaseInStructure* from);

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t used_ = 0;  // of the last block
  size_t size_ = 0;
};

// A private copy of a const chain. The copy is shallow: pointers inside the structs still refer to
// the application's memory.
//
// A struct of a type that Tally does not know has an unknown size. It is not copied: the copy ends
// with a link to it, and so to all that follow. If a struct behind it has to change, that is copied
// too, and the unknown struct is left out, which the log says once.
class ChainCopy {
 public:
  ChainCopy() = default;
  explicit ChainCopy(const void* chain);
  ChainCopy(const ChainCopy&) = delete;
  ChainCopy& operator=(const ChainCopy&) = delete;
  ChainCopy(ChainCopy&&) = default;
  ChainCopy& operator=(ChainCopy&&) = default;

  // Valid until the next change.
  const void* head() const { return head_; }

  // The struct of this type, which Tally must know and the caller may change. Null if there is
  // none.
  template <typename T>
  T* find(VkStructureType type) {
    copy_up_to(type);
    return find_in_out_chain<T>(head_, type);
  }

  // Removes every struct of this type, which Tally must know. Returns whether there was one.
  bool remove(VkStructureType type);

  // Inserts a copy of `value` at the front and sets its pNext.
  template <typename T>
  T* add(const T& value) {
    T* node = memory_.copy(&value, 1);
    node->pNext = head_;
    head_ = reinterpret_cast<VkBaseOutStructure*>(node);
    return node;
  }

 private:
  void copy_known();
  void copy_up_to(VkStructureType type);
  VkBaseOutStructure** end();

  VkBaseOutStructure* head_ = nullptr;
  // The application's structs that the copy ends with: the first one is unknown.
  const VkBaseInStructure* rest_ = nullptr;
  CopyMemory memory_;
};

// The size of the struct with this type; 0 if Tally does not know the type.
size_t struct_size(VkStructureType type);
// True if a copy of the struct's bytes stays valid: Tally knows the type, and it has neither
// pointers besides pNext nor handles.
bool is_flat(VkStructureType type);

}  // namespace tally::vk
