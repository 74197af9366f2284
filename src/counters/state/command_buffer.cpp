#include "counters/state/command_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "counters/state/device.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

// Shards on a processor with few cores: more would only cost memory.
constexpr uint32_t kCpuShardsLog2 = 2;

}  // namespace

const DeviceTable& CommandBuffer::next() const { return device_.next(); }

size_t CommandBuffer::point_index(VkPipelineBindPoint point) {
  switch (point) {
    case VK_PIPELINE_BIND_POINT_GRAPHICS:
      return 0;
    case VK_PIPELINE_BIND_POINT_COMPUTE:
      return 1;
    case VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR:
      return 2;
    default:
      return kPoints;
  }
}

VkPipelineBindPoint CommandBuffer::point_at(size_t index) {
  constexpr VkPipelineBindPoint kAll[kPoints] = {VK_PIPELINE_BIND_POINT_GRAPHICS,
                                                 VK_PIPELINE_BIND_POINT_COMPUTE,
                                                 VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR};
  return kAll[index];
}

CommandBuffer::Bound* CommandBuffer::bound_at(VkPipelineBindPoint point) {
  const size_t index = point_index(point);
  return index < kPoints ? &bound_[index] : nullptr;
}

void CommandBuffer::reset() {
  if (active_) {
    active_->close_page(page_);
    active_->close_words(words_);
  }
  active_.reset();
  segment_ = nullptr;
  page_ = {};
  words_ = {};
  kept_program_ = nullptr;
  error_ = VK_SUCCESS;
  attention_ = 0;
  transform_feedback_ = false;
  bound_ = {};
  objects_.clear();
  constants_begin_ = constants_end_ = 0;
}

void CommandBuffer::fail(VkResult error) {
  if (error_ == VK_SUCCESS) error_ = error;
}

VkResult CommandBuffer::end() {
  if (active_) end_instrumentation();
  return error_;
}

void CommandBuffer::note_object(const std::shared_ptr<Instrumentation>& object) {
  if (std::ranges::find(objects_, object) == objects_.end()) objects_.push_back(object);
}

void CommandBuffer::execute(const CommandBuffer& secondary) {
  for (const auto& object : secondary.objects_) note_object(object);
}

void CommandBuffer::begin_instrumentation(const std::shared_ptr<Instrumentation>& object) {
  note_object(object);
  segment_ = &object->add_segment();
  active_ = object;
  kept_program_ = nullptr;
  attention_ |= kActive;
  bind_counting_pipelines();
}

void CommandBuffer::end_instrumentation() {
  active_->close_page(page_);
  active_->close_words(words_);
  page_ = {};
  words_ = {};
  active_.reset();
  segment_ = nullptr;
  attention_ &= ~kActive;
  bind_plain_pipelines();
  const bool stale = std::ranges::any_of(bound_, [](const Bound& bound) { return bound.counting; });
  if (stale) attention_ |= kStaleWord;
}

// Pipelines may not be bound while transform feedback is active.
bool CommandBuffer::can_bind(VkPipelineBindPoint point) const {
  return point != VK_PIPELINE_BIND_POINT_GRAPHICS || !transform_feedback_;
}

Pipeline* CommandBuffer::resolve(Bound& bound) {
  if (!bound.pipeline && bound.handle != VK_NULL_HANDLE) {
    bound.pipeline = device_.instrumentation()->pipelines.find(bound.handle);
  }
  return bound.pipeline.get();
}

void CommandBuffer::bind(VkPipelineBindPoint point, Bound& bound, bool counting) {
  bound.counting = counting;
  next().CmdBindPipeline(handle_, point, counting ? bound.pipeline->counting : bound.handle);
}

void CommandBuffer::bind_pipeline(VkPipelineBindPoint point, VkPipeline pipeline) {
  Bound* bound = bound_at(point);
  if (!bound) {
    next().CmdBindPipeline(handle_, point, pipeline);
    return;
  }
  if (bound->handle != pipeline || !bound->pipeline) *bound = {pipeline, nullptr, false};
  bool counting = false;
  if (active_) {
    const Pipeline* known = resolve(*bound);
    counting = known && known->counting != VK_NULL_HANDLE;
  }
  bind(point, *bound, counting);
}

