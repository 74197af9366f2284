#include "counters/objects/execution_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "counters/objects/object_state.h"
#include "counters/objects/shader_object_creation.h"
#include "counters/objects/stage_code.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

// Whether an entry with the same pipeline or shader has added the stage. The counters of others are
// elsewhere.
bool has_counters_of(const Program& program, VkShaderStageFlagBits stage, uint32_t first_counter,
                     const std::shared_ptr<const StageInfo>& info) {
  return std::ranges::any_of(program.stages, [&](const StageProgram& added) {
    return added.stage == stage && added.first_counter == first_counter && added.info == info;
  });
}

struct Pipelines {
  using Handle = VkPipeline;
  using Object = Pipeline;
  using Write = VkWriteIndirectExecutionSetPipelineEXT;
  static constexpr VkObjectType kType = VK_OBJECT_TYPE_PIPELINE;
  static constexpr const char* kNoun = "pipeline";

  static Handle written(const Write& write) { return write.pipeline; }
  static std::shared_ptr<Object> find(const ObjectState& state, Handle handle) {
    return state.pipelines.find(handle);
  }
  static bool counts(const Pipeline& pipeline) {
    return pipeline.instrumented && pipeline.choose(Variant::Blocks) == Variant::Blocks &&
           !pipeline.ranges.empty();
  }
  static void add(Program& program, const Pipeline& pipeline, uint32_t index) {
    const Program& added = *pipeline.programs[static_cast<size_t>(Variant::Blocks)];
    program.capacities[0] = std::max(program.capacities[0], added.capacities[0]);
    program.uncounted |= added.uncounted;
    for (StageProgram stage : added.stages) {
      if (has_counters_of(program, stage.stage, stage.first_counter, stage.info)) continue;
      stage.sub_index = index;
      program.stages.push_back(std::move(stage));
    }
  }
  static void write(const ObjectState& state, VkIndirectExecutionSetEXT set, uint32_t index,
                    Handle handle) {
    const Write write = {VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_PIPELINE_EXT, nullptr,
                         index, handle};
    state.device.next.UpdateIndirectExecutionSetPipelineEXT(state.device.handle, set, 1, &write);
  }
};

struct Shaders {
  using Handle = VkShaderEXT;
  using Object = ShaderObject;
  using Write = VkWriteIndirectExecutionSetShaderEXT;
  static constexpr VkObjectType kType = VK_OBJECT_TYPE_SHADER_EXT;
  static constexpr const char* kNoun = "shader object";

  static Handle written(const Write& write) { return write.shader; }
  static std::shared_ptr<Object> find(const ObjectState& state, Handle handle) {
    return state.shaders.find(handle);
  }
  static bool counts(const ShaderObject& shader) {
    return shader.range && shader.has(Variant::Blocks) && shader.info(Variant::Blocks);
  }
  static void add(Program& program, const ShaderObject& shader, uint32_t index) {
    const auto& info = shader.info(Variant::Blocks);
    if (has_counters_of(program, shader.stage, shader.range->first, info)) return;
    program.add_at(shader.range->first, shader.stage, slot_of_shader(shader.stage), info);
    program.stages.back().sub_index = index;
  }
  static void write(const ObjectState& state, VkIndirectExecutionSetEXT set, uint32_t index,
                    Handle handle) {
    const Write write = {VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_SHADER_EXT, nullptr, index,
                         handle};
    state.device.next.UpdateIndirectExecutionSetShaderEXT(state.device.handle, set, 1, &write);
  }
};

template <typename Kind>
class SetOf : public ExecutionSet {
 public:
  using Handle = typename Kind::Handle;

  SetOf(ObjectState& state, std::span<const Handle> initial, uint32_t size)
      : state_(state), entries_(std::max<size_t>(size, initial.size())) {
    for (size_t i = 0; i < initial.size(); ++i) {
      entries_[i] = {Kind::find(state, initial[i]), initial[i]};
    }
  }
  ~SetOf() override {
    for (const VkIndirectExecutionSetEXT set : sets_) {
      state_.device.next.DestroyIndirectExecutionSetEXT(state_.device.handle, set, nullptr);
    }
  }

  bool counts() const {
    return std::ranges::any_of(entries_, [](const Entry& entry) { return counts(entry); });
  }
  // What the driver gets for the entries that the application created the set with.
  Handle handle_of(size_t index) const { return handle_of(entries_[index]); }
  void add(VkIndirectExecutionSetEXT set) { sets_.push_back(set); }

