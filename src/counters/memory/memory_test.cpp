#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <span>
#include <vector>

#include "counters/memory/chunk.h"
#include "counters/memory/record_pool.h"

namespace tally::counters {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

VkPhysicalDeviceMemoryProperties memory_of(std::initializer_list<VkMemoryPropertyFlags> types) {
  VkPhysicalDeviceMemoryProperties memory{};
  for (const VkMemoryPropertyFlags flags : types)
    memory.memoryTypes[memory.memoryTypeCount++] = {flags, 0};
  return memory;
}

TEST(MemoryType, records_are_mapped_where_local_memory_is_visible) {
  const auto resizable = memory_of({kLocal, kVisible | kCoherent, kVisible | kCoherent | kCached,
                                    kLocal | kVisible | kCoherent});
  EXPECT_EQ(resolve_record_memory(RecordMemory::Auto, resizable), RecordMemory::Host);
  EXPECT_EQ(host_memory_type(resizable, ~0u), 3u);
  const auto unified =
      memory_of({kLocal | kVisible | kCoherent, kLocal | kVisible | kCoherent | kCached});
  EXPECT_EQ(host_memory_type(unified, ~0u), 1u);
}

TEST(MemoryType, records_are_copied_where_local_memory_is_not_visible) {
  const auto discrete = memory_of({kVisible | kCoherent, kLocal, kVisible | kCoherent | kCached});
  EXPECT_EQ(resolve_record_memory(RecordMemory::Auto, discrete), RecordMemory::Device);
  EXPECT_EQ(device_memory_type(discrete, ~0u), 1u);
  EXPECT_EQ(staging_memory_type(discrete, ~0u), 2u);
  EXPECT_EQ(resolve_record_memory(RecordMemory::Host, discrete), RecordMemory::Host);
}

TEST(MemoryType, types_that_the_buffer_does_not_allow_are_not_taken) {
  const auto memory = memory_of({kLocal | kVisible | kCoherent, kVisible});
  EXPECT_EQ(host_memory_type(memory, 0b10), 1u);
  EXPECT_EQ(host_memory_type(memory, 0), std::nullopt);
}

TEST(MemoryType, protected_and_lazy_memory_is_never_taken) {
  const auto memory = memory_of({kLocal | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT,
                                 kLocal | VK_MEMORY_PROPERTY_PROTECTED_BIT});
  EXPECT_EQ(device_memory_type(memory, ~0u), std::nullopt);
}

// A driver with memory that the processor does not cache. Counts the allocations that are alive,
// and all that were made.
struct Allocations {
  static inline int alive = 0, made = 0;

  static VkResult create_buffer(VkDevice, const VkBufferCreateInfo* info,
                                const VkAllocationCallbacks*, VkBuffer* buffer) {
    size = info->size;
    *buffer = (VkBuffer)1;
    return VK_SUCCESS;
  }
  static void requirements(VkDevice, VkBuffer, VkMemoryRequirements* needed) {
    *needed = {size, 256, 1};
  }
  static VkResult allocate(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                           VkDeviceMemory* memory) {
    ++alive;
    ++made;
    *memory = (VkDeviceMemory)std::calloc(1, info->allocationSize);
    return VK_SUCCESS;
  }
  static void free(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
    --alive;
    std::free((void*)memory);
  }
  static VkResult map(VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                      void** mapped) {
    *mapped = (void*)memory;
    return VK_SUCCESS;
  }

  Allocations() {
    alive = made = 0;
    table.CreateBuffer = create_buffer;
    table.DestroyBuffer = [](VkDevice, VkBuffer, const VkAllocationCallbacks*) {};
    table.GetBufferMemoryRequirements = requirements;
    table.AllocateMemory = allocate;
    table.FreeMemory = free;
    table.BindBufferMemory = [](VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize) {
      return VK_SUCCESS;
    };
    table.GetBufferDeviceAddress =
        [](VkDevice, const VkBufferDeviceAddressInfo*) -> VkDeviceAddress { return 4096; };
    table.MapMemory = map;
    context.next = &table;
    context.memory = memory_of({kLocal | kVisible | kCoherent});
    context.gathers = true;
  }

