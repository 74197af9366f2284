// Draws, dispatches and traces: where their shaders count.
#include <algorithm>
#include <bit>

#include "counters/layer/device.h"
#include "counters/objects/command_buffer.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

// What a draw of few vertices may do in fragments, where few draws were recorded with the pipeline:
// it may fill the screen. Of many draws in a row each is small.
constexpr uint64_t kFirstWork = 64;
constexpr uint64_t kFirstIndirectWork = 4096;
// A subgroup of vertices adds once, and there is little else to contend with.
constexpr uint64_t kVerticesOfWork = 64;

uint64_t numbered_word(VkDeviceAddress record, uint32_t shards_log2) {
  return probe::record_pointer(record, shards_log2) | probe::kNumberedDraws;
}

}  // namespace

uint32_t CommandBuffer::prepare_draw(uint64_t vertices, uint32_t instances,
                                     uint32_t first_instance) noexcept {
  DrawInstances draw{first_instance, instances};
  if (!repeat_draw(*bound_at(VK_PIPELINE_BIND_POINT_GRAPHICS), vertices, draw)) {
    prepare(VK_PIPELINE_BIND_POINT_GRAPHICS, vertices, &draw);
  }
  return first_instance | draw.number << probe::kPackedDrawIndexShift;
}

void CommandBuffer::prepare(VkPipelineBindPoint point, uint64_t work,
                            DrawInstances* draw) noexcept {
  Bound* bound = bound_at(point);
  if (!bound) return;
  const auto prepare = [&] {
    if ((attention_ & kStalePipelines) != 0) bind_wanted_pipelines();
    if (point == VK_PIPELINE_BIND_POINT_GRAPHICS) work = guess_draw(*bound, work);
    ++bound->actions;
    if ((attention_ & kActive) != 0) {
      record_action(point, *bound, work, draw);
    } else if ((attention_ & kQueries) != 0) {
      count_for_queries(point, *bound, work);
    } else if (bound->variant != Variant::Plain) {
      write_words(point, *bound, 0, 0);
    }
    if ((attention_ & kLostConstants) != 0) restore_constants(*bound);
  };
  vk::guarded_void(prepare, [&](VkResult error) {
    fail(error);
    if (draw) draw->number = 0;
    if (bound->variant != Variant::Plain) run_uncounted(point, *bound);
  });
}

// What the application's own instrumentation counts, queries read from its record, which then has a
// place behind it for what they have read before.
void CommandBuffer::record_action(VkPipelineBindPoint point, Bound& bound, uint64_t work,
                                  DrawInstances* draw) {
  const uint32_t index = active_->take_index();
  const bool shared = (attention_ & kQueries) != 0;
  if (shared && !(bound.pipeline && bound.pipeline->instrumented)) {
    count_for_queries(point, bound, work);
    return;
  }
  if (!counts_blocks(bound.variant)) {
    if (shared) queries_->count_error();
    if (bound.variant != Variant::Plain) write_words(point, bound, 0, 0);
    return;
  }
  const auto& shared_program = bound.pipeline->programs[static_cast<size_t>(bound.variant)];
  const Program& program = *shared_program;
  const uint32_t shards = shards_.shards_for(work);
  const uint64_t main_bytes = slot_bytes(program, AddressSlot::Main, shards);
  const uint64_t bytes = main_bytes + slot_bytes(program, AddressSlot::Fragment, shards);
  VkDeviceSize offset = 0;
  const bool reserved = error_ == VK_SUCCESS && reserve(shared ? 2 * bytes : bytes, shards, offset);
  const VkDeviceAddress address = page_.page.address + offset;
  const uint64_t word = probe::record_pointer(address, shards);
  const bool numbered = draw && may_number(program, *draw);
  const auto write = [&] {
    if (numbered) {
      return write_number(bound, numbered_word(address, shards), *draw);
    }
    return write_words(point, bound, word, probe::record_pointer(address + main_bytes, shards));
  };
  if (!reserved || !write()) {
    run_uncounted(point, bound);
    return;
  }
  if (numbered) bound.run = {&program, bytes};
  if (kept_program_ != &program) {
    segment_->keep(shared_program);
    kept_program_ = &program;
  }
  segment_->append({index, page_.index, static_cast<uint32_t>(offset / probe::kRecordAlignment),
                    shards, &program});
  if (shared) {
    queries_->share(shared_program, {address, address + main_bytes, shards}, bytes);
  }
}

