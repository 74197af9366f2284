#include "counters/features/regions/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "catalogue/catalogue.h"
#include "counters/base/submission.h"
#include "counters/features/regions/state.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr VkPipelineStageFlags kShaders =
    VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkAccessFlags kReadWrite = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

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

RegionRecorder::RegionRecorder(RegionState& state, VkCommandBuffer commands,
                               const DescriptorMode& descriptors)
    : state_(state),
      next_(state.device.next),
      commands_(commands),
      descriptors_(descriptors),
      host_blocks_(state.memory.host_pages),
      words_(state.memory.words) {}

void RegionRecorder::reset() {
  report_overflows();
  for (const RecordPage& page : accumulator_pages_) state_.memory.records.release(page);
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

// A secondary command buffer does not know which counters its pass enables.
VkResult RegionRecorder::next_pointer(uint64_t& pointer) {
  pointer = block_address();
  if (pointer == 0) return VK_SUCCESS;
  uint64_t tags = probe::kRegionCounts;
  VkDeviceAddress own = 0;
  if (current_ && current_->request.counts_draws()) {
    TALLY_TRY(current_->draws.make_block(state_.draw_accumulators, host_blocks_,
                                         current_->block_of_draw(state_, subpass_),
                                         current_->accumulator_bytes(), subpass_, own));
  }
  const bool primitives =
      state_.counts_primitives && (!current_ || current_->request.counts_primitives());
  if (primitives) tags |= probe::kRegionOfDraw;
  if (own != 0) {
    pointer = own;
  } else if (primitives) {
    TALLY_TRY(next_header(pointer, pointer));
  }
  pointer |= tags;
  return VK_SUCCESS;
}

// Draw numbers are unique on the device: the draws of a pass may be in several command buffers.
VkResult RegionRecorder::next_header(VkDeviceAddress block, uint64_t& pointer) {
  pointer = 0;
  if (used_headers_ == kHeaders) {
    TALLY_TRY(host_blocks_.take(kHeaders * sizeof(probe::RegionHeader), headers_));
    used_headers_ = 0;
    first_draw_ = state_.take_draw_numbers(kHeaders);
  }
  const probe::RegionHeader header{.block_low = static_cast<uint32_t>(block),
                                   .block_high = static_cast<uint32_t>(block >> 32),
                                   .draw = first_draw_ + used_headers_};
  const VkDeviceSize at = used_headers_ * sizeof header;
  headers_.write(at, &header, sizeof header);
  ++used_headers_;
  pointer = headers_.address + at;
  return VK_SUCCESS;
}

VkResult RegionRecorder::begin_continuing() {
  return host_blocks_.take(sizeof(probe::RegionBlock), own_block_);
}

VkResult RegionRecorder::make_accumulators(const RegionPass& pass, RecordPage& page) {
  const uint64_t bytes = pass.accumulator_bytes() * pass.blocks.size();
  TALLY_TRY(state_.memory.records.acquire(bytes, page));
  accumulator_pages_.push_back(page);
  pass.set_accumulators(page.address);
  return VK_SUCCESS;
}

// Capturing passes never run at the same time, so they share the tables.
VkResult RegionRecorder::make_tables(const RegionPass& pass, RecordPage& page) {
  if (!pass.request.counts_primitives()) return VK_SUCCESS;
  const VkResult result = state_.primitive_tables.find(pass.request.table_bytes(), page);
  if (result == VK_SUCCESS) pass.set_primitive_tables(page.address);
  return result;
}

VkResult RegionRecorder::begin_pass(RegionRequest request) {
  subpass_ = 0;
  if (request.instance.resuming && suspended_) {
    current_ = std::exchange(suspended_, nullptr);
    current_->request.instance.suspending = request.instance.suspending;
    return VK_SUCCESS;
  }
  TALLY_TRY(state_.programs.prepare());
  RegionPass& pass = passes_.emplace_back();
  pass.request = std::move(request);
  pass.began_elsewhere = pass.request.instance.resuming;
  VkResult result = pass.make_blocks(state_, host_blocks_);
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

void RegionRecorder::record_begin(const RegionPass& pass, const RecordPage& page,
                                  const RecordPage& tables) {
  constexpr Half kOurs{VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT | kReadWrite};
  barrier(next_, commands_, {kShaders, kReadWrite}, kOurs);
  const uint64_t bytes = pass.accumulator_bytes() * pass.blocks.size();
  next_.CmdFillBuffer(commands_, page.chunk->buffer(), page.offset, bytes, 0);
  if (tables.chunk) {
    next_.CmdFillBuffer(commands_, tables.chunk->buffer(), tables.offset,
                        pass.request.table_bytes(), 0);
  }
  if (pass.links.exist()) state_.programs.link(dispatches(), pass.links.address(), false);
  barrier(next_, commands_, kOurs, {kShaders, kReadWrite});
}

void RegionRecorder::end_pass() {
  RegionPass* pass = std::exchange(current_, nullptr);
  if (!pass) return;
  if (pass->request.instance.suspending) {
    suspended_ = pass;
    return;
  }
  record_end(*pass);
}

void RegionRecorder::record_end(const RegionPass& pass) {
  const RegionPrograms& programs = state_.programs;
  const RegionRequest& request = pass.request;
  barrier(next_, commands_, {VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, kReadWrite},
          {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
           kReadWrite | VK_ACCESS_TRANSFER_WRITE_BIT});
  if (request.counts_draws()) record_draws(pass);
  for (uint32_t subpass = 0; subpass < pass.blocks.size(); ++subpass) {
    if (!request.subpass_wanted(subpass)) continue;
    programs.write_values(dispatches(), pass.blocks[subpass].address, request.columns, request.rows,
                          request.instance.layers);
  }
  if (pass.links.exist()) programs.link(dispatches(), pass.links.address(), true);
  // The extension writes the values in the colour attachment output stage. An external dependency
  // of the render pass may have waited for that already, so the barrier covers all later commands.
  barrier(next_, commands_, {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
          {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
           VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT});
}

void RegionRecorder::record_draws(const RegionPass& pass) const {
  const RegionRequest& request = pass.request;
  const vk::RegionDrawsHeader header = pass.draws.header();
  constexpr Half kComputes{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kReadWrite};
  next_.CmdUpdateBuffer(commands_, request.draws.buffer, request.draws.offset, sizeof header,
                        &header);
  barrier(next_, commands_, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
          kComputes);
  for (uint32_t subpass = 0; subpass < pass.blocks.size(); ++subpass) {
    const VkDeviceAddress list = pass.draws.list(subpass);
    if (list == 0) continue;
    state_.programs.add_draws(dispatches(), list, request.columns, request.rows,
                              request.instance.layers);
  }
  barrier(next_, commands_, kComputes, kComputes);
}

VkResult RegionRecorder::link(const RegionRecorder& secondary) {
  if (!current_ || !secondary.own_block_.chunk || !current_->links.exist()) return VK_SUCCESS;
  return current_->links.add(host_blocks_, block_address(), secondary.own_block_.address);
}

// Messages are sent once for the same text.
void RegionRecorder::report_overflows() const {
  for (const RegionPass& pass : passes_) {
    if (!pass.overflowed()) continue;
    const uint32_t limit = pass.request.primitive_limit;
    state_.device.messages.notice(
        "TALLY-too-many-primitives", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(commands_),
        fmt::format("more than {} primitives touched a region: a fragment_primitives of {} may be "
                    "too low; raise the setting region_primitives",
                    limit, limit));
  }
}

void RegionRecorder::enable(bool enabled) {
  report_overflows();
  for (RegionPass& pass : passes_) pass.enable(enabled);
}

RegionPass* RegionRecorder::resumed_pass() {
  return !passes_.empty() && passes_.front().began_elsewhere ? &passes_.front() : nullptr;
}

void RegionSubmission::add(RegionRecorder& recorder) {
  RegionPass* resumed = recorder.resumed_pass();
  if (resumed && suspended_) resumed->join(*suspended_);
  if (RegionPass* pass = recorder.suspended_pass()) suspended_ = pass;
  if (recorder.captures()) recorders_.push_back(&recorder);
}

void RegionSubmission::enter(VkQueue queue) {
  work_.queue = queue;
  waits_for_host_ =
      std::ranges::any_of(work_.waits, [](const SemaphoreValue& wait) { return wait.value != 0; });
  const uint64_t timeout = state_.device.options.exclusive_timeout * 1'000'000;
  hold_ = ExclusiveMode::instance().enter(std::move(work_), timeout);
  if (!hold_) report_timeout();
  for (RegionRecorder* recorder : recorders_) recorder->enable(hold_.has_value());
}

void RegionSubmission::report_timeout() const {
  const auto holder = ExclusiveMode::instance().holder();
  const std::string who = holder ? fmt::format("process {}", *holder) : "other work";
  state_.device.messages.notice("TALLY-not-exclusive", VK_OBJECT_TYPE_DEVICE,
                                state_.device.handle_bits(),
                                fmt::format("counters by region read 0: {} used the GPU for more "
                                            "than {} ms (setting exclusive_timeout)",
                                            who, state_.device.options.exclusive_timeout));
}

// A submission of the layer's own tells when the work has completed.
void RegionSubmission::submitted(VkQueue queue, VkResult result) {
  if (!hold_ || result != VK_SUCCESS) return;
  if (const auto timeline = timelines_.of(queue)) {
    const uint64_t value = timeline->signal([&](VkSemaphore semaphore, uint64_t next) {
      const vk::SignalledBatches<VkSubmitInfo> batch({}, semaphore, next);
      return vk::own("vkQueueSubmit", state_.device.next.QueueSubmit(queue, batch.count(),
                                                                     batch.data(), VK_NULL_HANDLE));
    });
    if (value != 0) {
      state_.exclusive.watch(std::make_shared<Submission>(timeline, value, false), *hold_);
      hold_.reset();
      return;
    }
  }
  await_untracked(queue);
}

// The hold ends next, so the work should have completed.
void RegionSubmission::await_untracked(VkQueue queue) const {
  const vk::OwnFailure failure = vk::take_own_failure();
  if (!waits_for_host_ &&
      vk::own("vkQueueWaitIdle", state_.device.next.QueueWaitIdle(queue)) == VK_SUCCESS) {
    state_.device.report(failure, "submitting work that counts by region waits for its completion");
    return;
  }
  state_.device.messages.notice(
      "TALLY-not-exclusive", VK_OBJECT_TYPE_DEVICE, state_.device.handle_bits(),
      fmt::format("counters by region may include work of other queues and processes: {}",
                  failure.text()));
}

namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{256} << 20;
constexpr const char* kVuid = "VUID-VkRenderPassPerformanceCountersByRegionBeginInfoARM-";

class Checker {
 public:
  Checker(const RegionState& state, VkCommandBuffer commands)
      : state_(state), commands_(commands) {}

  void report(const char* rule, const std::string& text) const {
    state_.device.messages.misuse((std::string(kVuid) + rule).c_str(),
                                  VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(commands_), text);
  }

  bool counts_fit(const VkRenderPassPerformanceCountersByRegionBeginInfoARM& info,
                  const RenderPassInstance& instance) const {
    const uint64_t wanted = uint64_t{instance.subpasses} * instance.layers;
    if (info.counterAddressCount != wanted) {
      report(
          "counterAddressCount-11815",
          fmt::format("counterAddressCount is {}; it must be {}: the render pass has {} subpasses "
                      "with {} {} each",
                      info.counterAddressCount, wanted, instance.subpasses, instance.layers,
                      instance.multiview ? "views" : "layers"));
      return false;
    }
    const uint32_t max_counters = state_.properties.counters;
    if (info.counterIndexCount > max_counters) {
      report("counterIndexCount-11818",
             fmt::format("counterIndexCount is {}, more than maxPerRegionPerformanceCounters ({})",
                         info.counterIndexCount, max_counters));
      return false;
    }
    return true;
  }

  // The address; null if it must not be written to.
  VkDeviceAddress checked(VkDeviceAddress address, uint64_t bytes, size_t index) const {
    if (address == 0) return 0;
    const VkDeviceSize available = state_.buffers.bytes_from(address);
    if (available == 0) {
      report("pCounterAddresses-11816",
             fmt::format("pCounterAddresses[{}] ({:#x}) is in no buffer whose address was queried; "
                         "nothing is written there",
                         index, address));
    } else if (available < bytes) {
      report(
          "pCounterAddresses-11817",
          fmt::format("pCounterAddresses[{}] ({:#x}): its buffer ends after {} bytes, but {} are "
                      "needed; nothing is written there",
                      index, address, available, bytes));
    }
    return available < bytes ? 0 : address;
  }

  uint32_t accumulator_of(uint32_t counter_id) const {
    const auto all = catalogue::counters_of(catalogue::Scope::Region);
    const auto offered = region_counters(state_.device.gpu, state_.device.options);
    const auto found = std::ranges::find_if(all, [&](const catalogue::Counter* counter) {
      return static_cast<uint32_t>(counter->number) == counter_id;
    });
    if (found == all.end() || std::ranges::find(offered, *found) == offered.end()) {
      report("pCounterIndices-parameter",
             fmt::format("pCounterIndices has {}, which is no counter of the device; it reads 0",
                         counter_id));
      return probe::kRegionAccumulators;
    }
    return static_cast<uint32_t>(found - all.begin());
  }

 private:
  const RegionState& state_;
  VkCommandBuffer commands_;
};

uint32_t aligned(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

void measure(RegionRequest& request, const RegionProperties& properties, uint32_t counters) {
  const VkExtent2D area = request.instance.area.extent;
  const VkExtent2D region = properties.extent();
  request.columns = (area.width + region.width - 1) / region.width;
  request.rows = (area.height + region.height - 1) / region.height;
  request.region_bytes = aligned(counters * 4, properties.region_alignment);
  request.row_bytes = aligned(request.columns * request.region_bytes, properties.row_alignment);
}

// The accumulators that the counters need.
uint32_t wanted_bits(const std::vector<uint32_t>& counters) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  uint32_t bits = 0;
  for (const uint32_t accumulator : counters) {
    if (accumulator >= all.size()) continue;
    const bool warps = all[accumulator]->number == catalogue::Number::FragmentWarps;
    const auto counted = std::ranges::find(
        all, warps ? catalogue::Number::FragmentInvocations : all[accumulator]->number,
        &catalogue::Counter::number);
    bits |= 1u << (counted - all.begin());
  }
  return bits;
}

// The sets have slots for twice the number of primitives that are counted.
uint64_t bytes_of_tables(const RenderPassInstance& instance, uint64_t regions, uint32_t limit) {
  return regions * instance.layers * instance.subpasses * limit * 2 * sizeof(uint64_t);
}

void limit_primitives(RegionRequest& request, const RegionProperties& properties) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  const auto primitives =
      std::ranges::find(all, catalogue::Number::FragmentPrimitives, &catalogue::Counter::number);
  if ((request.wanted >> (primitives - all.begin()) & 1) == 0) return;
  const uint64_t regions = uint64_t{request.columns} * request.rows;
  request.primitive_limit = 1u << properties.primitives_log2;
  while (request.primitive_limit > 1 &&
         bytes_of_tables(request.instance, regions, request.primitive_limit) > kMaxTableBytes) {
    request.primitive_limit /= 2;
  }
}

}  // namespace

probe::RegionBlock RegionRequest::block(const RegionState& state) const {
  const RegionProperties& properties = state.properties;
  probe::RegionBlock block;
  block.wanted = wanted;
  block.size_log2 = probe::region_pair(properties.size.width_log2, properties.size.height_log2);
  block.offset = probe::region_pair(static_cast<uint32_t>(instance.area.offset.x),
                                    static_cast<uint32_t>(instance.area.offset.y));
  block.regions = probe::region_pair(columns, rows);
  block.layers = instance.layers;
  block.multiview = instance.multiview ? 1 : 0;
  block.counter_count = static_cast<uint32_t>(counters.size());
  block.subgroup_size = properties.subgroup_size;
  block.region_bytes = region_bytes;
  block.row_bytes = row_bytes;
  block.primitive_limit = primitive_limit;
  block.primitive_slots_log2 = static_cast<uint32_t>(std::bit_width(primitive_limit));
  return block;
}

bool RegionRequest::counts_only_invocations() const {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  const auto invocations =
      std::ranges::find(all, catalogue::Number::FragmentInvocations, &catalogue::Counter::number);
  return wanted == 1u << (invocations - all.begin());
}

uint64_t RegionRequest::table_bytes() const {
  return bytes_of_tables(instance, uint64_t{columns} * rows, primitive_limit);
}

bool RegionRequest::subpass_wanted(uint32_t subpass) const {
  const auto own = std::span(addresses).subspan(size_t{subpass} * instance.layers, instance.layers);
  return std::ranges::any_of(own, [](VkDeviceAddress address) { return address != 0; });
}

std::optional<RegionRequest> check_region_request(
    const RegionState& state, VkCommandBuffer commands,
    const VkRenderPassPerformanceCountersByRegionBeginInfoARM& info,
    const RenderPassInstance& instance) {
  const Checker checker(state, commands);
  if (!checker.counts_fit(info, instance)) return std::nullopt;
  if (info.serializeRegions) {
    state.device.messages.notice("TALLY-serialize-regions", VK_OBJECT_TYPE_COMMAND_BUFFER,
                                 vk::handle_bits(commands),
                                 "serializeRegions is not supported: regions still run "
                                 "concurrently, in the driver's order. Only "
                                 "shader_clock and fragment_subgroups can depend on the order");
  }
  RegionRequest request;
  request.instance = instance;
  measure(request, state.properties, info.counterIndexCount);
  const uint64_t bytes = uint64_t{request.row_bytes} * request.rows;
  for (uint32_t i = 0; i < info.counterAddressCount; ++i) {
    request.addresses.push_back(checker.checked(info.pCounterAddresses[i], bytes, i));
  }
  for (uint32_t i = 0; i < info.counterIndexCount; ++i) {
    request.counters.push_back(checker.accumulator_of(info.pCounterIndices[i]));
  }
  request.wanted = wanted_bits(request.counters);
  limit_primitives(request, state.properties);
  // Only passes whose begin and end are in one place list their draws.
  if (!instance.suspending && !instance.resuming)
    request.draws = find_draw_list(state.buffers, info.pNext, info.counterIndexCount);
  const bool nothing =
      bytes == 0 || request.counters.empty() ||
      std::ranges::count(request.addresses, 0u) == static_cast<ptrdiff_t>(request.addresses.size());
  return nothing ? std::nullopt : std::optional(std::move(request));
}

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
    TALLY_TRY(memory.take(kNodeBytes, node));
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
    TALLY_TRY(memory.take(probe::region_block_bytes(layers), block));
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
    if (request.counts_draws()) TALLY_TRY(draws.create(memory, request.draws, block.address));
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

probe::RegionBlock RegionPass::block_of_draw(RegionState& state, uint32_t subpass) const {
  probe::RegionBlock block = request.block(state);
  if (request.counts_primitives()) block.header.draw = state.take_draw_numbers(1);
  const auto primitives = static_cast<uint32_t>(probe::RegionWord::PrimitivesLow);
  block.primitives_low = blocks[subpass].word(primitives);
  block.primitives_high = blocks[subpass].word(primitives + 1);
  return block;
}

void RegionPass::enable(bool enable) {
  if (enabled == enable) return;
  enabled = enable;
  const uint32_t wanted = enable ? request.wanted : 0;
  for (const HostBlock& block : blocks) {
    block.write(offsetof(probe::RegionBlock, wanted), &wanted, sizeof wanted);
  }
  draws.enable(wanted);
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
