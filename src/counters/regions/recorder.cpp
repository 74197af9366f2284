#include "counters/regions/recorder.h"

#include <fmt/format.h>

#include "counters/layer/device.h"

namespace tally::counters {
namespace {

// A node of a list of secondaries (regions/glsl/region_links.comp).
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
  report_too_many();
  for (const RecordPage& page : accumulator_pages_) state.records.release(page);
  host_blocks_.reset();
  accumulator_pages_.clear();
  words_.reset();
  passes_.clear();
  current_ = suspended_ = nullptr;
  subpass_ = 0;
  own_block_ = {};
  used_headers_ = kHeaders;
}

VkDeviceAddress RegionRecorder::block_address() const {
  if (!current_) return own_block_.address;
  return subpass_ < current_->blocks.size() ? current_->blocks[subpass_].address : 0;
}

VkResult RegionRecorder::next_word(uint64_t& word) {
  word = block_address();
  // A secondary command buffer cannot know what its pass wants.
  const bool per_draw =
      device_.gpu().counts_primitives() && (!current_ || current_->request.counts_primitives());
  return word != 0 && per_draw ? next_header(word, word) : VK_SUCCESS;
}

// Draws have numbers of their own in the whole device: those of a pass may stand in several command
// buffers.
VkResult RegionRecorder::next_header(VkDeviceAddress block, uint64_t& word) {
  word = 0;
  if (used_headers_ == kHeaders) {
    const VkResult result = host_blocks_.take(kHeaders * sizeof(probe::RegionHeader), headers_);
    if (result != VK_SUCCESS) return result;
    used_headers_ = 0;
    first_draw_ = device_.regions()->take_packed_draw_indices(kHeaders);
  }
  const probe::RegionHeader header{.block_low = static_cast<uint32_t>(block),
                                   .block_high = static_cast<uint32_t>(block >> 32),
                                   .draw = first_draw_ + used_headers_};
  const VkDeviceSize at = used_headers_ * sizeof header;
  headers_.write(at, &header, sizeof header);
  ++used_headers_;
  word = headers_.address + at;
  return VK_SUCCESS;
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
    probe::RegionBlock head = request.block(device_);
    head.header.block_low = static_cast<uint32_t>(block.address);
    head.header.block_high = static_cast<uint32_t>(block.address >> 32);
    block.write(0, &head, sizeof head);
    block.write(probe::kRegionCounterWord * 4, request.counters.data(),
                request.counters.size() * sizeof(uint32_t));
    block.write(probe::kRegionRecordPointer * 4,
                request.addresses.data() + size_t{subpass} * layers,
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
    block.write(offsetof(probe::RegionBlock, accumulators_low), &address, sizeof address);
    address += bytes;
  }
  return VK_SUCCESS;
}

// Passes that are counted never run at the same time: all use the same tables.
VkResult RegionRecorder::make_tables(Pass& pass, RecordPage& page) {
  const RegionRequest& request = pass.request;
  if (!request.counts_primitives()) return VK_SUCCESS;
  const VkResult result = device_.regions()->primitive_tables.find(request.table_bytes(), page);
  if (result != VK_SUCCESS) return result;
  VkDeviceAddress address = page.address;
  for (const HostBlock& block : pass.blocks) {
    block.write(offsetof(probe::RegionBlock, primitives_low), &address, sizeof address);
    address += request.table_bytes() / pass.blocks.size();
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
  RecordPage tables;
  if (result == VK_SUCCESS && !pass.began_elsewhere) result = make_accumulators(pass, page);
  if (result == VK_SUCCESS && !pass.began_elsewhere) result = make_tables(pass, tables);
  if (result != VK_SUCCESS) {
    passes_.pop_back();
    return result;
  }
  if (!pass.began_elsewhere) record_begin(pass, page, tables);
  current_ = &pass;
  return VK_SUCCESS;
}

void RegionRecorder::record_begin(const Pass& pass, const RecordPage& page,
                                  const RecordPage& tables) {
  const DeviceTable& next = device_.next();
  constexpr Half kOurs{VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT | kShaderAccess};
  barrier(next, commands_, {kShaders, kShaderAccess}, kOurs);
  const uint64_t bytes = probe::region_accumulator_bytes(pass.request.columns, pass.request.rows,
                                                         pass.request.instance.layers) *
                         pass.blocks.size();
  next.CmdFillBuffer(commands_, page.chunk->buffer(), page.offset, bytes, 0);
  if (tables.chunk) {
    next.CmdFillBuffer(commands_, tables.chunk->buffer(), tables.offset, pass.request.table_bytes(),
                       0);
  }
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
  const VkDeviceAddress entry[] = {block_address(), secondary.address};
  pass.last_node.write(kEntryBytes * (1 + pass.last_entries), entry, sizeof entry);
  ++pass.last_entries;
  pass.last_node.write(0, &pass.last_entries, sizeof pass.last_entries);
  return VK_SUCCESS;
}

// What the executions so far have found out.
void RegionRecorder::report_too_many() const {
  for (const Pass& pass : passes_) {
    if (!pass.request.counts_primitives()) continue;
    for (const HostBlock& block : pass.blocks) {
      block.chunk->invalidate(block.offset, sizeof(probe::RegionHeader));
      if (block.word(static_cast<uint32_t>(probe::RegionWord::TooMany)) == 0) continue;
      const uint32_t limit = pass.request.primitive_limit;
      device_.messages().notice(
          "TALLY-too-many-primitives", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(commands_),
          fmt::format("more than {} primitives touched a region: where fragment_primitives reads "
                      "{}, there were that many or more (setting region_primitives)",
                      limit, limit));
    }
  }
}

void RegionRecorder::enable(bool enabled) {
  report_too_many();
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
  for (const auto low : {probe::RegionWord::AccumulatorsLow, probe::RegionWord::PrimitivesLow}) {
    const auto at = static_cast<uint32_t>(low);
    const uint32_t address[] = {from.word(at), from.word(at + 1)};
    if (to.word(at) != address[0] || to.word(at + 1) != address[1]) {
      to.write(at * sizeof(uint32_t), address, sizeof address);
    }
  }
}

}  // namespace tally::counters
