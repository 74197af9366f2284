// Copies of results on the GPU.
#include "counters/layer/device.h"
#include "counters/queries/recorder.h"

namespace tally::counters {

VkResult QueryRecorder::copy_results(const QueryPool& pool, const QueryPool::Request& request,
                                     VkBuffer target, VkDeviceSize target_offset) {
  const DeviceTable& next = device_.next();
  VkResult result = device_.queries()->programs.prepare();
  if (result != VK_SUCCESS) return result;
  const uint64_t bytes = pool.result_bytes(request.flags);
  RecordPage page;
  result = device_.instrumentation()->records.acquire(bytes * request.count, page);
  if (result != VK_SUCCESS) return result;
  pages_.push_back(page);
  used_ = page.size;

  HostBlock parameters;
  result = batches_.write_copy(pool, request, page.address, parameters);
  if (result != VK_SUCCESS) return result;

  // Work that made the queries available came before, and wrote through shaders or copies.
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          kAnyAccess);
  {
    const Condition::Interruption unconditioned(condition_, device_.next(), commands_);
    device_.queries()->programs.copy(commands_, parameters.address, request.count);
  }
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
  if (pool.driver()) return copy_mixed(pool, request, page, target, target_offset);
  std::vector<VkBufferCopy> regions;
  const bool packed = request.stride == bytes || request.count == 1;
  for (uint32_t i = 0; i < (packed ? 1 : request.count); ++i) {
    regions.push_back({page.offset + i * bytes, target_offset + i * request.stride,
                       packed ? bytes * request.count : bytes});
  }
  next.CmdCopyBuffer(commands_, page.chunk->buffer(), target, static_cast<uint32_t>(regions.size()),
                     regions.data());
  return VK_SUCCESS;
}

// Both halves side by side, then every result to its place.
VkResult QueryRecorder::copy_mixed(const QueryPool& pool, const QueryPool::Request& request,
                                   const RecordPage& ours, VkBuffer target,
                                   VkDeviceSize target_offset) {
  const DeviceTable& next = device_.next();
  const DriverPool& driver = *pool.driver();
  const VkDeviceSize bytes[] = {pool.result_bytes(0), driver.drivers_bytes()};
  RecordPage drivers;
  const VkResult result =
      device_.instrumentation()->records.acquire(bytes[1] * request.count, drivers);
  if (result != VK_SUCCESS) return result;
  pages_.push_back(drivers);
  used_ = drivers.size;
  next.CmdCopyQueryPoolResults(commands_, driver.handle(), request.first, request.count,
                               drivers.chunk->buffer(), drivers.offset, bytes[1],
                               request.flags & VK_QUERY_RESULT_WAIT_BIT);
  barrier(VK_PIPELINE_STAGE_TRANSFER_BIT, kTransferAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
  const RecordPage* pages[] = {&ours, &drivers};
  std::vector<VkBufferCopy> regions[2];
  const std::vector<DriverPool::Run> runs = driver.runs();
  for (uint32_t i = 0; i < request.count; ++i) {
    for (const DriverPool::Run& run : runs) {
      const size_t half = run.is_drivers ? 1 : 0;
      regions[half].push_back({pages[half]->offset + i * bytes[half] + run.copy.srcOffset,
                               target_offset + i * request.stride + run.copy.dstOffset,
                               run.copy.size});
    }
  }
  for (size_t half = 0; half < 2; ++half) {
    next.CmdCopyBuffer(commands_, pages[half]->chunk->buffer(), target,
                       static_cast<uint32_t>(regions[half].size()), regions[half].data());
  }
  return VK_SUCCESS;
}

}  // namespace tally::counters
