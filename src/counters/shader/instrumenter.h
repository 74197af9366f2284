// Instruments the application's SPIR-V and caches the most recent results. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "counters/shader/program.h"
#include "counters/shader/shader_code.h"
#include "counters/shader/variant.h"
#include "spirv/instrument/block_count.h"

namespace tally::counters {

// Properties of a device and settings of the user.
struct InstrumenterOptions {
  spirv::Placement placement = spirv::Placement::Minimal;
  spirv::Counting counting = spirv::Counting::Private;
  bool int64 = false;
  bool int64_atomics = false;
  VkShaderStageFlags subgroup_stages = 0;  // with basic, vote, ballot and arithmetic operations
  uint32_t max_shards_log2 = probe::kMaxShardsLog2;
  bool count_subgroups = false;
  bool count_outputs = false;
  uint32_t packed_draw_index_locations =
      0;  // locations that may hold the packed draw index; 0: none is used
  uint32_t max_tessellation_level = 64;
  spirv::DriverWorkarounds driver;
  spirv::RegionOptions regions;
  uint32_t spirv_version_limit = 0x00010300;
  bool validate = false;                         // run spirv-val on the result
  uint32_t vulkan_version = VK_API_VERSION_1_1;  // the target environment of spirv-val
};

struct InstrumentedShader {
  std::vector<uint32_t> words;
  std::optional<spirv::RecordSpecIds> record_spec_ids;
  std::shared_ptr<const StageInfo> info;
};

class Instrumenter {
 public:
  explicit Instrumenter(const InstrumenterOptions& options) : options_(options) {}

  struct Request {
    VkShaderStageFlagBits stage{};
    std::string entry_point;
    spirv::AddressSource address;
    bool alpha_to_coverage = false;
    Variant variant = Variant::Blocks;
    bool multiview = false;
    bool primitive_ids = false;  // by region: an earlier stage sets gl_PrimitiveID
    // For a tessellation control shader: counts the primitives of its patches.
    std::optional<spirv::Tessellation> tessellation;
    std::optional<spirv::PackedDrawIndices> packed_draw_indices;
  };

  // The error is the reason why this shader runs uninstrumented.
  Result<std::shared_ptr<const InstrumentedShader>> instrument(const ShaderCode& code,
                                                               const Request& request);

  const InstrumenterOptions& options() const { return options_; }

 private:
  using Shader = std::shared_ptr<const InstrumentedShader>;

  Result<Shader> make(const ShaderCode& code, const Request& request) const;
  Shader find(const std::string& key);
  void remember(const std::string& key, const Shader& shader);

  const InstrumenterOptions options_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<std::string, Shader> shaders_;
  std::deque<std::string> order_;  // oldest first
  size_t words_ = 0;
};

// The execution modes of both tessellation stages; nothing if a shader is not of its stage.
std::optional<spirv::Tessellation> find_tessellation(const ShaderCode& control,
                                                     const std::string& control_entry,
                                                     const ShaderCode& evaluation,
                                                     const std::string& evaluation_entry);

// The first Location after all outputs of the vertex shader and all inputs of the fragment shader.
std::optional<uint32_t> find_free_location(const ShaderCode& vertex,
                                           const std::string& vertex_entry,
                                           const ShaderCode& fragment,
                                           const std::string& fragment_entry);

// For messages: "vertex", "fragment" ...
const char* stage_name(VkShaderStageFlagBits stage);

}  // namespace tally::counters
