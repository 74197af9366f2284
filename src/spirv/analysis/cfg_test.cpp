#include "spirv/analysis/cfg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using test::assemble_shader;
using test::parsed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kHead = R"(
  %void = OpTypeVoid
  %bool = OpTypeBool
  %u32 = OpTypeInt 32 0
  %u64 = OpTypeInt 64 0
  %yes = OpConstantTrue %bool
  %one = OpConstant %u32 1
  %wide = OpConstant %u64 1
  %function = OpTypeFunction %void
)";

struct Graph {
  Module module;
  Cfg cfg;
};

// The graph of %main with this body.
Graph graph(std::string_view body) {
  Module module =
      parsed(assemble_shader(std::string(kHead) + "%main = OpFunction %void None %function\n" +
                             std::string(body) + "\nOpFunctionEnd"));
  Result<Cfg> cfg = Cfg::build(module, module.functions()[0]);
  if (!cfg) throw std::runtime_error(cfg.error().message);
  return {std::move(module), *std::move(cfg)};
}

std::vector<uint32_t> list(std::span<const uint32_t> items) { return {items.begin(), items.end()}; }

TEST(cfg, branches_lead_both_ways_and_merge) {
  const Graph g = graph(R"(
    %a = OpLabel
    OpSelectionMerge %d None
    OpBranchConditional %yes %b %c
    %b = OpLabel
    OpBranch %d
    %c = OpLabel
    OpKill
    %d = OpLabel
    OpReturn)");
  EXPECT_THAT(list(g.cfg.successors(0)), ElementsAre(1, 2));
  EXPECT_THAT(list(g.cfg.successors(1)), ElementsAre(3));
  EXPECT_THAT(list(g.cfg.successors(2)), IsEmpty());
  EXPECT_THAT(list(g.cfg.predecessors(3)), ElementsAre(1));
  EXPECT_EQ(g.cfg.blocks()[0].merge, MergeKind::Selection);
  EXPECT_EQ(g.cfg.blocks()[0].merge_block, 3u);
  EXPECT_EQ(g.cfg.blocks()[0].continue_target, kNone);
  EXPECT_EQ(g.cfg.blocks()[1].merge, MergeKind::None);
  EXPECT_EQ(g.cfg.blocks()[2].terminator, spv::Op::OpKill);
  EXPECT_EQ(g.cfg.block_of(g.cfg.blocks()[2].label_id), 2u);
  EXPECT_EQ(g.cfg.block_of(0), kNone);
}

TEST(cfg, loops_have_merge_and_continue_target) {
  const Graph g = graph(R"(
    %a = OpLabel
    OpBranch %head
    %head = OpLabel
    OpLoopMerge %end %next None
    OpBranchConditional %yes %next %end
    %next = OpLabel
    OpBranch %head
    %end = OpLabel
    OpReturn)");
  EXPECT_EQ(g.cfg.blocks()[1].merge, MergeKind::Loop);
  EXPECT_EQ(g.cfg.blocks()[1].merge_block, 3u);
  EXPECT_EQ(g.cfg.blocks()[1].continue_target, 2u);
  EXPECT_THAT(list(g.cfg.predecessors(1)), ElementsAre(0, 2));
}

TEST(cfg, edges_of_one_pair_of_blocks_stand_once) {
  const Graph g = graph(R"(
    %a = OpLabel
    OpSelectionMerge %d None
    OpSwitch %one %d 1 %b 2 %b 3 %c 4 %d
    %b = OpLabel
    OpBranchConditional %yes %d %d
    %c = OpLabel
    OpBranch %d
    %d = OpLabel
    OpReturn)");
  EXPECT_THAT(list(g.cfg.successors(0)), ElementsAre(3, 1, 2));
  EXPECT_THAT(list(g.cfg.successors(1)), ElementsAre(3));
  EXPECT_THAT(list(g.cfg.predecessors(3)), ElementsAre(0, 1, 2));
}

