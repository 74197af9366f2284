#include "spirv/instrument/record_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::assemble_1_3;
using test::count_of;
using test::fragment_options;
using test::header;
using test::instrument;
using test::instrumented;
using test::kTypes;
using test::readable;
using test::refusal;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

BlockCountOptions vertex_options(std::optional<uint32_t> location) {
  BlockCountOptions options = test::compute_options();
  options.stage = spv::ExecutionModel::Vertex;
  options.packed_draw_indices = PackedDrawIndices{location};
  return options;
}

BlockCountOptions numbered_fragment_options() {
  BlockCountOptions options = fragment_options();
  options.packed_draw_indices = PackedDrawIndices{4};
  return options;
}

const std::string kIndex = "OpDecorate %index BuiltIn InstanceIndex\n";
const std::string kIndexTypes =
    "%int = OpTypeInt 32 1\n"
    "%uint = OpTypeInt 32 0\n"
    "%to_index = OpTypePointer Input {0}\n"
    "%to_own = OpTypePointer Function {0}\n"
    "%index = OpVariable %to_index Input\n"
    "%one = OpConstant {0} 1\n";

// A vertex shader that does this with its instance index, of type %int or %uint.
std::string use_of_index(const std::string& use, const std::string& type = "%int",
                         const std::string& functions = "") {
  return header("OpEntryPoint Vertex %main \"main\" %index\n") + kIndex + kTypes +
         fmt::format(fmt::runtime(kIndexTypes), type) + functions +
         "%main = OpFunction %void None %fn\n%start = OpLabel\n" + use +
         "OpReturn\nOpFunctionEnd\n";
}

const std::string kEarly =
    header("OpEntryPoint Vertex %main \"main\"\n") + kTypes + test::kEarlyReturn;

const std::string kFragment = header(
                                  "OpEntryPoint Fragment %main \"main\"\n"
                                  "OpExecutionMode %main OriginUpperLeft\n") +
                              kTypes + test::kEarlyReturn;

std::vector<BlockCountOptions> every_way(const BlockCountOptions& base) {
  std::vector<BlockCountOptions> all;
  for (const Placement placement : {Placement::Every, Placement::Minimal}) {
    for (const Counting counting : {Counting::Lane, Counting::Subgroup, Counting::Private}) {
      for (const auto address :
           {AddressSource::Kind::PushConstant, AddressSource::Kind::UniformBuffer}) {
        BlockCountOptions& options = all.emplace_back(base);
        options.placement = placement;
        options.counting = counting;
        options.address.kind = address;
      }
    }
  }
  return all;
}

TEST(PackedDrawIndex, the_application_reads_the_low_half_of_its_instance_index) {
  for (const std::string type : {"%int", "%uint"}) {
    const std::string text = instrumented(
        use_of_index("%a = OpLoad " + type + " %index\n%b = OpIAdd " + type + " %a %one\n", type),
        vertex_options({}));
    EXPECT_THAT(text, ContainsRegex("%([0-9]+) = OpLoad " + type +
                                    " %gl_InstanceIndex\n"
                                    " *%[0-9]+ = OpFunctionCall %uint %tally_instance_mask\n"
                                    " *%[0-9]+ = OpBitwiseAnd " +
                                    type +
                                    " %[0-9]+ %[0-9]+\n"
                                    " *%[0-9]+ = OpIAdd " +
                                    type + " %[0-9]+ %[a-z]+_1\n"));
    EXPECT_THAT(text, ContainsRegex("%tally_instance_mask = OpFunction(.*\n)+.*OpBitwiseAnd %uint "
                                    "%[0-9]+ %uint_16\n(.*\n)+.*OpSelect %uint %[0-9]+ %uint_65535 "
                                    "%uint_4294967295\n"));
  }
}

TEST(PackedDrawIndex, the_result_of_a_masked_load_keeps_its_id) {
  const auto words = assemble_1_3(use_of_index("%a = OpLoad %int %index Volatile\n"));
  const Module before = test::parsed(words);
  uint32_t id = 0;
  for (size_t i = 0; i < before.instruction_count(); ++i) {
    if (before.instruction(i).opcode() == spv::Op::OpLoad) id = before.instruction(i).result_id();
  }
  const Module after = test::parsed(instrument(words, vertex_options({})).words);
  EXPECT_EQ(after.opcode_of(id), spv::Op::OpBitwiseAnd);
  const auto load = after.definition(after.definition(id)->operand(0));
  ASSERT_EQ(load->opcode(), spv::Op::OpLoad);
  EXPECT_EQ(load->operand_count(), 2u);  // volatile as before
}

