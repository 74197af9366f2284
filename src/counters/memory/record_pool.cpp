#include "counters/memory/record_pool.h"

#include <algorithm>
#include <cstring>

#include "vk/own_call.h"

namespace tally::counters {
namespace {

void barrier(const DeviceTable& next, VkCommandBuffer commands, VkPipelineStageFlags from,
             VkPipelineStageFlags to) {
  const VkMemoryBarrier all{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  next.CmdPipelineBarrier(commands, from, to, 0, 1, &all, 0, nullptr, 0, nullptr);
}

}  // namespace

Transfer::~Transfer() {
  for (const Job& job : idle_) context_.next->DestroyFence(context_.device, job.fence, nullptr);
  if (pool_ != VK_NULL_HANDLE) context_.next->DestroyCommandPool(context_.device, pool_, nullptr);
}

VkResult Transfer::take_idle_job(Job& job) {
  if (!idle_.empty()) {
    job = idle_.back();
    const VkResult result =
        vk::own("vkResetFences", context_.next->ResetFences(context_.device, 1, &job.fence));
    if (result == VK_SUCCESS) idle_.pop_back();
    return result;
  }
  if (pool_ == VK_NULL_HANDLE) {
    const VkCommandPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                       .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                       .queueFamilyIndex = context_.transfer_family};
    TALLY_TRY(vk::own("vkCreateCommandPool",
                      context_.next->CreateCommandPool(context_.device, &info, nullptr, &pool_),
                      pool_));
  }
  const VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = pool_,
                                         .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                         .commandBufferCount = 1};
  TALLY_TRY(vk::own("vkAllocateCommandBuffers",
                    context_.next->AllocateCommandBuffers(context_.device, &info, &job.commands)));
  if (context_.set_loader_data) context_.set_loader_data(context_.device, job.commands);
  const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  const VkResult result =
      vk::own("vkCreateFence",
              context_.next->CreateFence(context_.device, &fence, nullptr, &job.fence), job.fence);
  if (result != VK_SUCCESS)
    context_.next->FreeCommandBuffers(context_.device, pool_, 1, &job.commands);
  return result;
}

VkResult Transfer::record_job(const Job& job, const std::function<void(VkCommandBuffer)>& record) {
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  TALLY_TRY(
      vk::own("vkBeginCommandBuffer", context_.next->BeginCommandBuffer(job.commands, &begin)));
  barrier(*context_.next, job.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          VK_PIPELINE_STAGE_TRANSFER_BIT);
  record(job.commands);
  barrier(*context_.next, job.commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT);
  return vk::own("vkEndCommandBuffer", context_.next->EndCommandBuffer(job.commands));
}

VkResult Transfer::submit(const std::function<void(VkCommandBuffer)>& record, Job& job) {
  const std::lock_guard lock(mutex_);
  TALLY_TRY(take_idle_job(job));
  VkResult result = record_job(job, record);
  if (result == VK_SUCCESS) {
    const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &job.commands};
    const std::lock_guard queue_lock(*context_.transfer_queue_mutex);
    result = vk::own("vkQueueSubmit",
                     context_.next->QueueSubmit(context_.transfer_queue, 1, &info, job.fence));
  }
  if (result != VK_SUCCESS) idle_.push_back(job);
  return result;
}

bool Transfer::done(const Job& job) const {
  return context_.next->GetFenceStatus(context_.device, job.fence) != VK_NOT_READY;
}

VkResult Transfer::finish(const Job& job) {
  const VkResult result =
      vk::wait_for_own_fence(*context_.next, context_.device, job.fence, UINT64_MAX);
  const std::lock_guard lock(mutex_);
  idle_.push_back(job);
  return result;
}

VkResult Transfer::run(const std::function<void(VkCommandBuffer)>& record) {
  Job job;
  const VkResult result = submit(record, job);
  return result == VK_SUCCESS ? finish(job) : result;
}

namespace {

constexpr uint32_t kSlabBlocks = 64;

uint32_t blocks_for(VkDeviceSize bytes) {
  return static_cast<uint32_t>((bytes + RecordPool::kBlockBytes - 1) / RecordPool::kBlockBytes);
}

}  // namespace

RecordPool::RecordPool(const MemoryContext& context, Chunk::Use use)
    : context_(context), use_(on_device() ? Chunk::Use::DeviceRecords : use) {
  if (on_device()) transfer_ = std::make_unique<Transfer>(context);
}

RecordPool::~RecordPool() {
  for (const auto& slab : slabs_) {
    if (slab->job) transfer_->finish(*slab->job);
  }
}

