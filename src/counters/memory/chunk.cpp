#include "counters/memory/chunk.h"

#include <algorithm>
#include <cstring>

#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryPropertyFlags kNever =
    VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

// The allowed type with the highest score. A negative score rejects a type.
template <typename Score>
std::optional<uint32_t> best(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                             const Score& score) {
  std::optional<uint32_t> result;
  int highest = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((allowed & (1u << i)) == 0 || (flags & kNever) != 0) continue;
    if (score(flags) > highest) {
      highest = score(flags);
      result = i;
    }
  }
  return result;
}

int weight(VkMemoryPropertyFlags flags, VkMemoryPropertyFlags bit, int value) {
  return (flags & bit) != 0 ? value : 0;
}

}  // namespace

RecordMemory resolve_record_memory(RecordMemory wanted,
                                   const VkPhysicalDeviceMemoryProperties& memory) {
  if (wanted != RecordMemory::Auto) return wanted;
  const auto both = best(memory, ~0u, [](VkMemoryPropertyFlags flags) {
    return (flags & (kLocal | kVisible)) == (kLocal | kVisible) ? 1 : -1;
  });
  return both ? RecordMemory::Host : RecordMemory::Device;
}

std::optional<uint32_t> host_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t allowed) {
  return best(memory, allowed, [](VkMemoryPropertyFlags flags) {
    if ((flags & kVisible) == 0) return -1;
    return weight(flags, kLocal, 4) + weight(flags, kCoherent, 2) + weight(flags, kCached, 1);
  });
}

bool caches_host_records(const VkPhysicalDeviceMemoryProperties& memory) {
  const auto type = host_memory_type(memory, ~0u);
  return type && (memory.memoryTypes[*type].propertyFlags & kCached) != 0;
}

std::optional<uint32_t> device_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                           uint32_t allowed) {
  return best(memory, allowed, [](VkMemoryPropertyFlags flags) {
    return weight(flags, kLocal, 2) + ((flags & kVisible) == 0 ? 1 : 0);
  });
}

std::optional<uint32_t> staging_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                            uint32_t allowed) {
  return best(memory, allowed, [](VkMemoryPropertyFlags flags) {
    if ((flags & kVisible) == 0) return -1;
    return weight(flags, kCached, 2) + weight(flags, kCoherent, 1);
  });
}

