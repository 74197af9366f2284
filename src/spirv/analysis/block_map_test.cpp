#include "spirv/analysis/block_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using test::parsed;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kCompute = spv::ExecutionModel::GLCompute;

BlockMap map_of(std::span<const uint32_t> words, spv::ExecutionModel stage = kCompute,
                std::string_view entry = "main") {
  const Module module = parsed(words);
  Result<BlockMap> map = BlockMap::build(module, stage, entry);
  if (!map) throw std::runtime_error(map.error().message);
  return *std::move(map);
}

std::string line_of(const BlockMap& map, const SourceLocation& location) {
  return map.files()[location.file].name + ":" + std::to_string(location.line);
}

// "file:line" of each line of a block, in order.
std::vector<std::string> lines_of(const BlockMap& map, const Block& block) {
  std::vector<std::string> lines;
  for (const LineCost& line : map.lines_of(block)) lines.push_back(line_of(map, line.location));
  return lines;
}

std::set<std::string> all_lines(const BlockMap& map) {
  std::set<std::string> lines;
  for (const Block& block : map.blocks()) {
    for (const std::string& line : lines_of(map, block)) lines.insert(line);
  }
  return lines;
}

const SourceFile& file(const BlockMap& map, std::string_view name) {
  for (const SourceFile& one : map.files()) {
    if (one.name == name) return one;
  }
  throw std::runtime_error("no file " + std::string(name));
}

std::string text_of_line(const SourceFile& source, uint32_t line) {
  size_t begin = 0;
  for (uint32_t at = 1; at < line; ++at) begin = source.text.find('\n', begin) + 1;
  return source.text.substr(begin, source.text.find('\n', begin) - begin);
}

constexpr std::string_view kTwoEntries = R"(
  OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %one "one"
  OpEntryPoint GLCompute %two "two"
  OpExecutionMode %one LocalSize 1 1 1
  OpExecutionMode %two LocalSize 1 1 1
  OpName %shared "shared(f1;"
  %void = OpTypeVoid
  %function = OpTypeFunction %void
  %unused = OpFunction %void None %function
  %10 = OpLabel
  OpReturn
  OpFunctionEnd
  %two = OpFunction %void None %function
  %20 = OpLabel
  %call2 = OpFunctionCall %void %shared
  OpBranch %21
  %21 = OpLabel
  OpReturn
  OpFunctionEnd
  %shared = OpFunction %void None %function
  %30 = OpLabel
  OpReturn
  %31 = OpLabel
  OpUnreachable
  OpFunctionEnd
  %one = OpFunction %void None %function
  %40 = OpLabel
  %call1 = OpFunctionCall %void %shared
  OpReturn
  OpFunctionEnd
)";

TEST(block_map, blocks_are_the_labels_of_reached_functions_in_module_order) {
  const test::Words words = test::assemble(kTwoEntries);
  const auto labels = [&](std::string_view entry) {
    std::vector<uint32_t> ids;
    const BlockMap map = map_of(words, kCompute, entry);
    for (const Block& block : map.blocks()) ids.push_back(block.label_id);
    return ids;
  };
  EXPECT_THAT(labels("one"), ElementsAre(30, 31, 40));
  EXPECT_THAT(labels("two"), ElementsAre(20, 21, 30, 31));
}

TEST(block_map, blocks_know_their_function_and_words) {
  const test::Words words = test::assemble(kTwoEntries);
  const Module module = parsed(words);
  const BlockMap map = map_of(words, kCompute, "two");
  ASSERT_EQ(map.functions().size(), 2u);
  EXPECT_EQ(map.functions()[1].name, "shared");
  EXPECT_EQ(map.functions()[0].name, "%" + std::to_string(map.functions()[0].id));
  EXPECT_EQ(map.functions()[1].first_block, 2u);
  EXPECT_EQ(map.functions()[1].block_count, 2u);
  for (const Block& block : map.blocks()) {
    EXPECT_EQ(block.function_id, map.functions()[block.function].id);
    EXPECT_EQ(words[block.word_begin], 2u << 16 | 248);  // OpLabel
    EXPECT_EQ(words[block.word_begin + 1], block.label_id);
  }
  EXPECT_EQ(map.blocks()[0].word_end, map.blocks()[1].word_begin);
}

