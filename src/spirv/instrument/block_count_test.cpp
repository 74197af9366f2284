#include "spirv/instrument/block_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "probe/record.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/block_map.h"
#include "spirv/ir/opcode.h"
#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::assemble_1_3;
using test::compute_options;
using test::count_of;
using test::header;
using test::instrument;
using test::instrumented;
using test::kCompute;
using test::kEarlyReturn;
using test::kTypes;
using test::readable;
using test::refusal;
using testing::HasSubstr;
using testing::Not;

const std::string kStraight =
    "%main = OpFunction %void None %fn\n%start = OpLabel\nOpReturn\nOpFunctionEnd\n";

TEST(BlockCount, the_rarer_side_of_an_early_return_is_counted) {
  const auto result =
      instrument(assemble_1_3(header(kCompute) + kTypes + kEarlyReturn), compute_options());
  // Counter 0 is the entry, counter 1 the early return.
  EXPECT_EQ(result.plan.counter_count, 2u);
  const std::vector<uint64_t> counters{10, 3};
  EXPECT_EQ(derive(result.plan, counters).executions, (std::vector<uint64_t>{10, 3, 7}));
}

// Blocks: 0 and 1 of main, which calls %plain twice in block 0 and %branches once in block 1; 2 of
// %plain; 3 to 5 of %branches.
TEST(BlockCount, subgroups_are_counted_only_where_lanes_may_part) {
  const std::string callees =
      "%plain = OpFunction %void None %fn\n%p = OpLabel\nOpReturn\nOpFunctionEnd\n"
      "%branches = OpFunction %void None %fn\n%b = OpLabel\n%x = OpUndef %bool\n"
      "OpSelectionMerge %m None\nOpBranchConditional %x %y %m\n%y = OpLabel\nOpBranch %m\n"
      "%m = OpLabel\nOpReturn\nOpFunctionEnd\n";
  const std::string main =
      "%main = OpFunction %void None %fn\n%start = OpLabel\n%c = OpFunctionCall %void %plain\n"
      "%d = OpFunctionCall %void %plain\nOpBranch %next\n%next = OpLabel\n"
      "%e = OpFunctionCall %void %branches\nOpReturn\nOpFunctionEnd\n";
  BlockCountOptions options = compute_options();
  options.count_subgroups = true;
  const auto plan =
      instrument(assemble_1_3(header(kCompute) + kTypes + main + callees), options).plan;
  // Counters: executions of main and of %y; subgroups of main, %y and %m.
  ASSERT_EQ(plan.counter_count, 5u);
  const std::vector<uint64_t> counters{64, 10, 2, 1, 3};
  EXPECT_EQ(derive(plan, counters).subgroups, (std::vector<uint64_t>{2, 2, 4, 2, 1, 3}));
  options.placement = Placement::Every;
  EXPECT_EQ(instrument(assemble_1_3(header(kCompute) + kTypes + main + callees), options)
                .plan.counter_count,
            12u);
}

TEST(BlockCount, the_same_input_gives_the_same_words) {
  const auto words = assemble_1_3(header(kCompute) + kTypes + kEarlyReturn);
  EXPECT_EQ(instrument(words, compute_options()).words, instrument(words, compute_options()).words);
}

