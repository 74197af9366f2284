#include "counters/memory/device_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr uint32_t kPageBytes = 16 * 1024;
constexpr uint32_t kSlabPages = 64;
constexpr VkDeviceSize kPairBytes = 2 * sizeof(uint64_t);

constexpr uint64_t kAlignment = 64;

}  // namespace

void HostBlock::write(VkDeviceSize at, const void* data, size_t size) const {
  if (size == 0) return;
  std::memcpy(chunk->host() + offset + at, data, size);
  chunk->flush(offset + at, size);
}

uint32_t HostBlock::word(uint32_t index) const {
  uint32_t value = 0;
  std::memcpy(&value, chunk->host() + offset + index * sizeof value, sizeof value);
  return value;
}

VkResult HostBlocks::take(uint64_t bytes, HostBlock& block) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (pages_.empty() || pages_.back().size - used_ < bytes) {
    RecordPage page;
    TALLY_TRY(contents_ == Contents::Zero ? pool_.acquire(bytes, page)
                                          : pool_.acquire_undefined(bytes, page));
    pages_.push_back(page);
    used_ = 0;
  }
  const RecordPage& page = pages_.back();
  block = {page.chunk, page.offset + used_, page.address + used_};
  used_ += bytes;
  return VK_SUCCESS;
}

void HostBlocks::reset() {
  for (const RecordPage& page : pages_) pool_.release(page);
  pages_.clear();
  used_ = 0;
}

std::unique_ptr<Chunk> make_lane_sets(const MemoryContext& context, spirv::LaneSets& sets) {
  VkResult result = VK_SUCCESS;
  auto chunk = Chunk::create(context, Chunk::Use::HostRecords, sets.bytes(), result);
  if (!chunk) return nullptr;
  std::fill_n(chunk->host(), sets.bytes(), std::byte{0});
  chunk->flush(0, sets.bytes());
  sets.exist = true;
  return chunk;
}

void WordPage::write(uint32_t index, uint64_t record, uint64_t region) const {
  const uint32_t target = dynamic_offset(index);
  const uint64_t words[] = {record, region};
  std::memcpy(chunk->host() + target, words, sizeof words);
  chunk->flush(target, sizeof words);
}

WordPool::~WordPool() {
  const DeviceTable& next = *context_.next;
  for (const Slab& slab : slabs_) next.DestroyDescriptorPool(context_.device, slab.pool, nullptr);
  if (set_layout_ != VK_NULL_HANDLE)
    next.DestroyDescriptorSetLayout(context_.device, set_layout_, nullptr);
  if (empty_layout_ != VK_NULL_HANDLE)
    next.DestroyDescriptorSetLayout(context_.device, empty_layout_, nullptr);
}

VkDescriptorSetLayout WordPool::layout_locked() {
  if (set_layout_ != VK_NULL_HANDLE) return set_layout_;
  const VkDescriptorSetLayoutBinding binding{
      .binding = 0,
      .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
      .descriptorCount = 1,
      .stageFlags = VK_SHADER_STAGE_ALL};
  const VkDescriptorSetLayoutCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = 1,
      .pBindings = &binding};
  vk::own("vkCreateDescriptorSetLayout",
          context_.next->CreateDescriptorSetLayout(context_.device, &info, nullptr, &set_layout_),
          set_layout_);
  return set_layout_;
}

VkDescriptorSetLayout WordPool::set_layout() {
  const std::lock_guard lock(mutex_);
  return layout_locked();
}

VkDescriptorSetLayout WordPool::empty_layout() {
  const std::lock_guard lock(mutex_);
  if (empty_layout_ != VK_NULL_HANDLE) return empty_layout_;
  const VkDescriptorSetLayoutCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  vk::own("vkCreateDescriptorSetLayout",
          context_.next->CreateDescriptorSetLayout(context_.device, &info, nullptr, &empty_layout_),
          empty_layout_);
  return empty_layout_;
}

