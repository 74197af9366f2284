#include "counters/state/command_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "counters/state/device.h"
#include "vk/boundary.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

// Shards on a processor with few cores: more would only cost memory.
constexpr uint32_t kCpuShardsLog2 = 2;
// As vertices or workgroups: 8 shards.
constexpr uint64_t kLeastRecordWork = 64;

}  // namespace

CommandBuffer::CommandBuffer(VkCommandBuffer handle, Device& device, Kind kind)
    : handle_(handle), device_(device), kind_(kind) {
  if (device.regions()) regions_ = std::make_unique<RegionRecorder>(device, handle);
  if (device.queries()) {
    queries_ = std::make_unique<QueryRecorder>(device, handle, is_secondary());
  }
}

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
  compute_shader_ = VK_NULL_HANDLE;
  objects_.clear();
  capturing_.clear();
  if (regions_) regions_->reset();
  if (queries_) queries_->reset();
  forget_words();
  dynamic_facts_ = {};
  constants_begin_ = constants_end_ = 0;
}

void CommandBuffer::fail(VkResult error) {
  if (error_ == VK_SUCCESS) error_ = error;
}

VkResult CommandBuffer::end() {
  if (active_) end_instrumentation();
  flush_queries();
  return error_;
}

void CommandBuffer::note_object(const std::shared_ptr<Instrumentation>& object) {
  if (std::ranges::find(objects_, object) == objects_.end()) objects_.push_back(object);
}

void CommandBuffer::execute(const std::shared_ptr<CommandBuffer>& secondary) {
  for (const auto& object : secondary->objects_) note_object(object);
  if (queries_) {
    queries_->execute(*secondary->queries_);
    flush_queries();
  }
  if (!regions_) return;
  const VkResult result = regions_->link(*secondary->regions_);
  if (result != VK_SUCCESS) fail(result);
  if (secondary->regions_->captures()) capturing_.push_back(secondary);
}

void CommandBuffer::continue_pass() {
  if (queries_) queries_->continue_pass();
  if (!regions_) return;
  const VkResult result = regions_->begin_continuing();
  if (result != VK_SUCCESS) {
    fail(result);
    return;
  }
  attention_ |= kRegions;
}

void CommandBuffer::begin_capture(RegionRequest request) {
  const VkResult result = regions_->begin_pass(std::move(request));
  if (result != VK_SUCCESS) {
    fail(result);
    return;
  }
  attention_ |= kRegions;
  dispatched_ours();
  bind_wanted_pipelines();
}

void CommandBuffer::end_capture() {
  regions_->end_pass();
  attention_ &= ~kRegions;
  dispatched_ours();
  bind_wanted_pipelines();
  note_stale_words();
}

// A dispatch of ours has changed the bound compute pipeline, and the bytes of the slot.
void CommandBuffer::dispatched_ours() {
  forget_words();
  const Bound& bound = *bound_at(VK_PIPELINE_BIND_POINT_COMPUTE);
  if (bound.handle != VK_NULL_HANDLE) {
    const bool plain = bound.variant == Variant::Plain;
    next().CmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE,
                           plain ? bound.handle : bound.pipeline->variant(bound.variant));
  } else if (compute_shader_ != VK_NULL_HANDLE) {
    constexpr VkShaderStageFlagBits kStage = VK_SHADER_STAGE_COMPUTE_BIT;
    next().CmdBindShadersEXT(handle_, 1, &kStage, &compute_shader_);
  }
  if (constants_begin_ != constants_end_) attention_ |= kLostConstants;
}

void CommandBuffer::begin_instrumentation(const std::shared_ptr<Instrumentation>& object) {
  note_object(object);
  segment_ = &object->add_segment();
  active_ = object;
  kept_program_ = nullptr;
  attention_ |= kActive;
  bind_wanted_pipelines();
}

void CommandBuffer::end_instrumentation() {
  active_->close_page(page_);
  active_->close_words(words_);
  page_ = {};
  words_ = {};
  active_.reset();
  segment_ = nullptr;
  attention_ &= ~kActive;
  bind_wanted_pipelines();
  note_stale_words();
}

