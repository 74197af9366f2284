#include "spirv/instrument/region_values.h"

#include <algorithm>
#include <utility>

namespace tally::spirv {
namespace {

using catalogue::Number;

// The instruction classes that a counter sums.
struct ClassCounter {
  Number number;
  std::vector<CostClass> classes;
};

const std::vector<ClassCounter>& class_counters() {
  using enum CostClass;
  static const auto* all = new std::vector<ClassCounter>{
      {Number::FragmentInstructions, {Instruction}},
      {Number::FragmentFma, {Fma}},
      {Number::FragmentArithmetic,
       {Float16, Float32, Float64, Int8, Int16, Int32, Int64, Division, Logic, Derivative}},
      {Number::FragmentConversions, {Conversion}},
      {Number::FragmentSpecialFunctions, {SpecialFunction}},
      {Number::FragmentLoads, {BufferLoad, UniformLoad}},
      {Number::FragmentStores, {BufferStore}},
      {Number::FragmentBytesLoaded, {BufferBytesLoaded, UniformBytesLoaded}},
      {Number::FragmentBytesStored, {BufferBytesStored}},
      {Number::FragmentTexture, {TextureSample, TextureGather, TextureFetch}},
      {Number::FragmentImages, {ImageLoad, ImageStore}},
      {Number::FragmentAtomics, {Atomic}},
      {Number::FragmentVaryings, {VaryingLoad, VaryingStore, Interpolation}},
      {Number::FragmentControlFlow, {ControlFlow}},
  };
  return *all;
}

// For each block counter the number of instructions of the classes that one count stands for.
std::vector<uint32_t> factors_of(const ClassCounter& counter, const CounterPlan& plan,
                                 const BlockMap& map) {
  std::vector<uint32_t> weights(plan.value_count());
  for (uint32_t block = 0; block < map.blocks().size(); ++block) {
    const uint32_t executions = plan.block_values[block];
    if (executions >= weights.size()) continue;  // never executed
    for (const CostClass cost_class : counter.classes) {
      weights[executions] += static_cast<uint32_t>(map.blocks()[block].mix[cost_class]);
    }
  }
  return plan.factors(std::move(weights));
}

}  // namespace

uint32_t accumulator_of(Number number) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  const auto found = std::ranges::find(all, number, &catalogue::Counter::number);
  return static_cast<uint32_t>(found - all.begin());
}

std::vector<RegionValue> class_values(const CounterPlan& plan, const BlockMap& map,
                                      std::span<const uint32_t> variables) {
  std::vector<RegionValue> values;
  for (const ClassCounter& counter : class_counters()) {
    const std::vector<uint32_t> sums = factors_of(counter, plan, map);
    RegionValue value{.accumulator = accumulator_of(counter.number), .of_blocks = true};
    for (uint32_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == 0) continue;
      if (variables[i] == kEveryInvocation) {
        value.constant += sums[i];
      } else {
        value.terms.push_back({variables[i], sums[i]});
      }
    }
    if (value.constant != 0 || !value.terms.empty()) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace tally::spirv
