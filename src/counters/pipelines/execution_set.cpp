#include "counters/pipelines/execution_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>

#include "counters/pipelines/object_state.h"
#include "counters/pipelines/shader_layouts.h"
#include "counters/pipelines/variants.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

// True if an entry with the same pipeline or shader has added the stage. The counters of others are
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
  // True if the counters of the variant are where those of no other entry are.
  static bool is_apart(const Pipeline& pipeline, Variant variant) {
    const auto& program = pipeline.program(variant);
    return program && program->own_ranges;
  }
  static void add(Program& program, const Pipeline& pipeline, Variant variant, uint32_t index) {
    const Program& added = *pipeline.program(variant);
    for (size_t slot = 0; slot < kAddressSlots; ++slot) {
      program.capacities[slot] = std::max(program.capacities[slot], added.capacities[slot]);
    }
    program.uncounted |= added.uncounted;
    program.uncounted_outputs |= added.uncounted_outputs;
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
  static bool is_apart(const ShaderObject& shader, Variant variant) {
    const ShaderVariant& counting = *shader.find(variant);
    return counting.range && counting.info;
  }
  // Any stages may be in the same draw: one that makes primitives has to count them.
  static void add(Program& program, const ShaderObject& shader, Variant variant, uint32_t index) {
    const auto& info = shader.find(variant)->info;
    const uint32_t first = shader.find(variant)->range->first;
    Program alone;
    alone.add_at(first, shader.stage, slot_of_shader(shader.stage), info);
    note_uncounted(alone, shader.stage);
    program.uncounted_outputs |= alone.uncounted_outputs;
    if (has_counters_of(program, shader.stage, first, info)) return;
    program.add_at(first, shader.stage, slot_of_shader(shader.stage), info);
    program.stages.back().sub_index = index;
    program.stages.back().reported = shader.instrumented;
  }
  static void write(const ObjectState& state, VkIndirectExecutionSetEXT set, uint32_t index,
                    Handle handle) {
    const Write write = {VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_SHADER_EXT, nullptr, index,
                         handle};
    state.device.next.UpdateIndirectExecutionSetShaderEXT(state.device.handle, set, 1, &write);
  }
};