  Recorded record() override {
    const std::lock_guard lock(mutex_);
    if (!program_) program_ = make_program();
    recorded_ = true;
    return {sets_.back(), program_};
  }
  VkIndirectExecutionSetEXT newest() const override { return sets_.back(); }

  using ExecutionSet::update;

  // Records of earlier recordings have no room for the counters of a new entry. So a recording
  // keeps the set that it knows, where the new entry runs uncounted.
  void update(std::span<const typename Kind::Write> writes) override {
    const std::lock_guard lock(mutex_);
    const bool current = !recorded_ || replace_recorded();
    program_.reset();
    for (const typename Kind::Write& one : writes) {
      if (one.index >= entries_.size()) continue;
      Entry& entry = entries_[one.index];
      entry = {Kind::find(state_, Kind::written(one)), Kind::written(one)};
      if (!current) refuse(entry);
      for (const VkIndirectExecutionSetEXT set : sets_) {
        Kind::write(state_, set, one.index, set == sets_.back() ? handle_of(entry) : entry.plain);
      }
    }
  }

 protected:
  // An empty set for as many entries. Null if that is not possible any more.
  virtual VkIndirectExecutionSetEXT create_another() const { return VK_NULL_HANDLE; }

  ObjectState& state() const { return state_; }
  size_t size() const { return entries_.size(); }
  // An entry that counts.
  Handle any_counting() const {
    const auto found =
        std::ranges::find_if(entries_, [](const Entry& entry) { return counts(entry); });
    return found == entries_.end() ? Handle{VK_NULL_HANDLE} : handle_of(*found);
  }

 private:
  struct Entry {
    std::shared_ptr<typename Kind::Object> known;  // null: not known, or not written
    Handle plain = VK_NULL_HANDLE;
  };

  static bool counts(const Entry& entry) { return entry.known && Kind::counts(*entry.known); }
  static Handle handle_of(const Entry& entry) {
    return counts(entry) ? std::as_const(*entry.known).variant(Variant::Blocks) : entry.plain;
  }

  void refuse(Entry& entry) const {
    entry.known.reset();
    state_.device.messages.notice(
        kUninstrumentedNotice, Kind::kType, vk::handle_bits(entry.plain),
        fmt::format("a {} that was written to an execution set after the set was recorded runs "
                    "uninstrumented",
                    Kind::kNoun));
  }

  // Of an entry that the layer does not know, it does not know either whether it still exists.
  bool replace_recorded() {
    if (std::ranges::any_of(entries_, [](const Entry& entry) {
          return entry.plain != VK_NULL_HANDLE && !entry.known;
        })) {
      return false;
    }
    const VkIndirectExecutionSetEXT set = create_another();
    if (set == VK_NULL_HANDLE) return false;
    sets_.push_back(set);
    recorded_ = false;
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.known && Kind::find(state_, entry.plain) == entry.known) {
        Kind::write(state_, set, i, handle_of(entry));
      }
    }
    return true;
  }

  std::shared_ptr<const Program> make_program() const {
    auto program = std::make_shared<Program>();
    program->max_shards_log2 = 0;
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      if (counts(entries_[i])) Kind::add(*program, *entries_[i].known, i);
    }
    return program;
  }

  ObjectState& state_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<VkIndirectExecutionSetEXT> sets_;  // the last one is up to date
  std::shared_ptr<const Program> program_;       // of the last one, once it is recorded
  bool recorded_ = false;                        // the last one
};

VkIndirectExecutionSetEXT create(const ObjectState& state,
                                 const VkIndirectExecutionSetCreateInfoEXT& info) {
  VkIndirectExecutionSetEXT set = VK_NULL_HANDLE;
  const VkResult result =
      state.device.next.CreateIndirectExecutionSetEXT(state.device.handle, &info, nullptr, &set);
  return result == VK_SUCCESS ? set : VK_NULL_HANDLE;
}

class PipelineSet : public SetOf<Pipelines> {
 public:
  using SetOf::SetOf;