VkResult WordPool::make_set(Slab& slab) {
  const VkDescriptorSetLayout layout = layout_locked();
  if (layout == VK_NULL_HANDLE) return VK_ERROR_OUT_OF_HOST_MEMORY;
  const DeviceTable& next = *context_.next;
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1};
  const VkDescriptorPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                        .maxSets = 1,
                                        .poolSizeCount = 1,
                                        .pPoolSizes = &size};
  TALLY_TRY(vk::own("vkCreateDescriptorPool",
                    next.CreateDescriptorPool(context_.device, &pool, nullptr, &slab.pool),
                    slab.pool));
  const VkDescriptorSetAllocateInfo allocate{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = slab.pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &layout};
  const VkResult result =
      vk::own("vkAllocateDescriptorSets",
              next.AllocateDescriptorSets(context_.device, &allocate, &slab.set));
  if (result != VK_SUCCESS) {
    next.DestroyDescriptorPool(context_.device, slab.pool, nullptr);
    return result;
  }
  const VkDescriptorBufferInfo buffer{slab.chunk->buffer(), 0, kPairBytes};
  const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                   .dstSet = slab.set,
                                   .descriptorCount = 1,
                                   .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                   .pBufferInfo = &buffer};
  next.UpdateDescriptorSets(context_.device, 1, &write, 0, nullptr);
  return VK_SUCCESS;
}

VkResult WordPool::add_slab() {
  Slab slab;
  VkResult result = VK_SUCCESS;
  slab.chunk = Chunk::create(context_, Chunk::Use::Words, kPageBytes * kSlabPages, result);
  if (!slab.chunk) return result;
  slab.free = ~uint64_t{0};
  slabs_.reserve(slabs_.size() + 1);
  result = make_set(slab);
  if (result == VK_SUCCESS) slabs_.push_back(std::move(slab));
  return result;
}

VkResult WordPool::prepare() {
  const std::lock_guard lock(mutex_);
  if (null_word_.chunk) return VK_SUCCESS;
  WordPage page;
  TALLY_TRY(acquire_locked(page));
  page.write(0, 0, 0);
  null_word_ = page;
  return VK_SUCCESS;
}

WordPage WordPool::null_word() {
  const std::lock_guard lock(mutex_);
  return null_word_;
}

VkResult WordPool::acquire(WordPage& page) {
  const std::lock_guard lock(mutex_);
  return acquire_locked(page);
}

VkResult WordPool::acquire_locked(WordPage& page) {
  auto slab = std::find_if(slabs_.begin(), slabs_.end(),
                           [](const Slab& candidate) { return candidate.free != 0; });
  if (slab == slabs_.end()) {
    TALLY_TRY(add_slab());
    slab = slabs_.end() - 1;
  }
  const auto index = static_cast<uint32_t>(std::countr_zero(slab->free));
  slab->free &= slab->free - 1;
  const auto alignment = std::max<VkDeviceSize>(context_.uniform_offset_alignment, kPairBytes);
  const auto stride = static_cast<uint32_t>((kPairBytes + alignment - 1) / alignment * alignment);
  page = {slab->chunk.get(), slab->set, index * kPageBytes, stride, kPageBytes / stride};
  return VK_SUCCESS;
}

void WordPool::release(const WordPage& page) {
  const std::lock_guard lock(mutex_);
  for (Slab& slab : slabs_) {
    if (slab.chunk.get() == page.chunk) slab.free |= uint64_t{1} << (page.offset / kPageBytes);
  }
}

VkResult WordPages::next(WordPage& page, uint32_t& index) {
  if (pages_.empty() || used_ == pages_.back().count) {
    WordPage fresh;
    TALLY_TRY(pool_.acquire(fresh));
    pages_.push_back(fresh);
    used_ = 0;
  }
  page = pages_.back();
  index = used_++;
  return VK_SUCCESS;
}

void WordPages::reset() {
  for (const WordPage& page : pages_) pool_.release(page);
  pages_.clear();
  used_ = 0;
}

}  // namespace tally::counters