TEST(block_map, entry_points_that_are_not_there_are_errors) {
  const Module module = parsed(test::assemble(kTwoEntries));
  const Result<BlockMap> map = BlockMap::build(module, kCompute, "three");
  ASSERT_FALSE(map.ok());
  EXPECT_THAT(map.error().message, HasSubstr("three"));
  EXPECT_FALSE(BlockMap::build(module, spv::ExecutionModel::Vertex, "one").ok());
}

constexpr std::string_view kLines = R"(
  OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "main"
  OpExecutionMode %main LocalSize 1 1 1
  %a = OpString "a.comp"
  %b = OpString "b.glsl"
  OpSource GLSL 450 %a "first
second
"
  %void = OpTypeVoid
  %f32 = OpTypeFloat 32
  %f = OpConstant %f32 1
  %function = OpTypeFunction %void
  OpLine %a 3 1
  %main = OpFunction %void None %function
  %entry = OpLabel
  %1 = OpFAdd %f32 %f %f
  OpLine %a 5 7
  %2 = OpFAdd %f32 %f %f
  OpLine %b 9 0
  %3 = OpFMul %f32 %f %f
  OpNoLine
  %4 = OpFMul %f32 %f %f
  OpLine %a 5 9
  %5 = OpFAdd %f32 %f %f
  OpBranch %next
  %next = OpLabel
  %6 = OpFAdd %f32 %f %f
  OpBranch %last
  OpLine %b 11 2
  %last = OpLabel
  OpReturn
  OpFunctionEnd
)";

TEST(block_map, op_line_holds_until_the_next_or_the_end_of_the_block) {
  const BlockMap map = map_of(test::assemble(kLines));
  ASSERT_EQ(map.blocks().size(), 3u);
  const Block& entry = map.blocks()[0];
  EXPECT_THAT(lines_of(map, entry), ElementsAre("a.comp:3", "a.comp:5", "b.glsl:9"));
  EXPECT_EQ(map.lines_of(entry)[1].mix[CostClass::Float32], 2u);
  EXPECT_EQ(map.lines_of(entry)[1].mix[CostClass::ControlFlow], 1u);
  EXPECT_EQ(map.lines_of(entry)[1].location.column, 7u);
  EXPECT_EQ(map.lines_of(entry)[2].mix[CostClass::Float32], 1u);  // not the one after OpNoLine
  EXPECT_EQ(entry.mix[CostClass::Float32], 5u);
  ASSERT_TRUE(entry.location.has_value());
  EXPECT_EQ(line_of(map, *entry.location), "a.comp:3");
  // Nothing reaches into the next block, but a line before its label does.
  EXPECT_FALSE(map.blocks()[1].location.has_value());
  EXPECT_THAT(lines_of(map, map.blocks()[1]), IsEmpty());
  EXPECT_THAT(lines_of(map, map.blocks()[2]), ElementsAre("b.glsl:11"));
}

TEST(block_map, texts_of_files_come_from_op_source) {
  const BlockMap map = map_of(test::assemble(kLines));
  EXPECT_THAT(file(map, "a.comp").text, StartsWith("first\nsecond\n"));
}

TEST(block_map, continued_texts_are_joined) {
  std::string text(kLines);
  const std::string_view source = "second\n\"";
  text.insert(text.find(source) + source.size(), "\n  OpSourceContinued \"third\"");
  EXPECT_THAT(file(map_of(test::assemble(text)), "a.comp").text,
              StartsWith("first\nsecond\nthird\n"));
}

