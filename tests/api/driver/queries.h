// The test driver's queries. They are executed one by one when a command buffer is submitted: the
// host writes the results to a buffer of the pool before the GPU runs the commands that read them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newer.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "vk/dispatch.h"

namespace tally::test::driver {

#define TALLY_TEST_DRIVER_FUNCTIONS(X) \
  X(AllocateMemory, "")                \
  X(BeginCommandBuffer, "")            \
  X(BindBufferMemory, "")              \
  X(CmdBeginQuery, "")                 \
  X(CmdBindPipeline, "")               \
  X(CmdWriteTimestamp, "")             \
  X(CmdCopyBuffer, "")                 \
  X(CmdCopyQueryPoolResults, "")       \
  X(CmdDispatch, "")                   \
  X(CmdDraw, "")                       \
  X(CmdEndQuery, "")                   \
  X(CmdExecuteCommands, "")            \
  X(CmdPushConstants, "")              \
  X(CmdResetQueryPool, "")             \
  X(CreateBuffer, "")                  \
  X(CreateDescriptorSetLayout, "")     \
  X(CreateGraphicsPipelines, "")       \
  X(CreateQueryPool, "")               \
  X(CreateRayTracingPipelinesKHR, "")  \
  X(CreateShaderModule, "")            \
  X(CreateShadersEXT, "")              \
  X(DestroyBuffer, "")                 \
  X(DestroyDescriptorSetLayout, "")    \
  X(DestroyDevice, "")                 \
  X(DestroyQueryPool, "")              \
  X(FreeMemory, "")                    \
  X(GetBufferMemoryRequirements, "")   \
  X(GetQueryPoolResults, "")           \
  X(MapMemory, "")                     \
  X(QueueSubmit, "")                   \
  X(QueueSubmit2, "KHR")               \
  X(ResetQueryPool, "EXT")
TALLY_VK_TABLE(Table, TALLY_TEST_DRIVER_FUNCTIONS)

uint32_t passes_of(const VkQueryPoolPerformanceCreateInfoKHR& info);

class Pool {
 public:
  Pool(VkDevice device, const Table& next, const VkPhysicalDeviceMemoryProperties& memory,
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
  const Table& next_;
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

}  // namespace tally::test::driver
