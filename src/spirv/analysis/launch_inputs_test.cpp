#include "spirv/analysis/launch_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Range = LaunchInputs::Range;
using Resource = LaunchInputs::Resource;

constexpr std::string_view kLaunchDeclarations = R"(
  OpCapability Shader
  OpCapability GroupNonUniform
  OpCapability GroupNonUniformArithmetic
  OpCapability PhysicalStorageBufferAddresses
  OpCapability Int64
  OpCapability ImageQuery
  OpCapability StorageImageMultisample
  %glsl = OpExtInstImport "GLSL.std.450"
  OpMemoryModel PhysicalStorageBuffer64 GLSL450
  OpEntryPoint GLCompute %main "main" %push %buffer %uniform %shared %id %lane %private %target %samples %textures %sampler %lists
  OpExecutionMode %main LocalSize 64 1 1
  OpDecorate %push_block Block
  OpMemberDecorate %push_block 0 Offset 0
  OpMemberDecorate %push_block 1 Offset 4
  OpMemberDecorate %push_block 2 Offset 16
  OpMemberDecorate %push_block 3 Offset 32
  OpDecorate %array ArrayStride 16
  OpDecorate %block Block
  OpMemberDecorate %block 0 Offset 0
  OpDecorate %buffer DescriptorSet 0
  OpDecorate %buffer Binding 0
  OpDecorate %uniform DescriptorSet 0
  OpDecorate %uniform Binding 1
  OpDecorate %target DescriptorSet 1
  OpDecorate %target Binding 3
  OpDecorate %target NonReadable
  OpDecorate %samples DescriptorSet 1
  OpDecorate %samples Binding 2
  OpDecorate %samples NonWritable
  OpDecorate %textures DescriptorSet 0
  OpDecorate %textures Binding 7
  OpDecorate %sampler DescriptorSet 0
  OpDecorate %sampler Binding 8
  OpDecorate %list ArrayStride 4
  OpDecorate %list_block Block
  OpMemberDecorate %list_block 0 Offset 0
  OpMemberDecorate %list_block 1 Offset 4
  OpDecorate %lists DescriptorSet 2
  OpDecorate %lists Binding 5
  OpDecorate %id BuiltIn GlobalInvocationId
  OpDecorate %lane BuiltIn SubgroupLocalInvocationId
  OpDecorate %spec SpecId 0
  %void = OpTypeVoid
  %bool = OpTypeBool
  %u32 = OpTypeInt 32 0
  %u64 = OpTypeInt 64 0
  %f32 = OpTypeFloat 32
  %v2 = OpTypeVector %u32 2
  %v3 = OpTypeVector %u32 3
  %zero = OpConstant %u32 0
  %one = OpConstant %u32 1
  %two = OpConstant %u32 2
  %three = OpConstant %u32 3
  %four = OpConstant %u32 4
  %spec = OpSpecConstant %u32 7
  %pair = OpTypeStruct %u32 %u32
  %undefined = OpUndef %u32
  %half_undefined = OpConstantComposite %pair %one %undefined
  %defined = OpConstantComposite %pair %one %two
  %array = OpTypeArray %u32 %one
  %numbers = OpTypeArray %u32 %four
  %push_block = OpTypeStruct %u32 %f32 %array %u64
  %block = OpTypeStruct %u32
  %p_push_block = OpTypePointer PushConstant %push_block
  %p_push = OpTypePointer PushConstant %u32
  %p_push_f32 = OpTypePointer PushConstant %f32
  %p_push_u64 = OpTypePointer PushConstant %u64
  %p_buffer_block = OpTypePointer StorageBuffer %block
  %p_buffer = OpTypePointer StorageBuffer %u32
  %p_uniform_block = OpTypePointer Uniform %block
  %p_uniform = OpTypePointer Uniform %u32
  %p_shared = OpTypePointer Workgroup %u32
  %p_v3 = OpTypePointer Input %v3
  %p_in = OpTypePointer Input %u32
  %p_private = OpTypePointer Private %u32
  %p_own = OpTypePointer Function %u32
  %p_own_f32 = OpTypePointer Function %f32
  %p_numbers = OpTypePointer Function %numbers
  %p_address = OpTypePointer PhysicalStorageBuffer %u32
  %target_image = OpTypeImage %f32 2D 0 0 0 2 Rgba8
  %sample_image = OpTypeImage %f32 2D 0 0 1 2 Rgba8
  %texture = OpTypeImage %f32 2D 0 0 0 1 Unknown
  %plain_sampler = OpTypeSampler
  %sampled = OpTypeSampledImage %texture
  %four_textures = OpTypeArray %texture %four
  %list = OpTypeRuntimeArray %u32
  %list_block = OpTypeStruct %u32 %list
  %two_lists = OpTypeArray %list_block %two
  %p_target = OpTypePointer UniformConstant %target_image
  %p_samples = OpTypePointer UniformConstant %sample_image
  %p_texture = OpTypePointer UniformConstant %texture
  %p_textures = OpTypePointer UniformConstant %four_textures
  %p_sampler = OpTypePointer UniformConstant %plain_sampler
  %p_list_block = OpTypePointer StorageBuffer %list_block
  %p_lists = OpTypePointer StorageBuffer %two_lists
  %target = OpVariable %p_target UniformConstant
  %samples = OpVariable %p_samples UniformConstant
  %textures = OpVariable %p_textures UniformConstant
  %sampler = OpVariable %p_sampler UniformConstant
  %lists = OpVariable %p_lists StorageBuffer
  %push = OpVariable %p_push_block PushConstant
  %buffer = OpVariable %p_buffer_block StorageBuffer
  %uniform = OpVariable %p_uniform_block Uniform
  %shared = OpVariable %p_shared Workgroup
  %id = OpVariable %p_v3 Input
  %lane = OpVariable %p_in Input
  %private = OpVariable %p_private Private
  %function = OpTypeFunction %void
  %u32_of_u32 = OpTypeFunction %u32 %u32
  %void_of_pointer = OpTypeFunction %void %p_own
  %u32_of_target = OpTypeFunction %u32 %p_target
  %u32_of_image = OpTypeFunction %u32 %target_image
)";

