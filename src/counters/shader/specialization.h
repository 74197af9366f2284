// Specialization constants of the application with more that the layer adds.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace tally::counters {

class ExtendedSpecialization {
 public:
  // `original` may be null.
  explicit ExtendedSpecialization(const VkSpecializationInfo* original) {
    if (!original) return;
    entries_.assign(original->pMapEntries, original->pMapEntries + original->mapEntryCount);
    const auto* bytes = static_cast<const std::byte*>(original->pData);
    data_.assign(bytes, bytes + original->dataSize);
  }

  void add(uint32_t id, uint32_t value) {
    data_.resize((data_.size() + sizeof value - 1) / sizeof value * sizeof value);
    entries_.push_back({id, static_cast<uint32_t>(data_.size()), sizeof value});
    data_.resize(data_.size() + sizeof value);
    std::memcpy(data_.data() + data_.size() - sizeof value, &value, sizeof value);
  }

  // Valid until the next change.
  VkSpecializationInfo info() const {
    return {static_cast<uint32_t>(entries_.size()), entries_.data(), data_.size(), data_.data()};
  }

 private:
  std::vector<VkSpecializationMapEntry> entries_;
  std::vector<std::byte> data_;
};

}  // namespace tally::counters
