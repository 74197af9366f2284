// A stand-in for a driver with VK_KHR_performance_query, whose counters have known values
// (answers.h), and with inheritedQueries, for drivers that execute secondary command buffers as if
// the primary contained their commands.
//
// Its queries are executed one by one when a command buffer is submitted: the host writes the
// results to a buffer of the pool before the GPU runs the commands that read them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "stand_in/driver.h"
#include "vk/handles.h"

namespace tally::test::performance {

uint32_t passes_of(const VkQueryPoolPerformanceCreateInfoKHR& info);

class Pool {
 public:
  Pool(VkDevice device, const DeviceTable& next, const VkPhysicalDeviceMemoryProperties& memory,
       const VkQueryPoolPerformanceCreateInfoKHR& info, uint32_t queries);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void reset(uint32_t first, uint32_t count);
  struct Ran {
    uint64_t dispatches;
    bool whole;  // the query was the first and the last command
  };
  void run(uint32_t query, uint32_t pass, Ran ran);
  bool available(uint32_t query) const;
  const VkPerformanceCounterResultKHR* results(uint32_t query) const;
  size_t result_bytes() const { return indices_.size() * sizeof(VkPerformanceCounterResultKHR); }
  VkBuffer buffer() const { return buffer_; }

 private:
  void allocate(const VkPhysicalDeviceMemoryProperties& memory);
  VkPerformanceCounterResultKHR read(uint32_t counter, uint32_t runs, Ran ran) const;

  VkDevice device_;
  const DeviceTable& next_;
  std::vector<uint32_t> indices_;
  std::vector<uint32_t> groups_;             // by pass
  std::vector<std::vector<uint32_t>> runs_;  // by query and pass
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkPerformanceCounterResultKHR* results_ = nullptr;
};

// A query command of a command buffer.
struct Event {
  enum Kind { kBegin, kEnd, kReset, kDispatch, kOther };
  Kind kind;
  Pool* pool = nullptr;
  uint32_t first = 0;
  uint32_t count = 1;
};
void play(const std::vector<Event>& events, uint32_t pass);

// The state for marks; see answers.h.
struct Marked {
  VkPipeline pipelines[2] = {};  // by bind point
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkShaderStageFlags stages = 0;
};

// Captures and replays the handles of ray-tracing groups: a handle is the sum of the code of the
// group's shaders.
using ReplayHandle = uint64_t;
inline constexpr VkStructureType kRayFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR;

struct Device : test::Device {
  void adapt(const VkDeviceCreateInfo& wanted, DeviceInfoBelow& below) override;
  void begin(const VkDeviceCreateInfo& wanted) override;
  void end() override;

  VkPhysicalDeviceMemoryProperties memory;
  vk::HandleMap<VkShaderModule, bool> instrumented;
  vk::HandleMap<VkShaderModule, ReplayHandle> sums;
  vk::HandleMap<VkPipeline, std::vector<ReplayHandle>> replayed;
  std::atomic<uint32_t> created_graphics = 0;
  vk::HandleMap<VkDescriptorSetLayout, bool> set_layouts;  // true: exists
  std::atomic<uint32_t> created_shaders = 0;
  std::atomic<uint32_t> uses_of_queries = 0;
  // Guarded by the mutex:
  std::unordered_map<VkQueryPool, std::unique_ptr<Pool>> pools;
  std::unordered_map<VkCommandBuffer, std::vector<Event>> events;
  std::unordered_map<VkCommandBuffer, Marked> marked;

  Pool* find(VkQueryPool pool) {
    const std::lock_guard lock(mutex);
    const auto found = pools.find(pool);
    return found == pools.end() ? nullptr : found->second.get();
  }
  void note(VkCommandBuffer commands, Event event) {
    const std::lock_guard lock(mutex);
    events[commands].push_back(event);
  }
  void submit(VkCommandBuffer commands, uint32_t pass) {
    const std::lock_guard lock(mutex);
    play(events[commands], pass);
  }
};

inline Device& device_of(const void* handle) { return static_cast<Device&>(find_device(handle)); }

VKAPI_ATTR void VKAPI_CALL release_lock(VkDevice device);

void add_query_hooks(Hooks& hooks);
void add_command_hooks(Hooks& hooks);
void add_creation_hooks(Hooks& hooks);

}  // namespace tally::test::performance