TEST(cfg, switches_over_64_bits_have_literals_of_two_words) {
  const Graph g = graph(R"(
    %a = OpLabel
    OpSelectionMerge %d None
    OpSwitch %wide %d 1 %b 0x100000003 %c
    %b = OpLabel
    OpBranch %d
    %c = OpLabel
    OpBranch %d
    %d = OpLabel
    OpReturn)");
  EXPECT_THAT(list(g.cfg.successors(0)), ElementsAre(3, 1, 2));
  const Instruction terminator = g.module.instruction(g.cfg.blocks()[0].end - 1);
  EXPECT_EQ(branch_targets(g.module, terminator).size(), 3u);
}

TEST(cfg, blocks_that_nothing_leads_to_are_unreachable) {
  const Graph g = graph(R"(
    %a = OpLabel
    OpReturn
    %b = OpLabel
    OpBranch %c
    %c = OpLabel
    OpUnreachable)");
  EXPECT_TRUE(g.cfg.blocks()[0].reachable);
  EXPECT_FALSE(g.cfg.blocks()[1].reachable);
  EXPECT_FALSE(g.cfg.blocks()[2].reachable);
  EXPECT_THAT(list(g.cfg.predecessors(2)), ElementsAre(1));
}

TEST(cfg, branches_out_of_the_function_are_errors) {
  const Module module = parsed(assemble_shader(std::string(kHead) + R"(
    %main = OpFunction %void None %function
    %a = OpLabel
    OpBranch %b
    OpFunctionEnd
    %other = OpFunction %void None %function
    %b = OpLabel
    OpReturn
    OpFunctionEnd)"));
  const Result<Cfg> cfg = Cfg::build(module, module.functions()[0]);
  ASSERT_FALSE(cfg.ok());
  const uint32_t terminator = module.blocks()[0].end - 1;
  EXPECT_THAT(cfg.error().message,
              HasSubstr("word " + std::to_string(module.word_offset(terminator))));
}

TEST(cfg, switches_over_what_is_no_integer_are_errors) {
  std::vector<uint32_t> words = assemble_shader(std::string(kHead) + R"(
    %main = OpFunction %void None %function
    %a = OpLabel
    OpSelectionMerge %b None
    OpSwitch %one %b 1 %b
    %b = OpLabel
    OpReturn
    OpFunctionEnd)");
  const Module valid = parsed(words);
  const Instruction terminator = valid.instruction(valid.blocks()[0].end - 1);
  words[terminator.offset() + 1] = valid.blocks()[0].label_id;  // which has no type
  const Module module = parsed(words);
  const Result<Cfg> cfg = Cfg::build(module, module.functions()[0]);
  ASSERT_FALSE(cfg.ok());
  EXPECT_THAT(cfg.error().message, HasSubstr("word " + std::to_string(terminator.offset()) + ":"));
}

TEST(cfg, every_function_of_real_modules_has_a_graph) {
  for (const test::NamedModule& named : test::corpus()) {
    const Module module = parsed(named.words);
    for (const Function& function : module.functions()) {
      const Result<Cfg> cfg = Cfg::build(module, function);
      ASSERT_TRUE(cfg.ok()) << named.name << ": " << cfg.error().message;
      size_t out = 0;
      size_t in = 0;
      for (uint32_t block = 0; block < cfg->blocks().size(); ++block) {
        out += cfg->successors(block).size();
        in += cfg->predecessors(block).size();
      }
      EXPECT_EQ(out, in);
    }
  }
}

TEST(call_graph, reaches_callees_of_callees_in_module_order_and_each_once) {
  const Module module = parsed(assemble_shader(std::string(kHead) + R"(
    %leaf = OpFunction %void None %function
    %l = OpLabel
    OpReturn
    OpFunctionEnd
    %unused = OpFunction %void None %function
    %u = OpLabel
    %u1 = OpFunctionCall %void %leaf
    OpReturn
    OpFunctionEnd
    %main = OpFunction %void None %function
    %m = OpLabel
    %m1 = OpFunctionCall %void %middle
    %m2 = OpFunctionCall %void %leaf
    OpReturn
    OpFunctionEnd
    %middle = OpFunction %void None %function
    %n = OpLabel
    %n1 = OpFunctionCall %void %leaf
    %n2 = OpFunctionCall %void %leaf
    OpReturn
    OpFunctionEnd)"));
  const CallGraph& graph = module.calls();
  EXPECT_THAT(list(graph.callees(2)), ElementsAre(0, 3));
  EXPECT_THAT(list(graph.callees(3)), ElementsAre(0));
  EXPECT_THAT(module.reachable_functions(module.functions()[2].id), ElementsAre(0, 2, 3));
  EXPECT_THAT(graph.reachable_from(0), ElementsAre(0));
  EXPECT_THAT(module.reachable_functions(1000), IsEmpty());
}

// Forbidden to shaders, and no reason to hang.
TEST(call_graph, circles_end) {
  const Module module = parsed(assemble_shader(std::string(kHead) + R"(
    %main = OpFunction %void None %function
    %m = OpLabel
    %m1 = OpFunctionCall %void %other
    OpReturn
    OpFunctionEnd
    %other = OpFunction %void None %function
    %n = OpLabel
    %n1 = OpFunctionCall %void %main
    OpReturn
    OpFunctionEnd)"));
  EXPECT_THAT(module.calls().reachable_from(0), ElementsAre(0, 1));
}

// OpCooperativeMatrixPerElementOpNV calls the function that it names for each element.
TEST(call_graph, functions_that_instructions_take_as_operands_are_reached) {
  test::Words words = assemble_shader(std::string(kHead) + R"(
    %main = OpFunction %void None %function
    %m = OpLabel
    %m1 = OpFunctionCall %void %element
    OpReturn
    OpFunctionEnd
    %element = OpFunction %void None %function
    %n = OpLabel
    OpReturn
    OpFunctionEnd)");
  const Module before = parsed(words);
  const uint32_t call = before.blocks()[0].begin + 1;
  const uint32_t offset = before.word_offset(call);
  const std::vector<uint32_t> called = test::instruction(
      static_cast<spv::Op>(5369), {words[offset + 1], words[offset + 2], 1, words[offset + 3]});
  words.erase(words.begin() + offset, words.begin() + offset + 4);
  words.insert(words.begin() + offset, called.begin(), called.end());
  const Module module = parsed(words);
  EXPECT_THAT(module.calls().reachable_from(0), ElementsAre(0, 1));
}

TEST(cfg, a_branch_on_a_fixed_value_has_one_target) {
  const auto target_of = [](const std::string& branch, uint64_t value) -> std::optional<uint32_t> {
    const Module module = parsed(assemble_shader(
        "OpDecorate %n SpecId 0\nOpDecorate %is SpecId 1\n" + std::string(kHead) +
        "%n = OpSpecConstant %u32 0\n%is = OpSpecConstantFalse %bool\n%other = OpUndef %u32\n"
        "%main = OpFunction %void None %function\n%start = OpLabel\nOpSelectionMerge %53 None\n" +
        branch +
        "\n%51 = OpLabel\nOpBranch %53\n%52 = OpLabel\nOpBranch %53\n%53 = OpLabel\nOpReturn\n"
        "OpFunctionEnd\n"));
    const Function& main = module.functions()[0];
    const auto only = [&](const Module& of) {
      return only_target(of, of.instruction(of.blocks_of(main)[0].end - 1));
    };
    EXPECT_EQ(only(module), std::nullopt);
    return only(module.fixed({{0, 4, value}, {1, 4, value}}));
  };
  EXPECT_EQ(target_of("OpBranchConditional %is %51 %52", 1), 51u);
  EXPECT_EQ(target_of("OpBranchConditional %is %51 %52", 0), 52u);
  EXPECT_EQ(target_of("OpSwitch %n %53 7 %51 0xfffffff0 %52", 7), 51u);
  EXPECT_EQ(target_of("OpSwitch %n %53 7 %51 0xfffffff0 %52", 0xfffffff0), 52u);
  EXPECT_EQ(target_of("OpSwitch %n %53 7 %51 0xfffffff0 %52", 8), 53u);
  EXPECT_EQ(target_of("OpSwitch %other %53 7 %51 8 %52", 7), std::nullopt);
}

}  // namespace
}  // namespace tally::spirv
