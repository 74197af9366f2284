#include "counters/objects/shader_set.h"

#include <algorithm>
#include <mutex>

#include "counters/objects/object_state.h"

namespace tally::counters {
namespace {

// The state of primitive assembly is dynamic.
constexpr DrawFacts kDynamicFacts{.dynamic_topology = true,
                                  .dynamic_patch = true,
                                  .dynamic_discard = true,
                                  .dynamic_restart = true};

std::shared_ptr<Pipeline> make_pipeline(const ObjectState& state, ShaderSet::Shaders shaders) {
  auto set = std::make_shared<const ShaderSet>(std::move(shaders));
  auto pipeline = std::make_shared<Pipeline>(state.device.handle, state.device.next);
  pipeline->instrumented = set->instrumented();
  pipeline->layout = set->layout();
  pipeline->facts.facts = kDynamicFacts;
  pipeline->facts.facts.stages = set->stages();
  for (const Variant variant : {Variant::Blocks, Variant::Both}) {
    if (!set->has(variant)) continue;
    pipeline->programs[static_cast<size_t>(variant)] = set->make_program(variant);
  }
  pipeline->shaders = std::move(set);
  return pipeline;
}

}  // namespace

bool ShaderSet::has(Variant which) const {
  uint8_t counted = 0;
  for (const auto& shader : shaders_) {
    if (shader) counted |= static_cast<uint8_t>(shader->choose(which));
  }
  return counted == static_cast<uint8_t>(which);
}

void ShaderSet::bind(VkCommandBuffer commands, const DeviceTable& next, Variant variant) const {
  std::array<VkShaderStageFlagBits, kShaderStages> stages{};
  std::array<VkShaderEXT, kShaderStages> handles{};
  uint32_t count = 0;
  for (const auto& shader : shaders_) {
    if (!shader) continue;
    stages[count] = shader->stage;
    handles[count++] = shader->variant(shader->choose(variant));
  }
  if (count != 0) next.CmdBindShadersEXT(commands, count, stages.data(), handles.data());
}

bool ShaderSet::instrumented() const {
  return std::ranges::any_of(shaders_,
                             [](const auto& shader) { return shader && shader->instrumented; });
}

VkShaderStageFlags ShaderSet::stages() const {
  VkShaderStageFlags stages = 0;
  for (const auto& shader : shaders_) {
    if (shader) stages |= shader->stage;
  }
  return stages;
}

// Shaders that are bound together have identically defined layouts. The layer's commands need one
// that has a handle.
std::shared_ptr<PipelineLayout> ShaderSet::layout() const {
  std::shared_ptr<PipelineLayout> layout;
  for (const auto& shader : shaders_) {
    if (!shader || !shader->layout) continue;
    if (!layout || layout->handle() == VK_NULL_HANDLE) layout = shader->layout;
  }
  return layout;
}

std::shared_ptr<const Program> ShaderSet::make_program(Variant variant) const {
  auto program = std::make_shared<Program>();
  for (const auto& shader : shaders_) {
    if (!shader) continue;
    const auto& info = shader->info(shader->choose(variant));
    if (!info) continue;
    program->add(shader->stage, slot_of_shader(shader->stage), info);
    program->stages.back().reported = shader->instrumented;
  }
  note_uncounted(*program, stages());
  return program;
}

size_t ShaderSets::Hash::operator()(const BoundShaders& bound) const {
  uint64_t hash = 0;
  for (const VkShaderEXT shader : bound) hash = hash_combine(hash, vk::handle_bits(shader));
  return hash;
}

std::shared_ptr<Pipeline> ShaderSets::find(const BoundShaders& bound) const {
  const std::shared_lock lock(mutex_);
  const auto found = sets_.find(bound);
  return found == sets_.end() ? nullptr : found->second;
}

std::shared_ptr<Pipeline> ShaderSets::add(const BoundShaders& bound,
                                          std::shared_ptr<Pipeline> pipeline) {
  const std::unique_lock lock(mutex_);
  return sets_.try_emplace(bound, std::move(pipeline)).first->second;
}

void ShaderSets::remove(VkShaderEXT shader) {
  const std::unique_lock lock(mutex_);
  std::erase_if(sets_, [&](const auto& entry) {
    return std::ranges::find(entry.first, shader) != entry.first.end();
  });
}

std::shared_ptr<Pipeline> pipeline_of(ObjectState& state, const BoundShaders& bound) {
  if (std::shared_ptr<Pipeline> known = state.shader_sets.find(bound)) return known;
  ShaderSet::Shaders shaders;
  bool any = false;
  for (size_t i = 0; i < kShaderStages; ++i) {
    if (bound[i] != VK_NULL_HANDLE) shaders[i] = state.shaders.find(bound[i]);
    any = any || shaders[i];
  }
  if (!any) return nullptr;
  return state.shader_sets.add(bound, make_pipeline(state, std::move(shaders)));
}

}  // namespace tally::counters