void CommandBuffer::forget_pipelines() { bound_ = {}; }

void CommandBuffer::forget_pipeline(VkPipelineBindPoint point) {
  if (Bound* bound = bound_at(point)) *bound = {};
}

void CommandBuffer::bind_counting_pipelines() {
  if (!active_) return;
  for (size_t i = 0; i < kPoints; ++i) {
    Bound& bound = bound_[i];
    const Pipeline* pipeline = resolve(bound);
    if (!pipeline || pipeline->counting == VK_NULL_HANDLE || bound.counting ||
        !can_bind(point_at(i)))
      continue;
    bind(point_at(i), bound, true);
  }
}

void CommandBuffer::bind_plain_pipelines() {
  for (size_t i = 0; i < kPoints; ++i) {
    if (bound_[i].counting && can_bind(point_at(i))) bind(point_at(i), bound_[i], false);
  }
}

void CommandBuffer::before_generated_commands() {
  if (active_) active_->take_index();
  bind_plain_pipelines();
}

void CommandBuffer::end_transform_feedback() {
  transform_feedback_ = false;
  if (active_) {
    bind_counting_pipelines();
  } else {
    bind_plain_pipelines();
  }
}

void CommandBuffer::prepare_action(VkPipelineBindPoint point, uint64_t work) noexcept {
  Bound* bound = bound_at(point);
  if (!bound) return;
  const auto prepare = [&] {
    if ((attention_ & kActive) != 0) {
      record_action(point, *bound, work);
    } else if (bound->counting) {
      write_words(point, *bound->pipeline, 0, 0);
    }
    if ((attention_ & kLostConstants) != 0) restore_constants(*bound);
  };
  vk::guarded_void(prepare, [&](VkResult error) {
    fail(error);
    if (bound->counting) run_uncounted(point, *bound);
  });
}

void CommandBuffer::record_action(VkPipelineBindPoint point, Bound& bound, uint64_t work) {
  const uint32_t index = active_->take_index();
  if (!bound.counting) return;
  const Pipeline& pipeline = *bound.pipeline;
  const Program& program = *pipeline.program;
  const uint32_t shards = choose_shards(work);
  const uint64_t main_bytes = slot_bytes(program, AddressSlot::Main, shards);
  const uint64_t bytes = main_bytes + slot_bytes(program, AddressSlot::Fragment, shards);
  VkDeviceSize offset = 0;
  const bool reserved = error_ == VK_SUCCESS && reserve(bytes, offset);
  const VkDeviceAddress address = page_.page.address + offset;
  if (!reserved || !write_words(point, pipeline, probe::address_word(address, shards),
                                probe::address_word(address + main_bytes, shards))) {
    run_uncounted(point, bound);
    return;
  }
  if (kept_program_ != &program) {
    segment_->keep(pipeline.program);
    kept_program_ = &program;
  }
  segment_->append({index, page_.index, static_cast<uint32_t>(offset / probe::kRecordAlignment),
                    shards, &program});
}

// Out of memory: this command is drawn, but not counted.
void CommandBuffer::run_uncounted(VkPipelineBindPoint point, Bound& bound) {
  if (can_bind(point)) {
    bind(point, bound, false);
  } else {
    write_words(point, *bound.pipeline, 0, 0);
  }
}

// Cuts a record from the page in hand, or from a new one.
bool CommandBuffer::reserve(uint64_t bytes, VkDeviceSize& offset) {
  if (page_.page.size - page_.used < bytes) {
    active_->close_page(page_);
    page_ = {};
    const VkResult result = active_->open_page(bytes, page_);
    if (result != VK_SUCCESS) {
      fail(result);
      return false;
    }
  }
  offset = page_.used;
  page_.used += bytes;
  return true;
}