TEST(block_map, lines_of_glsl_lead_into_the_included_file) {
  for (const std::string name : {"lit.frag.lines.spv", "lit.frag.debug.spv"}) {
    const BlockMap map = map_of(test::corpus_module(name), spv::ExecutionModel::Fragment);
    const std::set<std::string> lines = all_lines(map);
    EXPECT_THAT(lines, Contains("light.glsl:3")) << name;
    EXPECT_THAT(lines, Contains("noise.glsl:2")) << name;
    EXPECT_THAT(lines, Contains("lit.frag:40")) << name;
    EXPECT_THAT(text_of_line(file(map, "light.glsl"), 3), HasSubstr("return max(dot(normal"))
        << name;
    EXPECT_THAT(text_of_line(file(map, "lit.frag"), 40), HasSubstr("vec3 sum")) << name;
    EXPECT_THAT(file(map, "lit.frag").text, StartsWith("#version 450\n")) << name;
    std::set<std::string> functions;
    for (const MappedFunction& function : map.functions()) functions.insert(function.name);
    EXPECT_EQ(functions, (std::set<std::string>{"main", "pick", "diffuse", "tone_map", "noise"}))
        << name;
  }
}

TEST(block_map, lines_of_hlsl_lead_into_the_included_file) {
  for (const std::string name : {"lit.hlsl.lines.spv", "lit.hlsl.debug.spv"}) {
    const BlockMap map = map_of(test::corpus_module(name), spv::ExecutionModel::Fragment);
    const std::set<std::string> lines = all_lines(map);
    EXPECT_THAT(lines, Contains("lit.hlsli:3")) << name;
    EXPECT_THAT(lines, Contains("lit.hlsl:23")) << name;
    EXPECT_THAT(text_of_line(file(map, "lit.hlsli"), 3), HasSubstr("return color / (1.0")) << name;
    EXPECT_THAT(text_of_line(file(map, "lit.hlsl"), 23), HasSubstr("input.position.xyz")) << name;
  }
}

TEST(block_map, inlined_code_names_the_function_of_the_source) {
  const BlockMap map =
      map_of(test::corpus_module("lit.hlsl.debug.spv"), spv::ExecutionModel::Fragment);
  bool found = false;
  for (const LineCost& line : map.lines_of(map.blocks()[0])) {
    EXPECT_NE(line.location.line, 0u);
  }
  for (const Block& block : map.blocks()) {
    for (const LineCost& line : map.lines_of(block)) {
      if (line_of(map, line.location) != "lit.hlsli:3") continue;
      found = true;
      ASSERT_NE(line.source_function, kNone);
      EXPECT_EQ(map.source_functions()[line.source_function], "attenuate");
    }
  }
  EXPECT_TRUE(found);
}

constexpr std::string_view kDebugInfo = R"(
  OpCapability Shader
  OpExtension "SPV_KHR_non_semantic_info"
  %set = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "main"
  OpExecutionMode %main LocalSize 1 1 1
  %name = OpString "a.comp"
  %text1 = OpString "one
"
  %text2 = OpString "two"
  %called = OpString "shade"
  OpName %main "main"
  %void = OpTypeVoid
  %u32 = OpTypeInt 32 0
  %u0 = OpConstant %u32 0
  %u1 = OpConstant %u32 1
  %u4 = OpConstant %u32 4
  %u6 = OpConstant %u32 6
  %u9 = OpConstant %u32 9
  %source = OpExtInst %void %set DebugSource %name %text1
  %more = OpExtInst %void %set DebugSourceContinued %text2
  %unit = OpExtInst %void %set DebugCompilationUnit %u1 %u4 %source %u4
  %type = OpExtInst %void %set DebugTypeFunction %u0 %void
  %shade = OpExtInst %void %set DebugFunction %called %type %source %u4 %u1 %unit %called %u0 %u4
  %lexical = OpExtInst %void %set DebugLexicalBlock %source %u4 %u1 %shade
  %function = OpTypeFunction %void
  %main = OpFunction %void None %function
  %entry = OpLabel
  %definition = OpExtInst %void %set DebugFunctionDefinition %shade %main
  %scope = OpExtInst %void %set DebugScope %lexical
  %line1 = OpExtInst %void %set DebugLine %source %u4 %u6 %u1 %u9
  %1001 = OpIAdd %u32 %u1 %u1
  %none = OpExtInst %void %set DebugNoLine
  %1002 = OpIAdd %u32 %u1 %u1
  %line2 = OpExtInst %void %set DebugLine %source %u9 %u9 %u0 %u0
  %noscope = OpExtInst %void %set DebugNoScope
  %1003 = OpIAdd %u32 %u1 %u1
  OpBranch %next
  %next = OpLabel
  OpReturn
  OpFunctionEnd
)";