TEST(BlockCount, blocks_are_those_of_the_public_numbering) {
  const auto words =
      assemble_1_3(header(kCompute) + kTypes +
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
      instrument(assemble_1_3(header(kCompute) + kTypes +
                              "%main = OpFunction %void None %fn\n%start = OpLabel\nOpReturn\n"
                              "%dead = OpLabel\nOpReturn\nOpFunctionEnd\n"),
                 compute_options());
  const std::vector<uint64_t> counters{9};
  EXPECT_EQ(derive(result.plan, counters).executions, (std::vector<uint64_t>{9, 0}));
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
  EXPECT_THAT(without, HasSubstr("OpAtomicIAdd %uint"));
  EXPECT_EQ(count_of(without, "OpAtomicIAdd %uint") % 2, 0u);  // low word, and the carry
}

TEST(BlockCount, subgroup_operations_raise_the_version_to_spirv_1_3) {
  const std::string text = header(kCompute) + kTypes + kEarlyReturn;
  auto words = assemble_1_3(text);
  words[1] = 0x00010000;
  const auto raised = add_block_counts(words, compute_options());
  EXPECT_EQ(raised->words[1], 0x00010300u);
  EXPECT_THAT(readable(raised->words), HasSubstr("OpGroupNonUniformBallot"));
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

TEST(BlockCount, a_uniform_buffer_may_hold_the_address) {
  BlockCountOptions options = compute_options();
  options.address = {AddressSource::Kind::UniformBuffer, 0, 7, 2};
  const std::string text = instrumented(header(kCompute) + kTypes + kEarlyReturn, options);
  EXPECT_THAT(text, testing::ContainsRegex("OpDecorate %[0-9]+ DescriptorSet 7"));
  EXPECT_THAT(text, testing::ContainsRegex("OpDecorate %[0-9]+ Binding 2"));
  EXPECT_THAT(text, Not(HasSubstr("PushConstant")));
}

// SwiftShader dies where its optimiser runs out of ids.
TEST(BlockCount, a_bound_near_the_limit_is_refused_with_the_reason) {
  auto words = assemble_1_3(header(kCompute) + kTypes + kEarlyReturn);
  words[3] = kBoundLimit - 10'000;
  EXPECT_LT(test::instrument(words, compute_options()).words[3], kBoundLimit - 9'000);
  words[3] = kBoundLimit - 1'000;
  EXPECT_EQ(test::validate(words), "");
  const auto result = add_block_counts(words, compute_options());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "SPIR-V: its bound of ids, 4193303, leaves too few for further code");
}

TEST(BlockCount, from_spirv_1_4_on_every_variable_is_listed) {
  auto words = assemble_1_3(header(kCompute) + kTypes + kEarlyReturn);
  words[1] = 0x00010400;
  const std::string newer = readable(add_block_counts(words, compute_options())->words);
  words[1] = 0x00010300;
  const std::string older = readable(add_block_counts(words, compute_options())->words);
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
            "Vulkan does not support its addressing model");
  EXPECT_EQ(refusal(header(kCompute) + kTypes +
                        "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                        "%call = OpFunctionCall %void %again\nOpReturn\nOpFunctionEnd\n"
                        "%again = OpFunction %void None %fn\n%a = OpLabel\n"
                        "%b = OpFunctionCall %void %again\nOpReturn\nOpFunctionEnd\n",
                    compute_options()),
            "a function calls itself");
  EXPECT_EQ(
      refusal(header(kCompute) + kTypes + "%main = OpFunction %void None %fn\nOpFunctionEnd\n",
              compute_options()),
      "one of its functions has no body");
  EXPECT_EQ(refusal(header(kCompute) + kTypes +
                        "%other = OpFunction %void None %fn\nOpFunctionEnd\n"
                        "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                        "%call = OpFunctionCall %void %other\nOpReturn\nOpFunctionEnd\n",
                    compute_options()),
            "one of its functions has no body");
  const std::vector<uint32_t> junk{1, 2, 3};
  EXPECT_FALSE(add_block_counts(junk, compute_options()));
}

// A module whose entry point calls %element by an instruction on cooperative matrices, which Debian
// 12's SPIRV-Tools do not know: it takes the place of a call.
struct MatrixModule {
  std::vector<uint32_t> words;
  uint32_t element, helper, decoder;  // ids of functions
};

MatrixModule matrix_module(const std::function<test::Words(uint32_t type, uint32_t result,
                                                           const MatrixModule& module)>& calls,
                           const std::string& body = "") {
  const std::string function = " = OpFunction %void None %fn\n";
  MatrixModule made;
  made.words = assemble_1_3(
      header(kCompute) + "OpName %element \"element\"\n" + kTypes +
      "%main = OpFunction %void None %fn\n%start = OpLabel\n%call = OpFunctionCall %void %element\n"
      "%other = OpFunctionCall %void %helper\nOpSelectionMerge %rest None\n"
      "OpBranchConditional %true %early %rest\n%early = OpLabel\nOpReturn\n"
      "%rest = OpLabel\nOpReturn\nOpFunctionEnd\n"
      "%element" +
      function + "%a = OpLabel\n%nested = OpFunctionCall %void %helper\n" + body +
      "OpReturn\nOpFunctionEnd\n"
      "%helper" +
      function +
      "%b = OpLabel\nOpReturn\nOpFunctionEnd\n"
      "%decoder" +
      function + "%c = OpLabel\nOpReturn\nOpFunctionEnd\n");
  const Module module = test::parsed(made.words);
  made.element = module.functions()[1].id;
  made.helper = module.functions()[2].id;
  made.decoder = module.functions()[3].id;
  const uint32_t at = module.word_offset(module.blocks()[0].begin + 1);
  const test::Words call = calls(made.words[at + 1], made.words[at + 2], made);
  made.words.erase(made.words.begin() + at, made.words.begin() + at + 4);
  made.words.insert(made.words.begin() + at, call.begin(), call.end());
  return made;
}

// Per element (operands: matrix, function).
MatrixModule per_element(const std::string& body = "") {
  return matrix_module(
      [](uint32_t type, uint32_t result, const MatrixModule& module) {
        return test::instruction(newer::OpCooperativeMatrixPerElementOpNV,
                                 {type, result, 1, module.element});
      },
      body);
}

// The words of a function are those of the original, wherever they stand.
bool is_untouched(const std::vector<uint32_t>& original, const std::vector<uint32_t>& changed,
                  uint32_t function) {
  const Module module = test::parsed(original);
  const Function& range = module.functions()[module.function_index(function)];
  const auto words =
      module.words().subspan(module.word_offset(range.begin),
                             module.word_offset(range.end) - module.word_offset(range.begin));
  return std::search(changed.begin(), changed.end(), words.begin(), words.end()) != changed.end();
}

TEST(BlockCount, functions_that_instructions_on_matrices_call_are_left_out_and_the_rest_counts) {
  const MatrixModule module = per_element();
  const auto result = add_block_counts(module.words, compute_options());
  ASSERT_TRUE(result) << result.error().message;
  // main's three blocks, then those of element and helper; nothing calls decoder.
  const CounterPlan& plan = result->plan;
  ASSERT_EQ(plan.block_count, 5u);
  EXPECT_EQ(plan.counter_count, 2u);
  for (const uint32_t block : {0u, 1u, 2u}) EXPECT_NE(plan.block_values[block], CounterPlan::kZero);
  for (const uint32_t block : {3u, 4u}) EXPECT_EQ(plan.block_values[block], CounterPlan::kZero);
  EXPECT_TRUE(is_untouched(module.words, result->words, module.element));
  EXPECT_TRUE(is_untouched(module.words, result->words, module.helper));
  EXPECT_EQ(
      result->left_out,
      "2 of its functions (element, ...) are not counted: cooperative matrix instructions call "
      "them, and the driver chooses how often");
  EXPECT_EQ(
      test::instrument(assemble_1_3(header(kCompute) + kTypes + kEarlyReturn), compute_options())
          .left_out,
      "");
}

TEST(BlockCount, the_map_of_blocks_says_which_functions_instructions_on_matrices_call) {
  const MatrixModule module = per_element();
  const auto map =
      BlockMap::build(test::parsed(module.words), spv::ExecutionModel::GLCompute, "main");
  ASSERT_TRUE(map);
  ASSERT_EQ(map->functions().size(), 3u);
  EXPECT_TRUE(map->functions()[0].is_countable);
  EXPECT_FALSE(map->functions()[1].is_countable);
  EXPECT_FALSE(map->functions()[2].is_countable);
}

// Reduced (matrix, mask, function); loaded (pointer, object, layout, no memory operands, those of
// tensors: bit 0 is a view, bit 1 a function that decodes an element, bit 2 one that decodes a
// vector).
TEST(BlockCount, every_instruction_on_matrices_that_calls_functions_is_known) {
  const auto left_out = [](spv::Op opcode,
                           std::function<test::Words(const MatrixModule&)> operands) {
    const MatrixModule module =
        matrix_module([&](uint32_t type, uint32_t result, const MatrixModule& made) {
          test::Words words = {0, type, result};
          const test::Words rest = operands(made);
          words.insert(words.end(), rest.begin(), rest.end());
          words[0] = static_cast<uint32_t>(words.size()) << spv::WordCountShift |
                     static_cast<uint32_t>(opcode);
          return words;
        });
    const auto result = add_block_counts(module.words, compute_options());
    return result ? result->left_out.substr(0, 1) : result.error().message;
  };
  EXPECT_EQ(left_out(newer::OpCooperativeMatrixReduceNV,
                     [](const auto& m) {
                       return test::Words{1, 0, m.element};
                     }),
            "2");
  EXPECT_EQ(left_out(newer::OpCooperativeMatrixLoadTensorNV,
                     [](const auto& m) { return test::Words{1, 1, 1, 0, 2, m.element}; }),
            "2");
  EXPECT_EQ(left_out(newer::OpCooperativeMatrixLoadTensorNV,
                     [](const auto& m) { return test::Words{1, 1, 1, 2, 16, 3, 1, m.element}; }),
            "2");
  EXPECT_EQ(
      left_out(newer::OpCooperativeMatrixLoadTensorNV,
               [](const auto& m) { return test::Words{1, 1, 1, 0, 6, m.element, m.decoder}; }),
      "3");
}

TEST(BlockCount, a_function_that_matrices_call_and_that_may_end_the_invocation_is_refused) {
  const auto result = add_block_counts(
      per_element(
          "OpSelectionMerge %on None\nOpBranchConditional %true %dies %on\n%dies = OpLabel\n"
          "OpKill\n%on = OpLabel\n")
          .words,
      compute_options());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "a function called by a cooperative matrix instruction may end the invocation");
}

