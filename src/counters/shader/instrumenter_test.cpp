#include "counters/shader/instrumenter.h"

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

}  // namespace
}  // namespace tally::counters
