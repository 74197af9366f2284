// A program that enables all that it finds: each extension that a device lists, with
// each of its features.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally::test {

class EveryFeature {
 public:
  // `alone`: of this extension alone.
  explicit EveryFeature(VkPhysicalDevice gpu, std::string_view alone = {});
  EveryFeature(const EveryFeature&) = delete;
  EveryFeature& operator=(const EveryFeature&) = delete;

  // Those that the device lists, even with `alone`.
  const std::vector<std::string>& listed() const { return listed_; }
  std::vector<const char*> extensions() const;
  // A VkPhysicalDeviceFeatures2 with a chain.
  void* features() { return &features_; }
  // Leaves out what a test enables itself.
  void leave_out(std::string_view extension, VkStructureType features);

 private:
  struct Row;
  static std::vector<Row> rows();
  void add(const Row& row);

  std::vector<std::string> listed_;
  std::vector<std::string> enabled_;
  VkPhysicalDeviceFeatures2 features_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  std::vector<std::vector<uint64_t>> structs_;
};

}  // namespace tally::test