constexpr Variant without_blocks(Variant variant) { return {.regions = variant.regions}; }

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
  Recorded record(Variant variant) override {
    const std::lock_guard lock(mutex_);
    if (std::ranges::any_of(entries_, has_unusual_layout)) return {};
    Copies& copies = copies_of(variant);
    if (!copies.newest && !make_copy(variant)) return {};
    if (!copies.program && variant.blocks) copies.program = make_program(variant);
    return {copies.newest, copies.program};
  }

  std::vector<VkIndirectExecutionSetEXT> newest() override {
    const std::lock_guard lock(mutex_);
    const bool instrumented = std::ranges::any_of(
        entries_, [](const Entry& entry) { return entry.known && entry.known->instrumented; });
    if (instrumented && !copies_of(Variant::Blocks).newest) make_copy(Variant::Blocks);
    std::vector<VkIndirectExecutionSetEXT> sets;
    for (const Variant variant : kFullVariants) {
      const Copies* copies = copies_.find(variant);
      if (copies && copies->newest) sets.push_back(copies->newest->handle());
    }
    return sets;
  }

  using ExecutionSet::update;

  // Records of earlier recordings have no room for the counters of a new entry. So a recording
  // keeps the set that it knows, where the blocks of the new entry are not counted.
  void update(std::span<const typename Kind::Write> writes) override {
    const std::lock_guard lock(mutex_);
    std::vector<Variant> kept;  // the sets that recordings keep
    for (const Variant variant : kFullVariants) {
      Copies& copies = copies_of(variant);
      if (variant.blocks && copies.recorded() && !replace_newest(variant)) kept.push_back(variant);
      copies.program.reset();
    }
    for (const typename Kind::Write& one : writes) {
      if (one.index >= entries_.size()) continue;
      Entry& entry = entries_[one.index];
      entry = {Kind::find(state_, Kind::written(one)), Kind::written(one)};
      for (const Variant variant : kept) refuse(entry, variant);
      for (const Variant variant : kFullVariants) write(one.index, variant);
    }
  }

 protected:
  // An empty set for as many entries, of variants. Null if that is not possible any more.
  virtual VkIndirectExecutionSetEXT create_another(Variant) const { return VK_NULL_HANDLE; }

  ObjectState& state() const { return state_; }
  size_t size() const { return entries_.size(); }
  void add(Variant variant, VkIndirectExecutionSetEXT set) {
    copies_of(variant).newest = std::make_shared<const Copy>(state_, set);
  }
  // The handle that the driver gets for an entry.
  Handle handle_of(size_t index, Variant variant) const {
    return handle_of(entries_[index], variant);
  }
  // True if the entries together count exactly this.
  bool counts(Variant variant) const {
    Variant counted;
    for (const Entry& entry : entries_) {
      const Variant best = chosen(entry, variant);
      counted.blocks = counted.blocks || best.blocks;
      counted.regions = counted.regions || best.regions;
    }
    return counted == variant;
  }
  // An entry that counts.
  Handle any_counting(Variant variant) const {
    const auto found = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return chosen(entry, variant) != Variant::Plain; });
    return found == entries_.end() ? Handle{VK_NULL_HANDLE} : handle_of(*found, variant);
  }

 private:
  struct Entry {
    std::shared_ptr<typename Kind::Object> known;  // null: not known, or not written
    Handle plain = VK_NULL_HANDLE;
    std::vector<Variant> refused;  // no record has room for it
  };
  // The layer's sets with the entries' variants.
  struct Copies {
    std::shared_ptr<const Copy> newest;
    std::shared_ptr<const Program> program;        // of the newest, once it is recorded
    std::vector<std::weak_ptr<const Copy>> older;  // that recordings keep

    // True if a recording keeps the newest.
    bool recorded() const { return newest.use_count() > 1; }
    explicit operator bool() const { return true; }
  };

  Copies& copies_of(Variant variant) {
    return *copies_.want(variant, [](Copies*) {});
  }

  // True if its record pointers are elsewhere in push data than those of most others, or it reads
  // push data that are copied before a command: those of an entry are not known then.
  static bool has_unusual_layout(const Entry& entry) {
    const PipelineLayout* layout = entry.known ? entry.known->layout.get() : nullptr;
    return layout && layout->has_heaps() &&
           (layout->path() == AddressPath::None || layout->moves_blocks() ||
            !layout->has_usual_slots());
  }
  static Variant chosen(const Entry& entry, Variant variant) {
    if (!entry.known) return Variant::Plain;
    if (std::ranges::find(entry.refused, variant) != entry.refused.end())
      variant = without_blocks(variant);
    if (variant == Variant::Plain) return variant;
    const Variant best = entry.known->make_best(variant);
    return best.blocks && !Kind::is_apart(*entry.known, best) ? Variant::Plain : best;
  }
  static Handle handle_of(const Entry& entry, Variant variant) {
    const Variant best = chosen(entry, variant);
    return best == Variant::Plain ? entry.plain : entry.known->find(best)->handle;
  }

  void refuse(Entry& entry, Variant variant) const {
    entry.refused.push_back(variant);
    state_.device.messages.notice(
        kUninstrumentedNotice, Kind::kType, vk::handle_bits(entry.plain),
        fmt::format("a {} runs uninstrumented in its execution set: it was written after the set "
                    "was recorded",
                    Kind::kNoun));
  }

  void note_earlier(const Entry& entry, Variant variant) const {
    if (!chosen(entry, variant).blocks) return;
    state_.device.messages.notice(
        kUninstrumentedNotice, Kind::kType, vk::handle_bits(entry.plain),
        fmt::format("a {0} runs uninstrumented in recordings of its execution set that precede the "
                    "write of the {0}",
                    Kind::kNoun));
  }

  // Writes an entry to the sets of the variant.
  void write(uint32_t index, Variant variant) {
    const Entry& entry = entries_[index];
    const Copies& copies = copies_of(variant);
    for (const auto& one : copies.older) {
      const std::shared_ptr<const Copy> copy = one.lock();
      if (copy) {
        note_earlier(entry, variant);
        Kind::write(state_, copy->handle(), index, handle_of(entry, without_blocks(variant)));
      }
    }
    if (copies.newest) {
      Kind::write(state_, copies.newest->handle(), index, handle_of(entry, variant));
    }
  }

  // Makes a set with all entries. The layer does not know whether an entry of unknown origin
  // still exists.
  bool make_copy(Variant variant) {
    if (std::ranges::any_of(entries_, [](const Entry& entry) {
          return entry.plain != VK_NULL_HANDLE && !entry.known;
        })) {
      return false;
    }
    const VkIndirectExecutionSetEXT set = create_another(variant);
    if (set == VK_NULL_HANDLE) return false;
    add(variant, set);
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.known && Kind::find(state_, entry.plain) == entry.known) {
        Kind::write(state_, set, i, handle_of(entry, variant));
      }
    }
    return true;
  }

  bool replace_newest(Variant variant) {
    Copies& copies = copies_of(variant);
    std::erase_if(copies.older, [](const auto& copy) { return copy.expired(); });
    copies.older.reserve(copies.older.size() + 1);
    const std::shared_ptr<const Copy> replaced = copies.newest;
    if (!make_copy(variant)) return false;
    copies.older.push_back(replaced);
    return true;
  }

  std::shared_ptr<const Program> make_program(Variant variant) const {
    auto program = std::make_shared<Program>();
    program->max_shards_log2 = 0;
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.plain == VK_NULL_HANDLE) continue;
      const Variant best = chosen(entry, variant);
      if (best.blocks) {
        Kind::add(*program, *entry.known, best, i);
      } else {
        program->uncounted = program->uncounted_outputs = VK_SHADER_STAGE_ALL;
      }
    }
    return program;
  }

  ObjectState& state_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  Variants<Copies> copies_;
};