TEST(PackedDrawIndex, a_base_instance_is_masked_too) {
  const std::string text = instrumented(
      header("OpEntryPoint Vertex %main \"main\" %base\n", "OpCapability DrawParameters\n") +
          "OpDecorate %base BuiltIn BaseInstance\n" + kTypes +
          "%int = OpTypeInt 32 1\n%to_base = OpTypePointer Input %int\n"
          "%base = OpVariable %to_base Input\n"
          "%main = OpFunction %void None %fn\n%start = OpLabel\n"
          "%a = OpLoad %int %base\nOpReturn\nOpFunctionEnd\n",
      vertex_options({}));
  EXPECT_EQ(count_of(text, "OpFunctionCall %uint %tally_instance_mask"), 1u);
}

TEST(PackedDrawIndex, a_load_in_a_called_function_is_masked) {
  const std::string function =
      "%deep = OpFunction %void None %fn\n%in = OpLabel\n"
      "%a = OpLoad %uint %index\nOpReturn\nOpFunctionEnd\n";
  const std::string text = instrumented(
      use_of_index("%c = OpFunctionCall %void %deep\n", "%uint", function), vertex_options(0));
  EXPECT_EQ(count_of(text, "OpFunctionCall %uint %tally_instance_mask"), 1u);
}

TEST(PackedDrawIndex, other_uses_of_the_instance_index_are_refused) {
  const std::string why = "it uses its instance index in other ways than loading it";
  const std::string reads =
      "%reads_type = OpTypeFunction %int %to_index\n"
      "%reads = OpFunction %int None %reads_type\n%p = OpFunctionParameter %to_index\n"
      "%in = OpLabel\n%a = OpLoad %int %p\nOpReturnValue %a\nOpFunctionEnd\n";
  EXPECT_EQ(refusal(use_of_index("%r = OpFunctionCall %int %reads %index\n", "%int", reads),
                    vertex_options(0)),
            why);
  for (const std::string use : {"%c = OpCopyObject %to_index %index\n%a = OpLoad %int %c\n",
                                "%own = OpVariable %to_own Function\nOpCopyMemory %own %index\n",
                                "%c = OpAccessChain %to_index %index\n%a = OpLoad %int %c\n"}) {
    EXPECT_EQ(refusal(use_of_index(use), vertex_options(0)), why) << use;
  }
}

TEST(PackedDrawIndex, an_unreachable_use_of_the_instance_index_does_not_matter) {
  const std::string unused =
      "%unused = OpFunction %void None %fn\n%in = OpLabel\n"
      "%c = OpCopyObject %to_index %index\nOpReturn\nOpFunctionEnd\n";
  EXPECT_EQ(refusal(use_of_index("", "%int", unused), vertex_options(0)), "accepted");
}

TEST(PackedDrawIndex, a_line_number_is_no_use_of_the_instance_index) {
  const auto module = test::parsed(assemble_1_3(use_of_index("")));
  const uint32_t id = module.entry_points()[0].interface.front();
  const std::string line = fmt::format("OpLine %file {} {}\n", id, id);
  std::string text = use_of_index(line);
  text.insert(text.find("OpDecorate"), "%file = OpString \"a.vert\"\n");
  EXPECT_EQ(refusal(text, vertex_options(0)), "accepted");
}

TEST(PackedDrawIndex, an_instance_index_in_a_block_is_refused) {
  EXPECT_EQ(refusal(header("OpEntryPoint Vertex %main \"main\" %in\n") +
                        "OpDecorate %block Block\n"
                        "OpMemberDecorate %block 0 BuiltIn InstanceIndex\n" +
                        kTypes +
                        "%int = OpTypeInt 32 1\n%block = OpTypeStruct %int\n"
                        "%to_block = OpTypePointer Input %block\n"
                        "%in = OpVariable %to_block Input\n"
                        "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                        "OpReturn\nOpFunctionEnd\n",
                    vertex_options(0)),
            "its instance index is a member of a block");
}

TEST(PackedDrawIndex, other_stages_have_none) {
  BlockCountOptions options = test::compute_options();
  options.packed_draw_indices = PackedDrawIndices{0};
  EXPECT_EQ(refusal(header(test::kCompute) + kTypes + test::kEarlyReturn, options),
            "only vertex and fragment shaders can use packed draw indices");
}

TEST(PackedDrawIndex, a_fragment_shader_must_be_told) {
  BlockCountOptions options = numbered_fragment_options();
  options.packed_draw_indices->location.reset();
  EXPECT_EQ(refusal(kFragment, options), "it has no input for the packed draw index");
}

