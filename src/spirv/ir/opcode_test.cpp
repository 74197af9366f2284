#include "spirv/ir/opcode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "spirv/analysis/cost.h"
#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using nlohmann::json;

json instructions_of(const std::string& file) {
  std::ifstream stream(std::string(TALLY_SPIRV_GRAMMAR) + "/" + file);
  return json::parse(stream)["instructions"];
}

// Layouts as the grammar tells them.
OpcodeLayout layout_of(const json& instruction) {
  OpcodeLayout layout;
  layout.known = true;
  layout.min_words = 1;
  for (const json& operand : instruction.value("operands", json::array())) {
    if (operand["kind"] == "IdResultType") layout.has_type = true;
    if (operand["kind"] == "IdResult") layout.has_result = true;
    if (!operand.contains("quantifier")) ++layout.min_words;
  }
  return layout;
}

// For kernels on one vendor's devices: their grammar was put right more than once.
bool is_for_one_vendors_kernels(const std::string& name) {
  return name.find("INTEL") != std::string::npos || name.find("ALTERA") != std::string::npos;
}

TEST(opcode, every_instruction_of_the_installed_grammar_is_known_with_its_layout) {
  std::vector<std::string> unknown;
  std::vector<std::string> different;
  for (const json& instruction : instructions_of("spirv.core.grammar.json")) {
    const OpcodeLayout expected = layout_of(instruction);
    const OpcodeLayout ours = opcode_layout(static_cast<spv::Op>(instruction["opcode"].get<int>()));
    const std::string name = instruction["opname"];
    if (!ours.known) unknown.push_back(name);
    const bool is_same = ours.has_type == expected.has_type &&
                         ours.has_result == expected.has_result &&
                         ours.min_words == expected.min_words;
    if (!is_same && !is_for_one_vendors_kernels(name)) different.push_back(name);
  }
  EXPECT_THAT(unknown, ::testing::IsEmpty());
  EXPECT_THAT(different, ::testing::IsEmpty());
}

TEST(opcode, names_are_those_of_the_installed_grammar) {
  std::map<int, std::set<std::string>> names;
  for (const json& instruction : instructions_of("spirv.core.grammar.json")) {
    names[instruction["opcode"]].insert(instruction["opname"]);
    for (const json& alias : instruction.value("aliases", json::array())) {
      names[instruction["opcode"]].insert(alias);
    }
  }
  // Became part of an EXT extension under that name.
  names[5296].insert("OpGroupNonUniformPartitionEXT");
  for (const auto& [number, known] : names) {
    const std::string ours(opcode_name(static_cast<spv::Op>(number)));
    EXPECT_TRUE(known.contains(ours)) << number << " " << ours;
  }
}

// Those that only OpenCL kernels have, and few others that fit no class.
TEST(opcode, only_kernel_instructions_cost_other) {
  const std::set<std::string> expected_elsewhere = {"OpSizeOf",
                                                    "OpReadClockKHR",
                                                    "OpGroupAsyncCopy",
                                                    "OpGroupWaitEvents",
                                                    "OpUntypedGroupAsyncCopyKHR",
                                                    "OpUntypedPrefetchKHR",
                                                    "OpGraphInputARM",
                                                    "OpGraphSetOutputARM",
                                                    "OpAllocateNodePayloadsAMDX",
                                                    "OpFinishWritingNodePayloadAMDX",
                                                    "OpIsNodePayloadValidAMDX"};
  std::vector<std::string> unclassified;
  for (const json& instruction : instructions_of("spirv.core.grammar.json")) {
    const auto opcode = static_cast<spv::Op>(instruction["opcode"].get<int>());
    const std::string name = instruction["opname"];
    const std::string kind = instruction["class"];
    if (opcode_layout(opcode).cost != CostRule::Other || expected_elsewhere.contains(name))
      continue;
    const bool is_kernel =
        kind == "Pipe" || kind == "Device-Side_Enqueue" || is_for_one_vendors_kernels(name);
    if (!is_kernel) unclassified.push_back(name);
  }
  EXPECT_THAT(unclassified, ::testing::IsEmpty());
}

TEST(opcode, every_function_of_glsl_std_450_has_a_class) {
  const Module module = test::parsed(test::assemble(R"(
    OpCapability Shader
    OpCapability Linkage
    %1 = OpExtInstImport "GLSL.std.450"
    OpMemoryModel Logical GLSL450
    %2 = OpTypeFloat 32
    %3 = OpConstant %2 1
  )"));
  const CostModel costs(module);
  std::vector<std::string> unclassified;
  for (const json& function : instructions_of("extinst.glsl.std.450.grammar.json")) {
    const test::Words words = test::instruction(
        spv::Op::OpExtInst, {2, 9, 1, function["opcode"].get<uint32_t>(), 3, 3, 3});
    const InstructionMix mix = costs.cost_of(Instruction(words, 0));
    if (mix[CostClass::Other] != 0) unclassified.push_back(function["opname"]);
  }
  EXPECT_THAT(unclassified, ::testing::IsEmpty());
}

TEST(opcode, unknown_numbers_have_no_layout) {
  for (const uint32_t number : {4095u, 8191u, 8192u, 65535u}) {
    const OpcodeLayout layout = opcode_layout(static_cast<spv::Op>(number));
    EXPECT_FALSE(layout.known);
    EXPECT_FALSE(layout.has_result);
    EXPECT_EQ(layout.min_words, 1);
    EXPECT_EQ(opcode_name(static_cast<spv::Op>(number)), "");
  }
}

TEST(opcode, terminators_are_those_that_end_blocks) {
  EXPECT_TRUE(is_terminator(spv::Op::OpReturn));
  EXPECT_TRUE(is_terminator(spv::Op::OpEmitMeshTasksEXT));
  EXPECT_TRUE(is_terminator(spv::Op::OpIgnoreIntersectionKHR));
  EXPECT_TRUE(is_terminator(static_cast<spv::Op>(5121)));  // OpAbortKHR
  EXPECT_TRUE(ends_invocation(static_cast<spv::Op>(5121)));
  // Ends the invocation, but is followed by a terminator.
  EXPECT_FALSE(is_terminator(spv::Op::OpDemoteToHelperInvocation));
  EXPECT_FALSE(is_terminator(spv::Op::OpTerminateRayNV));
}

}  // namespace
}  // namespace tally::spirv
