#include "counters/shaders/instrumenter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::counters {
namespace {

std::shared_ptr<const ShaderCode> code_with_variables(const char* model, const char* storage) {
  const std::vector<uint32_t> words = spirv::test::assemble(fmt::format(R"(
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint {0} %main "main" %variable
    OpEntryPoint {0} %main "other"
    OpDecorate %variable Location 3
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %f32 = OpTypeFloat 32
    %pointer = OpTypePointer {1} %f32
    %variable = OpVariable %pointer {1}
    %main = OpFunction %void None %fn
    %start = OpLabel
    OpReturn
    OpFunctionEnd
  )",
                                                                        model, storage));
  return std::make_shared<const ShaderCode>(ShaderCode{hash_words(words), words});
}

VkPipelineShaderStageCreateInfo stage_info(VkShaderStageFlagBits stage, const char* name = "main") {
  VkPipelineShaderStageCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage = stage;
  info.pName = name;
  return info;
}

class FreeLocation : public ::testing::Test {
 protected:
  std::optional<uint32_t> find(const std::shared_ptr<const ShaderCode>& vertex,
                               const char* vertex_name = "main") {
    const auto vertex_info = stage_info(VK_SHADER_STAGE_VERTEX_BIT, vertex_name);
    const auto fragment_info = stage_info(VK_SHADER_STAGE_FRAGMENT_BIT, "other");
    return instrumenter_.find_free_location({&vertex_info, vertex}, {&fragment_info, fragment_});
  }

  Instrumenter instrumenter_{{}};
  std::shared_ptr<const ShaderCode> vertex_ = code_with_variables("Vertex", "Output");
  std::shared_ptr<const ShaderCode> fragment_ = code_with_variables("Fragment", "Input");
};

TEST_F(FreeLocation, equal_code_is_read_once) {
  EXPECT_EQ(find(vertex_), 4u);
  EXPECT_EQ(find(std::make_shared<const ShaderCode>(ShaderCode{vertex_->hash, {}})), 4u);
}

TEST_F(FreeLocation, entry_points_of_one_module_have_locations_of_their_own) {
  EXPECT_EQ(find(vertex_), 4u);
  EXPECT_EQ(find(vertex_, "other"), 0u);
  EXPECT_EQ(find(vertex_, "none"), std::nullopt);
}

// Loads a whole array of a storage buffer, whose length is SpecId 3.
std::shared_ptr<const ShaderCode> code_with_array() {
  const std::vector<uint32_t> words = spirv::test::assemble(R"(
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint Fragment %main "main"
    OpExecutionMode %main OriginUpperLeft
    OpDecorate %length SpecId 3
    OpDecorate %array ArrayStride 4
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %variable DescriptorSet 0
    OpDecorate %variable Binding 0
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %u32 = OpTypeInt 32 0
    %zero = OpConstant %u32 0
    %length = OpSpecConstant %u32 1
    %array = OpTypeArray %u32 %length
    %block = OpTypeStruct %array
    %of_block = OpTypePointer StorageBuffer %block
    %of_array = OpTypePointer StorageBuffer %array
    %variable = OpVariable %of_block StorageBuffer
    %main = OpFunction %void None %fn
    %start = OpLabel
    %member = OpAccessChain %of_array %variable %zero
    %value = OpLoad %array %member
    OpReturn
    OpFunctionEnd
  )",
                                                            spirv::make_version(1, 3));
  return std::make_shared<const ShaderCode>(ShaderCode{hash_words(words), words});
}

class SpecializedCosts : public ::testing::Test {
 protected:
  using Shader = std::shared_ptr<const InstrumentedShader>;

  // With a constant of this SpecId.
  Shader instrument(uint32_t spec_id, uint32_t value, bool regions = false) {
    const VkSpecializationMapEntry entry{spec_id, 0, sizeof value};
    const VkSpecializationInfo specialization{1, &entry, sizeof value, &value};
    VkPipelineShaderStageCreateInfo info = stage_info(VK_SHADER_STAGE_FRAGMENT_BIT);
    info.pSpecializationInfo = &specialization;
    return instrument(info, regions);
  }
  Shader instrument(const VkPipelineShaderStageCreateInfo& info, bool regions = false) {
    spirv::BlockCountOptions options;
    options.stage = spv::ExecutionModel::Fragment;
    if (regions) options.regions = spirv::RegionOptions{};
    auto shader = instrumenter_.instrument({&info, code_}, options);
    EXPECT_TRUE(shader.ok()) << (shader ? "" : shader.error().message);
    return shader ? *shader : nullptr;
  }
  static uint64_t bytes_loaded(const Shader& shader) {
    return shader->info->blocks.at(0)[spirv::CostClass::BufferBytesLoaded];
  }

  Instrumenter instrumenter_{{}};
  const std::shared_ptr<const ShaderCode> code_ = code_with_array();
};

TEST_F(SpecializedCosts, are_those_of_the_array_that_the_pipeline_has) {
  const auto info = stage_info(VK_SHADER_STAGE_FRAGMENT_BIT);
  EXPECT_EQ(bytes_loaded(instrument(info)), 4u);
  EXPECT_EQ(bytes_loaded(instrument(3, 8)), 32u);
  EXPECT_EQ(bytes_loaded(instrument(3, 100)), 400u);
  EXPECT_EQ(bytes_loaded(instrument(info)), 4u);
}

TEST_F(SpecializedCosts, belong_to_a_shader_that_is_remembered) {
  EXPECT_EQ(instrument(3, 8), instrument(3, 8));
  EXPECT_EQ(instrument(stage_info(VK_SHADER_STAGE_FRAGMENT_BIT)), instrument(4, 8))
      << "a constant that the module does not have makes no difference";
}

// The shader itself multiplies by them.
TEST_F(SpecializedCosts, are_in_the_sums_by_region) {
  const Shader one = instrument(3, 8, true), other = instrument(3, 100, true);
  EXPECT_NE(*one->words, *other->words);
  const auto constants = [](const Shader& shader, uint32_t value) {
    const spirv::Module module = spirv::test::parsed(*shader->words);
    size_t found = 0;
    for (size_t i = 0; i < module.instruction_count(); ++i) {
      const spirv::Instruction instruction = module.instruction(i);
      found += instruction.opcode() == spv::Op::OpConstant && instruction.operand(0) == value;
    }
    return found;
  };
  EXPECT_EQ(constants(one, 32), 1u);
  EXPECT_EQ(constants(one, 400), 0u);
  EXPECT_EQ(constants(other, 400), 1u);
}

}  // namespace
}  // namespace tally::counters
