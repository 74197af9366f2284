#include "counters/state/region_recorder.h"

#include "counters/state/device.h"

namespace tally::counters {
namespace {

// A node of a list of secondaries (shader/glsl/region_links.comp).
constexpr uint32_t kNodeBytes = 1024;
constexpr uint32_t kNodeEntries = 63;
constexpr uint32_t kNextAt = 8;  // bytes
constexpr uint32_t kEntryBytes = 16;

constexpr VkPipelineStageFlags kShaders =
    VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkAccessFlags kShaderAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

struct Half {
  VkPipelineStageFlags stages;
  VkAccessFlags access;
};

void barrier(const DeviceTable& next, VkCommandBuffer commands, Half from, Half to) {
  const VkMemoryBarrier memory{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = from.access,
                               .dstAccessMask = to.access};
  next.CmdPipelineBarrier(commands, from.stages, to.stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

RegionRecorder::RegionRecorder(Device& device, VkCommandBuffer commands)
    : device_(device),
      commands_(commands),
      host_blocks_(device.instrumentation()->host_pages),
      words_(device.instrumentation()->words) {}

void RegionRecorder::reset() {
  InstrumentationState& state = *device_.instrumentation();
  for (const RecordPage& page : accumulator_pages_) state.records.release(page);
  host_blocks_.reset();
  accumulator_pages_.clear();
  words_.reset();
  passes_.clear();
  current_ = suspended_ = nullptr;
  subpass_ = 0;
  own_block_ = {};
}

uint64_t RegionRecorder::word() const {
  if (!current_) return own_block_.address;
  return subpass_ < current_->blocks.size() ? current_->blocks[subpass_].address : 0;
}

VkResult RegionRecorder::begin_continuing() {
  return host_blocks_.take(sizeof(probe::RegionBlock), own_block_);
}

VkResult RegionRecorder::make_blocks(Pass& pass) {
  const RegionRequest& request = pass.request;
  const uint32_t layers = request.instance.layers;
  for (uint32_t subpass = 0; subpass < request.instance.subpasses; ++subpass) {
    HostBlock block;
    const VkResult result = host_blocks_.take(probe::region_block_bytes(layers), block);
    if (result != VK_SUCCESS) return result;
    const probe::RegionBlock head = request.block(device_);
    block.write(0, &head, sizeof head);
    block.write(probe::kRegionCounterWord * 4, request.counters.data(),
                request.counters.size() * sizeof(uint32_t));
    block.write(probe::kRegionAddressWord * 4, request.addresses.data() + size_t{subpass} * layers,
                layers * sizeof(VkDeviceAddress));
    pass.blocks.push_back(block);
  }
  if (!request.instance.may_execute_secondaries || pass.began_elsewhere) return VK_SUCCESS;
  const VkResult result = host_blocks_.take(kNodeBytes, pass.links);
  pass.last_node = pass.links;
  return result;
}

VkResult RegionRecorder::make_accumulators(Pass& pass, RecordPage& page) {
  const RegionRequest& request = pass.request;
  const uint64_t bytes =
      probe::region_accumulator_bytes(request.columns, request.rows, request.instance.layers);
  const VkResult result =
      device_.instrumentation()->records.acquire(bytes * pass.blocks.size(), page);
  if (result != VK_SUCCESS) return result;
  accumulator_pages_.push_back(page);
  VkDeviceAddress address = page.address;
  for (const HostBlock& block : pass.blocks) {
    block.write(0, &address, sizeof address);
    address += bytes;
  }
  return VK_SUCCESS;
}

VkResult RegionRecorder::begin_pass(RegionRequest request) {
  subpass_ = 0;
  if (request.instance.resuming && suspended_) {
    current_ = std::exchange(suspended_, nullptr);
    current_->suspended = false;
    current_->request.instance.suspending = request.instance.suspending;
    return VK_SUCCESS;
  }
  VkResult result = device_.regions()->programs.prepare();
  if (result != VK_SUCCESS) return result;
  Pass& pass = passes_.emplace_back();
  pass.request = std::move(request);
  pass.began_elsewhere = pass.request.instance.resuming;
  result = make_blocks(pass);
  RecordPage page;
  if (result == VK_SUCCESS && !pass.began_elsewhere) result = make_accumulators(pass, page);
  if (result != VK_SUCCESS) {
    passes_.pop_back();
    return result;
  }
  if (!pass.began_elsewhere) record_begin(pass, page);
  current_ = &pass;
  return VK_SUCCESS;
}

void RegionRecorder::record_begin(const Pass& pass, const RecordPage& page) {
  const DeviceTable& next = device_.next();
  constexpr Half kOurs{VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT | kShaderAccess};
  barrier(next, commands_, {kShaders, kShaderAccess}, kOurs);
  const uint64_t bytes = probe::region_accumulator_bytes(pass.request.columns, pass.request.rows,
                                                         pass.request.instance.layers) *
                         pass.blocks.size();
  next.CmdFillBuffer(commands_, page.chunk->buffer(), page.offset, bytes, 0);
  if (pass.links.chunk) device_.regions()->programs.link(commands_, pass.links.address, false);
  barrier(next, commands_, kOurs, {kShaders, kShaderAccess});
}

void RegionRecorder::end_pass() {
  Pass* pass = std::exchange(current_, nullptr);
  if (!pass) return;
  if (pass->request.instance.suspending) {
    pass->suspended = true;
    suspended_ = pass;
    return;
  }
  record_end(*pass);
}

void RegionRecorder::record_end(const Pass& pass) {
  const DeviceTable& next = device_.next();
  const RegionPrograms& programs = device_.regions()->programs;
  const RegionRequest& request = pass.request;
  barrier(next, commands_, {VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, kShaderAccess},
          {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess});
  for (uint32_t subpass = 0; subpass < pass.blocks.size(); ++subpass) {
    if (!request.subpass_wanted(subpass)) continue;
    programs.write_values(commands_, pass.blocks[subpass].address, request.columns, request.rows,
                          request.instance.layers);
  }
  if (pass.links.chunk) programs.link(commands_, pass.links.address, true);
  // The application waits for the colour attachment stage, as the values are said to be written
  // there, with a barrier or with a dependency of the render pass, which has passed: all are
  // covered.
  barrier(next, commands_, {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
          {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
           VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT});
}

VkResult RegionRecorder::link(const RegionRecorder& secondary) {
  if (!current_ || !secondary.own_block_.chunk) return VK_SUCCESS;
  return current_->links.chunk ? add_link(*current_, secondary.own_block_) : VK_SUCCESS;
}

VkResult RegionRecorder::add_link(Pass& pass, const HostBlock& secondary) {
  if (pass.last_entries == kNodeEntries) {
    HostBlock node;
    const VkResult result = host_blocks_.take(kNodeBytes, node);
    if (result != VK_SUCCESS) return result;
    pass.last_node.write(kNextAt, &node.address, sizeof node.address);
    pass.last_node = node;
    pass.last_entries = 0;
  }
  const VkDeviceAddress entry[] = {word(), secondary.address};
  pass.last_node.write(kEntryBytes * (1 + pass.last_entries), entry, sizeof entry);
  ++pass.last_entries;
  pass.last_node.write(0, &pass.last_entries, sizeof pass.last_entries);
  return VK_SUCCESS;
}

void RegionRecorder::enable(bool enabled) {
  for (Pass& pass : passes_) {
    if (pass.enabled == enabled) continue;
    pass.enabled = enabled;
    const uint32_t wanted = enabled ? pass.request.wanted : 0;
    for (const HostBlock& block : pass.blocks) {
      block.write(offsetof(probe::RegionBlock, wanted), &wanted, sizeof wanted);
    }
  }
}

RegionRecorder::Pass* RegionRecorder::resumed_pass() {
  return !passes_.empty() && passes_.front().began_elsewhere ? &passes_.front() : nullptr;
}

// Both are passes of dynamic rendering, with one subpass.
void RegionRecorder::join(const Pass& suspended, Pass& resumed) {
  const HostBlock& from = suspended.blocks.front();
  const HostBlock& to = resumed.blocks.front();
  const uint32_t accumulators[] = {from.word(0), from.word(1)};
  if (to.word(0) != accumulators[0] || to.word(1) != accumulators[1]) {
    to.write(0, accumulators, sizeof accumulators);
  }
}

}  // namespace tally::counters