// A shader that branches on the number %n, which `body` computes. `functions` come after main.
std::string shader_of(std::string_view body, std::string_view variables = "",
                      std::string_view functions = "") {
  return fmt::format(R"({}
    %main = OpFunction %void None %function
    %first = OpLabel
    {}
    {}
    %condition = OpULessThan %bool %n %three
    OpSelectionMerge %end None
    OpBranchConditional %condition %then %end
    %then = OpLabel
    OpBranch %end
    %end = OpLabel
    OpReturn
    OpFunctionEnd
    {})",
                     kLaunchDeclarations, variables, body, functions);
}

std::optional<LaunchInputs> inputs_of(std::string_view body, std::string_view variables = "",
                                      std::string_view functions = "") {
  const auto words = test::assemble(shader_of(body, variables, functions));
  EXPECT_EQ(test::validate(words), "");
  const Module module = test::parsed(words);
  return launch_inputs(module, module.entry_points().front());
}

TEST(LaunchInputs, constants_and_places_of_invocations_need_no_bytes) {
  const auto found = inputs_of(R"(
    %all = OpLoad %v3 %id
    %x = OpCompositeExtract %u32 %all 0
    %n = OpIAdd %u32 %x %spec)");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->push_constants, IsEmpty());
  EXPECT_FALSE(found->subgroups);
}

TEST(LaunchInputs, a_place_in_a_subgroup_is_told) {
  const auto found = inputs_of("%n = OpLoad %u32 %lane");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->subgroups);
}

TEST(LaunchInputs, push_constants_count_by_member) {
  const auto found = inputs_of(R"(
    %a = OpAccessChain %p_push %push %zero
    %unused = OpAccessChain %p_push_f32 %push %one
    %b = OpAccessChain %p_push %push %two %zero
    %from_a = OpLoad %u32 %a
    %from_unused = OpLoad %f32 %unused
    %from_b = OpLoad %u32 %b
    %n = OpIAdd %u32 %from_a %from_b)");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->push_constants, ElementsAre(Range{0, 4}, Range{16, 32}));
}

