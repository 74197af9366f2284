// The layer's settings, parsed. The manifest (VkLayer_tally_counters.json.in) describes the same
// keys to people.
#pragma once

#include "base/settings.h"
#include "counters/memory/context.h"
#include "spirv/pass/block_count.h"

namespace tally::counters {

enum class RecordAddress { Auto, PushConstant, Descriptor };

struct Options {
  RecordAddress record_address = RecordAddress::Auto;
  RecordMemory record_memory = RecordMemory::Auto;
  uint64_t record_memory_limit = 0;  // bytes; 0: none
  spirv::Placement placement = spirv::Placement::Minimal;
  spirv::Counting counting = spirv::Counting::Private;
  uint32_t max_shards_log2 = 0;
  bool fixed_shards = false;  // every record has 2^max_shards_log2 shards
  bool count_subgroups = true;
  bool validate_spirv = false;
  bool force_emulation = false;
};

Options parse_options(const Settings& settings);

// Sends the log where the settings say.
void configure_log(const Settings& settings);

}  // namespace tally::counters
