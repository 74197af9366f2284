#include "corpus/pass_options.h"

#include <fmt/format.h>

#include <functional>

namespace tally::test {
namespace {

using spirv::BlockCountOptions;
using spv::ExecutionModel;

BlockCountOptions layer_options() {
  BlockCountOptions options;
  options.int64 = options.int64_atomics = options.subgroup_operations = true;
  options.max_shards_log2 = 6;
  options.count_outputs = true;
  options.address.push_constant_offset = 240;
  return options;
}

void add_fragment_options(std::vector<NamedOptions>& all) {
  const auto add = [&](std::string name, const std::function<void(BlockCountOptions&)>& change) {
    all.push_back({std::move(name), layer_options()});
    change(all.back().options);
  };
  const spirv::RegionOptions regions{.layer_capability = spv::Capability::Geometry,
                                     .multiview = true,
                                     .subgroup_clock = true,
                                     .primitives = true};
  add("regions", [&](auto& options) { options.regions = regions; });
  add("regions-without-blocks", [&](auto& options) {
    options.regions = regions;
    options.count_blocks = false;
  });
  add("regions-by-lane", [](auto& options) {
    options.regions.emplace();
    options.subgroup_operations = false;
  });
  add("regions-with-masks", [](auto& options) {
    options.regions = {
        .layer_capability = spv::Capability::Geometry, .multiview = true, .subgroup_clock = true};
    options.driver.masks_branches = true;
  });
  add("drops-overdraw", [](auto& options) { options.driver.drops_overdraw = true; });
  add("hangs-on-discards", [](auto& options) { options.driver.hangs_on_discards = true; });
  add("alpha-to-coverage", [](auto& options) { options.alpha_to_coverage = true; });
}

}  // namespace

std::vector<spirv::BlockCountOptions> counting_options() {
  std::vector<spirv::BlockCountOptions> all;
  for (const auto counting :
       {spirv::Counting::Lane, spirv::Counting::Subgroup, spirv::Counting::Private}) {
    for (const auto placement : {spirv::Placement::Every, spirv::Placement::Minimal}) {
      for (const uint32_t variant : {0u, 1u, 2u, 3u}) {
        spirv::BlockCountOptions options;
        options.counting = counting;
        options.placement = placement;
        options.subgroup_operations = variant != 3;
        options.int64 = options.int64_atomics = variant % 2 == 0;
        options.max_shards_log2 = variant == 0 ? 6 : 0;
        options.count_subgroups = variant == 2 && counting != spirv::Counting::Lane;
        if (variant == 2) {
          options.address = {spirv::AddressSource::Kind::UniformBuffer, 0, 7, 0};
        } else {
          options.address.push_constant_offset = 248;
        }
        all.push_back(options);
      }
    }
  }
  return all;
}

std::vector<NamedOptions> all_options(ExecutionModel stage, const std::string& entry_point) {
  std::vector<NamedOptions> all;
  for (const BlockCountOptions& options : counting_options()) {
    all.push_back({fmt::format("counting-{}", all.size()), options});
  }
  const auto add = [&](std::string name, const std::function<void(BlockCountOptions&)>& change) {
    all.push_back({std::move(name), layer_options()});
    change(all.back().options);
  };
  add(kLayerOptions, [](auto&) {});
  add("own-trip-counts", [](auto& options) { options.trip_counts = false; });
  add("every-exit", [](auto& options) { options.single_exit = false; });
  add("branches", [](auto& options) { options.count_branches = true; });
  add("branches-by-lane", [](auto& options) {
    options.count_branches = true;
    options.counting = spirv::Counting::Lane;
  });
  add("branches-by-subgroup", [](auto& options) {
    options.count_branches = options.count_subgroups = true;
    options.counting = spirv::Counting::Subgroup;
    options.placement = spirv::Placement::Every;
  });
  add("sites", [](auto& options) { options.sites = {.loops = true, .values = true}; });
  add("clocks", [](auto& options) { options.sites.clocks = true; });
  add("memory", [](auto& options) { options.sites.memory = true; });
  add("sites-by-lane", [](auto& options) {
    options.sites = {
        .loops = true, .values = true, .clocks = true, .clocks_log2 = 0, .memory = true};
    options.counting = spirv::Counting::Lane;
    options.subgroup_operations = options.int64 = options.int64_atomics = false;
  });
  add("nesting-limit", [](auto& options) { options.driver.max_nested_conditionals = 20; });
  add("small-code", [](auto& options) { options.driver.prefers_small_code = true; });
  add("small-code-wide",
      [](auto& options) { options.driver.prefers_small_code = options.wide_subgroups = true; });
  if (stage == ExecutionModel::Fragment) add_fragment_options(all);
  if (stage == ExecutionModel::GLCompute) {
    add("in-workgroups", [](auto& options) {
      options.driver.prefers_small_code = options.wide_subgroups = true;
      options.driver.workgroup_bytes = 32768;
    });
    add("virtual-subgroups", [](auto& options) {
      options.sites = {.memory = true,
                       .memory_lanes = 32,
                       .lane_sets = {.exist = true, .sets_log2 = 6, .entries_log2 = 16},
                       .workgroup_bytes = 32768};
    });
  }
  if (stage == ExecutionModel::Vertex || stage == ExecutionModel::Fragment) {
    add("packed-draw-indices",
        [](auto& options) { options.packed_draw_indices = {.location = 30}; });
    add("packed-draw-indices-apart", [](auto& options) {
      options.packed_draw_indices = {.location = 30};
      options.driver.keeps_draws_apart = true;
    });
    add("packed-draw-indices-small", [](auto& options) {
      options.packed_draw_indices = {.location = 30};
      options.driver.keeps_draws_apart = options.driver.prefers_small_code = true;
    });
  }
  if (stage == ExecutionModel::Vertex) {
    add("packed-draw-indices-alone", [](auto& options) { options.packed_draw_indices.emplace(); });
    add("sm-builtins", [](auto& options) { options.sm_builtins = true; });
  }
  if (stage == ExecutionModel::TessellationControl) {
    add("tessellation", [](auto& options) { options.tessellation.emplace(); });
  }
  for (NamedOptions& named : all) {
    named.options.stage = stage;
    named.options.entry_point = entry_point;
  }
  return all;
}

}  // namespace tally::test
