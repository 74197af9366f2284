// The application's SPIR-V in, instrumented SPIR-V out, remembered for a while. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/status.h"
#include "counters/shader/program.h"
#include "counters/shader/stage.h"
#include "spirv/instrument/block_count.h"

namespace tally::counters {

// Properties of the device and settings of the user, fixed for a device.
struct InstrumenterOptions {
  // What the shaders of all pipelines have in common. Its regions say how those that count by
  // region do so.
  spirv::BlockCountOptions pass;
  VkShaderStageFlags subgroup_stages = 0;  // with basic, vote, ballot and arithmetic operations
  // Locations that packed draw indices may stand in; 0: draws have none.
  uint32_t packed_draw_index_locations = 0;
  bool validate = false;                         // run spirv-val over what the pass made
  uint32_t vulkan_version = VK_API_VERSION_1_1;  // what spirv-val checks against
};

struct InstrumentedShader {
  std::vector<uint32_t> words;
  std::optional<spirv::RecordSpecIds> record_spec_ids;
  std::shared_ptr<const StageInfo> info;
};

class Instrumenter {
 public:
  explicit Instrumenter(const InstrumenterOptions& options) : options_(options) {}

  // The error is the reason why this shader runs as the application wrote it. The stage's code is
  // known.
  Result<std::shared_ptr<const InstrumentedShader>> instrument(
      const Stage& stage, const spirv::BlockCountOptions& options);

  const InstrumenterOptions& options() const { return options_; }

 private:
  using Shader = std::shared_ptr<const InstrumentedShader>;
  // All that the words depend on.
  struct Key {
    Hash128 code;
    spirv::BlockCountOptions options;

    bool operator==(const Key&) const = default;
  };
  // The few variants of a shader have the same.
  struct KeyHash {
    size_t operator()(const Key& key) const { return std::hash<Hash128>{}(key.code); }
  };

  Result<Shader> make(const Stage& stage, const spirv::BlockCountOptions& options) const;
  Shader find(const Key& key);
  void remember(const Key& key, const Shader& shader);

  const InstrumenterOptions options_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<Key, Shader, KeyHash> shaders_;
  std::deque<Key> order_;  // oldest first
  size_t words_ = 0;
};

// "vertex", "fragment" ...: for messages.
const char* stage_name(VkShaderStageFlagBits stage);

}  // namespace tally::counters
