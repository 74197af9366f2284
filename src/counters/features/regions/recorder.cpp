#include "counters/features/regions/recorder.h"

#include <fmt/format.h>

#include <algorithm>

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
  if (state_.counts_primitives && (!current_ || current_->request.counts_primitives())) {
    TALLY_TRY(next_header(pointer, pointer));
    tags |= probe::kRegionOfDraw;
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
    current_->suspended = false;
    current_->request.instance.suspending = request.instance.suspending;
    return VK_SUCCESS;
  }
  VkResult result = state_.programs.prepare();
  if (result != VK_SUCCESS) return result;
  RegionPass& pass = passes_.emplace_back();
  pass.request = std::move(request);
  pass.began_elsewhere = pass.request.instance.resuming;
  result = pass.make_blocks(state_, host_blocks_);
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
    pass->suspended = true;
    suspended_ = pass;
    return;
  }
  record_end(*pass);
}

void RegionRecorder::record_end(const RegionPass& pass) {
  const RegionPrograms& programs = state_.programs;
  const RegionRequest& request = pass.request;
  barrier(next_, commands_, {VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, kReadWrite},
          {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kReadWrite});
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
        fmt::format("more than {} primitives touched a region: where fragment_primitives reads "
                    "{}, there were that many or more (setting region_primitives)",
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
  const std::string who = holder ? fmt::format("process {}", holder->pid) : "other work";
  state_.device.messages.notice(
      "TALLY-not-exclusive", VK_OBJECT_TYPE_DEVICE, state_.device.handle_bits(),
      fmt::format("counters by region read 0: {} was capturing for {} ms (setting "
                  "exclusive_timeout)",
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
    state_.device.report(failure, "a submission with counters by region waits for its queue");
    return;
  }
  state_.device.messages.notice(
      "TALLY-not-exclusive", VK_OBJECT_TYPE_DEVICE, state_.device.handle_bits(),
      fmt::format("counters by region may include work of other queues and processes: {}",
                  failure.text()));
}

}  // namespace tally::counters
