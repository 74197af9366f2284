// The parsed settings of the layer. The manifest (VkLayer_tally_counters.json.in) documents them.
#pragma once

#include <optional>

#include "base/settings.h"
#include "spirv/plan/options.h"

namespace tally::counters {

enum class RecordMemory {
  Auto,    // Host if the device has memory that is device-local and host-visible, else Device
  Host,    // host-visible, persistently mapped
  Device,  // device-local; the GPU copies it when values are read
};

enum class RecordAddress { Auto, PushConstant, Descriptor };
enum class PackedDrawIndices { Auto, Never };  // Auto: where the shaders support it

// Lets threads of the layer compile pipelines that count. Auto: not on a CPU device.
enum class CompileAhead { Auto, Never, Always };

// The size of a region in pixels (log2).
struct RegionSize {
  uint32_t width_log2 = 0;
  uint32_t height_log2 = 0;
};

struct Options {
  RecordAddress record_address = RecordAddress::Auto;
  RecordMemory record_memory = RecordMemory::Auto;
  uint64_t record_memory_limit = 0;  // bytes; 0: none
  spirv::Placement placement = spirv::Placement::Minimal;
  spirv::Counting counting = spirv::Counting::Private;
  uint32_t max_shards_log2 = 0;
  bool fixed_shards = false;  // every record has 2^max_shards_log2 shards
  bool count_subgroups = true;
  bool static_costs = true;  // metrics that are executions times a static cost
  bool count_branches = false;
  bool count_loops = false;
  bool count_values = false;
  std::optional<uint32_t> clocks_log2;  // one of so many subgroups is timed; none: no subgroup
  bool count_memory = false;
  uint32_t memory_lanes = 0;  // of virtual subgroups in compute: a power of two; 0: the device's
  PackedDrawIndices packed_draw_indices = PackedDrawIndices::Auto;
  CompileAhead compile_ahead = CompileAhead::Auto;
  bool validate_spirv = false;
  bool verify_counts = false;  // implies Placement::Every
  bool force_emulation = false;
  // Emulated even if the driver supports them.
  struct ForcedQueries {
    bool statistics = false;
    bool occlusion = false;
    bool primitives_generated = false;
    bool mesh = false;
    bool result_status = false;
    bool timestamps = false;
    bool transform_feedback = false;
  };
  ForcedQueries emulate_queries;
  std::optional<RegionSize> region_size;  // none: depends on the device
  uint64_t region_primitives = 0;         // counted exactly in a region; 0: one per pixel
  uint64_t exclusive_timeout = 10'000;    // milliseconds
};

Options parse_options(const Settings& settings);

// Configures the destination of the log.
void configure_log(const Settings& settings);

}  // namespace tally::counters