TEST(LaunchInputs, neighbouring_members_are_one_range_and_the_last_ends_with_its_type) {
  const auto found = inputs_of(R"(
    %a = OpAccessChain %p_push_f32 %push %one
    %b = OpAccessChain %p_push %push %two %zero
    %c = OpAccessChain %p_push_u64 %push %three
    %from_a = OpLoad %f32 %a
    %number = OpConvertFToU %u32 %from_a
    %from_b = OpLoad %u32 %b
    %from_c = OpLoad %u64 %c
    %low = OpUConvert %u32 %from_c
    %some = OpIAdd %u32 %from_b %number
    %n = OpIAdd %u32 %some %low)");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->push_constants, ElementsAre(Range{4, 8}, Range{16, 40}));
}

TEST(LaunchInputs, memory_that_others_write_ends_it) {
  EXPECT_FALSE(inputs_of(R"(
    %p = OpAccessChain %p_buffer %buffer %zero
    %n = OpLoad %u32 %p)"));
  EXPECT_FALSE(inputs_of(R"(
    %p = OpAccessChain %p_uniform %uniform %zero
    %n = OpLoad %u32 %p)"));
  EXPECT_FALSE(inputs_of("%n = OpLoad %u32 %shared"));
  EXPECT_FALSE(inputs_of(R"(
    %p = OpAccessChain %p_buffer %buffer %zero
    %n = OpAtomicIAdd %u32 %p %one %zero %one)"));
  EXPECT_FALSE(inputs_of(R"(
    %p = OpAccessChain %p_push_u64 %push %three
    %number = OpLoad %u64 %p
    %address = OpConvertUToPtr %p_address %number
    %n = OpLoad %u32 %address Aligned 4)"));
}

// The number %n is one of the image's size.
constexpr std::string_view kSizeOfTarget = R"(
    %image = OpLoad %target_image %target
    %size = OpImageQuerySize %v2 %image
    %n = OpCompositeExtract %u32 %size 1)";

TEST(LaunchInputs, sizes_of_images_and_buffers_count_by_binding) {
  const auto found = inputs_of(R"(
    %multi = OpLoad %sample_image %samples
    %number = OpImageQuerySamples %u32 %multi
    %list_pointer = OpAccessChain %p_list_block %lists %one
    %length = OpArrayLength %u32 %list_pointer 1
    %again = OpArrayLength %u32 %list_pointer 1
    %image = OpLoad %target_image %target
    %size = OpImageQuerySize %v2 %image
    %height = OpCompositeExtract %u32 %size 1
    %a = OpIAdd %u32 %number %length
    %b = OpIAdd %u32 %again %height
    %n = OpIAdd %u32 %a %b)");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->sizes, ElementsAre(Resource{1, 2}, Resource{1, 3}, Resource{2, 5}));
  EXPECT_THAT(found->push_constants, IsEmpty());
}

// The index of an array and the level are inputs of their own; all elements of the array count.
TEST(LaunchInputs, the_size_of_a_level_needs_the_level_and_the_element) {
  const auto size_of = [](std::string_view element, std::string_view level) {
    return inputs_of(fmt::format(R"(
    %memory = OpLoad %u32 %shared
    %p = OpAccessChain %p_push %push %zero
    %pushed = OpLoad %u32 %p
    %texture_pointer = OpAccessChain %p_texture %textures {}
    %image = OpLoad %texture %texture_pointer
    %size = OpImageQuerySizeLod %v2 %image {}
    %n = OpCompositeExtract %u32 %size 0)",
                                 element, level));
  };
  const auto constant = size_of("%one", "%two");
  ASSERT_TRUE(constant);
  EXPECT_THAT(constant->sizes, ElementsAre(Resource{0, 7}));
  EXPECT_THAT(constant->push_constants, IsEmpty());
  for (const auto& pushed : {size_of("%pushed", "%two"), size_of("%one", "%pushed")}) {
    ASSERT_TRUE(pushed);
    EXPECT_THAT(pushed->push_constants, ElementsAre(Range{0, 4}));
  }
  EXPECT_FALSE(size_of("%memory", "%two"));
  EXPECT_FALSE(size_of("%one", "%memory"));
}

TEST(LaunchInputs, images_are_followed_through_samplers_and_calls) {
  const auto levels = inputs_of(R"(
    %texture_pointer = OpAccessChain %p_texture %textures %one
    %image = OpLoad %texture %texture_pointer
    %copy = OpCopyObject %texture %image
    %s = OpLoad %plain_sampler %sampler
    %both = OpSampledImage %sampled %copy %s
    %alone = OpImage %texture %both
    %n = OpImageQueryLevels %u32 %alone)");
  ASSERT_TRUE(levels);
  EXPECT_THAT(levels->sizes, ElementsAre(Resource{0, 7}));
  const auto by_pointer = inputs_of("%n = OpFunctionCall %u32 %height_of %target", "", R"(
    %height_of = OpFunction %u32 None %u32_of_target
    %given = OpFunctionParameter %p_target
    %in_height_of = OpLabel
    %image = OpLoad %target_image %given
    %size = OpImageQuerySize %v2 %image
    %height = OpCompositeExtract %u32 %size 1
    OpReturnValue %height
    OpFunctionEnd)");
  ASSERT_TRUE(by_pointer);
  EXPECT_THAT(by_pointer->sizes, ElementsAre(Resource{1, 3}));
  const auto by_value = inputs_of(
      "%loaded = OpLoad %target_image %target\n%n = OpFunctionCall %u32 %height_of %loaded", "", R"(
    %height_of = OpFunction %u32 None %u32_of_image
    %given = OpFunctionParameter %target_image
    %in_height_of = OpLabel
    %size = OpImageQuerySize %v2 %given
    %height = OpCompositeExtract %u32 %size 1
    OpReturnValue %height
    OpFunctionEnd)");
  ASSERT_TRUE(by_value);
  EXPECT_THAT(by_value->sizes, ElementsAre(Resource{1, 3}));
}

// A descriptor heap has no bindings.
TEST(LaunchInputs, sizes_of_what_has_no_binding_end_it) {
  std::string text = shader_of(kSizeOfTarget);
  const auto inputs = [](const std::string& shader) {
    const auto words = test::assemble(shader);
    const Module module = test::parsed(words);
    return launch_inputs(module, module.entry_points().front());
  };
  EXPECT_TRUE(inputs(text));
  const std::string_view decoration = "OpDecorate %target Binding 3";
  text.erase(text.find(decoration), decoration.size());
  EXPECT_FALSE(inputs(text));
}

TEST(LaunchInputs, what_depends_on_the_active_invocations_ends_it) {
  EXPECT_FALSE(inputs_of(R"(
    %elected = OpGroupNonUniformElect %bool %three
    %n = OpSelect %u32 %elected %zero %three)"));
  EXPECT_FALSE(inputs_of("%n = OpGroupNonUniformIAdd %u32 %three Reduce %one"));
}

TEST(LaunchInputs, undefined_values_end_it) {
  EXPECT_FALSE(inputs_of("%n = OpUndef %u32"));
  EXPECT_FALSE(inputs_of("%n = OpCompositeExtract %u32 %half_undefined 0"));
  EXPECT_TRUE(inputs_of("%n = OpCompositeExtract %u32 %defined 0"));
  EXPECT_FALSE(inputs_of("%n = OpLoad %u32 %private"));
  EXPECT_FALSE(inputs_of("%n = OpLoad %u32 %own", "%own = OpVariable %p_own Function"));
}

// One block for each bank, with the same offsets.
TEST(LaunchInputs, push_constants_in_banks_end_it) {
  constexpr std::string_view kRead = "%p = OpAccessChain %p_push %push %zero\n%n = OpLoad %u32 %p";
  const auto inputs = [](const std::string& text) {
    // No tool here knows the capability, so it takes the place of another one.
    auto words = test::assemble(text);
    const test::Words quad = test::instruction(
        spv::Op::OpCapability, {static_cast<uint32_t>(spv::Capability::GroupNonUniformQuad)});
    const auto found = std::search(words.begin(), words.end(), quad.begin(), quad.end());
    if (found != words.end()) found[1] = 5423;
    const Module module = test::parsed(words);
    return launch_inputs(module, module.entry_points().front());
  };
  const std::string text = shader_of(kRead);
  EXPECT_TRUE(inputs(text));
  EXPECT_FALSE(inputs("OpCapability GroupNonUniformQuad\n" + text));
}

TEST(LaunchInputs, memory_that_no_branch_depends_on_does_not_matter) {
  EXPECT_TRUE(inputs_of(R"(
    %p = OpAccessChain %p_buffer %buffer %zero
    %read = OpLoad %u32 %p
    OpStore %shared %read
    OpStore %p %one
    %n = OpCopyObject %u32 %one)"));
}

TEST(LaunchInputs, own_variables_have_all_values_that_are_stored_there) {
  constexpr std::string_view kVariable = "%own = OpVariable %p_own Function %zero";
  EXPECT_TRUE(inputs_of(R"(
    OpStore %own %spec
    OpStore %private %one
    %a = OpLoad %u32 %own
    %b = OpLoad %u32 %private
    %n = OpIAdd %u32 %a %b)",
                        kVariable));
  // The order does not matter: the branch may be in a loop.
  EXPECT_FALSE(inputs_of(R"(
    %n = OpLoad %u32 %own
    %p = OpAccessChain %p_buffer %buffer %zero
    %read = OpLoad %u32 %p
    OpStore %own %read)",
                         kVariable));
  EXPECT_FALSE(inputs_of(R"(
    %read = OpLoad %u32 %shared
    OpStore %private %read
    %n = OpLoad %u32 %private)"));
}

TEST(LaunchInputs, the_place_in_an_array_matters_as_much_as_the_value) {
  constexpr std::string_view kVariable = "%own = OpVariable %p_numbers Function";
  constexpr std::string_view kRead = "%read = OpLoad %u32 %shared\n";
  EXPECT_TRUE(inputs_of(fmt::format(R"({}
    %p = OpAccessChain %p_own %own %two
    OpStore %p %one
    %n = OpLoad %u32 %p)",
                                    kRead),
                        kVariable));
  EXPECT_FALSE(inputs_of(fmt::format(R"({}
    %p = OpAccessChain %p_own %own %read
    OpStore %p %one
    %q = OpAccessChain %p_own %own %two
    %n = OpLoad %u32 %q)",
                                     kRead),
                         kVariable));
  EXPECT_FALSE(inputs_of(fmt::format(R"({}
    %p = OpAccessChain %p_own %own %read
    %n = OpLoad %u32 %p)",
                                     kRead),
                         kVariable));
}