TEST(block_map, debug_lines_are_ranges_and_end_with_the_block) {
  const BlockMap map = map_of(test::assemble(kDebugInfo));
  const std::span<const LineCost> lines = map.lines_of(map.blocks()[0]);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].location, (SourceLocation{0, 4, 1, 6}));
  EXPECT_EQ(lines[0].mix[CostClass::Int32], 1u);
  EXPECT_EQ(lines[1].location, (SourceLocation{0, 9, 0, 9}));
  EXPECT_EQ(map.blocks()[0].mix[CostClass::Int32], 3u);
  EXPECT_THAT(map.lines_of(map.blocks()[1]), IsEmpty());
}

TEST(block_map, debug_sources_are_joined_and_scopes_lead_to_functions) {
  const BlockMap map = map_of(test::assemble(kDebugInfo));
  EXPECT_THAT(file(map, "a.comp").text, StartsWith("one\ntwo\n"));
  EXPECT_EQ(map.functions()[0].name, "shade");
  const std::span<const LineCost> lines = map.lines_of(map.blocks()[0]);
  ASSERT_EQ(lines[0].source_function, 0u);
  EXPECT_EQ(map.source_functions()[0], "shade");
  EXPECT_EQ(lines[1].source_function, 0u);  // DebugNoScope does not end the line
}

TEST(block_map, a_line_after_debug_no_scope_has_no_scope) {
  std::string text(kDebugInfo);
  const std::string_view end = "%noscope = OpExtInst %void %set DebugNoScope\n";
  text.insert(text.find(end) + end.size(),
              "  %line3 = OpExtInst %void %set DebugLine %source %u6 %u6 %u0 %u0\n");
  const BlockMap map = map_of(test::assemble(text));
  EXPECT_EQ(map.lines_of(map.blocks()[0])[1].location.line, 6u);
  EXPECT_EQ(map.lines_of(map.blocks()[0])[1].source_function, kNone);
}

// Newer optimisers end the scope before the branch at the end of a block, but not the line.
TEST(block_map, a_branch_belongs_to_the_instance_of_its_line) {
  std::string text(kDebugInfo);
  const std::string_view scope = "%scope = OpExtInst %void %set DebugScope %lexical";
  text.insert(text.find(scope) + scope.size(), " %inlined");
  const std::string_view lexical = "  %function = OpTypeFunction";
  text.insert(text.find(lexical), "  %inlined = OpExtInst %void %set DebugInlinedAt %u9 %shade\n");
  const BlockMap map = map_of(test::assemble(text));
  const std::span<const LineCost> lines = map.lines_of(map.blocks()[0]);
  EXPECT_EQ(lines[0].instance, 1u);
  EXPECT_EQ(lines[1].instance, 1u);
  EXPECT_EQ(map.blocks()[0].end_instance, 1u);
}

// The functions of a module are its first instances.
TEST(block_map, each_call_that_was_inlined_is_an_instance) {
  const auto instances = [](std::string_view name) {
    const BlockMap map = map_of(test::corpus_module(name));
    std::map<std::string, std::set<uint32_t>> instances;  // by line
    for (const Block& block : map.blocks()) {
      for (const LineCost& line : map.lines_of(block))
        instances[line_of(map, line.location)].insert(line.instance);
    }
    return instances;
  };
  auto plain = instances("calls.comp.debug.spv");
  EXPECT_THAT(plain["calls.comp:12"], ElementsAre(testing::_));
  EXPECT_THAT(plain["calls.comp:18"], ElementsAre(testing::_));
  for (const char* name : {"inlined.calls.comp.debug.spv", "optimised.calls.comp.debug.spv"}) {
    auto inlined = instances(name);
    EXPECT_EQ(inlined["calls.comp:12"].size(), 3u) << name;  // two for two_steps, one for main
    EXPECT_EQ(inlined["calls.comp:18"].size(), 1u) << name;
    EXPECT_EQ(inlined["calls.comp:32"].size(), 1u) << name;
  }
}