  DeviceTable table{};
  MemoryContext context;
  static inline VkDeviceSize size = 0;
};

constexpr uint32_t kSlabPages = 64;  // pages of one block in a slab

std::vector<RecordPage> acquire_pages(RecordPool& pool, size_t count) {
  std::vector<RecordPage> pages(count);
  for (RecordPage& page : pages) {
    EXPECT_EQ(pool.acquire_undefined(RecordPool::kBlockBytes, page), VK_SUCCESS);
  }
  return pages;
}
void release_pages(RecordPool& pool, std::span<const RecordPage> pages) {
  for (const RecordPage& page : pages) pool.release(page, true);
}

TEST(RecordPool, a_program_that_waits_for_each_submission_allocates_only_for_the_first) {
  Allocations driver;
  RecordPool pool(driver.context);
  for (int submission = 0; submission < 10; ++submission) {
    release_pages(pool, acquire_pages(pool, 3 * kSlabPages));
    EXPECT_EQ(Allocations::made, 3);
  }
}

TEST(RecordPool, memory_beyond_what_may_stay_idle_is_freed) {
  Allocations driver;
  RecordPool pool(driver.context);
  release_pages(pool, acquire_pages(pool, 20 * kSlabPages));
  EXPECT_EQ(Allocations::made, 20);
  EXPECT_EQ(Allocations::alive * kSlabPages * RecordPool::kBlockBytes, RecordPool::kMaxIdleBytes);
}

TEST(RecordPool, idle_memory_gives_way_to_a_large_record_at_the_limit) {
  Allocations driver;
  driver.context.limit = 4 * kSlabPages * RecordPool::kBlockBytes;
  RecordPool pool(driver.context);
  release_pages(pool, acquire_pages(pool, 3 * kSlabPages));
  RecordPage large;
  EXPECT_EQ(pool.acquire_undefined(3 * kSlabPages * RecordPool::kBlockBytes, large), VK_SUCCESS);
  EXPECT_EQ(Allocations::alive, 1);
}

TEST(UncachedCopy, words_from_and_up_to_any_place_in_a_cache_line_are_copied) {
  std::vector<uint64_t> source(64);
  std::iota(source.begin(), source.end(), 1);
  for (size_t begin = 0; begin < 16; ++begin) {
    for (size_t count = 0; begin + count <= source.size(); ++count) {
      std::vector<uint64_t> target(count + 1, 7);
      const auto words = std::span<const uint64_t>(source).subspan(begin, count);
      copy_uncached(words, target.data());
      EXPECT_TRUE(std::ranges::equal(words, std::span(target).first(count)));
      EXPECT_EQ(target.back(), 7u);
    }
  }
}

TEST(BlockMask, runs_are_found_where_a_slow_search_finds_them) {
  const uint64_t masks[] = {
      0, ~uint64_t{0}, 1, uint64_t{1} << 63, 0b110111, 0xff00ff00ff00ff00, 0xfffffffffffffffe};
  for (const uint64_t mask : masks) {
    for (uint32_t count = 1; count <= 64; ++count) {
      int expected = -1;
      for (uint32_t first = 0; first + count <= 64 && expected < 0; ++first) {
        if ((mask & block_run(first, count)) == block_run(first, count))
          expected = static_cast<int>(first);
      }
      EXPECT_EQ(find_block_run(mask, count), expected)
          << std::hex << mask << " " << std::dec << count;
    }
  }
}

TEST(BlockMask, a_run_has_as_many_ones_as_asked_for) {
  for (uint32_t count = 0; count <= 64; ++count) {
    EXPECT_EQ(std::popcount(block_run(0, count)), static_cast<int>(count));
  }
  EXPECT_EQ(block_run(3, 2), 0b11000u);
}

}  // namespace
}  // namespace tally::counters