// Adds a slab of 64 blocks, or fewer at the memory limit. A larger request gets a slab of its own.
VkResult RecordPool::add_slab(uint32_t wanted_blocks) {
  VkDeviceSize bytes = std::max(wanted_blocks, kSlabBlocks) * kBlockBytes;
  if (context_.limit != 0) {
    if (context_.limit < total_ + bytes) free_idle(0);
    const VkDeviceSize left =
        context_.limit > total_ ? (context_.limit - total_) / kBlockBytes * kBlockBytes : 0;
    bytes = std::min(bytes, left);
    if (bytes < wanted_blocks * kBlockBytes)
      return vk::own("an allocation beyond record_memory_limit", VK_ERROR_OUT_OF_DEVICE_MEMORY);
  }
  auto slab = std::make_unique<Slab>();
  VkResult result = VK_SUCCESS;
  slab->chunk = Chunk::create(context_, use_, bytes, result);
  if (!slab->chunk) return result;
  slab->blocks = block_run(0, std::min(blocks_for(bytes), kSlabBlocks));
  slab->free = slab->blocks;
  slab->dirty = knows_dirt() ? slab->blocks : 0;
  total_ += bytes;
  slabs_.push_back(std::move(slab));
  return on_device() ? start_zeroing(*slabs_.back()) : VK_SUCCESS;
}

RecordPage RecordPool::make_page(Slab& slab, uint32_t first, uint32_t count) {
  const bool whole = count > kSlabBlocks;
  slab.free &= whole ? 0 : ~block_run(first, count);
  const VkDeviceSize offset = first * kBlockBytes;
  return {slab.chunk.get(), offset, whole ? slab.chunk->size() : count * kBlockBytes,
          slab.chunk->address() + offset};
}

bool RecordPool::take_run(uint32_t count, bool clean, RecordPage& page) {
  for (const auto& slab : slabs_) {
    const uint64_t usable = slab->free & ~(clean ? slab->dirty : 0);
    if (count > kSlabBlocks) {
      if (usable != slab->blocks || slab->chunk->size() < count * kBlockBytes) continue;
      page = make_page(*slab, 0, count);
      return true;
    }
    const int first = find_block_run(usable, count);
    if (first < 0 || slab->chunk->size() > kSlabBlocks * kBlockBytes) continue;
    page = make_page(*slab, static_cast<uint32_t>(first), count);
    return true;
  }
  return false;
}

VkResult RecordPool::acquire_undefined(VkDeviceSize bytes, RecordPage& page) {
  const uint32_t count = std::max(1u, blocks_for(bytes));
  const std::lock_guard lock(mutex_);
  if (on_device()) return find_clean_run(count, page);
  if (take_run(count, true, page)) return VK_SUCCESS;
  if (!take_run(count, false, page)) {
    TALLY_TRY(add_slab(count));
    take_run(count, false, page);
  }
  if (!knows_dirt()) return VK_SUCCESS;
  zero(page, 0, page.size);
  slab_of(page)->dirty &= ~blocks_of(page);
  return VK_SUCCESS;
}

VkResult RecordPool::acquire(VkDeviceSize bytes, RecordPage& page) {
  const VkResult result = acquire_undefined(bytes, page);
  if (result == VK_SUCCESS && !knows_dirt()) zero(page, 0, page.size);
  return result;
}

void RecordPool::zero(const RecordPage& page, VkDeviceSize begin, VkDeviceSize end) {
  std::memset(page.chunk->host() + page.offset + begin, 0, end - begin);
  page.chunk->flush(page.offset + begin, end - begin);
}

RecordPool::Slab* RecordPool::slab_of(const RecordPage& page) {
  const auto found = std::find_if(slabs_.begin(), slabs_.end(), [&](const auto& slab) {
    return slab->chunk.get() == page.chunk;
  });
  return found == slabs_.end() ? nullptr : found->get();
}

uint64_t RecordPool::blocks_of(const RecordPage& page) {
  return block_run(static_cast<uint32_t>(page.offset / kBlockBytes),
                   std::min(blocks_for(page.size), kSlabBlocks));
}

void RecordPool::release(const RecordPage& page, bool clean) {
  const std::lock_guard lock(mutex_);
  Slab* slab = slab_of(page);
  if (!slab) return;
  slab->free |= blocks_of(page);
  if (knows_dirt() && !clean) slab->dirty |= blocks_of(page);
  if (slab->free == slab->blocks) free_idle(kMaxIdleBytes);
}

void RecordPool::free_idle(VkDeviceSize max_bytes) {
  VkDeviceSize idle = 0;
  std::erase_if(slabs_, [&](const auto& slab) {
    if (slab->free != slab->blocks || slab->job) return false;
    const VkDeviceSize bytes = slab->chunk->size();
    if (bytes <= kSlabBlocks * kBlockBytes && idle + bytes <= max_bytes) {
      idle += bytes;
      return false;
    }
    total_ -= bytes;
    return true;
  });
}

VkResult RecordPool::clear(std::span<const RecordPage> pages) {
  if (on_device()) {
    return transfer_->run([&](VkCommandBuffer commands) {
      for (const RecordPage& page : pages) {
        context_.next->CmdFillBuffer(commands, page.chunk->buffer(), page.offset, page.size, 0);
      }
    });
  }
  for (const RecordPage& page : pages) zero(page, 0, page.size);
  return VK_SUCCESS;
}

