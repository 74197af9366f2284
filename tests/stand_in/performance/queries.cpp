// Performance queries and their pools.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "stand_in/performance/answers.h"
#include "stand_in/performance/driver.h"
#include "vk/chain.h"

namespace tally::test::performance {
namespace {

std::vector<uint32_t> groups_of(const std::vector<uint32_t>& indices) {
  std::vector<uint32_t> groups;
  for (const uint32_t index : indices) groups.push_back(kAll.at(index).group);
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

std::vector<uint32_t> indices_of(const VkQueryPoolPerformanceCreateInfoKHR& info) {
  return {info.pCounterIndices, info.pCounterIndices + info.counterIndexCount};
}

bool resets(const Event& event, const Event& query) {
  return event.kind == Event::kReset && event.pool == query.pool && query.first >= event.first &&
         query.first - event.first < event.count;
}

}  // namespace

uint32_t passes_of(const VkQueryPoolPerformanceCreateInfoKHR& info) {
  return static_cast<uint32_t>(groups_of(indices_of(info)).size());
}

Pool::Pool(VkDevice device, const DeviceTable& next, const VkPhysicalDeviceMemoryProperties& memory,
           const VkQueryPoolPerformanceCreateInfoKHR& info, uint32_t queries)
    : device_(device),
      next_(next),
      indices_(indices_of(info)),
      groups_(groups_of(indices_)),
      runs_(queries, std::vector<uint32_t>(groups_.size())) {
  allocate(memory);
}

Pool::~Pool() {
  next_.DestroyBuffer(device_, buffer_, nullptr);
  next_.FreeMemory(device_, memory_, nullptr);
}

void Pool::allocate(const VkPhysicalDeviceMemoryProperties& memory) {
  const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = result_bytes() * runs_.size(),
                                .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
  constexpr VkMemoryPropertyFlags kNeeded =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryRequirements needs{};
  VkResult result = next_.CreateBuffer(device_, &info, nullptr, &buffer_);
  if (result == VK_SUCCESS) next_.GetBufferMemoryRequirements(device_, buffer_, &needs);
  VkMemoryAllocateInfo allocation{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .allocationSize = needs.size};
  const auto fits = [&](uint32_t type) {
    return (needs.memoryTypeBits >> type & 1) != 0 &&
           (memory.memoryTypes[type].propertyFlags & kNeeded) == kNeeded;
  };
  while (allocation.memoryTypeIndex < memory.memoryTypeCount && !fits(allocation.memoryTypeIndex)) {
    ++allocation.memoryTypeIndex;
  }
  if (result == VK_SUCCESS) result = next_.AllocateMemory(device_, &allocation, nullptr, &memory_);
  if (result == VK_SUCCESS) result = next_.BindBufferMemory(device_, buffer_, memory_, 0);
  void* mapped = nullptr;
  if (result == VK_SUCCESS) {
    result = next_.MapMemory(device_, memory_, 0, VK_WHOLE_SIZE, 0, &mapped);
  }
  if (result != VK_SUCCESS) throw std::runtime_error("no memory for a query pool");
  results_ = static_cast<VkPerformanceCounterResultKHR*>(mapped);
}

void Pool::reset(uint32_t first, uint32_t count) {
  for (uint32_t query = first; query < first + count; ++query) {
    std::ranges::fill(runs_.at(query), 0);
  }
}

VkPerformanceCounterResultKHR Pool::read(uint32_t counter, uint32_t runs, Ran ran) const {
  VkPerformanceCounterResultKHR result{};
  switch (counter) {
    case kDispatches:
      result.uint64 = ran.dispatches;
      break;
    case kTemperature:
      result.float32 = kTemperatureRead;
      break;
    case kCurrent:
      result.int32 = kCurrentRead;
      break;
    case kClock:
      result.float64 = kClockRead;
      break;
    case kRuns:
      result.uint32 = runs;
      break;
    default:
      result.int64 = ran.whole ? kWholeRead : 0;
      break;
  }
  return result;
}

void Pool::run(uint32_t query, uint32_t pass, Ran ran) {
  auto* const results = results_ + query * indices_.size();
  if (pass >= groups_.size()) {
    for (size_t i = 0; i < indices_.size(); ++i) results[i].uint64 = kNoSuchPass;
    return;
  }
  const uint32_t runs = ++runs_.at(query).at(pass);
  for (size_t i = 0; i < indices_.size(); ++i) {
    if (kAll.at(indices_[i]).group == groups_[pass]) {
      results[i] = read(indices_[i], runs, ran);
    }
  }
}

bool Pool::available(uint32_t query) const {
  return std::ranges::all_of(runs_.at(query), [](uint32_t runs) { return runs != 0; });
}

const VkPerformanceCounterResultKHR* Pool::results(uint32_t query) const {
  return results_ + query * indices_.size();
}

void play(const std::vector<Event>& events, uint32_t pass) {
  uint64_t dispatches = 0;
  std::vector<std::pair<const Event*, uint64_t>> begun;
  for (const Event& event : events) {
    switch (event.kind) {
      case Event::kDispatch:
        ++dispatches;
        break;
      case Event::kReset:
        event.pool->reset(event.first, event.count);
        break;
      case Event::kBegin:
        // Not where the command buffer resets the query (VUID-vkCmdBeginQuery-None-02863).
        if (!std::ranges::any_of(events,
                                 [&](const Event& other) { return resets(other, event); })) {
          begun.emplace_back(&event, dispatches);
        }
        break;
      case Event::kOther:
        break;
      case Event::kEnd: {
        const auto found = std::ranges::find_if(begun, [&](const auto& one) {
          return one.first->pool == event.pool && one.first->first == event.first;
        });
        if (found == begun.end()) break;
        const bool whole = found->first == &events.front() && &event == &events.back();
        event.pool->run(event.first, pass, {dispatches - found->second, whole});
        begun.erase(found);
        break;
      }
    }
  }
}

// --- pools, their commands of the host, and the profiling lock

namespace {

constexpr VkStructureType kPool = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR;

std::atomic<VkDevice> g_lock_holder{VK_NULL_HANDLE};

VKAPI_ATTR VkResult VKAPI_CALL acquire_lock(VkDevice device,
                                            const VkAcquireProfilingLockInfoKHR* info) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    VkDevice holder = VK_NULL_HANDLE;
    if (g_lock_holder.compare_exchange_strong(holder, device) || holder == device) {
      return VK_SUCCESS;
    }
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (info->timeout <= static_cast<uint64_t>(std::chrono::nanoseconds(waited).count())) {
      return VK_TIMEOUT;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// The handle of a pool of the driver below.
VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice handle, const VkQueryPoolCreateInfo* info,
                                           const VkAllocationCallbacks* allocator,
                                           VkQueryPool* pool) {
  Device& device = device_of(handle);
  const auto* wanted = vk::find_in_chain<VkQueryPoolPerformanceCreateInfoKHR>(info->pNext, kPool);
  VkQueryPoolCreateInfo below = *info;
  if (wanted) {
    below = {.sType = info->sType, .queryType = VK_QUERY_TYPE_OCCLUSION, .queryCount = 1};
  }
  const VkResult result = device.next.CreateQueryPool(handle, &below, allocator, pool);
  if (result != VK_SUCCESS || !wanted) return result;
  const std::lock_guard lock(device.mutex);
  device.pools[*pool] =
      std::make_unique<Pool>(handle, device.next, device.memory, *wanted, info->queryCount);
  return result;
}

VKAPI_ATTR void VKAPI_CALL reset_pool(VkDevice handle, VkQueryPool pool, uint32_t first,
                                      uint32_t count) {
  Device& device = device_of(handle);
  if (Pool* known = device.find(pool)) return known->reset(first, count);
  ++device.uses_of_queries;
  device.next.ResetQueryPool(handle, pool, first, count);
}

VKAPI_ATTR VkResult VKAPI_CALL get_results(VkDevice handle, VkQueryPool pool, uint32_t first,
                                           uint32_t count, size_t size, void* data,
                                           VkDeviceSize stride, VkQueryResultFlags flags) {
  Device& device = device_of(handle);
  const Pool* known = device.find(pool);
  if (!known) {
    return device.next.GetQueryPoolResults(handle, pool, first, count, size, data, stride, flags);
  }
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    if (known->available(first + i)) {
      std::memcpy(static_cast<std::byte*>(data) + i * stride, known->results(first + i),
                  known->result_bytes());
    } else {
      result = VK_NOT_READY;  // waiting would never end
    }
  }
  return result;
}

VKAPI_ATTR uint32_t VKAPI_CALL uses_of_queries(VkDevice handle) {
  return device_of(handle).uses_of_queries;
}

}  // namespace

VKAPI_ATTR void VKAPI_CALL release_lock(VkDevice device) {
  VkDevice holder = device;
  g_lock_holder.compare_exchange_strong(holder, VK_NULL_HANDLE);
}

void add_query_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkAcquireProfilingLockKHR", acquire_lock));
  hooks.push_back(vk::hook("vkCreateQueryPool", create_pool));
  hooks.push_back(vk::hook("vkDestroyQueryPool", destroy_pool<Device>));
  hooks.push_back(vk::hook("vkGetQueryPoolResults", get_results));
  hooks.push_back(vk::hook(kUsesOfQueries, uses_of_queries));
  hooks.push_back(vk::hook("vkReleaseProfilingLockKHR", release_lock));
  hooks.push_back(vk::hook("vkResetQueryPool", reset_pool));
  hooks.push_back(vk::hook("vkResetQueryPoolEXT", reset_pool));
}

}  // namespace tally::test::performance
