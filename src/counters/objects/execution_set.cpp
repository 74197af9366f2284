#include "counters/objects/execution_set.h"

#include <algorithm>

#include "counters/objects/object_state.h"
#include "counters/objects/stage_code.h"

namespace tally::counters {
namespace {

// Whether an entry with the same pipeline has added the stage. The counters of others are
// elsewhere.
bool has_counters_of(const Program& program, const StageProgram& stage) {
  return std::ranges::any_of(program.stages, [&](const StageProgram& added) {
    return added.first_counter == stage.first_counter && added.info == stage.info;
  });
}

}  // namespace

bool counts_in_sets(const Pipeline& pipeline) {
  return pipeline.instrumented && pipeline.choose(Variant::Blocks) == Variant::Blocks &&
         !pipeline.ranges.empty();
}

ExecutionSet::ExecutionSet(ObjectState& state, std::shared_ptr<Pipeline> initial, uint32_t size)
    : state_(state), entries_(size) {
  entries_.front().plain = initial->handle;
  entries_.front().known = std::move(initial);
}

ExecutionSet::~ExecutionSet() {
  for (const VkIndirectExecutionSetEXT set : sets_) {
    state_.device.next.DestroyIndirectExecutionSetEXT(state_.device.handle, set, nullptr);
  }
}

bool ExecutionSet::create() {
  const VkIndirectExecutionSetEXT set = create_set();
  if (set != VK_NULL_HANDLE) sets_.push_back(set);
  return set != VK_NULL_HANDLE;
}

VkPipeline ExecutionSet::handle_of(const Entry& entry) const {
  return entry.known && counts_in_sets(*entry.known) ? entry.known->variant(Variant::Blocks)
                                                     : entry.plain;
}

VkIndirectExecutionSetEXT ExecutionSet::create_set() const {
  const auto counting = std::ranges::find_if(
      entries_, [](const Entry& entry) { return entry.known && counts_in_sets(*entry.known); });
  if (counting == entries_.end()) return VK_NULL_HANDLE;
  const VkIndirectExecutionSetPipelineInfoEXT first = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT, nullptr, handle_of(*counting),
      static_cast<uint32_t>(entries_.size())};
  VkIndirectExecutionSetCreateInfoEXT info = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
  info.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT;
  info.info.pPipelineInfo = &first;
  VkIndirectExecutionSetEXT set = VK_NULL_HANDLE;
  const VkResult result =
      state_.device.next.CreateIndirectExecutionSetEXT(state_.device.handle, &info, nullptr, &set);
  return result == VK_SUCCESS ? set : VK_NULL_HANDLE;
}

void ExecutionSet::write(VkIndirectExecutionSetEXT set, uint32_t index, VkPipeline pipeline) const {
  const VkWriteIndirectExecutionSetPipelineEXT write = {
      VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_PIPELINE_EXT, nullptr, index, pipeline};
  state_.device.next.UpdateIndirectExecutionSetPipelineEXT(state_.device.handle, set, 1, &write);
}

ExecutionSet::Recorded ExecutionSet::record() {
  const std::lock_guard lock(mutex_);
  if (!program_) program_ = make_program();
  recorded_ = true;
  return {sets_.back(), program_};
}

// Records of earlier recordings have no room for the counters of a new pipeline. So a recording
// keeps the set that it knows, where the new pipeline runs uncounted.
void ExecutionSet::update(std::span<const VkWriteIndirectExecutionSetPipelineEXT> writes) {
  const std::lock_guard lock(mutex_);
  const bool current = !recorded_ || replace_recorded();
  program_.reset();
  for (const VkWriteIndirectExecutionSetPipelineEXT& one : writes) {
    if (one.index >= entries_.size()) continue;
    Entry& entry = entries_[one.index];
    entry = {state_.pipelines.find(one.pipeline), one.pipeline};
    if (!current) refuse(entry);
    for (const VkIndirectExecutionSetEXT set : sets_) {
      write(set, one.index, set == sets_.back() ? handle_of(entry) : one.pipeline);
    }
  }
}

void ExecutionSet::refuse(Entry& entry) const {
  entry.known.reset();
  state_.device.messages.notice(kUninstrumentedNotice, VK_OBJECT_TYPE_PIPELINE,
                                vk::handle_bits(entry.plain),
                                "a pipeline that was written to an execution set after the set was "
                                "recorded runs uninstrumented");
}

// Of a pipeline that the layer does not know, it does not know either whether it still exists.
bool ExecutionSet::replace_recorded() {
  if (std::ranges::any_of(entries_, [](const Entry& entry) {
        return entry.plain != VK_NULL_HANDLE && !entry.known;
      })) {
    return false;
  }
  const VkIndirectExecutionSetEXT set = create_set();
  if (set == VK_NULL_HANDLE) return false;
  sets_.push_back(set);
  recorded_ = false;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.known && state_.pipelines.find(entry.plain) == entry.known) {
      write(set, i, handle_of(entry));
    }
  }
  return true;
}

std::shared_ptr<const Program> ExecutionSet::make_program() const {
  auto program = std::make_shared<Program>();
  program->max_shards_log2 = 0;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    const Pipeline* pipeline = entries_[i].known.get();
    if (!pipeline || !counts_in_sets(*pipeline)) continue;
    const Program& added = *pipeline->programs[static_cast<size_t>(Variant::Blocks)];
    program->capacities[0] = std::max(program->capacities[0], added.capacities[0]);
    program->uncounted |= added.uncounted;
    for (StageProgram stage : added.stages) {
      if (has_counters_of(*program, stage)) continue;
      stage.sub_index = i;
      program->stages.push_back(std::move(stage));
    }
  }
  return program;
}

void add_execution_set(ObjectState& state, const VkIndirectExecutionSetCreateInfoEXT& info,
                       VkIndirectExecutionSetEXT handle) {
  if (info.type != VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT) return;
  const VkIndirectExecutionSetPipelineInfoEXT& pipelines = *info.info.pPipelineInfo;
  auto initial = state.pipelines.find(pipelines.initialPipeline);
  if (!initial || pipelines.maxPipelineCount == 0 || !counts_in_sets(*initial)) return;
  auto set = std::make_shared<ExecutionSet>(state, std::move(initial), pipelines.maxPipelineCount);
  if (set->create()) state.execution_sets.insert(handle, std::move(set));
}

}  // namespace tally::counters
