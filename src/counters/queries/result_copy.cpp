#include "counters/queries/result_copy.h"

#include <vector>

namespace tally::counters {
namespace {

QuerySpace space_of(const RecordPage& page) {
  return {page.address, page.chunk->buffer(), page.offset};
}

}  // namespace

VkResult ResultCopy::record(const QueryPool& pool, const QueryPool::Request& request,
                            const Condition& condition, const NamedMemory& target) {
  QueryPrograms& programs = context_.state.programs;
  VkResult result = programs.prepare();
  if (result != VK_SUCCESS) return result;
  const uint64_t bytes = pool.result_bytes(request.flags);
  RecordPage page;
  result = memory_.reserve_page(bytes * request.count, page);
  if (result != VK_SUCCESS) return result;
  HostBlock parameters;
  result = batches_.write_copy(pool, request, page.address, parameters);
  if (result != VK_SUCCESS) return result;

  // Earlier commands made the queries available, with shaders or copies.
  context_.barrier(QueryContext::kAnything, QueryContext::kAnything);
  {
    const Condition::Interruption unconditioned(condition, context_.next, context_.commands);
    programs.copy(context_.dispatches(), parameters.address, request.count);
  }
  context_.barrier(QueryContext::kShader, QueryContext::kTransfer);
  if (pool.driver()) return copy_mixed(pool, request, page, target);
  std::vector<VkBufferCopy> regions;
  const bool packed = request.stride == bytes || request.count == 1;
  for (uint32_t i = 0; i < (packed ? 1 : request.count); ++i) {
    regions.push_back({i * bytes, i * request.stride, packed ? bytes * request.count : bytes});
  }
  copy_out(context_.next, context_.commands, space_of(page), target, std::move(regions));
  return VK_SUCCESS;
}

// The driver's results go to another page of the layer. Each result is then copied from its page.
VkResult ResultCopy::copy_mixed(const QueryPool& pool, const QueryPool::Request& request,
                                const RecordPage& layer_page, const NamedMemory& target) {
  const DriverPool& driver = *pool.driver();
  const VkDeviceSize bytes[] = {pool.result_bytes(0), driver.drivers_bytes()};
  RecordPage driver_page;
  const VkResult result = memory_.reserve_page(bytes[1] * request.count, driver_page);
  if (result != VK_SUCCESS) return result;
  context_.next.CmdCopyQueryPoolResults(
      context_.commands, driver.handle(), request.first, request.count, driver_page.chunk->buffer(),
      driver_page.offset, bytes[1], request.flags & VK_QUERY_RESULT_WAIT_BIT);
  context_.barrier(QueryContext::kTransfer, QueryContext::kTransfer);
  const RecordPage* pages[] = {&layer_page, &driver_page};
  std::vector<VkBufferCopy> regions[2];
  const std::vector<DriverPool::Run> runs = driver.runs();
  for (uint32_t i = 0; i < request.count; ++i) {
    for (const DriverPool::Run& run : runs) {
      const size_t half = run.is_drivers ? 1 : 0;
      regions[half].push_back({i * bytes[half] + run.copy.srcOffset,
                               i * request.stride + run.copy.dstOffset, run.copy.size});
    }
  }
  for (size_t half = 0; half < 2; ++half) {
    copy_out(context_.next, context_.commands, space_of(*pages[half]), target,
             std::move(regions[half]));
  }
  return VK_SUCCESS;
}

}  // namespace tally::counters
