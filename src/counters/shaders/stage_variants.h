// Specialization constants of the application with more that the layer adds.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/shaders/instrumenter.h"
#include "counters/shaders/program.h"
#include "vk/chain.h"

namespace tally::counters {

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
