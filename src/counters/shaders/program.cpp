#include "counters/shaders/program.h"

#include "catalogue/catalogue.h"

namespace tally::counters {

std::shared_ptr<const CounterRanges::Range> CounterRanges::take(uint32_t size) {
  // Empty ranges would share a key.
  auto range = std::make_unique<Range>(Range{0, std::max(size, 1u)});
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [begin, end] : state_->taken) {
      if (begin - range->first >= range->size) break;
      range->first = end;
    }
    state_->taken.emplace(range->first, range->first + range->size);
  }
  const auto release = [state = state_](const Range* released) {
    {
      const std::lock_guard lock(state->mutex);
      state->taken.erase(released->first);
    }
    delete released;
  };
  return {range.release(), release};
}

void note_uncounted(Program& program, VkShaderStageFlags stages) {
  VkShaderStageFlags counted = 0;
  VkShaderStageFlags outputs = 0;
  for (const StageProgram& stage : program.stages) {
    counted |= stage.stage;
    const uint32_t output = stage.info->plan.output_counters[0];
    if (output == spirv::CounterPlan::kZero) continue;
    outputs |= stage.stage;
    if (stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT) {
      program.samples =
          stage.info->tests_early ? CountedSamples::AfterTests : CountedSamples::BeforeTests;
    }
  }
  VkShaderStageFlags makers =
      VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_GEOMETRY_BIT | VK_SHADER_STAGE_MESH_BIT_EXT;
  if ((stages & VK_SHADER_STAGE_GEOMETRY_BIT) == 0) {
    makers |= VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
  }
  program.uncounted = stages & ~counted;
  program.uncounted_outputs = stages & makers & ~outputs;
}

std::vector<Metric> block_metrics(const MetricChoice& choice) {
  std::vector<Metric> metrics;
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Block)) {
    if (counter->number == catalogue::Number::Executions) {
      metrics.push_back({counter, Metric::Kind::Executions});
    } else if (counter->number == catalogue::Number::Subgroups) {
      if (choice.subgroups) metrics.push_back({counter, Metric::Kind::Subgroups});
    } else if (counter->number == catalogue::Number::SubgroupLanes) {
      if (choice.subgroups) metrics.push_back({counter, Metric::Kind::Lanes});
    } else if (const auto cost = spirv::cost_class_of(counter->number)) {
      if (choice.static_costs) metrics.push_back({counter, Metric::Kind::Cost, *cost});
    }
  }
  const auto branches = catalogue::counters_of(catalogue::Scope::Branch);
  for (const catalogue::Counter* counter : branches) {
    if (!choice.branches) break;
    metrics.push_back({.counter = counter,
                       .kind = Metric::Kind::Branch,
                       .target = static_cast<uint32_t>(counter->number) -
                                 static_cast<uint32_t>(catalogue::Number::BranchTarget0)});
  }
  const auto sites = catalogue::counters_of(catalogue::Scope::Site);
  for (uint32_t i = 0; i < sites.size(); ++i) {
    const auto slot = static_cast<spirv::SiteSlot>(i);
    const spirv::SiteKind kind = spirv::kind_of(slot);
    if (kind == spirv::SiteKind::Loop && !choice.loops) continue;
    if (kind == spirv::SiteKind::Value && !choice.values) continue;
    if (kind == spirv::SiteKind::Clock && !choice.clocks) continue;
    if (kind == spirv::SiteKind::Memory && !choice.memory) continue;
    metrics.push_back({.counter = sites[i], .kind = Metric::Kind::Site, .slot = slot});
  }
  return metrics;
}

}  // namespace tally::counters
