// The layer's settings, parsed. The manifest (VkLayer_tally_counters.json.in) describes the same
// keys to people.
#pragma once

#include <optional>

#include "base/settings.h"
#include "counters/memory/context.h"
#include "spirv/instrument/block_count.h"

namespace tally::counters {

enum class RecordAddress { Auto, PushConstant, Descriptor };
enum class PackedDrawIndices { Auto, Never };  // Auto: where a pipeline's shaders can

// Of counters by region, in pixels as powers of two.
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
  PackedDrawIndices packed_draw_indices = PackedDrawIndices::Auto;
  bool validate_spirv = false;
  bool verify_counts = false;  // then placement is Every
  bool force_emulation = false;
  // Emulated also where the driver has them.
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
  std::optional<RegionSize> region_size;  // none: the device's
  uint64_t region_primitives = 0;         // that count exactly in a region; 0: one a pixel
  uint64_t exclusive_timeout = 10'000;    // milliseconds
};

Options parse_options(const Settings& settings);

// Sends the log where the settings say.
void configure_log(const Settings& settings);

}  // namespace tally::counters