  VkIndirectExecutionSetEXT create_another() const override {
    const VkIndirectExecutionSetPipelineInfoEXT first = {
        VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT, nullptr, any_counting(),
        static_cast<uint32_t>(size())};
    if (first.initialPipeline == VK_NULL_HANDLE) return VK_NULL_HANDLE;
    VkIndirectExecutionSetCreateInfoEXT info = {
        VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
    info.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT;
    info.info.pPipelineInfo = &first;
    return create(state(), info);
  }
};

// A set cannot be created again: the application may have destroyed the layouts that it needs.
using ShaderObjectSet = SetOf<Shaders>;

void add_pipelines(ObjectState& state, const VkIndirectExecutionSetPipelineInfoEXT& info,
                   VkIndirectExecutionSetEXT handle) {
  auto set = std::make_shared<PipelineSet>(state, std::span(&info.initialPipeline, 1),
                                           info.maxPipelineCount);
  if (!set->counts()) return;
  const VkIndirectExecutionSetEXT counting = set->create_another();
  if (counting == VK_NULL_HANDLE) return;
  set->add(counting);
  state.execution_sets.insert(handle, std::move(set));
}

void add_shaders(ObjectState& state, VkIndirectExecutionSetShaderInfoEXT info,
                 VkIndirectExecutionSetEXT handle) {
  auto set = std::make_shared<ShaderObjectSet>(
      state, std::span(info.pInitialShaders, info.shaderCount), info.maxShaderCount);
  if (!set->counts()) return;
  std::vector<VkShaderEXT> shaders;
  for (uint32_t i = 0; i < info.shaderCount; ++i) shaders.push_back(set->handle_of(i));
  info.pInitialShaders = shaders.data();
  VkIndirectExecutionSetCreateInfoEXT created = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
  created.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT;
  created.info.pShaderInfo = &info;
  const VkIndirectExecutionSetEXT counting = create(state, created);
  if (counting == VK_NULL_HANDLE) return;
  set->add(counting);
  state.execution_sets.insert(handle, std::move(set));
}

// The layouts of a set's shaders, as the layer has created the shaders.
class ExtendedLayouts {
 public:
  ExtendedLayouts(const ObjectState& state, WordPool& words,
                  const VkIndirectExecutionSetShaderInfoEXT& original)
      : info_(original) {
    for (uint32_t i = 0; i < info_.shaderCount; ++i) {
      VkIndirectExecutionSetShaderLayoutInfoEXT layout = {
          VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_SHADER_LAYOUT_INFO_EXT};
      if (info_.pSetLayoutInfos) layout = info_.pSetLayoutInfos[i];
      VkPipelineLayoutCreateInfo asked{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
      asked.setLayoutCount = layout.setLayoutCount;
      asked.pSetLayouts = layout.pSetLayouts;
      asked.pushConstantRangeCount = info_.pushConstantRangeCount;
      asked.pPushConstantRanges = info_.pPushConstantRanges;
      auto extended = PipelineLayout(asked, state.layout_rules)
                          .extend(words, {layout.pSetLayouts, layout.setLayoutCount});
      extended_.push_back(extended ? std::move(*extended) : PipelineLayout::Extended{});
      layout.setLayoutCount = static_cast<uint32_t>(extended_.back().sets.size());
      layout.pSetLayouts = extended_.back().sets.data();
      layouts_.push_back(layout);
    }
    info_.pSetLayoutInfos = layouts_.data();
    if (extended_.empty()) return;
    info_.pushConstantRangeCount = static_cast<uint32_t>(extended_.front().ranges.size());
    info_.pPushConstantRanges = extended_.front().ranges.data();
  }
  ExtendedLayouts(const ExtendedLayouts&) = delete;
  ExtendedLayouts& operator=(const ExtendedLayouts&) = delete;

  const VkIndirectExecutionSetShaderInfoEXT& info() const { return info_; }

 private:
  VkIndirectExecutionSetShaderInfoEXT info_;
  std::vector<PipelineLayout::Extended> extended_;
  std::vector<VkIndirectExecutionSetShaderLayoutInfoEXT> layouts_;
};

}  // namespace

VkResult create_execution_set(ObjectState& state, WordPool& words,
                              const VkIndirectExecutionSetCreateInfoEXT& info,
                              const VkAllocationCallbacks* allocator,
                              VkIndirectExecutionSetEXT& handle) {
  const auto create_own = [&](const VkIndirectExecutionSetCreateInfoEXT& own) {
    return state.device.next.CreateIndirectExecutionSetEXT(state.device.handle, &own, allocator,
                                                           &handle);
  };
  if (info.type == VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT) {
    const VkResult result = create_own(info);
    if (result == VK_SUCCESS) {
      vk::guarded_void([&] { add_pipelines(state, *info.info.pPipelineInfo, handle); });
    }
    return result;
  }
  const ExtendedLayouts layouts(state, words, *info.info.pShaderInfo);
  VkIndirectExecutionSetCreateInfoEXT changed = info;
  changed.info.pShaderInfo = &layouts.info();
  const VkResult result = create_own(changed);
  if (result == VK_SUCCESS) {
    vk::guarded_void([&] { add_shaders(state, layouts.info(), handle); });
  }
  return result;
}

}  // namespace tally::counters