void CommandBuffer::note_stale_words() {
  const bool stale = std::ranges::any_of(
      bound_, [](const Bound& bound) { return bound.variant != Variant::Plain; });
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

Variant CommandBuffer::wanted_variant(VkPipelineBindPoint point, Bound& bound) {
  const bool regions = (attention_ & kRegions) != 0 && point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  const bool blocks = (attention_ & (kActive | kQueries)) != 0;
  if (!blocks && !regions) return Variant::Plain;
  const Pipeline* known = resolve(bound);
  if (!known) return Variant::Plain;
  const bool counted = known->instrumented || (attention_ & kQueries) != 0;
  return known->choose(make_variant(blocks && counted, regions));
}

void CommandBuffer::bind(VkPipelineBindPoint point, Bound& bound, Variant variant) {
  forget_words();
  bound.variant = variant;
  next().CmdBindPipeline(
      handle_, point, variant == Variant::Plain ? bound.handle : bound.pipeline->variant(variant));
}

void CommandBuffer::bind_pipeline(VkPipelineBindPoint point, VkPipeline pipeline) {
  Bound* bound = bound_at(point);
  if (!bound) {
    next().CmdBindPipeline(handle_, point, pipeline);
    return;
  }
  if (bound->handle != pipeline || !bound->pipeline) *bound = {pipeline, nullptr, Variant::Plain};
  bind(point, *bound, wanted_variant(point, *bound));
}

void CommandBuffer::forget_pipelines() {
  forget_words();
  bound_ = {};
  compute_shader_ = VK_NULL_HANDLE;
}

void CommandBuffer::forget_pipeline(VkPipelineBindPoint point) {
  if (Bound* bound = bound_at(point)) *bound = {};
}

void CommandBuffer::bind_wanted_pipelines() {
  for (size_t i = 0; i < kPoints; ++i) {
    Bound& bound = bound_[i];
    if (bound.handle == VK_NULL_HANDLE || !can_bind(point_at(i))) continue;
    const Variant wanted = wanted_variant(point_at(i), bound);
    if (wanted != bound.variant) bind(point_at(i), bound, wanted);
  }
}

void CommandBuffer::bind_plain_pipelines() {
  for (size_t i = 0; i < kPoints; ++i) {
    Bound& bound = bound_[i];
    if (bound.variant != Variant::Plain && can_bind(point_at(i))) {
      bind(point_at(i), bound, Variant::Plain);
    }
  }
}

void CommandBuffer::before_generated_commands() {
  if (active_) active_->take_index();
  bind_plain_pipelines();
}

void CommandBuffer::end_transform_feedback() {
  transform_feedback_ = false;
  bind_wanted_pipelines();
}

void CommandBuffer::prepare_action(VkPipelineBindPoint point, uint64_t work) noexcept {
  Bound* bound = bound_at(point);
  if (!bound) return;
  const auto prepare = [&] {
    if ((attention_ & kActive) != 0) {
      record_action(point, *bound, work);
    } else if ((attention_ & kQueries) != 0) {
      count_for_queries(point, *bound, work);
    } else if (bound->variant != Variant::Plain) {
      write_words(point, *bound, 0, 0);
    }
    if ((attention_ & kLostConstants) != 0) restore_constants(*bound);
  };
  vk::guarded_void(prepare, [&](VkResult error) {
    fail(error);
    if (bound->variant != Variant::Plain) run_uncounted(point, *bound);
  });
}

// What the application's own instrumentation counts, queries read from its record, which then has a
// place behind it for what they have read before.
void CommandBuffer::record_action(VkPipelineBindPoint point, Bound& bound, uint64_t work) {
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
  const uint32_t shards = choose_shards(work);
  const uint64_t main_bytes = slot_bytes(program, AddressSlot::Main, shards);
  const uint64_t bytes = main_bytes + slot_bytes(program, AddressSlot::Fragment, shards);
  VkDeviceSize offset = 0;
  const bool reserved = error_ == VK_SUCCESS && reserve(shared ? 2 * bytes : bytes, offset);
  const VkDeviceAddress address = page_.page.address + offset;
  if (!reserved || !write_words(point, bound, probe::address_word(address, shards),
                                probe::address_word(address + main_bytes, shards))) {
    run_uncounted(point, bound);
    return;
  }
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

void CommandBuffer::count_for_queries(VkPipelineBindPoint point, Bound& bound, uint64_t work) {
  if (!counts_blocks(bound.variant)) {
    queries_->count_error();
    if (bound.variant != Variant::Plain) write_words(point, bound, 0, 0);
    return;
  }
  const auto& program = bound.pipeline->programs[static_cast<size_t>(bound.variant)];
  // The record may be used by further commands, of more work.
  const uint32_t shards = choose_shards(std::max(work, kLeastRecordWork));
  QueryRecorder::Record record;
  const VkResult result = error_ == VK_SUCCESS ? queries_->record(program, shards, record) : error_;
  const uint64_t word = probe::address_word(record.main, record.shards_log2);
  const bool graphics = point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  // Command after command of one pipeline has one record: mostly its address is there already.
  if (result == VK_SUCCESS && graphics && word == pushed_word_ && (attention_ & kRegions) == 0) {
    return;
  }
  if (result == VK_SUCCESS &&
      write_words(point, bound, word, probe::address_word(record.fragment, record.shards_log2))) {
    if (graphics && bound.pipeline->layout->path() == AddressPath::PushConstant) {
      pushed_word_ = word;
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

uint64_t CommandBuffer::region_word(const Bound& bound) const {
  const bool counted = (attention_ & kRegions) != 0 && counts_regions(bound.variant);
  return counted ? regions_->word() : 0;
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
  if (constants_begin_ != constants_end_) attention_ |= kLostConstants;
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

// --- emulated queries

void CommandBuffer::update_query_attention() {
  attention_ &= ~(kQueries | kQueryCommands);
  if (queries_->active()) attention_ |= kQueryCommands;
  if (queries_->counts_shaders()) attention_ |= kQueries;
  bind_wanted_pipelines();
  note_stale_words();
}

void CommandBuffer::begin_query(const std::shared_ptr<QueryPool>& pool, uint32_t query,
                                uint32_t index) {
  queries_->begin(pool, query, index);
  update_query_attention();
}

void CommandBuffer::end_query(const std::shared_ptr<QueryPool>& pool, uint32_t query,
                              uint32_t index) {
  queries_->end(pool, query, index);
  update_query_attention();
  flush_queries();
}

void CommandBuffer::end_query_pass() {
  queries_->end_pass();
  flush_queries();
}

void CommandBuffer::inherit_queries(const VkCommandBufferInheritanceInfo& info) {
  RenderPassShape shape;
  if (info.renderPass != VK_NULL_HANDLE) {
    shape = device_.instrumentation()->render_passes.find(info.renderPass);
  } else if (const auto* rendering = vk::find_in_chain<VkCommandBufferInheritanceRenderingInfo>(
                 info.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO)) {
    shape = shape_of({rendering->viewMask});
  }
  queries_->inherit(info, shape);
  update_query_attention();
}

void CommandBuffer::flush_queries() {
  if (!queries_ || !queries_->ready()) return;
  const VkResult result = queries_->flush();
  if (result != VK_SUCCESS) fail(result);
  dispatched_ours();
  note_stale_words();
}

void CommandBuffer::copy_query_results(const QueryPool& pool, const QueryPool::Request& request,
                                       VkBuffer target, VkDeviceSize offset) {
  const VkResult result = queries_->copy_results(pool, request, target, offset);
  if (result != VK_SUCCESS) fail(result);
  dispatched_ours();
  note_stale_words();
}

void CommandBuffer::drop_actions(bool drop) {
  if (drop) {
    attention_ |= kDropped;
  } else {
    attention_ &= ~kDropped;
  }
}

void CommandBuffer::flush_caches() {
  if (queries_->in_pass()) {
    device_.messages().notice(
        "TALLY-no-flush", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(handle_),
        "vkCmdSetPerformanceOverrideINTEL(): caches cannot be flushed inside a render pass");
    return;
  }
  const VkMemoryBarrier all{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  next().CmdPipelineBarrier(handle_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, nullptr, 0, nullptr);
}

void CommandBuffer::note_draw(uint64_t vertices, uint64_t instances) {
  queries_->count(CommandMetric::Draws);
  Bound& bound = *bound_at(VK_PIPELINE_BIND_POINT_GRAPHICS);
  const Pipeline* pipeline = resolve(bound);
  if (!pipeline) return;
  const DrawFacts facts = dynamic_facts_.applied_to(pipeline->facts.facts);
  const uint64_t primitives = primitives_of(facts, vertices) * instances;
  queries_->count(CommandMetric::Vertices, vertices * instances);
  queries_->count(CommandMetric::Primitives, primitives);
  if ((facts.stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) != 0) {
    queries_->count(CommandMetric::Patches, primitives);
  }
  if (!keeps_primitives(facts)) return;
  queries_->count(CommandMetric::LastPrimitives, primitives);
  if (!facts.rasterizer_discard) queries_->count(CommandMetric::ClippedPrimitives, primitives);
}

void CommandBuffer::note_dispatch(uint64_t workgroups) {
  queries_->count(CommandMetric::Dispatches);
  queries_->count(CommandMetric::Workgroups, workgroups);
}

void CommandBuffer::note_mesh_draw(uint64_t workgroups) {
  queries_->count(CommandMetric::Draws);
  queries_->count(CommandMetric::MeshWorkgroups, workgroups);
}

void CommandBuffer::note_indirect(CommandMetric metric, const IndirectCommand& command) {
  queries_->count(metric);
  DrawFacts facts;
  if (metric == CommandMetric::Draws) {
    queries_->count(CommandMetric::IndirectDraws);
    const Pipeline* pipeline = resolve(*bound_at(VK_PIPELINE_BIND_POINT_GRAPHICS));
    if (pipeline) facts = dynamic_facts_.applied_to(pipeline->facts.facts);
  }
  const VkResult result = queries_->count_indirect(command, facts);
  if (result != VK_SUCCESS) fail(result);
}

}  // namespace tally::counters
