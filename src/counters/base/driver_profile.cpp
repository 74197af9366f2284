#include "counters/base/driver_profile.h"

#include "counters/base/physical_device.h"
#include "vk/pipeline.h"

namespace tally::counters {
namespace {

constexpr VkDriverId kLlvmpipe = VK_DRIVER_ID_MESA_LLVMPIPE;
constexpr VkDriverId kNvidia = VK_DRIVER_ID_NVIDIA_PROPRIETARY;

constexpr Workaround kWorkarounds[] = {
    {.flag = &DriverProfile::adds_up_in_workgroups,
     .name = "adds_up_in_workgroups",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .from = VK_MAKE_API_VERSION(0, 26, 0, 0),
     .before = VK_MAKE_API_VERSION(0, 27, 0, 0),  // counts depend on the order that was seen
     .also =
         [](const PhysicalDevice& gpu) { return gpu.subgroup_size <= spirv::kMaxLanesOfSmallCode; },
     .seen = "26.2.6",
     .driver_does = "executes an atomic operation in a slow loop over its lanes, but an access to "
                    "one address of workgroup memory in one instruction",
     .layer_does = "compute shaders sum the counts of a workgroup in workgroup memory without "
                   "atomics, because the driver runs its subgroups in order on one thread",
     .reproduction = "`scripts/test-unstable --costs FILE ffmpeg`",
     .goes = "when atomic operations are as fast"},
    {.flag = &DriverProfile::adds_up_push_constants,
     .name = "adds_up_push_constants",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .also =
         [](const PhysicalDevice& gpu) { return gpu.properties.limits.maxPushConstantsSize > 128; },
     .seen = "25.0.7; devices with 128 bytes, as 22.3, are not affected",
     .driver_does = "overruns an array where the push constants of two shader objects or libraries "
                    "have more than 256 bytes together",
     .layer_does = "pushes the number 2 behind the application's constants, which avoids the path "
                   "with the array",
     .reproduction = "`known_answers_test --gtest_filter='SmallPushConstants.*'`",
     .goes = "when `lp_fs_linear_run` checks the size of its array"},
    {.flag = &DriverProfile::counts_invocations,
     .name = "counts_invocations",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .from = VK_MAKE_API_VERSION(0, 25, 0, 0),  // 22.3 counts blocks of fragments
     .also = [](const PhysicalDevice& gpu) { return gpu.statistics_query && gpu.host_query_reset; },
     .seen = "25.0.7, 26.2.6",
     .driver_does = "always counts the invocations of vertex and fragment shaders, exactly, and "
                    "executes an atomic operation in a slow loop over its lanes",
     .layer_does = "draws whose shaders only need a counter of their invocations run the plain "
                   "pipeline within a pipeline statistics query",
     .reproduction = "`TALLY_PROGRAMS_DRIVER=lavapipe-new tests/programs/check --costs FILE "
                     "build/release/bin vkcube`",
     .goes = "when atomic operations are as fast"},
    {.flag = &DriverProfile::drops_overdraw,
     .name = "drops_overdraw",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .seen = "22.3.6, 25.0.7",
     .driver_does = "drops fragments behind an opaque triangle although they write to memory, "
                    "unless their shader may discard",
     .layer_does = "adds a discard that is never taken",
     .reproduction = "`known_answers_test --gtest_filter='*overdraw*'`",
     .goes = "when the driver looks for writes to memory"},
    {.flag = &DriverProfile::hangs_in_subgroup_traces,
     .name = "hangs_in_subgroup_traces",
     .driver = kNvidia,
     .driver_name = "NVIDIA",
     .seen = "580.159.04",
     .driver_does = "hangs in traces whose shaders add up their counts with subgroup operations",
     .layer_does = "every invocation of a ray-tracing stage adds its counts by itself",
     .reproduction = "`ray_tracing_test --gtest_filter='RayAnswers.every_block*'`",
     .goes = "when the test passes without it"},
    {.flag = &DriverProfile::hangs_on_discards,
     .name = "hangs_on_discards",
     .driver = kNvidia,
     .driver_name = "NVIDIA",
     .seen = "580.159.04",
     .driver_does = "hangs in some fragment shaders that discard in a loop and count in private "
                    "variables",
     .layer_does = "each invocation of such a shader adds to memory in every block; it is not "
                   "counted by region",
     .reproduction = "`oracle_test --seed 20095 --count 1`",
     .goes = "when the programs 20095, 20104 and 20107 end without it"},
    {.flag = &DriverProfile::keeps_draws_apart,
     .name = "keeps_draws_apart",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .seen = "22.3.6, 25.0.7",
     .driver_does = "never runs fragments of several draws in one subgroup",
     .layer_does = "does not test for that",
     .reproduction = "`block_count_gpu_test`, `oracle_test` (small-code)",
     .goes = "when the driver mixes draws, because the layer must then test"},
    {.flag = &DriverProfile::limits_nesting,
     .name = "limits_nesting",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .seen = "22.3.6, 25.0.7",
     .driver_does = "computes wrong values or crashes where more than 80 conditionals are nested",
     .layer_does = "does not instrument shaders that would come near this limit",
     .reproduction = "`block_count_gpu_test --gtest_filter='*left_alone'`",
     .goes = "when the driver has no limit"},
    {.flag = &DriverProfile::loses_clock_bits,
     .name = "loses_clock_bits",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .seen = "22.3.6, 25.0.7",
     .driver_does = "loses the upper half of the shader clock",
     .layer_does = "adds the upper half from the host's clock",
     .reproduction = "`queries_test --gtest_filter='*Timestamps*'`",
     .goes = "when the clock has 64 bits"},
    {.flag = &DriverProfile::masks_branches,
     .name = "masks_branches",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .before = VK_MAKE_API_VERSION(0, 25, 0, 0),
     .seen = "22.3.6",
     .driver_does = "executes both sides of every branch; fragments that write to memory in nested "
                    "loops may not reach the code at their end",
     .layer_does = "counters by region are added by one lane in a loop over the enabled counters; "
                   "primitives are counted only if a setting asks for it; with `--loops`, "
                   "`--values` or `--memory` each invocation adds to memory in each block, "
                   "subgroups are not counted, and sectors and bank conflicts only with "
                   "`--memory=N`",
     .reproduction = "`region_overhead`; `oracle_test --seed 1396 --count 1`",
     .goes = "when versions before 25.0 are out of use"},
    {.flag = &DriverProfile::prefers_small_code,
     .name = "prefers_small_code",
     .driver = kLlvmpipe,
     .driver_name = "llvmpipe",
     .also =
         [](const PhysicalDevice& gpu) { return gpu.subgroup_size <= spirv::kMaxLanesOfSmallCode; },
     .seen = "22.3.6, 25.0.7; with subgroups of at most 8 lanes",
     .driver_does = "compiles each instruction slowly",
     .layer_does = "shaders with few counters add them with short code",
     .reproduction = "`pipeline_cost`; bench/results/pipeline_cost.json",
     .goes = "when short code saves less than 5 % of creation"},
};

}  // namespace

std::span<const Workaround> workarounds() { return kWorkarounds; }

DriverProfile driver_profile(const PhysicalDevice& gpu) {
  DriverProfile profile;
  for (const Workaround& row : kWorkarounds) {
    profile.*row.flag = row.driver == gpu.driver_id && gpu.mesa_version >= row.from &&
                        (row.before == 0 || gpu.mesa_version < row.before) &&
                        (!row.also || row.also(gpu));
  }
  return profile;
}

VkShaderStageFlags subgroup_counting_stages(const PhysicalDevice& gpu) {
  const bool hangs = driver_profile(gpu).hangs_in_subgroup_traces;
  return gpu.subgroup_stages & ~(hangs ? vk::kRayTracingStages : 0);
}

}  // namespace tally::counters
