#include "counters/base/options.h"

#include <bit>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "base/log.h"
#include "probe/record.h"

namespace tally::counters {
namespace {

template <typename Value>
struct Choice {
  std::string_view name;
  Value value;
};

template <typename Value>
Value choose(const Settings& settings, std::string_view key, Value fallback,
             std::initializer_list<Choice<Value>> choices) {
  const std::string text = settings.text(key, "");
  if (text.empty()) return fallback;
  for (const auto& choice : choices) {
    if (choice.name == text) return choice.value;
  }
  std::string names;
  for (const auto& choice : choices) names.append(" ").append(choice.name);
  log(LogLevel::Warning, "setting {} is \"{}\"; it must be one of:{}", key, text, names);
  return fallback;
}

std::optional<RegionSize> parse_region_size(const Settings& settings) {
  const std::string text = settings.text("region_size", "");
  if (text.empty()) return std::nullopt;
  if (const auto size = parse_size(text); size && is_region_size(*size)) {
    return RegionSize{static_cast<uint32_t>(std::countr_zero(size->width)),
                      static_cast<uint32_t>(std::countr_zero(size->height))};
  }
  log(LogLevel::Warning,
      "setting region_size is \"{}\"; it must be WIDTHxHEIGHT, powers of two up to 4096", text);
  return std::nullopt;
}

// A list of names with commas between; "all".
Options::ForcedQueries parse_forced_queries(const Settings& settings) {
  Options::ForcedQueries forced;
  std::stringstream names(settings.text("emulate_queries", ""));
  for (std::string name; std::getline(names, name, ',');) {
    bool known = name == "all";
    const auto take = [&](std::string_view type, bool& is_forced) {
      if (name != "all" && name != type) return;
      is_forced = known = true;
    };
    take("statistics", forced.statistics);
    take("occlusion", forced.occlusion);
    take("primitives_generated", forced.primitives_generated);
    take("mesh", forced.mesh);
    take("result_status", forced.result_status);
    take("timestamp", forced.timestamps);
    take("transform_feedback", forced.transform_feedback);
    if (!known) log(LogLevel::Warning, "setting emulate_queries: \"{}\" is not a query type", name);
  }
  return forced;
}

}  // namespace

Options parse_options(const Settings& settings) {
  Options options;
  options.record_address = choose<RecordAddress>(settings, "record_address", options.record_address,
                                                 {{"auto", RecordAddress::Auto},
                                                  {"push_constant", RecordAddress::PushConstant},
                                                  {"descriptor", RecordAddress::Descriptor}});
  options.record_memory = choose<RecordMemory>(settings, "record_memory", options.record_memory,
                                               {{"auto", RecordMemory::Auto},
                                                {"host", RecordMemory::Host},
                                                {"device", RecordMemory::Device}});
  options.record_memory_limit = settings.number("record_memory_limit", 0, 0, 1u << 30) * 1024;
  options.placement = choose<spirv::Placement>(
      settings, "placement", options.placement,
      {{"minimal", spirv::Placement::Minimal}, {"every", spirv::Placement::Every}});
  options.counting = choose<spirv::Counting>(settings, "counting", options.counting,
                                             {{"private", spirv::Counting::Private},
                                              {"subgroup", spirv::Counting::Subgroup},
                                              {"lane", spirv::Counting::Lane}});
  const uint64_t shards = settings.number("shards", 0, 0, 1u << probe::kMaxShardsLog2);
  options.fixed_shards = shards != 0;
  options.max_shards_log2 = options.fixed_shards ? static_cast<uint32_t>(std::bit_width(shards)) - 1
                                                 : probe::kMaxShardsLog2;
  options.count_subgroups = settings.flag("count_subgroups", options.count_subgroups);
  options.static_costs = settings.flag("static_costs", options.static_costs);
  options.count_branches = settings.flag("count_branches", options.count_branches);
  options.count_loops = settings.flag("count_loops", options.count_loops);
  options.count_values = settings.flag("count_values", options.count_values);
  if (const uint64_t clocks = settings.number("clocks", 0, 0, 65536); clocks != 0) {
    options.clocks_log2 = static_cast<uint32_t>(std::bit_width(clocks)) - 1;
  }
  options.count_memory = settings.flag("count_memory", options.count_memory);
  options.memory_lanes =
      std::bit_floor(static_cast<uint32_t>(settings.number("memory_lanes", 0, 0, 128)));
  options.packed_draw_indices = choose<PackedDrawIndices>(
      settings, "packed_draw_indices", options.packed_draw_indices,
      {{"auto", PackedDrawIndices::Auto}, {"never", PackedDrawIndices::Never}});
  options.compile_ahead = choose<CompileAhead>(settings, "compile_ahead", options.compile_ahead,
                                               {{"auto", CompileAhead::Auto},
                                                {"never", CompileAhead::Never},
                                                {"always", CompileAhead::Always}});
  options.validate_spirv = settings.flag("validate_spirv", options.validate_spirv);
  options.emulate_queries = parse_forced_queries(settings);
  options.verify_counts = settings.flag("verify_counts", options.verify_counts);
  if (options.verify_counts) options.placement = spirv::Placement::Every;
  options.region_size = parse_region_size(settings);
  options.region_primitives = settings.number("region_primitives", 0, 0, 1u << 20);
  options.exclusive_timeout =
      settings.number("exclusive_timeout", options.exclusive_timeout, 0, 3'600'000);
  options.force_emulation = settings.flag("force_emulation", options.force_emulation);
  return options;
}

void configure_log(const Settings& settings) {
  tally::configure_log("tally counters", parse_log_level(settings.text("log_level", "")),
                       settings.text("log_file", ""));
}

}  // namespace tally::counters
