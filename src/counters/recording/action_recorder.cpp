#include "counters/recording/action_recorder.h"

#include <algorithm>
#include <bit>

#include "vk/own_call.h"

namespace tally::counters {

CommandState::CommandState(VkCommandBuffer command_buffer, DeviceState& device_state)
    : handle(command_buffer),
      device(device_state),
      next(device.context.next),
      bound(handle, device.objects, status),
      instrumentation(device.instrumentation.shards) {
  if (device.instrumentation.invocations) {
    invocations = std::make_unique<InvocationRecorder>(*device.instrumentation.invocations, handle,
                                                       device.context.next);
  }
  if (device.regions)
    regions = std::make_unique<RegionRecorder>(*device.regions, handle, bound.descriptors());
  if (!device.queries) return;
  queries = std::make_unique<QueryRecorder>(*device.queries, handle, bound.descriptors());
  if (device.context.gpu.native_performance_queries) {
    driver_queries = std::make_unique<DriverQueries>(device.context, handle);
  }
}

void CommandState::reset() {
  status = {};
  bound.reset();
  instrumentation.reset();
  if (invocations) invocations->reset();
  if (regions) regions->reset();
  if (queries) queries->reset();
  if (driver_queries) driver_queries->reset();
}

bool PointerWriter::write(VkPipelineBindPoint point, const BoundState::Bound& bound,
                          const SlotPointers& pointers) {
  state_.bound.invalidate_pointer();
  const PipelineLayout& layout = *bound.pipeline->layout;
  const bool descriptor = layout.path() == AddressPath::Descriptor;
  SlotPointers slots = pointers;
  uint64_t region = region_pointer(bound);
  if (const auto& sets = state_.device.lane_sets;
      sets && point == VK_PIPELINE_BIND_POINT_COMPUTE && pointers[0] != 0) {
    const bool in_slots = !descriptor && state_.device.objects.layout_rules.address_slots > 1;
    (in_slots ? slots[1] : region) = sets->address();
  }
  if (descriptor) return write_descriptor(point, layout, slots[0], region);
  return push(bound, slots, region);
}

// In the order of the push constants (LayoutRules).
bool PointerWriter::push(const BoundState::Bound& bound, const SlotPointers& pointers,
                         uint64_t region) {
  constexpr size_t kOthers = kAddressSlots - kPipelineSlots;
  const LayoutRules& rules = state_.device.objects.layout_rules;
  const PipelineLayout& layout = *bound.pipeline->layout;
  std::array<uint64_t, kAddressSlots + 2> words{};
  for (size_t i = 0; i < kOthers; ++i) words[i] = pointers[kAddressSlots - 1 - i];
  size_t used = kOthers;
  if (layout.moves_blocks()) {
    words[used] = state_.bound.copy_push_data(state_.device.memory.context);
    if (words[used] == 0) return false;
  }
  if (layout.has_heaps()) ++used;
  const size_t slots = used;
  for (size_t i = 0; i < rules.address_slots; ++i) words[used++] = pointers[i];
  if (rules.region_slot) words[used++] = region;
  size_t first = slots;
  uint32_t offset = layout.slot_offset();
  if (bound.shaders && !layout.covers_reserved()) {
    first = 0;
    offset = layout.reserved_offset();
  } else if (layout.moves_blocks()) {
    first = kOthers;
    offset = layout.block_address_offset();
  }
  const auto pushed = std::span(words).subspan(first, used - first);
  if (layout.has_heaps()) {
    state_.bound.overwrite_push_data(offset, offset + static_cast<uint32_t>(pushed.size_bytes()));
  }
  layout.push_pointers(state_.handle, offset, pushed);
  state_.bound.note_overwritten_constants();
  return true;
}

uint64_t PointerWriter::region_pointer(const BoundState::Bound& bound) {
  uint64_t pointer = 0;
  if (state_.status.has(RecordingStatus::kRegions) && bound.variant.regions) {
    state_.status.note(state_.regions->next_pointer(pointer));
  }
  return pointer;
}

// The outermost active feature owns the memory.
VkResult PointerWriter::next_words(WordPage& page, uint32_t& index) {
  if (state_.instrumentation.active()) return state_.instrumentation.next_words(page, index);
  return state_.status.has(RecordingStatus::kQueryShaders)
             ? state_.queries->next_words(page, index)
             : state_.regions->next_words(page, index);
}

bool PointerWriter::write_descriptor(VkPipelineBindPoint point, const PipelineLayout& layout,
                                     uint64_t record, uint64_t region) {
  WordPage page = state_.device.memory.words.null_word();
  uint32_t index = 0;
  if (record != 0 || region != 0) {
    const VkResult result = next_words(page, index);
    if (result != VK_SUCCESS) {
      state_.status.note(result);
      return false;
    }
    page.write(index, record, region);
    if (!state_.instrumentation.active() && state_.status.has(RecordingStatus::kQueryShaders)) {
      state_.queries->passes().add({page, index, record, region});
    }
  }
  const uint32_t dynamic_offset = page.dynamic_offset(index);
  state_.next.CmdBindDescriptorSets(state_.handle, point, layout.handle(), layout.reserved_set(), 1,
                                    &page.set, 1, &dynamic_offset);
  return true;
}

namespace {

// An estimate of a draw's fragments: a draw of few vertices may fill the screen. The more draws are
// recorded with one pipeline, the smaller each is assumed to be.
constexpr uint64_t kFirstWork = 64;
constexpr uint64_t kFirstIndirectWork = 4096;
// A subgroup of vertex invocations adds once, with little contention.
constexpr uint64_t kVerticesOfWork = 64;

// The pushed pointer moves to another record: from which number of moves on, and up to how many
// draws for each, a pipeline gets packed draw indices. A push takes lavapipe as long as the indices
// of some 250 draws, NVIDIA's driver as those of two.
constexpr uint32_t kManyMoves = 16;
constexpr uint32_t kFewDraws = 64;

constexpr auto kRayTracing = VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;

uint64_t packed_pointer(VkDeviceAddress record, uint32_t shards_log2) {
  return probe::record_pointer(record, shards_log2) | probe::kNumberedDraws;
}

}  // namespace

uint32_t ActionRecorder::prepare_draw(uint64_t vertices, uint32_t instances,
                                      uint32_t first_instance) noexcept {
  DrawInstances draw{first_instance, instances};
  Bound& bound = state_.bound.graphics();
  if (!bound.run.program || !repeat_draw(bound, vertices, draw)) {
    prepare(VK_PIPELINE_BIND_POINT_GRAPHICS, vertices, &draw);
  }
  return first_instance | draw.packed_index << probe::kPackedDrawIndexShift;
}

void ActionRecorder::prepare(VkPipelineBindPoint point, uint64_t work,
                             DrawInstances* draw) noexcept {
  count_for_regions(point);
  Bound* bound = state_.bound.at(point);
  if (!bound) return;
  const auto prepare = [&] {
    state_.bound.bind_wanted(point);
    keep_descriptors(point, *bound);
    if (point == VK_PIPELINE_BIND_POINT_GRAPHICS) {
      work = estimate_draw(*bound, work);
      if (state_.status.has(Status::kQuerySamples)) {
        choose_sample_counter(bound->set_program ? SampleCounter::Driver
                                                 : state_.bound.sample_counter());
      }
    }
    ++bound->actions;
    if (state_.status.has(Status::kInstrumented)) {
      instrument(point, *bound, work, draw);
    } else if (state_.status.has(Status::kQueryShaders)) {
      count_for_queries(point, *bound, work, draw);
    } else {
      write_null(point, *bound);
    }
    restore_constants(*bound);
  };
  vk::guarded_void(prepare, [&](VkResult error) {
    state_.status.note(error);
    if (draw) draw->packed_index = 0;
    if (bound->variant != Variant::Plain) run_uncounted(point, *bound);
  });
}

void ActionRecorder::count_for_regions(VkPipelineBindPoint point) {
  if (state_.status.has(Status::kRegions) && point == VK_PIPELINE_BIND_POINT_GRAPHICS) {
    state_.regions->count_draw();
  }
}

void ActionRecorder::choose_sample_counter(SampleCounter counter) {
  state_.status.note(state_.queries->count_samples_by(counter));
}

void ActionRecorder::restore_constants(Bound& bound) {
  if (state_.status.has(Status::kDirtyConstants | Status::kLostGuard)) {
    state_.bound.restore_constants(bound);
  }
}

void ActionRecorder::write_null(VkPipelineBindPoint point, Bound& bound) {
  if (bound.variant != Variant::Plain && !pointers_.write_null(point, bound)) {
    run_uncounted(point, bound);
  }
}

// If queries are active too, they read the same record. It is then twice as large: the second half
// holds what they have read before.
void ActionRecorder::instrument(VkPipelineBindPoint point, Bound& bound, uint64_t work,
                                DrawInstances* draw) {
  InstrumentationRecorder& recorder = state_.instrumentation;
  const uint32_t index = recorder.take_index();
  const bool shared = state_.status.has(Status::kQueryShaders);
  if (shared && !(bound.pipeline && bound.pipeline->instrumented)) {
    count_for_queries(point, bound, work, nullptr);
    return;
  }
  // A ray-tracing pipeline without the flag may contain code that counts.
  const bool reported = point != kRayTracing || (bound.pipeline && bound.pipeline->instrumented);
  if (!bound.variant.blocks || !reported) {
    if (shared) state_.queries->count_error();
    write_null(point, bound);
    return;
  }
  if (bound.variant.by_driver) {
    if (state_.status.error == VK_SUCCESS && count_by_driver(bound, index) == VK_SUCCESS) return;
    state_.device.context.report(vk::take_own_failure(), "vkCmdDraw(): shaders count draws");
    leave_to_shaders(bound);
    if (!bound.variant.blocks) return;
  }
  const Program& program = *bound.program();
  const uint32_t shards = std::min(recorder.shards().shards_for(work), program.max_shards_log2);
  const uint64_t bytes = all_slots_bytes(program, shards);
  VkDeviceSize offset = 0;
  VkResult result = state_.status.error;
  if (result == VK_SUCCESS) result = recorder.reserve(shared ? 2 * bytes : bytes, shards, offset);
  state_.status.note(result);
  const VkDeviceAddress address = recorder.address_of(offset);
  const bool packed = draw && may_pack_index(program, *draw);
  const auto write = [&] {
    if (packed) return write_packed(bound, packed_pointer(address, shards), *draw);
    return pointers_.write(point, bound, slot_pointers(program, address, shards));
  };
  if (result != VK_SUCCESS || !write()) {
    run_uncounted(point, bound);
    return;
  }
  if (packed) bound.run = {&program, bytes};
  recorder.append(index, offset, shards, bound.program());
  if (shared) {
    recorder.share();
    state_.queries->share(bound.program(), {address, shards}, bytes);
  }
}

VkResult ActionRecorder::count_by_driver(const Bound& bound, uint32_t index) {
  InstrumentationRecorder& recorder = state_.instrumentation;
  if (!state_.invocations->may_begin()) return VK_INCOMPLETE;
  VkDeviceSize offset = 0;
  TALLY_TRY(recorder.reserve(all_slots_bytes(*bound.program(), 0), 0, offset));
  TALLY_TRY(state_.invocations->begin(recorder.page(), offset));
  recorder.append(index, offset, 0, bound.program());
  const bool unknown = bound.pipeline->draw_size->mean() == DrawSize::kUnknown;
  if (unknown && state_.status.draws_of_unknown_size != 0 &&
      --state_.status.draws_of_unknown_size == 0) {
    state_.status.set(Status::kDirtyGraphics);
  }
  return VK_SUCCESS;
}

// The shaders count from now on.
void ActionRecorder::leave_to_shaders(Bound& bound) {
  state_.status.driver_counts = false;
  if (state_.bound.can_bind(VK_PIPELINE_BIND_POINT_GRAPHICS)) {
    state_.bound.bind_variant(VK_PIPELINE_BIND_POINT_GRAPHICS, bound,
                              bound.pipeline->make_best(Variant::Blocks));
  }
}

// Consecutive draws usually need no push: their records are contiguous, and the packed draw index
// tells the distance from the record whose pointer was pushed last. Call if there is a run.
bool ActionRecorder::repeat_draw(Bound& bound, uint64_t vertices, DrawInstances& draw) {
  const BoundState::DrawRun& run = bound.run;
  constexpr uint32_t kIrrelevant = Status::kDirtyPointer | Status::kDirtyOthers;
  if ((state_.status.flags & ~kIrrelevant) != Status::kInstrumented) return false;
  InstrumentationRecorder& recorder = state_.instrumentation;
  const InstrumentationRecord& next = recorder.next();
  if (next.program != run.program || !recorder.next_fits(run.bytes) || !leaves_upper_half(draw) ||
      recorder.shards().shards_for(estimate_draw(bound, vertices)) != next.shards_log2 ||
      !pack_index(packed_pointer(recorder.next_address(), next.shards_log2), draw) ||
      !recorder.append_next(run.bytes)) {
    draw.packed_index = 0;
    return false;
  }
  ++bound.actions;
  return true;
}

bool ActionRecorder::may_pack_index(const Program& program, const DrawInstances& draw) const {
  return program.uses_packed_draw_index &&
         !state_.status.has(Status::kQueryShaders | Status::kQueryCommands | Status::kRegions) &&
         leaves_upper_half(draw);
}

// A draw that also runs with the plain pipeline has to keep the application's instance index.
bool ActionRecorder::may_pack_query_index(const Program& program, const DrawInstances& draw) const {
  return program.uses_packed_draw_index &&
         !state_.status.has(Status::kInstrumented | Status::kRegions) &&
         !state_.queries->runs_twice() && leaves_upper_half(draw);
}

bool ActionRecorder::pack_index(uint64_t pointer, DrawInstances& draw) const {
  constexpr uint64_t kMaxDistance = probe::kMaxPackedDrawIndex * probe::kRecordAlignment;
  const uint64_t distance = pointer - state_.bound.pushed_pointer();
  if (distance > kMaxDistance || distance % probe::kRecordAlignment != 0) return false;
  draw.packed_index = static_cast<uint32_t>(distance / probe::kRecordAlignment);
  return true;
}

bool ActionRecorder::write_packed(const Bound& bound, uint64_t pointer, DrawInstances& draw) {
  if (pack_index(pointer, draw)) return true;
  const bool written = pointers_.write(VK_PIPELINE_BIND_POINT_GRAPHICS, bound, {pointer});
  state_.bound.set_pushed_pointer(bound, pointer);
  return written;
}

void ActionRecorder::count_for_queries(VkPipelineBindPoint point, Bound& bound, uint64_t work,
                                       DrawInstances* draw) {
  if (!bound.variant.blocks) {
    state_.queries->count_error();
    write_null(point, bound);
    return;
  }
  // Later commands may share the record: the first dispatches get as many shards as draws do.
  const uint64_t least_work = kFirstWork >> std::bit_width(bound.actions);
  const ShardTable& table = state_.instrumentation.shards();
  const uint32_t shards =
      std::min(table.shards_for(std::max(work, least_work)), bound.program()->max_shards_log2);
  SharedRecord record;
  VkResult result = state_.status.error;
  if (result == VK_SUCCESS) result = state_.queries->find_record(bound.program(), shards, record);
  if (result == VK_SUCCESS && point_at(point, bound, record, draw)) return;
  state_.status.note(result);
  state_.queries->count_error();
  run_uncounted(point, bound);
}

// Consecutive commands of one pipeline share a record while the same queries are active, and the
// records of consecutive queries are close to each other: usually nothing needs to be pushed.
bool ActionRecorder::point_at(VkPipelineBindPoint point, Bound& bound, const SharedRecord& record,
                              DrawInstances* draw) {
  const bool packed = draw && may_pack_query_index(*bound.program(), *draw);
  const bool written =
      packed ? write_packed(bound, packed_pointer(record.address, record.shards_log2), *draw)
             : push_pointer(point, bound, record);
  if (!written) return false;
  const QueryRecorder& queries = *state_.queries;
  const uint64_t pushed = state_.bound.pushed_pointer();
  if (draw && pushed != 0 && !queries.times_apart() && !queries.lacks_samples()) {
    bound.query_run = {queries.interval(), pushed, draw->packed_index};
  }
  return true;
}

bool ActionRecorder::push_pointer(VkPipelineBindPoint point, Bound& bound,
                                  const SharedRecord& record) {
  const uint64_t pointer = probe::record_pointer(record.address, record.shards_log2);
  const uint64_t pushed = state_.bound.pushed_pointer();
  const bool graphics = point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  if (graphics && pointer == pushed && !state_.status.has(Status::kRegions)) return true;
  if (!pointers_.write(point, bound,
                       slot_pointers(*bound.program(), record.address, record.shards_log2))) {
    return false;
  }
  if (graphics && bound.pipeline->layout->path() == AddressPath::PushConstant) {
    state_.bound.set_pushed_pointer(bound, pointer);
    if (pushed != 0) note_move(bound);
  }
  return true;
}

// The next draw binds the variant with packed draw indices where that pays.
void ActionRecorder::note_move(Bound& bound) {
  if (!bound.variant.no_draw_index || ++bound.moves % kManyMoves != 0) return;
  if (bound.actions / bound.moves > kFewDraws) return;
  bound.pipeline->many_records.store(true, std::memory_order_relaxed);
  state_.status.set(Status::kDirtyGraphics);
}

// Without memory the command is executed, but not counted.
void ActionRecorder::run_uncounted(VkPipelineBindPoint point, Bound& bound) {
  if (state_.bound.can_bind(point)) state_.bound.bind_variant(point, bound, Variant::Plain);
  if (bound.variant != Variant::Plain && !pointers_.write_null(point, bound)) {
    state_.status.note(VK_ERROR_OUT_OF_DEVICE_MEMORY);
  }
}

// Leaves the application its descriptors: the command is executed, but not counted. Traces are not
// among these commands, since they cannot do without descriptors of their own kind.
void ActionRecorder::keep_descriptors(VkPipelineBindPoint point, Bound& bound) {
  if (bound.variant == Variant::Plain || !state_.bound.disturbs_descriptors(bound) ||
      !state_.bound.can_bind(point)) {
    return;
  }
  state_.device.context.messages.notice(
      "TALLY-mixed-descriptors", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(state_.handle),
      bound.pipeline->layout->has_heaps()
          ? "commands run uninstrumented: their pipeline uses descriptor heaps, and the record "
            "pointer would invalidate descriptor sets or push constants"
          : "commands run uninstrumented: their pipeline has a layout, and the record pointer "
            "would invalidate descriptor heaps or push data");
  state_.bound.bind_variant(point, bound, Variant::Plain);
}

uint64_t ActionRecorder::estimate_draw(const Bound& bound, uint64_t vertices) {
  const bool known = vertices != kUnknownWork;
  const uint64_t fragments =
      (known ? kFirstWork : kFirstIndirectWork) >> std::bit_width(bound.actions);
  return (known ? vertices / kVerticesOfWork : 0) | fragments | 1;
}

// Other features count in every pass.
bool ActionRecorder::runs_twice(VkPipelineBindPoint point) {
  constexpr uint32_t kShaders = Status::kQueryShaders | Status::kInstrumented | Status::kRegions;
  if ((state_.status.flags & kShaders) != Status::kQueryShaders || !state_.queries->runs_twice()) {
    return false;
  }
  return state_.bound.can_bind(point) && state_.bound.at(point)->variant != Variant::Plain;
}

bool ActionRecorder::begin_variant(bool counting) {
  const VkResult result = state_.queries->passes().begin_variant(counting);
  state_.status.note(result);
  return result == VK_SUCCESS;
}

Variant ActionRecorder::choose_variant(VkPipelineBindPoint point) {
  state_.bound.bind_wanted(point);
  Bound* bound = state_.bound.at(point);
  if (!bound) return Variant::Plain;
  if (bound->variant.by_driver) leave_to_shaders(*bound);
  keep_descriptors(point, *bound);
  return bound->variant;
}

void ActionRecorder::prepare_generated(VkPipelineBindPoint point,
                                       std::shared_ptr<const Program> program) noexcept {
  state_.bound.at(point)->set_program = std::move(program);
  prepare(point, kUnknownWork);
}

void ActionRecorder::prepare_uncounted(VkPipelineBindPoint point) {
  count_for_regions(point);
  if (state_.instrumentation.active()) state_.instrumentation.take_index();
  if (state_.status.has(Status::kQuerySamples)) {
    vk::guarded_void([&] { choose_sample_counter(SampleCounter::Driver); },
                     [&](VkResult error) { state_.status.note(error); });
  }
  if (state_.status.has(Status::kQueryShaders)) state_.queries->count_error();
  state_.bound.bind_plain();
  const auto prepare = [&] {
    write_null(kRayTracing, *state_.bound.at(kRayTracing));
    Bound* bound = state_.bound.at(point);
    if (!bound) return;
    if (point != kRayTracing) write_null(point, *bound);
    restore_constants(*bound);
  };
  vk::guarded_void(prepare, [&](VkResult error) { state_.status.note(error); });
}

}  // namespace tally::counters