// The module is not valid, and the code for its vectors would be as large as they are.
TEST(BlockCount, values_of_vectors_that_cannot_be_are_not_looked_at) {
  BlockCountOptions options = compute_options();
  options.sites.values = true;
  const auto result =
      add_block_counts(assemble_1_3(header(kCompute) + kTypes +
                                    "%float = OpTypeFloat 32\n%uint = OpTypeInt 32 0\n"
                                    "%floats = OpTypeVector %float 1000000000\n"
                                    "%uints = OpTypeVector %uint 1000000000\n"
                                    "%x = OpUndef %floats\n%n = OpUndef %uints\n"
                                    "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                                    "%sum = OpFAdd %floats %x %x\n%part = OpUDiv %uints %n %n\n"
                                    "OpReturn\nOpFunctionEnd\n"),
                       options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->plan.site_counters.empty());
}

TEST(BlockCount, a_struct_of_numbers_below_a_byte_has_no_size) {
  BlockCountOptions options = compute_options();
  options.sites.memory = true;
  const auto result =
      add_block_counts(assemble_1_3(header(kCompute) + kTypes +
                                    "%uint4 = OpTypeInt 4 0\n%block = OpTypeStruct %uint4 %uint4\n"
                                    "%pointer = OpTypePointer Workgroup %block\n"
                                    "%shared = OpVariable %pointer Workgroup\n"
                                    "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                                    "%x = OpLoad %block %shared\nOpReturn\nOpFunctionEnd\n"),
                       options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->plan.site_counters.empty());
}

// A loop that its compiler shall unroll, with a load from workgroup memory.
const std::string kUnrolledLoads =
    "%uint = OpTypeInt 32 0\n%uint_0 = OpConstant %uint 0\n%uint_1 = OpConstant %uint 1\n"
    "%uint_4 = OpConstant %uint 4\n%words = OpTypeArray %uint %uint_4\n%array = OpTypePointer "
    "Workgroup %words\n"
    "%word = OpTypePointer Workgroup %uint\n%shared = OpVariable %array Workgroup\n"
    "%main = OpFunction %void None %fn\n%start = OpLabel\nOpBranch %loop\n"
    "%loop = OpLabel\n%i = OpPhi %uint %uint_0 %start %next %body\n"
    "OpLoopMerge %end %body Unroll\nOpBranch %body\n"
    "%body = OpLabel\n%place = OpAccessChain %word %shared %i\n%x = OpLoad %uint %place\n"
    "%next = OpIAdd %uint %i %uint_1\n%more = OpULessThan %bool %next %uint_4\n"
    "OpBranchConditional %more %loop %end\n%end = OpLabel\nOpReturn\nOpFunctionEnd\n";

TEST(BlockCount, accesses_to_memory_keep_their_loops_rolled_and_their_lanes_together) {
  for (const bool reconverges : {false, true}) {
    BlockCountOptions options = compute_options();
    options.sites.memory = true;
    options.sites.maximal_reconvergence = reconverges;
    const auto result =
        add_block_counts(assemble_1_3(header(kCompute) + kTypes + kUnrolledLoads), options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_FALSE(result->plan.site_counters.empty());
    const auto module = Module::parse(result->words);
    ASSERT_TRUE(module);
    EXPECT_EQ(module->has_extension("SPV_KHR_maximal_reconvergence"), reconverges);
    int modes = 0, unrolled = 0;
    for (size_t i = 0; i < module->instruction_count(); ++i) {
      const Instruction instruction = module->instruction(i);
      if (instruction.opcode() == spv::Op::OpExecutionMode)
        modes += static_cast<spv::ExecutionMode>(instruction.operand(1)) ==
                 newer::ExecutionModeMaximallyReconvergesKHR;
      if (instruction.opcode() == spv::Op::OpLoopMerge)
        unrolled += instruction.operand(2) == static_cast<uint32_t>(spv::LoopControlMask::Unroll);
    }
    EXPECT_EQ(modes, reconverges ? 1 : 0);
    EXPECT_EQ(unrolled, 0);
  }
}

}  // namespace
}  // namespace tally::spirv