struct CalleeType {
  std::string_view result, type, parameter;
};

constexpr CalleeType kU32OfU32 = {"%u32", "%u32_of_u32", "%u32"};
constexpr CalleeType kVoidOfPointer = {"%void", "%void_of_pointer", "%p_own"};

// The function %callee with the parameter %given.
std::string callee(const CalleeType& of, std::string_view body) {
  return fmt::format(R"(
    %callee = OpFunction {} None {}
    %given = OpFunctionParameter {}
    %of_callee = OpLabel
    {}
    OpFunctionEnd)",
                     of.result, of.type, of.parameter, body);
}

TEST(LaunchInputs, calls_pass_values_both_ways) {
  const auto call = [](std::string_view argument, std::string_view result) {
    return inputs_of(fmt::format("{}\n%n = OpFunctionCall %u32 %callee %argument", argument), "",
                     callee(kU32OfU32, fmt::format("{}\nOpReturnValue %result", result)));
  };
  constexpr std::string_view kFromMemory = "%argument = OpLoad %u32 %shared";
  constexpr std::string_view kConstant = "%argument = OpCopyObject %u32 %one";
  EXPECT_TRUE(call(kConstant, "%result = OpIAdd %u32 %given %one"));
  EXPECT_FALSE(call(kFromMemory, "%result = OpIAdd %u32 %given %one"));
  EXPECT_TRUE(call(kFromMemory, "%result = OpCopyObject %u32 %one"));
  EXPECT_FALSE(call(kConstant, "%result = OpLoad %u32 %shared"));
}