namespace {

bool is_mapped(Chunk::Use use) {
  return use != Chunk::Use::DeviceRecords && use != Chunk::Use::Preprocess;
}
bool has_address(Chunk::Use use) { return use != Chunk::Use::Staging && use != Chunk::Use::Words; }

// VK_BUFFER_USAGE_2_PREPROCESS_BUFFER_BIT_EXT is no VkBufferUsageFlagBits.
constexpr VkBufferUsageFlags2CreateInfoKHR kPreprocessUsage = {
    VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR, nullptr,
    0x80000000 | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};

VkBufferUsageFlags usage_flags(Chunk::Use use, const MemoryContext& context) {
  switch (use) {
    case Chunk::Use::HostRecords:
    case Chunk::Use::HostResults:
    case Chunk::Use::DeviceRecords:
      return VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
             VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
             (context.feedback_counters ? VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT
                                        : 0) |
             (context.conditions ? VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT : 0);
    case Chunk::Use::Staging:
      return VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    case Chunk::Use::Words:
      return VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    case Chunk::Use::Preprocess:
      return 0;  // kPreprocessUsage
  }
  return 0;
}

std::optional<uint32_t> memory_type(Chunk::Use use, const VkPhysicalDeviceMemoryProperties& memory,
                                    uint32_t allowed) {
  switch (use) {
    case Chunk::Use::HostRecords:
    case Chunk::Use::Words:
      return host_memory_type(memory, allowed);
    case Chunk::Use::DeviceRecords:
    case Chunk::Use::Preprocess:
      return device_memory_type(memory, allowed);
    case Chunk::Use::HostResults:
    case Chunk::Use::Staging:
      return staging_memory_type(memory, allowed);
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Chunk> Chunk::create(const MemoryContext& context, Use use, VkDeviceSize size,
                                     VkResult& result, uint32_t allowed_types) {
  std::unique_ptr<Chunk> chunk(new Chunk(context));
  result = chunk->initialize(use, size, allowed_types);
  return result == VK_SUCCESS ? std::move(chunk) : nullptr;
}

VkResult Chunk::initialize(Use use, VkDeviceSize size, uint32_t allowed_types) {
  size_ = size;
  const bool shared = context_.queue_families.size() > 1;
  const VkBufferCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .pNext = use == Use::Preprocess ? &kPreprocessUsage : nullptr,
      .size = size,
      .usage = usage_flags(use, context_),
      .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = shared ? static_cast<uint32_t>(context_.queue_families.size()) : 0,
      .pQueueFamilyIndices = shared ? context_.queue_families.data() : nullptr,
  };
  TALLY_TRY(vk::own("vkCreateBuffer",
                    context_.next->CreateBuffer(context_.device, &info, nullptr, &buffer_),
                    buffer_));
  TALLY_TRY(allocate(use, allowed_types));
  if (has_address(use)) {
    const VkBufferDeviceAddressInfo address{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer_};
    address_ = context_.next->GetBufferDeviceAddress
                   ? context_.next->GetBufferDeviceAddress(context_.device, &address)
                   : context_.next->GetBufferDeviceAddressEXT(context_.device, &address);
  }
  if (!is_mapped(use)) return VK_SUCCESS;
  void* mapped = nullptr;
  const VkResult result =
      vk::own("vkMapMemory",
              context_.next->MapMemory(context_.device, memory_, 0, VK_WHOLE_SIZE, 0, &mapped));
  if (result == VK_SUCCESS) host_ = static_cast<std::byte*>(mapped);
  return result;
}

VkResult Chunk::allocate(Use use, uint32_t allowed_types) {
  VkMemoryRequirements requirements{};
  context_.next->GetBufferMemoryRequirements(context_.device, buffer_, &requirements);
  const auto type = memory_type(use, context_.memory, requirements.memoryTypeBits & allowed_types);
  if (!type) return vk::own("the choice of a memory type", VK_ERROR_OUT_OF_DEVICE_MEMORY);
  const VkMemoryPropertyFlags properties = context_.memory.memoryTypes[*type].propertyFlags;
  coherent_ = (properties & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
  cached_ = (properties & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  allocated_ = requirements.size;
  const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .pNext = has_address(use) ? &flags : nullptr,
                                  .allocationSize = requirements.size,
                                  .memoryTypeIndex = *type};
  TALLY_TRY(vk::own("vkAllocateMemory",
                    context_.next->AllocateMemory(context_.device, &info, nullptr, &memory_),
                    memory_));
  return vk::own("vkBindBufferMemory",
                 context_.next->BindBufferMemory(context_.device, buffer_, memory_, 0));
}

Chunk::~Chunk() {
  if (buffer_ != VK_NULL_HANDLE) context_.next->DestroyBuffer(context_.device, buffer_, nullptr);
  if (memory_ != VK_NULL_HANDLE) context_.next->FreeMemory(context_.device, memory_, nullptr);
}

VkMappedMemoryRange Chunk::range(VkDeviceSize offset, VkDeviceSize size) const {
  const VkDeviceSize atom = context_.non_coherent_atom_size;
  const VkDeviceSize begin = offset / atom * atom;
  const VkDeviceSize end = (offset + size + atom - 1) / atom * atom;
  return {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
          .memory = memory_,
          .offset = begin,
          .size = end >= allocated_ ? VK_WHOLE_SIZE : end - begin};
}

void Chunk::invalidate(VkDeviceSize offset, VkDeviceSize size) const {
  if (coherent_) return;
  const VkMappedMemoryRange mapped = range(offset, size);
  context_.next->InvalidateMappedMemoryRanges(context_.device, 1, &mapped);
}

void Chunk::flush(VkDeviceSize offset, VkDeviceSize size) const {
  if (coherent_) return;
  const VkMappedMemoryRange mapped = range(offset, size);
  context_.next->FlushMappedMemoryRanges(context_.device, 1, &mapped);
}

}  // namespace tally::counters

#if defined(__x86_64__)
#include <emmintrin.h>
#include <smmintrin.h>
#endif

namespace tally::counters {

#if defined(__x86_64__)
namespace {

constexpr size_t kLineBytes = 64;

// The first streaming load from a line fetches the whole line, and the next three take the rest of
// it. Returns the number of bytes that were copied.
[[gnu::target("sse4.1")]] size_t copy_lines(const std::byte* source, std::byte* target,
                                            size_t bytes) {
  size_t copied = 0;
  for (; copied + kLineBytes <= bytes; copied += kLineBytes) {
    auto* from = reinterpret_cast<__m128i*>(const_cast<std::byte*>(source + copied));
    auto* to = reinterpret_cast<__m128i*>(target + copied);
    const __m128i first = _mm_stream_load_si128(from);
    const __m128i second = _mm_stream_load_si128(from + 1);
    const __m128i third = _mm_stream_load_si128(from + 2);
    const __m128i fourth = _mm_stream_load_si128(from + 3);
    _mm_storeu_si128(to, first);
    _mm_storeu_si128(to + 1, second);
    _mm_storeu_si128(to + 2, third);
    _mm_storeu_si128(to + 3, fourth);
  }
  return copied;
}

}  // namespace
#endif

void copy_uncached(std::span<const uint64_t> source, uint64_t* target) {
  const auto* from = reinterpret_cast<const std::byte*>(source.data());
  auto* to = reinterpret_cast<std::byte*>(target);
  size_t copied = 0;
#if defined(__x86_64__)
  const size_t past = reinterpret_cast<uintptr_t>(from) % kLineBytes;  // the begin of a line
  if (past % sizeof(__m128i) == 0 && __builtin_cpu_supports("sse4.1")) {
    _mm_mfence();  // no streaming load may see a line that an earlier one fetched
    const size_t head = std::min(source.size_bytes(), (kLineBytes - past) % kLineBytes);
    std::memcpy(to, from, head);
    copied = head + copy_lines(from + head, to + head, source.size_bytes() - head);
  }
#endif
  std::memcpy(to + copied, from + copied, source.size_bytes() - copied);
}

}  // namespace tally::counters