VkIndirectExecutionSetEXT create(const ObjectState& state,
                                 const VkIndirectExecutionSetCreateInfoEXT& info) {
  VkIndirectExecutionSetEXT set = VK_NULL_HANDLE;
  const VkResult result =
      state.device.next.CreateIndirectExecutionSetEXT(state.device.handle, &info, nullptr, &set);
  return result == VK_SUCCESS ? set : VK_NULL_HANDLE;
}

// Sets are made when a recording first wants them.
class PipelineSet : public SetOf<Pipelines> {
 public:
  PipelineSet(ObjectState& state, const VkIndirectExecutionSetPipelineInfoEXT& info)
      : SetOf(state, std::span(&info.initialPipeline, 1), info.maxPipelineCount) {}

 private:
  VkIndirectExecutionSetEXT create_another(Variant variant) const override {
    const VkIndirectExecutionSetPipelineInfoEXT first = {
        VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT, nullptr, any_counting(variant),
        static_cast<uint32_t>(size())};
    if (first.initialPipeline == VK_NULL_HANDLE) return VK_NULL_HANDLE;
    VkIndirectExecutionSetCreateInfoEXT info = {
        VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
    info.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT;
    info.info.pPipelineInfo = &first;
    return create(state(), info);
  }
};

// Sets are made together with the application's set, which may destroy the layouts that they need.
class ShaderObjectSet : public SetOf<Shaders> {
 public:
  ShaderObjectSet(ObjectState& state, const VkIndirectExecutionSetShaderInfoEXT& info)
      : SetOf(state, std::span(info.pInitialShaders, info.shaderCount), info.maxShaderCount) {
    for (const Variant variant : kFullVariants) {
      if (!counts(variant)) continue;
      const VkIndirectExecutionSetEXT set = create_with(variant, info);
      if (set != VK_NULL_HANDLE) add(variant, set);
    }
  }

 private:
  VkIndirectExecutionSetEXT create_with(Variant variant,
                                        VkIndirectExecutionSetShaderInfoEXT info) const {
    std::vector<VkShaderEXT> shaders;
    for (uint32_t i = 0; i < info.shaderCount; ++i) shaders.push_back(handle_of(i, variant));
    info.pInitialShaders = shaders.data();
    VkIndirectExecutionSetCreateInfoEXT created = {
        VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
    created.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT;
    created.info.pShaderInfo = &info;
    return create(state(), created);
  }
};

bool have_heaps(const ObjectState& state, std::span<const VkShaderEXT> shaders) {
  return std::ranges::any_of(shaders, [&](VkShaderEXT shader) {
    const auto known = state.shaders.find(shader);
    return known && known->layout && known->layout->has_heaps();
  });
}

// The layouts of a set's shaders, as the layer has created the shaders. Those with descriptor heaps
// have none.
class ExtendedLayouts {
 public:
  ExtendedLayouts(const ObjectState& state, WordPool& words,
                  const VkIndirectExecutionSetShaderInfoEXT& original)
      : info_(original) {
    if (have_heaps(state, {info_.pInitialShaders, info_.shaderCount})) return;
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

ExecutionSet::Copy::~Copy() {
  state_.device.next.DestroyIndirectExecutionSetEXT(state_.device.handle, handle_, nullptr);
}

VkResult create_execution_set(ObjectState& state, WordPool& words,
                              const VkIndirectExecutionSetCreateInfoEXT& info,
                              const VkAllocationCallbacks* allocator,
                              VkIndirectExecutionSetEXT& handle) {
  const auto create_own = [&](const VkIndirectExecutionSetCreateInfoEXT& own) {
    return state.device.next.CreateIndirectExecutionSetEXT(state.device.handle, &own, allocator,
                                                           &handle);
  };
  const auto add = [&]<typename Set>(std::type_identity<Set>, const auto& described) {
    vk::guarded_void(
        [&] { state.execution_sets.insert(handle, std::make_shared<Set>(state, described)); });
  };
  if (info.type == VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT) {
    const VkResult result = create_own(info);
    if (result == VK_SUCCESS) add(std::type_identity<PipelineSet>(), *info.info.pPipelineInfo);
    return result;
  }
  const ExtendedLayouts layouts(state, words, *info.info.pShaderInfo);
  VkIndirectExecutionSetCreateInfoEXT changed = info;
  changed.info.pShaderInfo = &layouts.info();
  const VkResult result = create_own(changed);
  if (result == VK_SUCCESS) add(std::type_identity<ShaderObjectSet>(), layouts.info());
  return result;
}

}  // namespace tally::counters