TEST(block_map, what_was_inlined_names_its_call) {
  const BlockMap map = map_of(test::corpus_module("inlined.calls.comp.debug.spv"));
  std::map<std::string, std::set<std::string>> calls;  // by what is inlined: "caller:line"
  for (const InlinedCall& call : map.inlined_calls()) {
    ASSERT_NE(call.source_function, kNone);
    std::string caller = "main";
    if (call.caller >= map.functions().size()) {
      const InlinedCall& outer = map.inlined_calls()[call.caller - map.functions().size()];
      EXPECT_LT(&outer, &call);
      caller = map.source_functions()[outer.source_function];
    }
    ASSERT_TRUE(call.location.has_value());
    calls[map.source_functions()[call.source_function]].insert(caller + ":" +
                                                               std::to_string(call.location->line));
  }
  EXPECT_THAT(calls["odd_step"], ElementsAre("main:25", "two_steps:18"));
  EXPECT_THAT(calls["two_steps"], ElementsAre("main:29"));
  EXPECT_THAT(map.calls(), IsEmpty());
}

TEST(block_map, a_call_has_the_place_of_its_instruction) {
  const BlockMap map = map_of(test::corpus_module("calls.comp.debug.spv"));
  std::multiset<std::string> calls;
  for (const MappedCall& call : map.calls()) {
    ASSERT_TRUE(call.location.has_value());
    EXPECT_EQ(call.instance, map.blocks()[call.block].function);
    calls.insert(map.functions()[call.callee].name + ":" + std::to_string(call.location->line));
  }
  EXPECT_THAT(calls, ElementsAre("odd_step:18", "odd_step:18", "odd_step:25", "two_steps:29"));
}

TEST(block_map, inlined_calls_that_are_their_own_callers_end) {
  std::string text(kDebugInfo);
  const std::string_view scope = "%scope = OpExtInst %void %set DebugScope %lexical";
  text.insert(text.find(scope) + scope.size(), " %inlined");
  const std::string_view lexical = "  %function = OpTypeFunction";
  text.insert(text.find(lexical),
              "  %outer = OpExtInst %void %set DebugInlinedAt %u6 %shade\n"
              "  %inlined = OpExtInst %void %set DebugInlinedAt %u9 %shade %outer\n");
  test::Words words = test::assemble(text);
  const Module before = parsed(words);
  for (size_t index = 0; index < before.instruction_count(); ++index) {
    const Instruction instruction = before.instruction(index);
    const bool is_inner = instruction.opcode() == spv::Op::OpExtInst &&
                          instruction.operand(1) == 25 && instruction.operand_count() > 4;
    if (is_inner) words[instruction.offset() + 7] = instruction.result_id();
  }
  const BlockMap map = map_of(words);
  ASSERT_EQ(map.inlined_calls().size(), 1u);
  EXPECT_EQ(map.inlined_calls()[0].caller, 0u);
}

// Not after its first source, which may be an include, nor after the compilation unit's.
TEST(block_map, the_source_is_the_file_of_the_entry_points_function) {
  std::string text(kDebugInfo);
  EXPECT_EQ(map_of(test::assemble(text)).source_name(), "a.comp");
  const std::string_view source = "  %source = OpExtInst";
  text.insert(text.find(source),
              "  %other = OpString \"include/b.glsl\"\n"
              "  %include = OpExtInst %void %set DebugSource %other\n");
  const std::string_view strings = "  %name = OpString";
  const size_t other = text.find("  %other");
  const std::string declared = text.substr(other, text.find('\n', other) - other + 1);
  text.erase(other, declared.size());
  text.insert(text.find(strings), declared);
  EXPECT_EQ(map_of(test::assemble(text)).files()[0].name, "include/b.glsl");
  EXPECT_EQ(map_of(test::assemble(text)).source_name(), "a.comp");
  const std::string_view function = "DebugFunction %called %type %source";
  text.replace(text.find(function), function.size(), "DebugFunction %called %type %include");
  EXPECT_EQ(map_of(test::assemble(text)).source_name(), "b.glsl");
}

