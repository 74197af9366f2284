// What benchmarks need of a device beside the harness of the tests (tests/support).
#pragma once

#include "support/context.h"
#include "support/memory.h"

namespace tally::bench {

// What the block-count pass may use on a device.
struct Capabilities {
  explicit Capabilities(VkPhysicalDevice gpu);

  // Basic, vote, ballot and arithmetic in a stage.
  bool subgroups_in(VkShaderStageFlagBits stage) const { return subgroup_stages & stage; }

  bool int64 = false;
  bool int64_atomics = false;
  bool software = false;                   // the processor is the device
  VkShaderStageFlags subgroup_stages = 0;  // those with all operations that the pass knows
  uint32_t subgroup_size = 0;
  std::string name;    // of the device
  std::string driver;  // and of its driver with the version
};

enum class Residence {
  Device,   // in device memory, which the host need not see
  Visible,  // mapped, in device memory where some can be mapped
};

// A buffer for storage and transfer, with a device address.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const test::Context& context, VkDeviceSize size, Residence residence);

  operator VkBuffer() const { return buffer_; }
  VkDeviceAddress address() const { return address_; }
  // Residence::Visible only.
  std::span<uint64_t> words() const {
    return {static_cast<uint64_t*>(data_), static_cast<size_t>(size_ / sizeof(uint64_t))};
  }

 private:
  test::Handle<VkBuffer, vkDestroyBuffer> buffer_;
  test::DeviceMemory memory_;
  VkDeviceSize size_ = 0;
  VkDeviceAddress address_ = 0;
  void* data_ = nullptr;
};

// Device time between two points of a command buffer.
class GpuTimer {
 public:
  explicit GpuTimer(const test::Context& context);
  void begin(VkCommandBuffer commands) const;
  void end(VkCommandBuffer commands) const;
  double nanoseconds() const;  // after completion

 private:
  const test::Context& context_;
  test::QueryPool pool_;
};

}  // namespace tally::bench