TEST(PackedDrawIndex, the_vertex_stage_puts_it_out_before_all_else) {
  BlockCountOptions base = vertex_options(7);
  base.single_exit = false;
  for (const BlockCountOptions& options : every_way(base)) {
    const std::string text = instrumented(kEarly, options);
    EXPECT_THAT(text, HasSubstr("OpDecorate %tally_packed_draw_index Location 7\n"));
    EXPECT_THAT(text, HasSubstr("OpDecorate %tally_packed_draw_index Flat\n"));
    EXPECT_THAT(text,
                HasSubstr("%tally_packed_draw_index = OpVariable %_ptr_Output_uint Output\n"));
    EXPECT_EQ(count_of(text, "OpStore %tally_packed_draw_index "), 1u);
    const size_t store = text.find("OpStore %tally_packed_draw_index");
    const size_t function = text.rfind("OpFunction %void", store);
    EXPECT_EQ(count_of(text.substr(function, store - function), "OpLabel"), 1u);
    EXPECT_EQ(count_of(text.substr(store), "OpReturn\n"), 2u);
  }
}

TEST(PackedDrawIndex, the_vertex_stage_of_no_fragment_stage_puts_nothing_out) {
  for (const BlockCountOptions& options : every_way(vertex_options({}))) {
    const std::string text = instrumented(kEarly, options);
    EXPECT_EQ(count_of(text, "tally_packed_draw_index"), 0u);
    EXPECT_THAT(text, HasSubstr("BuiltIn InstanceIndex"));
  }
}

TEST(PackedDrawIndex, a_vertex_stage_without_counters_puts_it_out) {
  BlockCountOptions options = vertex_options(2);
  options.count_blocks = false;
  const auto result =
      instrument(assemble_1_3(use_of_index("%a = OpLoad %uint %index\n", "%uint")), options);
  const std::string text = readable(result.words);
  EXPECT_EQ(count_of(text, "OpStore %tally_packed_draw_index "), 1u);
  EXPECT_EQ(count_of(text, "OpFunctionCall %uint %tally_instance_mask"), 1u);
  EXPECT_EQ(count_of(text, "OpAtomicIAdd"), 0u);
  EXPECT_FALSE(result.record_spec_ids);
}

TEST(PackedDrawIndex, the_fragment_stage_reads_it_for_every_record) {
  for (const BlockCountOptions& options : every_way(numbered_fragment_options())) {
    const std::string text = instrumented(kFragment, options);
    EXPECT_THAT(text, HasSubstr("OpDecorate %tally_packed_draw_index Location 4\n"));
    EXPECT_THAT(text, HasSubstr("OpDecorate %tally_packed_draw_index Flat\n"));
    EXPECT_THAT(text, HasSubstr("%tally_packed_draw_index = OpVariable %_ptr_Input_uint Input\n"));
    const std::string record_word = options.address.kind == AddressSource::Kind::PushConstant
                                        ? "OpAccessChain %_ptr_PushConstant_v2uint"
                                        : "OpAccessChain %_ptr_Uniform_v2uint";
    EXPECT_GE(count_of(text, record_word), 1u);
    EXPECT_EQ(count_of(text, "OpLoad %uint %tally_packed_draw_index"), count_of(text, record_word));
    EXPECT_EQ(count_of(text, "InstanceIndex"), 0u);
  }
}

// A driver may put fragments of different draws into one subgroup.
TEST(PackedDrawIndex, lanes_of_different_draws_do_not_add_up) {
  for (const Counting counting : {Counting::Private, Counting::Subgroup}) {
    BlockCountOptions options = numbered_fragment_options();
    options.counting = counting;
    EXPECT_EQ(count_of(instrumented(kFragment, options), "OpGroupNonUniformAllEqual"), 1u);
    options.packed_draw_indices.reset();
    EXPECT_EQ(count_of(instrumented(kFragment, options), "OpGroupNonUniformAllEqual"), 0u);
  }
}

TEST(PackedDrawIndex, a_driver_that_keeps_draws_apart_is_not_asked_whether_it_did) {
  for (const Counting counting : {Counting::Private, Counting::Subgroup}) {
    BlockCountOptions options = numbered_fragment_options();
    options.counting = counting;
    options.driver.keeps_draws_apart = true;
    const std::string text = instrumented(kFragment, options);
    EXPECT_THAT(text, HasSubstr("OpLoad %uint %tally_packed_draw_index"));
    EXPECT_EQ(count_of(text, "OpGroupNonUniformAllEqual"), 0u);
  }
}

TEST(PackedDrawIndex, real_modules_stay_valid_in_all_ways) {
  for (const auto& [name, words] : test::corpus()) {
    const bool is_vertex = name.find(".vert") != std::string::npos;
    const bool is_fragment = name.find(".frag") != std::string::npos;
    if (!is_vertex && !is_fragment) continue;
    SCOPED_TRACE(name);
    BlockCountOptions base = is_vertex ? vertex_options(20) : numbered_fragment_options();
    base.packed_draw_indices->location = 20;
    base.address.push_constant_offset = 256;
    for (const BlockCountOptions& options : every_way(base)) {
      const std::string text = readable(instrument(words, options).words);
      EXPECT_THAT(text, HasSubstr("Location 20\n"));
    }
  }
}

}  // namespace
}  // namespace tally::spirv
