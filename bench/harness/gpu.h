// Device helpers of the benchmarks, in addition to those of the tests (tests/support).
#pragma once

#include "support/context.h"
#include "support/memory.h"

namespace tally::bench {

// The device capabilities that the block-count pass may use.
struct Capabilities {
  explicit Capabilities(VkPhysicalDevice gpu);

  // True if a stage supports basic, vote, ballot and arithmetic subgroup operations.
  bool subgroups_in(VkShaderStageFlagBits stage) const { return subgroup_stages & stage; }

  bool int64 = false;
  bool int64_atomics = false;
  bool prefers_small_code = false;         // spirv::DriverWorkarounds
  bool software = false;                   // the device is the CPU
  VkShaderStageFlags subgroup_stages = 0;  // stages with all subgroup operations that the pass uses
  uint32_t subgroup_size = 0;
  std::string name;    // device name
  std::string driver;  // driver name and version
};

enum class Residence {
  Device,   // device memory; need not be visible to the host
  Visible,  // mapped; in device memory if some can be mapped
};

// A buffer for storage and transfer, with a device address.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const test::Context& context, VkDeviceSize size, Residence residence);

  operator VkBuffer() const { return buffer_; }
  VkDeviceAddress address() const { return address_; }
  // Requires Residence::Visible.
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

// Measures device time between two points of a command buffer.
class GpuTimer {
 public:
  explicit GpuTimer(const test::Context& context);
  void begin(VkCommandBuffer commands) const;
  void end(VkCommandBuffer commands) const;
  double nanoseconds() const;  // valid after completion

 private:
  const test::Context& context_;
  test::QueryPool pool_;
};

}  // namespace tally::bench
