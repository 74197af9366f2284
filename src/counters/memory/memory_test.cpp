#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
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
