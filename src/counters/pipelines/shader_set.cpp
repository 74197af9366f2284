#include "counters/pipelines/shader_set.h"

#include <algorithm>

#include "vk/handles.h"

namespace tally::counters {

namespace {

// All state is dynamic.
constexpr DrawFacts kDynamicFacts{.dynamic_topology = true,
                                  .dynamic_patch = true,
                                  .dynamic_discard = true,
                                  .dynamic_restart = true};
constexpr SampleFacts kDynamicSamples{.dynamic_samples = true,
                                      .dynamic_alpha = true,
                                      .dynamic_depth_test = true,
                                      .dynamic_compare = true,
                                      .dynamic_bounds = true,
                                      .dynamic_stencil = true};

}  // namespace

ShaderSet::ShaderSet(Shaders shaders) : shaders_(std::move(shaders)) {
  layout = choose_layout();
  facts.facts = kDynamicFacts;
  facts.samples = kDynamicSamples;
  for (const auto& shader : shaders_) {
    if (!shader) continue;
    facts.facts.stages |= shader->stage;
    instrumented = instrumented || shader->instrumented;
    by_alpha_to_coverage = by_alpha_to_coverage || shader->by_alpha_to_coverage;
  }
}

bool ShaderSet::make(Variant which) {
  return variants_.want(which, [&](Counted*) {
    if (!layout || !layout->make_own() || !can_make(which)) return;
    variants_.keep(which, {true, which.blocks ? make_program(which) : nullptr});
  }) != nullptr;
}

bool ShaderSet::can_make(Variant which) const {
  if (which != which.full() || mixes_heap_layouts() || lacks_moved_blocks(which)) return false;
  Variant counted;
  for (const auto& shader : shaders_) {
    if (!shader) continue;
    const Variant chosen = shader->make_best(which);
    counted.blocks = counted.blocks || chosen.blocks;
    counted.regions = counted.regions || chosen.regions;
  }
  return counted.blocks == which.blocks && counted.regions == which.regions;
}

void ShaderSet::bind(VkCommandBuffer commands, VkPipelineBindPoint, Variant variant) const {
  std::array<VkShaderStageFlagBits, kShaderStages> stages{};
  std::array<VkShaderEXT, kShaderStages> handles{};
  const DeviceTable* next = nullptr;
  uint32_t count = 0;
  for (const auto& shader : shaders_) {
    if (!shader) continue;
    const ShaderVariant* chosen = shader->find(shader->make_best(variant));
    next = &shader->next;
    stages[count] = shader->stage;
    handles[count++] = chosen ? chosen->handle : shader->handle;
  }
  if (count != 0) next->CmdBindShadersEXT(commands, count, stages.data(), handles.data());
}

bool ShaderSet::mixes_heap_layouts() const {
  const PipelineLayout* first = nullptr;
  for (const auto& shader : shaders_) {
    if (!shader || !shader->layout || !shader->layout->has_heaps()) continue;
    const PipelineLayout* layout = shader->layout.get();
    if (layout->path() == AddressPath::None) return true;
    if (first && first->slot_offset() != layout->slot_offset()) return true;
    first = layout;
  }
  return false;
}

// The plain shader reads its block where others have their record pointers.
bool ShaderSet::lacks_moved_blocks(Variant variant) const {
  return std::ranges::any_of(shaders_, [&](const auto& shader) {
    return shader && shader->layout && shader->layout->moves_blocks() &&
           shader->make_best(variant) == Variant::Plain;
  });
}

// Shaders that are bound together have identically defined layouts. The layer's commands need one
// that has a handle. Among shaders with descriptor heaps, one that has moved its push constants.
std::shared_ptr<PipelineLayout> ShaderSet::choose_layout() const {
  std::shared_ptr<PipelineLayout> best;
  for (const auto& shader : shaders_) {
    if (!shader || !shader->layout) continue;
    const bool better = !best || (best->has_heaps() ? shader->layout->moves_blocks()
                                                    : best->handle() == VK_NULL_HANDLE);
    if (!better) continue;
    best = shader->layout;
    best->make_own();
  }
  return best;
}

ShaderSet::SharedProgram ShaderSet::make_program(Variant variant) const {
  auto program = std::make_shared<Program>();
  for (const auto& shader : shaders_) {
    if (!shader) continue;
    const ShaderVariant* chosen = shader->find(shader->make_best(variant));
    if (!chosen || !chosen->info) continue;
    program->add_at(chosen->range ? chosen->range->first : 0, shader->stage,
                    slot_of_shader(shader->stage), chosen->info);
    program->stages.back().reported = shader->instrumented;
  }
  note_uncounted(*program, facts.facts.stages);
  return program;
}

size_t ShaderSets::Hash::operator()(const BoundShaders& bound) const {
  uint64_t hash = 0;
  for (const VkShaderEXT shader : bound) hash = hash_combine(hash, vk::handle_bits(shader));
  return hash;
}

std::shared_ptr<ShaderSet> ShaderSets::find(const BoundShaders& bound) const {
  const std::shared_lock lock(mutex_);
  const auto found = sets_.find(bound);
  return found == sets_.end() ? nullptr : found->second;
}

std::shared_ptr<ShaderSet> ShaderSets::add(const BoundShaders& bound,
                                           const std::shared_ptr<ShaderSet>& set) {
  const std::unique_lock lock(mutex_);
  return sets_.try_emplace(bound, set).first->second;
}

void ShaderSets::remove(VkShaderEXT shader) {
  const std::unique_lock lock(mutex_);
  std::erase_if(sets_, [&](const auto& entry) {
    return std::ranges::find(entry.first, shader) != entry.first.end();
  });
}

}  // namespace tally::counters