// Most draws are like the one before, and their record stands behind that one's.
bool CommandBuffer::repeat_draw(Bound& bound, uint64_t vertices, DrawInstances& draw) {
  const DrawRun& run = bound.run;
  if (!run.program || (attention_ & ~kStaleWord) != kActive) return false;
  const InstrumentationRecord& next = segment_->next();
  if (next.program != run.program || next.offset * probe::kRecordAlignment != page_.used ||
      page_.page.size - page_.used < run.bytes || !fits_number(draw) ||
      shards_.shards_for(guess_draw(bound, vertices)) != next.shards_log2 ||
      !find_number(numbered_word(page_.page.address + page_.used, next.shards_log2), draw) ||
      !active_->take_index(next.result_index)) {
    draw.number = 0;
    return false;
  }
  segment_->append_next();
  page_.used += run.bytes;
  ++bound.actions;
  return true;
}

// Whether the draw's shaders may find its record by the draw's number.
bool CommandBuffer::may_number(const Program& program, const DrawInstances& draw) const {
  return program.numbers_draws && (attention_ & (kQueries | kQueryCommands | kRegions)) == 0 &&
         fits_number(draw);
}

// From the address that was pushed last.
bool CommandBuffer::find_number(uint64_t word, DrawInstances& draw) const {
  constexpr uint64_t kFarthest = probe::kMaxPackedDrawIndex * probe::kRecordAlignment;
  const uint64_t distance = word - pushed_word_;
  if (distance > kFarthest || distance % probe::kRecordAlignment != 0) return false;
  draw.number = static_cast<uint32_t>(distance / probe::kRecordAlignment);
  return true;
}

// Where a number is enough nothing is pushed.
bool CommandBuffer::write_number(const Bound& bound, uint64_t word, DrawInstances& draw) {
  if (find_number(word, draw)) return true;
  const bool written = write_words(VK_PIPELINE_BIND_POINT_GRAPHICS, bound, word, 0);
  note_words(bound, word);
  return written;
}

void CommandBuffer::note_words(const Bound& bound, uint64_t word) {
  pushed_word_ = word;
  pushed_layout_ = bound.pipeline->layout.get();
}

void CommandBuffer::count_for_queries(VkPipelineBindPoint point, Bound& bound, uint64_t work) {
  if (!counts_blocks(bound.variant)) {
    queries_->count_error();
    if (bound.variant != Variant::Plain) write_words(point, bound, 0, 0);
    return;
  }
  const auto& program = bound.pipeline->programs[static_cast<size_t>(bound.variant)];
  // Further commands may share the record: the first dispatches get shards as draws do.
  const uint32_t shards =
      shards_.shards_for(std::max(work, kFirstWork >> std::bit_width(bound.actions)));
  QueryRecorder::Record record;
  const VkResult result = error_ == VK_SUCCESS ? queries_->record(program, shards, record) : error_;
  const uint64_t word = probe::record_pointer(record.main, record.shards_log2);
  const bool graphics = point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  // Command after command of one pipeline has one record: mostly its address is there already.
  if (result == VK_SUCCESS && graphics && word == pushed_word_ && (attention_ & kRegions) == 0) {
    return;
  }
  if (result == VK_SUCCESS &&
      write_words(point, bound, word, probe::record_pointer(record.fragment, record.shards_log2))) {
    if (graphics && bound.pipeline->layout->path() == AddressPath::PushConstant) {
      note_words(bound, word);
    }
    return;
  }
  fail(result);
  queries_->count_error();
  run_uncounted(point, bound);
}

// Out of memory: this command is drawn, but not counted.
void CommandBuffer::run_uncounted(VkPipelineBindPoint point, Bound& bound) {
  if (can_bind(point)) {
    bind(point, bound, Variant::Plain);
  } else {
    write_words(point, bound, 0, 0);
  }
}

