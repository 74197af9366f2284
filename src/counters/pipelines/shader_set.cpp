#include "counters/pipelines/shader_set.h"

#include <algorithm>

#include "vk/handles.h"

namespace tally::counters {

bool ShaderSet::has(Variant which) const {
  if (which != Variant::Plain && (mixes_heap_layouts() || lacks_moved_blocks(which))) return false;
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

bool ShaderSet::has_covering() const {
  return std::ranges::any_of(shaders_,
                             [](const auto& shader) { return shader && shader->covering; });
}

std::shared_ptr<const ShaderSet> ShaderSet::covering() const {
  Shaders shaders = shaders_;
  for (auto& shader : shaders) {
    if (shader && shader->covering) shader = shader->covering;
  }
  return std::make_shared<const ShaderSet>(std::move(shaders));
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
           shader->choose(variant) == Variant::Plain;
  });
}

// Shaders that are bound together have identically defined layouts. The layer's commands need one
// that has a handle. Among shaders with descriptor heaps, one that has moved its push constants.
std::shared_ptr<PipelineLayout> ShaderSet::layout() const {
  std::shared_ptr<PipelineLayout> layout;
  for (const auto& shader : shaders_) {
    if (!shader || !shader->layout) continue;
    const bool better = !layout || (layout->has_heaps() ? shader->layout->moves_blocks()
                                                        : layout->handle() == VK_NULL_HANDLE);
    if (!better) continue;
    layout = shader->layout;
    layout->make_own();
  }
  return layout;
}

std::shared_ptr<const Program> ShaderSet::make_program(Variant variant) const {
  auto program = std::make_shared<Program>();
  for (const auto& shader : shaders_) {
    if (!shader) continue;
    const Variant chosen = shader->choose(variant);
    const auto& info = shader->info(chosen);
    if (!info) continue;
    const CounterRanges::Range* range = shader->range(chosen);
    program->add_at(range ? range->first : 0, shader->stage, slot_of_shader(shader->stage), info);
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
                                          const std::shared_ptr<Pipeline>& pipeline) {
  const std::unique_lock lock(mutex_);
  return sets_.try_emplace(bound, pipeline).first->second;
}

void ShaderSets::remove(VkShaderEXT shader) {
  const std::unique_lock lock(mutex_);
  std::erase_if(sets_, [&](const auto& entry) {
    return std::ranges::find(entry.first, shader) != entry.first.end();
  });
}

}  // namespace tally::counters
