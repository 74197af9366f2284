// The stages of one pipeline with instrumented SPIR-V in place of the application's: what the
// create info of the pipeline's variant points to. Owns the shader modules, which only live until
// the pipeline is created.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "counters/layer/device_table.h"
#include "counters/shader/instrumenter.h"
#include "counters/shader/program.h"
#include "counters/shader/variant.h"
#include "vk/chain.h"

namespace tally::counters {

class StageVariants {
 public:
  // How the stages of a pipeline find their records.
  struct Addressing {
    spirv::AddressSource main;
    spirv::AddressSource fragment;
    bool separate_fragment = false;
  };
  // A stage that runs as the application wrote it, and why.
  struct Refusal {
    VkShaderStageFlagBits stage{};
    Hash128 hash;
    std::string reason;
  };

  StageVariants(VkDevice device, const DeviceTable& next) : device_(device), next_(next) {}
  ~StageVariants();
  StageVariants(const StageVariants&) = delete;
  StageVariants& operator=(const StageVariants&) = delete;

  // Stages that cannot be instrumented are taken over as they are and listed in refusals(); so are,
  // unlisted, those that have nothing to count in this variant.
  struct Request {
    Variant variant = Variant::Blocks;
    Addressing addressing;
    bool alpha_to_coverage = false;
    bool multiview = false;
    bool primitive_ids = false;
    std::optional<spirv::Tessellation> tessellation;  // where its primitives are the pipeline's
    // Vertex shaders and fragment shaders alone, whose draws may have numbers if their shaders can.
    bool number_draws = false;
  };
  void build(Instrumenter& instrumenter, const std::vector<Stage>& stages, const Request& request);

  const std::vector<VkPipelineShaderStageCreateInfo>& infos() const { return infos_; }
  const Program& program() const { return program_; }
  bool counts_regions() const { return counts_regions_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }

 private:
  Status add_instrumented(Instrumenter& instrumenter, const Stage& stage, const Request& request,
                          Variant variant, VkPipelineShaderStageCreateInfo& target);
  // Specializes the stages with the positions of their counters, once all are known.
  void place_counters();
  static Result<spirv::BlockCountOptions> make_options(
      const Instrumenter& instrumenter, const Stage& stage, const Request& request, Variant variant,
      const std::optional<spirv::PackedDrawIndices>& numbers);
  static Result<spirv::PackedDrawIndices> choose_packed_draw_indices(
      Instrumenter& instrumenter, const std::vector<Stage>& stages, const Request& request);
  void refuse(const Stage& stage, const Error& error);
  Result<VkShaderModule> create_module(const std::vector<uint32_t>& words);

  struct Specialization {
    VkSpecializationInfo info{};
    std::vector<VkSpecializationMapEntry> entries;
    std::vector<std::byte> data;

    void add(uint32_t id, uint32_t value);
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
  std::vector<Refusal> refusals_;
  std::vector<VkShaderModule> modules_;
  std::deque<Specialization> specializations_;
  std::deque<vk::ChainCopy> chains_;
};

}  // namespace tally::counters