TEST(block_map, scopes_that_are_their_own_parents_end) {
  std::string text(kDebugInfo);
  const std::string_view parent = "%u4 %u1 %shade\n  %function";
  text.replace(text.find(parent), parent.size(), "%u4 %u1 %unit\n  %function");
  test::Words words = test::assemble(text);
  const Module before = parsed(words);
  for (size_t index = 0; index < before.instruction_count(); ++index) {
    const Instruction instruction = before.instruction(index);
    if (instruction.opcode() == spv::Op::OpExtInst && instruction.operand(1) == 21) {
      words[instruction.offset() + 8] = instruction.result_id();
    }
  }
  const BlockMap map = map_of(words);
  EXPECT_EQ(map.lines_of(map.blocks()[0])[0].source_function, kNone);
}

// A long text that many sources share must not be copied for each of them.
TEST(block_map, texts_take_no_more_memory_than_the_module) {
  std::string text =
      "OpCapability Shader\nOpExtension \"SPV_KHR_non_semantic_info\"\n"
      "%set = OpExtInstImport \"NonSemantic.Shader.DebugInfo.100\"\n"
      "OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n"
      "OpExecutionMode %main LocalSize 1 1 1\n%text = OpString \"" +
      std::string(100000, 'x') + "\"\n";
  for (int i = 0; i < 500; ++i) {
    text += "%n" + std::to_string(i) + " = OpString \"" + std::to_string(i) + "\"\n";
  }
  text += "%void = OpTypeVoid\n%function = OpTypeFunction %void\n";
  for (int i = 0; i < 500; ++i) {
    text += "%s" + std::to_string(i) + " = OpExtInst %void %set DebugSource %n" +
            std::to_string(i) + " %text\n";
  }
  text += "%main = OpFunction %void None %function\n%l = OpLabel\nOpReturn\nOpFunctionEnd\n";
  const test::Words words = test::assemble(text);
  size_t bytes = 0;
  const BlockMap map = map_of(words);
  for (const SourceFile& one : map.files()) bytes += one.text.size();
  EXPECT_EQ(map.files().size(), 500u);
  EXPECT_GE(bytes, 100000u);
  EXPECT_LE(bytes, words.size() * 4);
}

TEST(block_map, long_names_that_many_functions_share_are_cut) {
  std::string text(kDebugInfo);
  text.replace(text.find("\"shade\""), 7, "\"" + std::string(200000, 'x') + "\"");
  const size_t after = text.find("%lexical");
  for (int i = 0; i < 20000; ++i) {
    text.insert(after, "%shade" + std::to_string(i) +
                           " = OpExtInst %void %set DebugFunction %called %type %source %u4 %u1 "
                           "%unit %called %u0 %u4\n");
  }
  const BlockMap map = map_of(test::assemble(text));
  EXPECT_EQ(map.source_functions().size(), 20001u);
  for (const std::string& name : map.source_functions()) EXPECT_EQ(name.size(), 1024u);
  EXPECT_EQ(map.functions()[0].name.size(), 1024u);
}

TEST(block_map, lines_of_a_block_add_up_to_no_more_than_the_block) {
  for (const test::NamedModule& named : test::corpus()) {
    const Module module = parsed(named.words);
    for (const EntryPoint& entry : module.entry_points()) {
      const BlockMap map = map_of(named.words, entry.model, entry.name);
      for (const Block& block : map.blocks()) {
        InstructionMix sum;
        for (const LineCost& line : map.lines_of(block)) sum += line.mix;
        for (size_t cost = 0; cost < kCostClassCount; ++cost) {
          EXPECT_LE(sum[static_cast<CostClass>(cost)], block.mix[static_cast<CostClass>(cost)]);
        }
      }
    }
  }
}

TEST(block_map, every_reached_block_of_code_with_lines_has_a_line) {
  for (const std::string name : {"lit.frag.lines.spv", "work.comp.lines.spv"}) {
    const Module module = parsed(test::corpus_module(name));
    const EntryPoint& entry = module.entry_points()[0];
    const BlockMap map = map_of(test::corpus_module(name), entry.model, entry.name);
    size_t without = 0;
    for (const Block& block : map.blocks()) {
      // Blocks of a lone branch or return are often left without.
      if (!block.location && block.mix[CostClass::Instruction] > 1) ++without;
    }
    EXPECT_EQ(without, 0u) << name;
  }
}

}  // namespace
}  // namespace tally::spirv
