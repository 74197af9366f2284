// The SPIR-V of the application's shader modules. Equal code is stored once, while a module or the
// creation of a pipeline uses it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/specialization.h"
#include "base/status.h"
#include "counters/base/device_table.h"
#include "counters/shaders/program.h"
#include "spirv/instrument/block_count.h"
#include "spirv/plan/options.h"
#include "vk/chain.h"

namespace tally::spirv {
class AnalyzedModule;
}

namespace tally::counters {

struct ShaderCode {
  Hash128 hash;
  std::vector<uint32_t> words;
};

class ShaderCodeStore {
 public:
  std::shared_ptr<const ShaderCode> add(std::span<const uint32_t> words);

 private:
  std::mutex mutex_;
  std::unordered_map<Hash128, std::weak_ptr<const ShaderCode>> codes_;
  size_t alive_after_prune_ = 0;
};

// One shader stage of a pipeline in the making.

// Not thread-safe.
class Stage {
 public:
  // `stage_code` is null if the code is not known (an identifier, a binary).
  Stage(const VkPipelineShaderStageCreateInfo* stage_info,
        std::shared_ptr<const ShaderCode> stage_code);
  Stage(Stage&&) noexcept;
  Stage& operator=(Stage&&) noexcept;
  ~Stage();

  const VkPipelineShaderStageCreateInfo* info;
  std::shared_ptr<const ShaderCode> code;

  // Parsed on first use and then kept.
  const Result<spirv::AnalyzedModule>& module() const;
  // Null if there is no entry point of the stage's name and this execution model.
  const spirv::EntryPoint* entry_point(spv::ExecutionModel model) const;

 private:
  mutable std::unique_ptr<const Result<spirv::AnalyzedModule>> module_;
};

// True if the shader has an output gl_PrimitiveID. Ignores members of blocks.
bool sets_primitive_id(const Stage& stage);

// True if all invocations of the fragment shader pass the tests that follow, and it has an effect:
// a driver may count those that are left, and none of a shader that it takes for empty.
bool keeps_fragments(const Stage& stage);

// The execution modes of both tessellation stages; empty if an entry point is missing.
std::optional<spirv::Tessellation> find_tessellation(const Stage& control, const Stage& evaluation);

// True if fragment shaders may read gl_PrimitiveID: if a geometry or mesh shader sets it, or if
// there is neither. For a fragment shader alone, this is not known.
bool has_primitive_ids(const std::vector<Stage>& stages);

// Nothing without tessellation, or where a geometry shader replaces the primitives.
std::optional<spirv::Tessellation> tessellation_of(const std::vector<Stage>& stages);

// The first Location after all outputs of a vertex shader or all inputs of a fragment shader.
std::optional<uint32_t> first_free_location(const Stage& stage);

// Instruments the application's shaders and caches the results. Thread-safe.

// Properties of a device and settings of the user.
struct InstrumenterOptions {
  // The options that all shaders have in common. `regions` applies to those that count by region.
  spirv::BlockCountOptions pass;
  VkShaderStageFlags subgroup_stages = 0;  // with basic, vote, ballot and arithmetic operations
  // The number of Locations that packed draw indices may use; 0 disables them.
  uint32_t packed_draw_index_locations = 0;
  bool validate = false;                         // run spirv-val on the results
  uint32_t vulkan_version = VK_API_VERSION_1_1;  // the environment of spirv-val
};

struct InstrumentedShader {
  std::shared_ptr<const std::vector<uint32_t>> words;
  std::optional<spirv::RecordSpecIds> record_spec_ids;
  std::shared_ptr<const StageInfo> info;
};

class Instrumenter {
 public:
  explicit Instrumenter(const InstrumenterOptions& options) : options_(options) {}

  // An error tells the user why the shader runs uninstrumented. The stage's code must be known.
  // Costs and counters are those of the module that the stage specializes.
  Result<std::shared_ptr<const InstrumentedShader>> instrument(
      const Stage& stage, const spirv::BlockCountOptions& options);

  // The first Location after all outputs of the vertex shader and inputs of the fragment shader.
  std::optional<uint32_t> find_free_location(const Stage& vertex, const Stage& fragment);

  const InstrumenterOptions& options() const { return options_; }

 private:
  using Shader = std::shared_ptr<const InstrumentedShader>;
  // Everything that the words depend on.
  struct Key {
    Hash128 code;
    spirv::BlockCountOptions options;
    Specialization constants;

    bool operator==(const Key&) const = default;
  };
  // A shader has few variants, so they may share a bucket.
  struct KeyHash {
    size_t operator()(const Key& key) const { return std::hash<Hash128>{}(key.code); }
  };

  // An entry point of a vertex or a fragment shader.
  struct EntryPoint {
    Hash128 code;
    VkShaderStageFlagBits stage;
    std::string name;

    bool operator==(const EntryPoint&) const = default;
  };
  struct EntryPointHash {
    size_t operator()(const EntryPoint& entry) const { return std::hash<Hash128>{}(entry.code); }
  };

  std::optional<uint32_t> free_location_of(const Stage& stage);
  // The stage's module can be read, and declares these constants.
  Result<Shader> make(const Stage& stage, const spirv::BlockCountOptions& options,
                      const Specialization& constants) const;
  Shader find(const Key& key);
  void remember(const Key& key, const Shader& shader);

