#include "spirv/pass/block_count.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spirv-tools/libspirv.hpp>

#include "probe/record.h"
#include "spirv/block_map.h"
#include "spirv/newer_enums.h"
#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using test::validate;
using testing::HasSubstr;
using testing::Not;

std::vector<uint32_t> assemble(const std::string& text) {
  return test::assemble(text, make_version(1, 3));
}

// With names for ids, which expectations can rely on.
std::string disassemble(std::span<const uint32_t> words) {
  std::string text;
  const spvtools::SpirvTools tools(SPV_ENV_UNIVERSAL_1_6);
  if (!tools.Disassemble(
          words.data(), words.size(), &text,
          SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES)) {
    throw std::runtime_error("does not disassemble");
  }
  return text;
}

// A module's text up to the names.
std::string header(const std::string& entry, const std::string& extra_capabilities = "") {
  return "OpCapability Shader\n" + extra_capabilities + "OpMemoryModel Logical GLSL450\n" + entry;
}

const std::string kCompute =
    "OpEntryPoint GLCompute %main \"main\"\n"
    "OpExecutionMode %main LocalSize 4 1 1\n";
const std::string kTypes =
    "%void = OpTypeVoid\n"
    "%bool = OpTypeBool\n"
    "%true = OpConstantTrue %bool\n"
    "%fn = OpTypeFunction %void\n";
// if (true) { return; }
const std::string kEarlyReturn =
    "%main = OpFunction %void None %fn\n"
    "%start = OpLabel\n"
    "OpSelectionMerge %rest None\n"
    "OpBranchConditional %true %early %rest\n"
    "%early = OpLabel\n"
    "OpReturn\n"
    "%rest = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n";

const std::string kStraight =
    "%main = OpFunction %void None %fn\n%start = OpLabel\nOpReturn\nOpFunctionEnd\n";

BlockCountOptions compute_options() {
  BlockCountOptions options;
  options.address.push_constant_offset = 16;
  options.int64 = options.int64_atomics = true;
  options.subgroup_operations = true;
  options.max_shards_log2 = 6;
  return options;
}

BlockCountOptions fragment_options() {
  BlockCountOptions options = compute_options();
  options.stage = spv::ExecutionModel::Fragment;
  return options;
}

// Instruments, requires validity and gives the result.
BlockCountResult instrument(const std::vector<uint32_t>& words, const BlockCountOptions& options) {
  auto result = add_block_counts(words, options);
  if (!result) throw std::runtime_error(result.error().message);
  const std::string message = validate(result->words);
  if (!message.empty()) throw std::runtime_error(message + "\n" + disassemble(result->words));
  return *result;
}

std::string instrumented(const std::string& text, const BlockCountOptions& options) {
  return disassemble(instrument(assemble(text), options).words);
}

std::string refusal(const std::string& text, const BlockCountOptions& options) {
  const auto result = add_block_counts(assemble(text), options);
  return result ? "accepted" : result.error().message;
}