// Cuts a record from the page in hand, or from a new one.
bool CommandBuffer::reserve(uint64_t bytes, uint32_t shards_log2, VkDeviceSize& offset) {
  if (shards_log2 != 0) page_.used = probe::align_up(page_.used, probe::kShardAlignment);
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

uint64_t CommandBuffer::guess_draw(const Bound& bound, uint64_t vertices) {
  const bool known = vertices != kUnknownWork;
  const uint64_t fragments =
      (known ? kFirstWork : kFirstIndirectWork) >> std::bit_width(bound.actions);
  return (known ? vertices / kVerticesOfWork : 0) | fragments | 1;
}

uint64_t CommandBuffer::region_word(const Bound& bound) {
  uint64_t word = 0;
  if ((attention_ & kRegions) != 0 && counts_regions(bound.variant)) {
    const VkResult result = regions_->next_word(word);
    if (result != VK_SUCCESS) fail(result);
  }
  return word;
}

// Where all addresses are 0 nothing is written; that cannot fail.
bool CommandBuffer::write_words(VkPipelineBindPoint point, const Bound& bound, uint64_t main,
                                uint64_t fragment) {
  forget_words();
  const PipelineLayout& layout = *bound.pipeline->layout;
  const uint64_t region = region_word(bound);
  if (layout.path() == AddressPath::Descriptor) {
    return write_descriptor(point, layout, main, region);
  }
  const LayoutRules& rules = device_.instrumentation()->layout_rules;
  const uint64_t words[kAddressSlots + 1] = {
      main, rules.address_slots == kAddressSlots ? fragment : region, region};
  next().CmdPushConstants(handle_, layout.handle(), layout.slot_stages(), layout.slot_offset(),
                          rules.slots() * static_cast<uint32_t>(sizeof(uint64_t)), words);
  if (!constants_.empty()) attention_ |= kLostConstants;
  return true;
}

VkResult CommandBuffer::next_words(WordPage& page, uint32_t& index) {
  if (!active_) {
    return (attention_ & kQueries) != 0 ? queries_->next_words(page, index)
                                        : regions_->next_words(page, index);
  }
  if (words_.used == words_.page.count) {
    words_ = {};
    const VkResult result = active_->open_words(words_);
    if (result != VK_SUCCESS) return result;
  }
  page = words_.page;
  index = words_.used++;
  return VK_SUCCESS;
}

bool CommandBuffer::write_descriptor(VkPipelineBindPoint point, const PipelineLayout& layout,
                                     uint64_t record, uint64_t region) {
  WordPage page = device_.instrumentation()->words.null_word();
  uint32_t index = 0;
  if (record != 0 || region != 0) {
    const VkResult result = next_words(page, index);
    if (result != VK_SUCCESS) {
      fail(result);
      return false;
    }
    page.write(index, record, region);
    if (!active_ && (attention_ & kQueries) != 0) {
      queries_->note_words({page, index, record, region});
    }
  }
  const uint32_t dynamic_offset = page.dynamic_offset(index);
  next().CmdBindDescriptorSets(handle_, point, layout.handle(), layout.reserved_set(), 1, &page.set,
                               1, &dynamic_offset);
  return true;
}

// Updates of other bytes leave those of the slot alone, if they are of the same layout.
void CommandBuffer::forget_words(VkPipelineLayout layout, uint32_t end) {
  if (pushed_word_ == 0) return;
  const bool apart = end <= pushed_layout_->slot_offset() &&
                     device_.instrumentation()->layouts.find(layout).get() == pushed_layout_;
  if (!apart) forget_words();
}

VkShaderStageFlags CommandBuffer::note_constants(VkPipelineLayout layout, VkShaderStageFlags stages,
                                                 uint32_t offset, uint32_t size,
                                                 const void* values) {
  const std::shared_ptr<PipelineLayout> known = device_.instrumentation()->layouts.find(layout);
  if (!known) return stages;
  if (known->covers_slot()) constants_.keep(*known, offset, size, values);
  return known->widen(stages, offset);
}

// The slot's bytes are the application's own in this pipeline's layout, and another pipeline's
// command wrote over them.
void CommandBuffer::restore_constants(Bound& bound) {
  const Pipeline* pipeline = resolve(bound);
  if (!pipeline || !pipeline->layout || !pipeline->layout->covers_slot()) return;
  constants_.restore(*pipeline->layout, handle_);
  forget_words();
  attention_ &= ~kLostConstants;
}

}  // namespace tally::counters