TEST(LaunchInputs, branches_of_callees_count) {
  const auto branch_on = [](std::string_view value) {
    return inputs_of(R"(
      %called = OpFunctionCall %u32 %callee %one
      %n = OpCopyObject %u32 %one)",
                     "",
                     callee(kU32OfU32, fmt::format(R"(
      %selector = {}
      OpSelectionMerge %default None
      OpSwitch %selector %default 1 %case
      %case = OpLabel
      OpBranch %default
      %default = OpLabel
      OpReturnValue %one)",
                                                   value)));
  };
  EXPECT_TRUE(branch_on("OpIAdd %u32 %given %one"));
  EXPECT_FALSE(branch_on("OpLoad %u32 %shared"));
}

TEST(LaunchInputs, a_callee_stores_through_its_pointer) {
  const auto store = [](std::string_view value) {
    return inputs_of(R"(
      %called = OpFunctionCall %void %callee %own
      %n = OpLoad %u32 %own)",
                     "%own = OpVariable %p_own Function",
                     callee(kVoidOfPointer, fmt::format(R"(
      %value = {}
      OpStore %given %value
      OpReturn)",
                                                        value)));
  };
  EXPECT_TRUE(store("OpCopyObject %u32 %one"));
  EXPECT_FALSE(store("OpLoad %u32 %shared"));
}

