#include <fmt/format.h>
#include <gtest/gtest.h>

#include "spirv/analysis/early_tests.h"
#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

// True if a fragment shader has an effect whose main() begins with `code`.
bool has_effect_with(const std::string& code) {
  const std::string text = fmt::format(
      "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
      "OpEntryPoint Fragment %main \"main\" %out %in\nOpExecutionMode %main OriginUpperLeft\n"
      "OpDecorate %out Location 0\nOpDecorate %in Location 0\n"
      "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%f32 = OpTypeFloat 32\n"
      "%vec2 = OpTypeVector %f32 2\n%u32 = OpTypeInt 32 0\n%zero = OpConstant %u32 0\n"
      "%one = OpConstant %f32 1\n%ones = OpConstantComposite %vec2 %one %one\n"
      "%nothing = OpUndef %vec2\n%p_out = OpTypePointer Output %vec2\n"
      "%p_out_f32 = OpTypePointer Output %f32\n%p_in = OpTypePointer Input %vec2\n"
      "%p_own = OpTypePointer Function %vec2\n%p_own_f32 = OpTypePointer Function %f32\n"
      "%p_buffer = OpTypePointer StorageBuffer %u32\n"
      "%out = OpVariable %p_out Output\n%in = OpVariable %p_in Input\n"
      "%buffer = OpVariable %p_buffer StorageBuffer\n"
      "%takes = OpTypeFunction %void %p_own\n"
      "%main = OpFunction %void None %fn\n%start = OpLabel\n"
      "%own = OpVariable %p_own Function\n%filled = OpVariable %p_own Function %ones\n{}"
      "OpReturn\nOpFunctionEnd\n"
      "%fill = OpFunction %void None %takes\n%argument = OpFunctionParameter %p_own\n"
      "%inside = OpLabel\nOpReturn\nOpFunctionEnd\n",
      code);
  const AnalyzedModule analyzed(test::parsed(test::assemble_1_3(text)));
  return has_effect(analyzed.module(), analyzed.module().entry_points()[0]);
}

TEST(Effects, are_outputs_that_are_stored) {
  EXPECT_FALSE(has_effect_with(""));
  EXPECT_FALSE(has_effect_with("OpStore %own %ones\n"));
  EXPECT_TRUE(has_effect_with("OpStore %out %ones\n"));
  EXPECT_TRUE(has_effect_with("%v = OpLoad %vec2 %in\nOpStore %out %v\n"));
  EXPECT_TRUE(has_effect_with("OpCopyMemory %out %in\n"));
  EXPECT_TRUE(has_effect_with("%p = OpAccessChain %p_out_f32 %out %zero\nOpStore %p %one\n"));
}

TEST(Effects, are_no_undefined_outputs) {
  EXPECT_FALSE(has_effect_with("OpStore %out %nothing\n"));
  EXPECT_FALSE(has_effect_with("%v = OpLoad %vec2 %own\nOpStore %out %v\n"));
  EXPECT_FALSE(has_effect_with("OpCopyMemory %out %own\n"));
}

TEST(Effects, are_outputs_from_variables_that_something_is_stored_in) {
  const std::string copied = "%v = OpLoad %vec2 %own\nOpStore %out %v\n";
  EXPECT_TRUE(has_effect_with("OpStore %own %ones\n" + copied));
  EXPECT_TRUE(
      has_effect_with("%p = OpAccessChain %p_own_f32 %own %zero\nOpStore %p %one\n" + copied));
  EXPECT_TRUE(has_effect_with("OpCopyMemory %own %in\n" + copied));
  EXPECT_TRUE(has_effect_with("%r = OpFunctionCall %void %fill %own\n" + copied));
  EXPECT_TRUE(has_effect_with("%v = OpLoad %vec2 %filled\nOpStore %out %v\n"));
}

TEST(Effects, are_writes_to_memory) { EXPECT_TRUE(has_effect_with("OpStore %buffer %zero\n")); }

}  // namespace
}  // namespace tally::spirv
