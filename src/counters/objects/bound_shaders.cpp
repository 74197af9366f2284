#include "counters/objects/bound_shaders.h"

#include "counters/objects/object_state.h"
#include "counters/objects/stage_code.h"

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

std::shared_ptr<Pipeline> make_pipeline(const ObjectState& state,
                                        std::shared_ptr<const ShaderSet> set) {
  auto pipeline = std::make_shared<Pipeline>(state.device.handle, state.device.next);
  pipeline->instrumented = set->instrumented();
  pipeline->layout = set->layout();
  pipeline->facts.facts = kDynamicFacts;
  pipeline->facts.facts.stages = set->stages();
  pipeline->facts.samples = kDynamicSamples;
  pipeline->has_covering = set->has_covering();
  pipeline->shaders = std::move(set);
  return pipeline;
}

}  // namespace

std::shared_ptr<Pipeline> pipeline_of(ObjectState& state, const BoundShaders& bound) {
  if (std::shared_ptr<Pipeline> known = state.shader_sets.find(bound)) return known;
  ShaderSet::Shaders shaders;
  bool any = false;
  for (size_t i = 0; i < kShaderStages; ++i) {
    if (bound[i] != VK_NULL_HANDLE) shaders[i] = state.shaders.find(bound[i]);
    any = any || shaders[i];
  }
  if (!any) return nullptr;
  const auto set = std::make_shared<const ShaderSet>(std::move(shaders));
  if (set->mixes_heap_layouts()) {
    state.device.messages.notice(
        kUninstrumentedNotice, VK_OBJECT_TYPE_DEVICE, state.device.handle_bits(),
        "shader objects run uninstrumented: one reads push data where another has its record "
        "pointer, or what it reads is not known");
  }
  return state.shader_sets.add(bound, make_pipeline(state, set));
}

}  // namespace tally::counters