size_t count_of(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(BlockCount, one_flush_stands_behind_all_returns_of_the_entry_point) {
  const std::string text =
      instrumented(header(kCompute) + kTypes + kEarlyReturn, compute_options());
  // %early counts itself in a flag.
  EXPECT_THAT(text, testing::ContainsRegex("OpBitwiseOr %uint %[0-9]+ %uint_1\n"
                                           " *OpStore %[0-9]+ %[0-9]+\n"
                                           " *OpReturn\n"));
  EXPECT_THAT(text, testing::ContainsRegex("%tally_main = OpFunction .*\n"
                                           ".*OpLabel\n"
                                           ".*OpFunctionCall %void %[0-9]+\n"
                                           ".*OpFunctionCall %void %tally_flush\n"
                                           " *OpReturn\n"));
  EXPECT_THAT(text, HasSubstr("OpEntryPoint GLCompute %tally_main \"main\""));
  EXPECT_THAT(text, HasSubstr("OpExecutionMode %tally_main LocalSize 4 1 1"));
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_flush"), 1u);
}

TEST(BlockCount, the_flush_stands_before_every_return_where_that_is_asked_for) {
  BlockCountOptions options = compute_options();
  options.single_exit = false;
  const std::string text = instrumented(header(kCompute) + kTypes + kEarlyReturn, options);
  EXPECT_THAT(text, testing::ContainsRegex("OpFunctionCall %void %tally_flush\n *OpReturn\n"));
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_flush"), 2u);
}

TEST(BlockCount, the_rarer_side_of_an_early_return_is_counted) {
  const auto result =
      instrument(assemble(header(kCompute) + kTypes + kEarlyReturn), compute_options());
  // Counter 0 is the entry, counter 1 the early return.
  EXPECT_EQ(result.plan.counter_count, 2u);
  EXPECT_EQ(result.plan.counters_per_shard % probe::kStrideGranularity, 0u);
  const std::vector<uint64_t> counters{10, 3};
  EXPECT_EQ(result.plan.derive(counters).executions, (std::vector<uint64_t>{10, 3, 7}));
}

// No invocation but the first adds where nothing else is to be counted.
TEST(BlockCount, the_first_invocation_counts_a_whole_dispatch) {
  BlockCountOptions options = compute_options();
  options.whole_dispatches = true;
  const auto result = instrument(assemble(header(kCompute) + kTypes + kStraight), options);
  const std::string text = disassemble(result.words);
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_count_dispatch"), 1u);
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_flush"), 0u);
  EXPECT_THAT(text, HasSubstr("BuiltIn NumWorkgroups"));
  EXPECT_EQ(result.plan.counter_count, 1u);
  EXPECT_EQ(result.plan.derive(std::vector<uint64_t>{42}).executions, std::vector<uint64_t>{42});
}

// The order of counters: that of the dispatch is the last.
TEST(BlockCount, blocks_are_derived_from_the_count_of_a_dispatch) {
  BlockCountOptions options = compute_options();
  options.whole_dispatches = true;
  const auto result = instrument(assemble(header(kCompute) + kTypes + kEarlyReturn), options);
  EXPECT_EQ(result.plan.counter_count, 2u);
  EXPECT_EQ(result.plan.derive(std::vector<uint64_t>{3, 10}).executions,
            (std::vector<uint64_t>{10, 3, 7}));
}

TEST(BlockCount, only_private_counts_of_compute_shaders_know_a_whole_dispatch) {
  BlockCountOptions options = compute_options();
  options.whole_dispatches = true;
  options.counting = Counting::Subgroup;
  EXPECT_EQ(count_of(instrumented(header(kCompute) + kTypes + kStraight, options), "NumWorkgroups"),
            0u);
}

TEST(BlockCount, identity_changes_no_byte) {
  BlockCountOptions options = compute_options();
  options.identity = true;
  const auto words = assemble(header(kCompute) + kTypes + kEarlyReturn);
  EXPECT_EQ(instrument(words, options).words, words);
}

TEST(BlockCount, the_same_input_gives_the_same_words) {
  const auto words = assemble(header(kCompute) + kTypes + kEarlyReturn);
  EXPECT_EQ(instrument(words, compute_options()).words, instrument(words, compute_options()).words);
}

TEST(BlockCount, blocks_are_those_of_the_public_numbering) {
  const auto words =
      assemble(header(kCompute) + kTypes +
               "%unused = OpFunction %void None %fn\n%u = OpLabel\nOpReturn\nOpFunctionEnd\n" +
               kEarlyReturn);
  const auto result = instrument(words, compute_options());
  const auto module = Module::parse(words);
  const auto map = BlockMap::build(*module, spv::ExecutionModel::GLCompute, "main");
  EXPECT_EQ(result.plan.block_count, map->blocks().size());
  EXPECT_EQ(result.plan.block_count, 3u);
}

TEST(BlockCount, blocks_that_nothing_reaches_count_zero) {
  const auto result =
      instrument(assemble(header(kCompute) + kTypes +
                          "%main = OpFunction %void None %fn\n%start = OpLabel\nOpReturn\n"
                          "%dead = OpLabel\nOpReturn\nOpFunctionEnd\n"),
                 compute_options());
  const std::vector<uint64_t> counters{9};
  EXPECT_EQ(result.plan.derive(counters).executions, (std::vector<uint64_t>{9, 0}));
}

TEST(BlockCount, code_stands_behind_phis_and_variables) {
  const std::string text = instrumented(
      header(kCompute) + kTypes +
          "%int = OpTypeInt 32 1\n%zero = OpConstant %int 0\n%one = OpConstant %int 1\n"
          "%pointer = OpTypePointer Function %int\n"
          "%main = OpFunction %void None %fn\n%start = OpLabel\n%local = OpVariable %pointer "
          "Function\n"
          "OpSelectionMerge %join None\nOpBranchConditional %true %a %b\n"
          "%a = OpLabel\nOpBranch %join\n%b = OpLabel\nOpBranch %join\n"
          "%join = OpLabel\n%value = OpPhi %int %zero %a %one %b\nOpStore %local %value\nOpReturn\n"
          "OpFunctionEnd\n",
      [] {
        BlockCountOptions options = compute_options();
        options.placement = Placement::Every;
        options.counting = Counting::Lane;
        return options;
      }());
  EXPECT_THAT(text,
              testing::ContainsRegex("OpVariable %_ptr_Function_int Function\n"
                                     " *%[0-9]+ = OpFunctionCall %void %tally_count %uint_0\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("OpPhi %int [^\n]*\n"
                                     " *%[0-9]+ = OpFunctionCall %void %tally_count %uint_3\n"));
}

TEST(BlockCount, other_entry_points_are_removed) {
  const std::string text = instrumented(
      header(kCompute +
             "OpEntryPoint GLCompute %other \"other\"\nOpExecutionMode %other LocalSize 8 1 1\n") +
          kTypes + kEarlyReturn +
          "%other = OpFunction %void None %fn\n%o = OpLabel\nOpReturn\nOpFunctionEnd\n",
      compute_options());
  EXPECT_EQ(count_of(text, "OpEntryPoint"), 1u);
  EXPECT_EQ(count_of(text, "LocalSize"), 1u);
}

TEST(BlockCount, sixty_four_bit_atomics_are_used_where_the_device_has_them) {
  const std::string with =
      instrumented(header(kCompute) + kTypes + kEarlyReturn, compute_options());
  EXPECT_THAT(with, HasSubstr("OpCapability Int64Atomics"));
  EXPECT_THAT(with, HasSubstr("OpAtomicIAdd %ulong"));
  BlockCountOptions options = compute_options();
  options.int64_atomics = false;
  const std::string without = instrumented(header(kCompute) + kTypes + kEarlyReturn, options);
  EXPECT_THAT(without, Not(HasSubstr("Int64")));
  EXPECT_EQ(count_of(without, "OpAtomicIAdd %uint"), 2u);  // low word, and the carry
}

TEST(BlockCount, subgroup_operations_need_spirv_1_3) {
  const std::string text = header(kCompute) + kTypes + kEarlyReturn;
  auto words = assemble(text);
  words[1] = 0x00010000;
  BlockCountOptions options = compute_options();
  const auto raised = add_block_counts(words, options);
  EXPECT_EQ(raised->words[1], 0x00010300u);
  EXPECT_THAT(disassemble(raised->words), HasSubstr("OpGroupNonUniformBallot"));
  options.spirv_version_limit = 0x00010000;
  const auto kept = add_block_counts(words, options);
  EXPECT_EQ(kept->words[1], 0x00010000u);
  EXPECT_THAT(disassemble(kept->words), Not(HasSubstr("GroupNonUniform")));
}

TEST(BlockCount, geometry_stages_add_by_lane) {
  BlockCountOptions options = compute_options();
  options.stage = spv::ExecutionModel::Vertex;
  const std::string text =
      instrumented(header("OpEntryPoint Vertex %main \"main\"\n") + kTypes + kEarlyReturn, options);
  EXPECT_THAT(text, Not(HasSubstr("GroupNonUniform")));
}

TEST(BlockCount, atomics_of_the_vulkan_memory_model_have_queue_family_scope) {
  const std::string text = instrumented(
      "OpCapability Shader\nOpCapability VulkanMemoryModel\n"
      "OpExtension \"SPV_KHR_vulkan_memory_model\"\nOpMemoryModel Logical Vulkan\n" +
          kCompute + kTypes + kEarlyReturn,
      compute_options());
  EXPECT_THAT(text, HasSubstr("OpMemoryModel PhysicalStorageBuffer64 Vulkan"));
  EXPECT_THAT(text, testing::ContainsRegex("OpAtomicIAdd %ulong %[0-9]+ %uint_5 %uint_0"));
}

TEST(BlockCount, without_push_constants_the_entry_point_gets_its_own) {
  const std::string text =
      instrumented(header(kCompute) + kTypes + kEarlyReturn, compute_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 0 Offset 16"));
}

const std::string kPush =
    "OpDecorate %Push Block\nOpMemberDecorate %Push 0 Offset 0\nOpMemberDecorate %Push 1 Offset "
    "4\n";
const std::string kPushTypes =
    "%float = OpTypeFloat 32\n%Push = OpTypeStruct %float %float\n"
    "%push_pointer = OpTypePointer PushConstant %Push\n"
    "%push = OpVariable %push_pointer PushConstant\n";

std::string use_of_push_constants(const std::string& use, const std::string& types = "") {
  return header(kCompute) + kPush + kTypes + kPushTypes + types +
         "%main = OpFunction %void None %fn\n%start = OpLabel\n" + use +
         "OpReturn\nOpFunctionEnd\n";
}

// A block of so many floats, one behind the other.
std::string use_of_array_of_push_constants(int length) {
  return header(kCompute) +
         "OpDecorate %floats ArrayStride 4\nOpMemberDecorate %Push 0 Offset 0\n"
         "OpDecorate %Push Block\n" +
         std::string(kTypes) +
         fmt::format(
             "%float = OpTypeFloat 32\n%u32 = OpTypeInt 32 0\n%length = OpConstant %u32 {}\n",
             length) +
         "%floats = OpTypeArray %float %length\n%Push = OpTypeStruct %floats\n"
         "%push_pointer = OpTypePointer PushConstant %Push\n"
         "%push = OpVariable %push_pointer PushConstant\n"
         "%main = OpFunction %void None %fn\n%start = OpLabel\n"
         "%all = OpLoad %Push %push\nOpReturn\nOpFunctionEnd\n";
}

TEST(BlockCount, push_constants_get_a_further_member) {
  const std::string text =
      instrumented(use_of_push_constants(
                       "%at = OpAccessChain %float_pointer %push %one\n%v = OpLoad %float %at\n",
                       "%int = OpTypeInt 32 1\n%one = OpConstant %int 1\n"
                       "%float_pointer = OpTypePointer PushConstant %float\n"),
                   compute_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpTypeStruct %float %float %v2uint"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 1 Offset 4"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 2 Offset 16"));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 1u);
}

TEST(BlockCount, push_constants_loaded_as_a_whole_are_loaded_by_member) {
  const std::string text =
      instrumented(use_of_push_constants("%all = OpLoad %Push %push\n"), compute_options());
  EXPECT_THAT(text,
              testing::ContainsRegex("OpCompositeConstruct %[A-Za-z0-9_]+ %[0-9]+ %[0-9]+\n"));
}

// zink lists its push constants whether or not a shader uses them, and Mesa takes no second ones.
TEST(BlockCount, push_constants_that_are_not_used_get_the_member_too) {
  const std::string unused = use_of_push_constants("");
  const std::string text = instrumented(unused, compute_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpTypeStruct %float %float %v2uint"));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 1u);

  std::string listed = unused;
  listed.replace(listed.find("\"main\""), 6, "\"main\" %push");
  auto words = test::assemble(listed, make_version(1, 5));
  EXPECT_EQ(count_of(disassemble(instrument(words, compute_options()).words),
                     "OpVariable %_ptr_PushConstant"),
            1u);
}

TEST(BlockCount, push_constants_of_other_entry_points_stay_as_they_are) {
  const auto words = test::assemble(use_of_push_constants(""), make_version(1, 5));
  const std::string text = disassemble(instrument(words, compute_options()).words);
  EXPECT_THAT(text, HasSubstr("OpVariable %_ptr_PushConstant__struct_2 "));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 2u);
}

TEST(BlockCount, unused_push_constants_in_the_way_stay_as_they_are) {
  BlockCountOptions options = compute_options();
  options.address.push_constant_offset = 0;
  const std::string text = instrumented(use_of_push_constants(""), options);
  EXPECT_THAT(text, HasSubstr("OpVariable %_ptr_PushConstant__struct_2 "));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 2u);
}

TEST(BlockCount, push_constants_in_the_way_are_refused) {
  BlockCountOptions options = compute_options();
  options.address.push_constant_offset = 0;
  EXPECT_EQ(refusal(use_of_push_constants("%all = OpLoad %Push %push\n"), options),
            "its push-constant block reaches beyond byte 0");
  EXPECT_EQ(refusal(use_of_array_of_push_constants(5), compute_options()),
            "its push-constant block reaches beyond byte 16");
  EXPECT_EQ(count_of(instrumented(use_of_array_of_push_constants(4), compute_options()),
                     "OpVariable %_ptr_PushConstant"),
            1u);
  options.address.push_constant_offset = 12;
  EXPECT_EQ(refusal(use_of_push_constants(""), options),
            "the push constant's offset is no multiple of 8");
}

TEST(BlockCount, push_constants_whose_address_is_taken_are_refused) {
  EXPECT_EQ(refusal(use_of_push_constants("%copy = OpCopyObject %push_pointer %push\n"),
                    compute_options()),
            "it takes the address of its push-constant block");
}

TEST(BlockCount, a_uniform_buffer_may_hold_the_address) {
  BlockCountOptions options = compute_options();
  options.address = {AddressSource::Kind::UniformBuffer, 0, 7, 2};
  const std::string text = instrumented(header(kCompute) + kTypes + kEarlyReturn, options);
  EXPECT_THAT(text, testing::ContainsRegex("OpDecorate %[0-9]+ DescriptorSet 7"));
  EXPECT_THAT(text, testing::ContainsRegex("OpDecorate %[0-9]+ Binding 2"));
  EXPECT_THAT(text, Not(HasSubstr("PushConstant")));
}

TEST(BlockCount, from_spirv_1_4_on_every_variable_is_listed) {
  auto words = assemble(header(kCompute) + kTypes + kEarlyReturn);
  words[1] = 0x00010400;
  const std::string newer = disassemble(add_block_counts(words, compute_options())->words);
  words[1] = 0x00010300;
  const std::string older = disassemble(add_block_counts(words, compute_options())->words);
  const auto listed = [](const std::string& text) {
    const size_t at = text.find("OpEntryPoint");
    return count_of(text.substr(at, text.find('\n', at) - at), " %");
  };
  EXPECT_EQ(listed(newer), count_of(newer, "= OpVariable %_ptr_") + 1);  // and the function
  EXPECT_EQ(listed(older), count_of(older, "= OpVariable %_ptr_Input") + 1);
}

TEST(BlockCount, what_cannot_be_instrumented_is_refused_with_the_reason) {
  const std::string text = header(kCompute) + kTypes + kEarlyReturn;
  BlockCountOptions options = compute_options();
  options.entry_point = "other";
  EXPECT_EQ(refusal(text, options), "it has no compute entry point \"other\"");
  options = compute_options();
  options.stage = spv::ExecutionModel::Kernel;
  EXPECT_EQ(refusal(text, options), "its stage (execution model 6) is not known");
  EXPECT_EQ(refusal("OpCapability Kernel\nOpCapability Addresses\nOpMemoryModel Physical64 OpenCL\n"
                    "OpEntryPoint GLCompute %main \"main\"\n" +
                        kTypes + kEarlyReturn,
                    compute_options()),
            "its addressing model is not one of Vulkan's");
  EXPECT_EQ(refusal(header(kCompute) + kTypes +
                        "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                        "%call = OpFunctionCall %void %again\nOpReturn\nOpFunctionEnd\n"
                        "%again = OpFunction %void None %fn\n%a = OpLabel\n"
                        "%b = OpFunctionCall %void %again\nOpReturn\nOpFunctionEnd\n",
                    compute_options()),
            "a function calls itself");
  const std::vector<uint32_t> junk{1, 2, 3};
  EXPECT_FALSE(add_block_counts(junk, compute_options()));
}

// Cooperative matrices: per element (operands: matrix, function), when reduced (matrix, mask,
// function) and when loaded (pointer, object, layout, no memory operands, those of tensors: bit 1
// is the decoding function). How often is the implementation's choice.
TEST(BlockCount, functions_that_are_not_called_by_calls_alone_are_refused) {
  std::vector<uint32_t> words =
      assemble(header(kCompute) + kTypes +
               "%main = OpFunction %void None %fn\n%start = OpLabel\n"
               "%call = OpFunctionCall %void %element\nOpReturn\nOpFunctionEnd\n"
               "%element = OpFunction %void None %fn\n%a = OpLabel\nOpReturn\nOpFunctionEnd\n");
  ASSERT_TRUE(add_block_counts(words, compute_options()));
  const Module module = test::parsed(words);
  const uint32_t at = module.word_offset(module.blocks()[0].begin + 1);
  const uint32_t type = words[at + 1], result = words[at + 2], function = words[at + 3];
  words.erase(words.begin() + at, words.begin() + at + 4);
  const auto with = [&](spv::Op opcode, std::initializer_list<uint32_t> operands) {
    const test::Words call = test::instruction(opcode, operands);
    std::vector<uint32_t> changed = words;
    changed.insert(changed.begin() + at, call.begin(), call.end());
    const auto answer = add_block_counts(changed, compute_options());
    return answer ? "accepted" : answer.error().message;
  };
  const auto is_refused = HasSubstr("cooperative matrices");
  EXPECT_THAT(with(newer::OpCooperativeMatrixPerElementOpNV, {type, result, 1, function}),
              is_refused);
  EXPECT_THAT(with(newer::OpCooperativeMatrixReduceNV, {type, result, 1, 0, function}), is_refused);
  EXPECT_THAT(with(newer::OpCooperativeMatrixLoadTensorNV, {type, result, 1, 1, 1, 0, 2, function}),
              is_refused);
}

// A fragment shader: `body` between its first label and its return.
std::string fragment(const std::string& body, const std::string& capabilities = "",
                     const std::string& modes = "", const std::string& interface = "",
                     const std::string& globals = "", const std::string& decorations = "") {
  return header("OpEntryPoint Fragment %main \"main\"" + interface +
                    "\nOpExecutionMode %main OriginUpperLeft\n" + modes,
                capabilities) +
         decorations + kTypes + globals + "%main = OpFunction %void None %fn\n%start = OpLabel\n" +
         body + "OpFunctionEnd\n";
}

TEST(BlockCount, helpers_are_asked_for_in_fragment_shaders) {
  const std::string text = instrumented(fragment("OpReturn\n"), fragment_options());
  EXPECT_THAT(text, HasSubstr("BuiltIn HelperInvocation"));
  EXPECT_THAT(text, testing::ContainsRegex("OpLogicalNot %bool %[0-9]+\n"));
}

TEST(BlockCount, what_is_counted_is_added_before_a_kill) {
  const std::string text =
      instrumented(fragment("OpSelectionMerge %rest None\nOpBranchConditional %true %dies %rest\n"
                            "%dies = OpLabel\nOpKill\n%rest = OpLabel\nOpReturn\n"),
                   fragment_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpFunctionCall %void %tally_flush\n *OpKill\n"));
}

TEST(BlockCount, what_is_counted_is_added_before_a_demotion_and_nothing_after_it) {
  const auto result = instrument(
      assemble(
          "OpCapability Shader\nOpCapability DemoteToHelperInvocation\n"
          "OpExtension \"SPV_EXT_demote_to_helper_invocation\"\nOpMemoryModel Logical GLSL450\n"
          "OpEntryPoint Fragment %main \"main\"\nOpExecutionMode %main OriginUpperLeft\n" +
          kTypes +
          "%main = OpFunction %void None %fn\n%start = OpLabel\n"
          "OpSelectionMerge %rest None\nOpBranchConditional %true %fades %rest\n"
          "%fades = OpLabel\nOpDemoteToHelperInvocation\nOpBranch %rest\n"
          "%rest = OpLabel\nOpReturn\nOpFunctionEnd\n"),
      fragment_options());
  const std::string text = disassemble(result.words);
  EXPECT_THAT(text, testing::ContainsRegex("OpFunctionCall %void %tally_flush\n"
                                           " *OpDemoteToHelperInvocation\n"));
  EXPECT_THAT(text, HasSubstr("= OpIsHelperInvocationEXT %bool"));
  // Counters: the entry and the fading block; the rest is what did not fade.
  const std::vector<uint64_t> counters{10, 4};
  EXPECT_EQ(result.plan.derive(counters).executions, (std::vector<uint64_t>{10, 4, 6}));
}

TEST(BlockCount, a_block_is_cut_behind_a_call_that_may_not_return) {
  BlockCountOptions options = fragment_options();
  options.placement = Placement::Every;
  const auto result = instrument(
      assemble(
          fragment("%c = OpFunctionCall %void %maybe\n%d = OpFunctionCall %void %maybe\nOpReturn\n"
                   "OpFunctionEnd\n%maybe = OpFunction %void None %fn\n%m = OpLabel\n"
                   "OpSelectionMerge %back None\nOpBranchConditional %true %dies %back\n"
                   "%dies = OpLabel\nOpKill\n%back = OpLabel\nOpReturn\n")),
      options);
  EXPECT_EQ(result.plan.block_count, 4u);
  EXPECT_EQ(result.plan.counter_count, 6u);  // the first block has three parts
}

TEST(BlockCount, a_driver_that_drops_overdraw_sees_a_discard_that_is_never_taken) {
  BlockCountOptions options = fragment_options();
  const std::string straight = kTypes +
                               "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                               "OpReturn\nOpFunctionEnd\n";
  const std::string module =
      header("OpEntryPoint Fragment %main \"main\"\nOpExecutionMode %main OriginUpperLeft\n") +
      straight;
  EXPECT_THAT(instrumented(module, options), Not(HasSubstr("OpKill")));
  options.drops_overdraw = true;
  const std::string text = instrumented(module, options);
  EXPECT_EQ(count_of(text, "OpKill"), 1u);
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_never"), 1u);
  // It does not move the tests behind the shader.
  EXPECT_THAT(text, HasSubstr("EarlyFragmentTests"));
}

TEST(BlockCount, tests_stay_early_where_nobody_could_tell) {
  EXPECT_THAT(instrumented(fragment("OpReturn\n"), fragment_options()),
              HasSubstr("EarlyFragmentTests"));
}

TEST(BlockCount, tests_stay_late_where_the_picture_depends_on_it) {
  const auto expect_late = [](const std::string& text, BlockCountOptions options) {
    EXPECT_THAT(instrumented(text, options), Not(HasSubstr("EarlyFragmentTests"))) << text;
  };
  expect_late(fragment("OpKill\n"), fragment_options());
  const std::string float_output =
      "%float = OpTypeFloat 32\n%out_pointer = OpTypePointer Output %float\n"
      "%depth = OpVariable %out_pointer Output\n";
  expect_late(fragment("OpReturn\n", "", "OpExecutionMode %main DepthReplacing\n", " %depth",
                       float_output, "OpDecorate %depth BuiltIn FragDepth\n"),
              fragment_options());
  expect_late(
      fragment("%at = OpAccessChain %member %buffer %zero\nOpStore %at %zero\nOpReturn\n", "", "",
               "",
               "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n%block = OpTypeStruct %uint\n"
               "%pointer = OpTypePointer StorageBuffer %block\n"
               "%member = OpTypePointer StorageBuffer %uint\n"
               "%buffer = OpVariable %pointer StorageBuffer\n",
               "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
               "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n"),
      fragment_options());
  BlockCountOptions options = fragment_options();
  options.alpha_to_coverage = true;
  expect_late(fragment("OpReturn\n"), options);
}

TEST(BlockCount, a_builtin_that_is_there_is_used_again) {
  const std::string text = instrumented(
      fragment("%c = OpLoad %vec4 %coord\nOpReturn\n", "", "", " %coord",
               "%float = OpTypeFloat 32\n%vec4 = OpTypeVector %float 4\n"
               "%in_pointer = OpTypePointer Input %vec4\n%coord = OpVariable %in_pointer Input\n",
               "OpDecorate %coord BuiltIn FragCoord\n"),
      fragment_options());
  EXPECT_EQ(count_of(text, "BuiltIn FragCoord"), 1u);
}

}  // namespace
}  // namespace tally::spirv