  const InstrumenterOptions options_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<Key, Shader, KeyHash> shaders_;
  std::deque<Key> order_;  // oldest first
  size_t words_ = 0;
  std::unordered_map<EntryPoint, std::optional<uint32_t>, EntryPointHash> free_locations_;
};

// "vertex", "fragment" ...: for messages.
const char* stage_name(VkShaderStageFlagBits stage);

// Specialization constants of the application with more that the layer adds.

class ExtendedSpecialization {
 public:
  // `original` may be null.
  explicit ExtendedSpecialization(const VkSpecializationInfo* original) {
    if (!original) return;
    entries_.assign(original->pMapEntries, original->pMapEntries + original->mapEntryCount);
    const auto* bytes = static_cast<const std::byte*>(original->pData);
    data_.assign(bytes, bytes + original->dataSize);
  }

  void add(uint32_t id, uint32_t value) {
    data_.resize((data_.size() + sizeof value - 1) / sizeof value * sizeof value);
    entries_.push_back({id, static_cast<uint32_t>(data_.size()), sizeof value});
    data_.resize(data_.size() + sizeof value);
    std::memcpy(data_.data() + data_.size() - sizeof value, &value, sizeof value);
  }

  // Valid until the next change.
  VkSpecializationInfo info() const {
    return {static_cast<uint32_t>(entries_.size()), entries_.data(), data_.size(), data_.data()};
  }

 private:
  std::vector<VkSpecializationMapEntry> entries_;
  std::vector<std::byte> data_;
};

// How the stages of a pipeline find their records.
struct StageAddressing {
  spirv::AddressSource main;
  spirv::AddressSource fragment;
  bool separate_fragment = false;
};

// The stages of a pipeline variant, with instrumented SPIR-V. The create info of the variant points
// to them. Owns the shader modules, which must live until the variant is created.

class StageVariants {
 public:
  // A stage that runs uninstrumented, and the reason.
  struct Refusal {
    VkShaderStageFlagBits stage{};
    Hash128 hash;
    std::string reason;
  };

  StageVariants(VkDevice device, const DeviceTable& next) : device_(device), next_(next) {}
  ~StageVariants();
  StageVariants(const StageVariants&) = delete;
  StageVariants& operator=(const StageVariants&) = delete;

  // Stages that cannot be instrumented stay as they are and are listed in refusals(). Stages with
  // nothing to count in this variant stay as they are too.
  struct Request {
    Variant variant = Variant::Blocks;
    StageAddressing addressing;
    bool alpha_to_coverage = false;
    bool multiview = false;
    bool primitive_ids = false;
    std::optional<spirv::Tessellation> tessellation;  // if it makes the pipeline's primitives
    // True if shaders may use a packed draw index: the stages are vertex and fragment alone.
    bool number_draws = false;
    // The position of the stages' counters in the record of each slot, called with the highest
    // number of counters in one of them. Null: the records begin with them.
    std::function<uint32_t(uint32_t counters)> first_counter;
  };
  void build(Instrumenter& instrumenter, const std::vector<Stage>& stages, const Request& request);
  // The options of the pass for one stage.
  static Result<spirv::BlockCountOptions> make_options(
      const Instrumenter& instrumenter, const Stage& stage, const Request& request, Variant variant,
      const std::optional<spirv::PackedDrawIndices>& numbers);

  const std::vector<VkPipelineShaderStageCreateInfo>& infos() const { return infos_; }
  const Program& program() const { return program_; }
  bool counts_regions() const { return counts_regions_; }
  // The driver made no module for a stage that stays as it is: there are no complete infos.
  bool lacks_module() const { return lacks_module_; }
  // True if a stage reads push constants where the record pointers are, and could not be changed.
  // The stages must not be used then.
  bool reads_slots() const { return reads_slots_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }

 private:
  Status add_instrumented(Instrumenter& instrumenter, const Stage& stage, const Request& request,
                          Variant variant, VkPipelineShaderStageCreateInfo& target);
  // Specializes the stages with the positions of their counters, once all are known.
  void place_counters();
  static Result<spirv::PackedDrawIndices> choose_packed_draw_indices(
      Instrumenter& instrumenter, const std::vector<Stage>& stages, const Request& request);
  void refuse(const Stage& stage, const Error& error);
  void provide_module(const Stage& stage, VkPipelineShaderStageCreateInfo& target);
  Result<VkShaderModule> create_module(const std::vector<uint32_t>& words);

  struct Specialized {
    explicit Specialized(const VkSpecializationInfo* original) : constants(original) {}

    ExtendedSpecialization constants;
    VkSpecializationInfo info{};
  };
  void specialize(VkPipelineShaderStageCreateInfo& target, const spirv::RecordSpecIds& ids,
                  const probe::StageCounters& counters);

  struct Counted {
    VkPipelineShaderStageCreateInfo* info;
    std::optional<spirv::RecordSpecIds> spec_ids;
  };

  VkDevice device_;
  const DeviceTable& next_;
  std::vector<VkPipelineShaderStageCreateInfo> infos_;
  Program program_;
  std::vector<Counted> counted_;  // by stage of the program
  std::optional<spirv::PackedDrawIndices> packed_draw_indices_;
  bool counts_regions_ = false;
  bool lacks_module_ = false;
  bool reads_slots_ = false;
  std::vector<Refusal> refusals_;
  std::vector<VkShaderModule> modules_;
  std::deque<Specialized> specializations_;
  std::deque<vk::ChainCopy> chains_;
};

}  // namespace tally::counters
