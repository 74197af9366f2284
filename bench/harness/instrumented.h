// A pipeline's shaders, instrumented by the block-count pass with one technique, and the record
// they write. This measures the pass without any layer.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/gpu.h"
#include "probe/record.h"
#include "spirv/instrument/block_count.h"
#include "support/pipeline.h"

namespace tally::bench {

struct Technique {
  const char* name;
  spirv::Placement placement;
  spirv::Counting counting;
  uint32_t shards_log2;
  bool single_exit = false;
  bool trip_counts = false;
  bool count_subgroups = false;
  bool small_code = false;  // as the layer does on devices that prefer it
};

// From the simplest technique to the one that the layer uses.
std::span<const Technique> techniques();

struct ShaderSource {
  VkShaderStageFlagBits stage;
  std::span<const uint32_t> words;
};

class InstrumentedShaders {
 public:
  // `push_offset` is the offset of the record pointer in the push constants.
  InstrumentedShaders(const Capabilities& capabilities, const Technique& technique,
                      std::span<const ShaderSource> sources, uint32_t push_offset);

  // For pipeline creation. Valid as long as this object.
  std::vector<test::Stage> stages() const;
  VkDeviceSize record_bytes() const;
  uint64_t record_pointer(VkDeviceAddress record) const {
    return probe::record_pointer(record, shards_log2_);
  }
  // Executions of all blocks, stage by stage. The vertex stage is left out: a driver may run it
  // once for several instances if the shader does not distinguish them.
  std::vector<uint64_t> executions(std::span<const uint64_t> record) const;
  uint32_t counters() const;
  uint32_t blocks() const;

 private:
  struct Shader {
    VkShaderStageFlagBits stage;
    spirv::BlockCountResult result;
    probe::StageCounters counters;
    std::array<uint32_t, 2> constants{};
    std::array<VkSpecializationMapEntry, 2> entries;
    VkSpecializationInfo specialization;
  };

  uint32_t shards_log2_;
  uint32_t capacity_ = 0;                         // counters of all stages in a shard
  std::vector<std::unique_ptr<Shader>> shaders_;  // by pointer: their addresses must not change
};

}  // namespace tally::bench