// Little work meets little contention, and small records are quicker to zero and to read.
uint32_t CommandBuffer::choose_shards(uint64_t work) const {
  const Options& options = device_.instance().options();
  if (options.fixed_shards) return options.max_shards_log2;
  const bool cpu = device_.gpu().properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  const uint32_t most =
      cpu ? std::min(kCpuShardsLog2, options.max_shards_log2) : options.max_shards_log2;
  if (work == kUnknownWork) return most;
  return std::min<uint32_t>(most, static_cast<uint32_t>(std::bit_width(work)) / 2);
}

// Where both addresses are 0 nothing is written; that cannot fail.
bool CommandBuffer::write_words(VkPipelineBindPoint point, const Pipeline& pipeline, uint64_t main,
                                uint64_t fragment) {
  const PipelineLayout& layout = *pipeline.layout;
  if (layout.path() == AddressPath::Descriptor) return write_descriptor(point, layout, main);
  const uint64_t words[kAddressSlots] = {main, fragment};
  const uint32_t size = device_.instrumentation()->layout_rules.address_slots * sizeof(uint64_t);
  next().CmdPushConstants(handle_, layout.handle(), layout.slot_stages(), layout.slot_offset(),
                          size, words);
  if (constants_begin_ != constants_end_) attention_ |= kLostConstants;
  return true;
}

bool CommandBuffer::write_descriptor(VkPipelineBindPoint point, const PipelineLayout& layout,
                                     uint64_t word) {
  WordPage page = device_.instrumentation()->words.null_word();
  uint32_t index = 0;
  if (word != 0) {
    if (words_.used == words_.page.count) {
      words_ = {};
      const VkResult result = active_->open_words(words_);
      if (result != VK_SUCCESS) {
        fail(result);
        return false;
      }
    }
    page = words_.page;
    index = words_.used++;
    page.write(index, word);
  }
  const uint32_t dynamic_offset = page.dynamic_offset(index);
  next().CmdBindDescriptorSets(handle_, point, layout.handle(), layout.reserved_set(), 1, &page.set,
                               1, &dynamic_offset);
  return true;
}

VkShaderStageFlags CommandBuffer::note_constants(VkPipelineLayout layout, VkShaderStageFlags stages,
                                                 uint32_t offset, uint32_t size,
                                                 const void* values) {
  const std::shared_ptr<PipelineLayout> known = device_.instrumentation()->layouts.find(layout);
  if (!known) return stages;
  if (known->covers_slot()) keep_constants(*known, offset, size, values);
  return known->widen(stages, offset);
}

void CommandBuffer::keep_constants(const PipelineLayout& layout, uint32_t offset, uint32_t size,
                                   const void* values) {
  const uint32_t slot = layout.slot_offset();
  const uint32_t begin = std::max(offset, slot);
  const uint32_t end =
      std::min<uint32_t>(offset + size, slot + static_cast<uint32_t>(constants_.size()));
  if (begin >= end) return;
  std::memcpy(constants_.data() + (begin - slot),
              static_cast<const std::byte*>(values) + (begin - offset), end - begin);
  const bool empty = constants_begin_ == constants_end_;
  constants_begin_ = empty ? begin : std::min(constants_begin_, begin);
  constants_end_ = empty ? end : std::max(constants_end_, end);
}

// The slot's bytes are the application's own in this pipeline's layout, and another pipeline's
// command wrote over them.
void CommandBuffer::restore_constants(Bound& bound) {
  const Pipeline* pipeline = resolve(bound);
  if (!pipeline || !pipeline->layout || !pipeline->layout->covers_slot()) return;
  const PipelineLayout& layout = *pipeline->layout;
  layout.push_application_bytes(handle_, constants_begin_, constants_end_,
                                constants_.data() + (constants_begin_ - layout.slot_offset()));
  attention_ &= ~kLostConstants;
}

}  // namespace tally::counters
