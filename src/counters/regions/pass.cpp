#include "counters/regions/pass.h"

#include <algorithm>

namespace tally::counters {
namespace {

// The nodes of the list of secondaries.
constexpr uint32_t kNodeBytes = 1024;
constexpr uint32_t kNodeEntries = 63;
constexpr uint32_t kNextOffset = 8;
constexpr uint32_t kEntryBytes = 16;

}  // namespace

VkResult SecondaryLinks::create(HostBlocks& memory) {
  const VkResult result = memory.take(kNodeBytes, first_);
  last_ = first_;
  return result;
}

VkResult SecondaryLinks::add(HostBlocks& memory, VkDeviceAddress from, VkDeviceAddress to) {
  if (entries_ == kNodeEntries) {
    HostBlock node;
    const VkResult result = memory.take(kNodeBytes, node);
    if (result != VK_SUCCESS) return result;
    last_.write(kNextOffset, &node.address, sizeof node.address);
    last_ = node;
    entries_ = 0;
  }
  const VkDeviceAddress entry[] = {from, to};
  last_.write(kEntryBytes * (1 + entries_), entry, sizeof entry);
  ++entries_;
  last_.write(0, &entries_, sizeof entries_);
  return VK_SUCCESS;
}

VkResult RegionPass::make_blocks(const RegionState& state, HostBlocks& memory) {
  const uint32_t layers = request.instance.layers;
  for (uint32_t subpass = 0; subpass < request.instance.subpasses; ++subpass) {
    HostBlock block;
    const VkResult result = memory.take(probe::region_block_bytes(layers), block);
    if (result != VK_SUCCESS) return result;
    probe::RegionBlock head = request.block(state);
    head.header.block_low = static_cast<uint32_t>(block.address);
    head.header.block_high = static_cast<uint32_t>(block.address >> 32);
    block.write(0, &head, sizeof head);
    block.write(probe::kRegionCounterWord * 4, request.counters.data(),
                request.counters.size() * sizeof(uint32_t));
    block.write(probe::kRegionRecordPointer * 4,
                request.addresses.data() + size_t{subpass} * layers,
                layers * sizeof(VkDeviceAddress));
    blocks.push_back(block);
  }
  if (!request.instance.may_execute_secondaries || began_elsewhere) return VK_SUCCESS;
  return links.create(memory);
}

uint64_t RegionPass::accumulator_bytes() const {
  return probe::region_accumulator_bytes(request.columns, request.rows, request.instance.layers);
}

void RegionPass::set_accumulators(VkDeviceAddress address) const {
  for (const HostBlock& block : blocks) {
    block.write(offsetof(probe::RegionBlock, accumulators_low), &address, sizeof address);
    address += accumulator_bytes();
  }
}

void RegionPass::set_primitive_tables(VkDeviceAddress address) const {
  for (const HostBlock& block : blocks) {
    block.write(offsetof(probe::RegionBlock, primitives_low), &address, sizeof address);
    address += request.table_bytes() / blocks.size();
  }
}

void RegionPass::enable(bool enable) {
  if (enabled == enable) return;
  enabled = enable;
  const uint32_t wanted = enable ? request.wanted : 0;
  for (const HostBlock& block : blocks) {
    block.write(offsetof(probe::RegionBlock, wanted), &wanted, sizeof wanted);
  }
}

bool RegionPass::overflowed() const {
  return request.counts_primitives() && std::ranges::any_of(blocks, [](const HostBlock& block) {
           block.chunk->invalidate(block.offset, sizeof(probe::RegionHeader));
           return block.word(static_cast<uint32_t>(probe::RegionWord::TooMany)) != 0;
         });
}

// Suspended passes use dynamic rendering, which has one subpass.
void RegionPass::join(const RegionPass& suspended_pass) const {
  const HostBlock& from = suspended_pass.blocks.front();
  const HostBlock& to = blocks.front();
  for (const auto low : {probe::RegionWord::AccumulatorsLow, probe::RegionWord::PrimitivesLow}) {
    const auto at = static_cast<uint32_t>(low);
    const uint32_t address[] = {from.word(at), from.word(at + 1)};
    if (to.word(at) != address[0] || to.word(at + 1) != address[1]) {
      to.write(at * sizeof(uint32_t), address, sizeof address);
    }
  }
}

}  // namespace tally::counters