// 9 million pairs of a store and a call.
TEST(LaunchInputs, modules_that_would_take_long_have_none) {
  constexpr int kMany = 3000;
  std::string calls, stores;
  for (int i = 0; i < kMany; ++i) {
    calls += fmt::format("%called{} = OpFunctionCall %void %callee %own\n", i);
    stores += "OpStore %where %one\n";
  }
  EXPECT_FALSE(inputs_of(calls + "%n = OpLoad %u32 %own", "%own = OpVariable %p_own Function",
                         fmt::format(R"(
      %callee = OpFunction %void None %void_of_pointer
      %where = OpFunctionParameter %p_own
      %of_callee = OpLabel
      {}
      OpReturn
      OpFunctionEnd)",
                                     stores)));
}

TEST(LaunchInputs, an_instruction_that_may_write_to_a_variable_ends_it) {
  constexpr std::string_view kVariables = R"(
    %own = OpVariable %p_own_f32 Function
    %number = OpVariable %p_own Function %zero)";
  constexpr std::string_view kModf = R"(
    %read = OpLoad %u32 %shared
    %real = OpConvertUToF %f32 %read
    %fraction = OpExtInst %f32 %glsl Modf %real %own)";
  EXPECT_FALSE(
      inputs_of(fmt::format("{}\n%whole = OpLoad %f32 %own\n%n = OpConvertFToU %u32 %whole", kModf),
                kVariables));
  EXPECT_TRUE(inputs_of(fmt::format("{}\n%n = OpLoad %u32 %number", kModf), kVariables));
  EXPECT_FALSE(inputs_of("OpCopyMemory %number %shared\n%n = OpLoad %u32 %number", kVariables));
}

TEST(LaunchInputs, a_counter_of_a_loop_is_followed_around_it) {
  const auto words = test::assemble(fmt::format(R"({}
    %main = OpFunction %void None %function
    %first = OpLabel
    %p = OpAccessChain %p_push %push %zero
    %n = OpLoad %u32 %p
    OpBranch %header
    %header = OpLabel
    %i = OpPhi %u32 %zero %first %next %continue
    %condition = OpULessThan %bool %i %n
    OpLoopMerge %end %continue None
    OpBranchConditional %condition %continue %end
    %continue = OpLabel
    %next = OpIAdd %u32 %i %one
    OpBranch %header
    %end = OpLabel
    OpReturn
    OpFunctionEnd)",
                                                kLaunchDeclarations));
  const Module module = test::parsed(words);
  const auto found = launch_inputs(module, module.entry_points().front());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->push_constants, ElementsAre(Range{0, 4}));
}

TEST(LaunchInputs, only_compute_shaders_have_them) {
  const Module module = test::parsed(test::corpus_module("lit.frag.debug.spv"));
  EXPECT_FALSE(launch_inputs(module, module.entry_points().front()));
}

// Debug information names variables, and writes to none.
TEST(LaunchInputs, debug_information_changes_nothing) {
  for (const test::NamedModule& named : test::corpus()) {
    const size_t debug = named.name.find(".debug.spv");
    if (debug == std::string::npos) continue;
    const auto inputs = [](const test::Words& words) {
      const Module module = test::parsed(words);
      const auto found = launch_inputs(module, module.entry_points().front());
      return found ? std::optional(found->push_constants) : std::nullopt;
    };
    const std::string plain = named.name.substr(0, debug) + ".spv";
    const auto other = std::ranges::find(test::corpus(), plain, &test::NamedModule::name);
    if (other != test::corpus().end()) {
      EXPECT_EQ(inputs(named.words), inputs(other->words)) << named.name;
    }
  }
}

}  // namespace
}  // namespace tally::spirv