VkResult RecordPool::read(std::span<const RecordPage> pages, RecordSnapshot& snapshot) {
  const auto words = [](const Chunk& chunk, VkDeviceSize offset, VkDeviceSize size) {
    return std::span(reinterpret_cast<const uint64_t*>(chunk.host() + offset),
                     size / sizeof(uint64_t));
  };
  if (!on_device()) {
    for (const RecordPage& page : pages) {
      page.chunk->invalidate(page.offset, page.size);
      snapshot.pages_.push_back({words(*page.chunk, page.offset, page.size), page.chunk->cached()});
    }
    return VK_SUCCESS;
  }
  VkDeviceSize total = 0;
  for (const RecordPage& page : pages) total += page.size;
  if (total == 0) return VK_SUCCESS;
  VkResult result = VK_SUCCESS;
  auto staging = Chunk::create(context_, Chunk::Use::Staging, total, result);
  if (!staging) return result;
  result = transfer_->run([&](VkCommandBuffer commands) {
    VkDeviceSize target = 0;
    for (const RecordPage& page : pages) {
      const VkBufferCopy copy{page.offset, target, page.size};
      context_.next->CmdCopyBuffer(commands, page.chunk->buffer(), staging->buffer(), 1, &copy);
      target += page.size;
    }
  });
  if (result != VK_SUCCESS) return result;
  staging->invalidate(0, total);
  VkDeviceSize source = 0;
  for (const RecordPage& page : pages) {
    snapshot.pages_.push_back({words(*staging, source, page.size), staging->cached()});
    source += page.size;
  }
  snapshot.staging_.push_back(std::move(staging));
  return VK_SUCCESS;
}

VkResult RecordPool::start_zeroing(Slab& slab) {
  const uint64_t mask = slab.free & slab.dirty;
  Transfer::Job job;
  const VkResult result = transfer_->submit(
      [&](VkCommandBuffer commands) {
        if (mask == slab.blocks) {
          context_.next->CmdFillBuffer(commands, slab.chunk->buffer(), 0, slab.chunk->size(), 0);
          return;
        }
        for (uint64_t left = mask; left != 0; left &= left - 1) {
          const auto block = static_cast<uint32_t>(std::countr_zero(left));
          context_.next->CmdFillBuffer(commands, slab.chunk->buffer(), block * kBlockBytes,
                                       kBlockBytes, 0);
        }
      },
      job);
  if (result != VK_SUCCESS) return result;
  slab.job = job;
  slab.zeroing = mask;
  return VK_SUCCESS;
}

VkResult RecordPool::finish_zeroing(Slab& slab) {
  const VkResult result = transfer_->finish(*slab.job);
  slab.job.reset();
  if (result == VK_SUCCESS) slab.dirty &= ~slab.zeroing;
  slab.zeroing = 0;
  return result;
}

// True if the slab has `count` consecutive free blocks, zeroed or not.
bool RecordPool::can_hold(const Slab& slab, uint32_t count) {
  if (count > kSlabBlocks)
    return slab.chunk->size() >= count * kBlockBytes && slab.free == slab.blocks;
  return slab.chunk->size() <= kSlabBlocks * kBlockBytes && find_block_run(slab.free, count) >= 0;
}

// Prefers zeroed blocks, then blocks that a pending job zeroes, then dirty blocks, then a new slab.
VkResult RecordPool::find_clean_run(uint32_t count, RecordPage& page) {
  for (const auto& slab : slabs_) {
    if (slab->job && transfer_->done(*slab->job)) finish_zeroing(*slab);
  }
  while (!take_run(count, true, page)) {
    Slab* slab = find_slab(count, true);
    if (!slab) {
      slab = find_slab(count, false);
      TALLY_TRY(slab ? start_zeroing(*slab) : add_slab(count));
      if (!slab) slab = slabs_.back().get();
    }
    TALLY_TRY(finish_zeroing(*slab));
  }
  zero_ahead();
  return VK_SUCCESS;
}

RecordPool::Slab* RecordPool::find_slab(uint32_t count, bool being_zeroed) const {
  const auto found = std::ranges::find_if(slabs_, [&](const auto& slab) {
    return slab->job.has_value() == being_zeroed && can_hold(*slab, count);
  });
  return found == slabs_.end() ? nullptr : found->get();
}

// Starts zeroing early, so that the next page need not wait for the GPU.
void RecordPool::zero_ahead() {
  int clean = 0;
  Slab* dirtiest = nullptr;
  for (const auto& slab : slabs_) {
    if (slab->job) return;
    clean += std::popcount(slab->free & ~slab->dirty);
    const int dirty = std::popcount(slab->free & slab->dirty);
    if (dirty > 0 && (!dirtiest || dirty > std::popcount(dirtiest->free & dirtiest->dirty)))
      dirtiest = slab.get();
  }
  if (clean >= static_cast<int>(kSlabBlocks) / 4) return;
  // Ignores a failure: it occurs again, and is reported, when the memory is needed.
  static_cast<void>(dirtiest ? start_zeroing(*dirtiest) : add_slab(1));
}

}  // namespace tally::counters
