#include "spirv/analysis/substitution.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using ::testing::HasSubstr;

// A fragment shader that reads an input, a push constant and a texture, and writes a colour.
struct FragmentShader {
  std::string input = "OpDecorate %in Location 1";
  std::string input_type = "%vec2";
  std::string output = "OpDecorate %out Location 0";
  std::string binding = "2";
  std::string offset = "16";
  std::string capabilities;
  std::string modes;
  bool reads_push = true;
  uint32_t version = make_version(1, 3);

  Module module() const {
    return test::parsed(test::assemble(
        fmt::format(R"(
    OpCapability Shader
    {}
    OpMemoryModel Logical GLSL450
    OpEntryPoint Fragment %main "main" %in %out
    OpExecutionMode %main OriginUpperLeft
    {}
    {}
    {}
    OpDecorate %texture DescriptorSet 0
    OpDecorate %texture Binding {}
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset {}
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %f32 = OpTypeFloat 32
    %i32 = OpTypeInt 32 1
    %vec2 = OpTypeVector %f32 2
    %vec3 = OpTypeVector %f32 3
    %vec4 = OpTypeVector %f32 4
    %zero = OpConstant %i32 0
    %image = OpTypeImage %f32 2D 0 0 0 1 Unknown
    %sampled = OpTypeSampledImage %image
    %pt = OpTypePointer UniformConstant %sampled
    %texture = OpVariable %pt UniformConstant
    %block = OpTypeStruct %vec4
    %pb = OpTypePointer PushConstant %block
    %pv = OpTypePointer PushConstant %vec4
    %push = OpVariable %pb PushConstant
    %pi = OpTypePointer Input {}
    %po = OpTypePointer Output %vec4
    %in = OpVariable %pi Input
    %out = OpVariable %po Output
    %main = OpFunction %void None %fn
    %start = OpLabel
    %a = OpLoad {} %in
    %b = OpLoad %sampled %texture
    {}
    %e = OpLoad %vec4 %out
    OpStore %out %e
    OpReturn
    OpFunctionEnd
  )",
                    capabilities, modes, input, output, binding, offset, input_type, input_type,
                    reads_push ? "%c = OpAccessChain %pv %push %zero\n%d = OpLoad %vec4 %c" : ""),
        version));
  }
};

std::string difference(const FragmentShader& replacement, uint32_t max_version = 0) {
  const Module before = FragmentShader().module(), after = replacement.module();
  return why_not_interchangeable({before, before.entry_points()[0]},
                                 {after, after.entry_points()[0]}, max_version);
}

TEST(Substitution, a_shader_can_take_its_own_place) { EXPECT_EQ(difference({}), ""); }

TEST(Substitution, what_a_shader_takes_may_be_less) {
  EXPECT_EQ(difference({.reads_push = false}), "");
}

TEST(Substitution, what_a_shader_takes_must_not_be_more) {
  const Module less = FragmentShader{.reads_push = false}.module(),
               more = FragmentShader().module();
  EXPECT_EQ(
      why_not_interchangeable({less, less.entry_points()[0]}, {more, more.entry_points()[0]}, 0),
      "the push-constant block has a member at byte 16 (floatx4), which the original does "
      "not have");
}

TEST(Substitution, inputs_are_compared_by_location_and_type) {
  EXPECT_EQ(difference({.input = "OpDecorate %in Location 3"}),
            "it reads the input at location 3 (floatx2), which the original does not read");
  EXPECT_EQ(difference({.input_type = "%vec3"}),
            "the input at location 1 is floatx3, in the original floatx2");
  EXPECT_EQ(difference({.input = "OpDecorate %in BuiltIn FragCoord", .input_type = "%vec4"}), "");
}

TEST(Substitution, all_outputs_of_the_original_are_wanted) {
  EXPECT_EQ(difference({.output = "OpDecorate %out Location 1"}),
            "it does not write the output at location 0 (floatx4), which the original writes");
}

TEST(Substitution, descriptors_are_compared_by_set_and_binding) {
  EXPECT_EQ(difference({.binding = "4"}),
            "it uses set 0, binding 4 (combined image sampler (float 2D)), which the original does "
            "not use");
}

TEST(Substitution, members_of_blocks_are_compared_by_offset) {
  EXPECT_THAT(difference({.offset = "0"}),
              HasSubstr("the push-constant block has a member at byte 0"));
}

TEST(Substitution, capabilities_beyond_the_originals_are_refused) {
  EXPECT_EQ(difference({.capabilities = "OpCapability Float64"}),
            "it needs the capability Float64, which the original does not declare");
  EXPECT_EQ(difference({.capabilities = "OpCapability ImageQuery"}), "");
}

TEST(Substitution, execution_modes_are_compared) {
  EXPECT_EQ(difference({.modes = "OpExecutionMode %main EarlyFragmentTests"}), "");
  EXPECT_THAT(difference({.modes = "OpExecutionMode %main PixelCenterInteger"}),
              HasSubstr("execution mode PixelCenterInteger"));
}

TEST(Substitution, a_newer_spirv_is_refused_unless_the_device_takes_it) {
  const FragmentShader newer{.version = make_version(1, 5)};
  EXPECT_THAT(difference(newer), HasSubstr("it is SPIR-V 1.5"));
  EXPECT_EQ(difference(newer, make_version(1, 6)), "");
}

std::string workgroup_difference(std::string_view before, std::string_view after) {
  const auto module = [](std::string_view size) {
    return test::parsed(test::assemble(fmt::format(R"(
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main"
    OpExecutionMode %main LocalSize {}
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %main = OpFunction %void None %fn
    %start = OpLabel
    OpReturn
    OpFunctionEnd
  )",
                                                   size)));
  };
  const Module a = module(before), b = module(after);
  return why_not_interchangeable({a, a.entry_points()[0]}, {b, b.entry_points()[0]}, 0);
}

TEST(Substitution, workgroups_are_compared) {
  EXPECT_EQ(workgroup_difference("8 8 1", "8 8 1"), "");
  EXPECT_EQ(workgroup_difference("8 8 1", "8 4 1"), "its workgroup is 8x4x1, the original's 8x8x1");
}

// Every shader of the corpus can take its own place, and none crashes the comparison with another.
TEST(Substitution, shaders_of_the_corpus_can_take_their_own_place) {
  for (const test::NamedModule& named : test::corpus()) {
    const Module module = test::parsed(named.words);
    for (const EntryPoint& entry : module.entry_points()) {
      EXPECT_EQ(why_not_interchangeable({module, entry}, {module, entry}, 0), "") << named.name;
      for (const test::NamedModule& other_named : test::corpus()) {
        const Module other = test::parsed(other_named.words);
        for (const EntryPoint& other_entry : other.entry_points()) {
          (void)why_not_interchangeable({module, entry}, {other, other_entry}, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tally::spirv
