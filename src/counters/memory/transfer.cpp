#include "counters/memory/transfer.h"

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
    const VkResult result =
        vk::own("vkCreateCommandPool",
                context_.next->CreateCommandPool(context_.device, &info, nullptr, &pool_), pool_);
    if (result != VK_SUCCESS) return result;
  }
  const VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = pool_,
                                         .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                         .commandBufferCount = 1};
  VkResult result = vk::own("vkAllocateCommandBuffers", context_.next->AllocateCommandBuffers(
                                                            context_.device, &info, &job.commands));
  if (result != VK_SUCCESS) return result;
  if (context_.set_loader_data) context_.set_loader_data(context_.device, job.commands);
  const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  result =
      vk::own("vkCreateFence",
              context_.next->CreateFence(context_.device, &fence, nullptr, &job.fence), job.fence);
  if (result != VK_SUCCESS)
    context_.next->FreeCommandBuffers(context_.device, pool_, 1, &job.commands);
  return result;
}

VkResult Transfer::record_job(const Job& job, const std::function<void(VkCommandBuffer)>& record) {
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  const VkResult result =
      vk::own("vkBeginCommandBuffer", context_.next->BeginCommandBuffer(job.commands, &begin));
  if (result != VK_SUCCESS) return result;
  barrier(*context_.next, job.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          VK_PIPELINE_STAGE_TRANSFER_BIT);
  record(job.commands);
  barrier(*context_.next, job.commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT);
  return vk::own("vkEndCommandBuffer", context_.next->EndCommandBuffer(job.commands));
}

VkResult Transfer::submit(const std::function<void(VkCommandBuffer)>& record, Job& job) {
  const std::lock_guard lock(mutex_);
  VkResult result = take_idle_job(job);
  if (result != VK_SUCCESS) return result;
  result = record_job(job, record);
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

}  // namespace tally::counters
