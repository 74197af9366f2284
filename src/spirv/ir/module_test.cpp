#include "spirv/ir/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spirv-tools/libspirv.h>

#include <random>
#include <set>
#include <tuple>

#include "spirv/analysis/block_map.h"
#include "spirv/analysis/cfg.h"
#include "spirv/ir/editor.h"
#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using test::assemble_shader;
using test::instruction;
using test::parsed;
using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kMain = R"(
  OpName %main "main"
  OpName %x "x"
  OpDecorate %x SpecId 7
  %void = OpTypeVoid
  %u32 = OpTypeInt 32 0
  %u64 = OpTypeInt 64 0
  %x = OpSpecConstant %u32 3
  %big = OpConstant %u64 0x100000002
  %function = OpTypeFunction %void
  %main = OpFunction %void None %function
  %entry = OpLabel
  OpReturn
  OpFunctionEnd
)";

std::string error_of(std::span<const uint32_t> words) {
  const Result<Module> module = Module::parse(words);
  return module ? "" : module.error().message;
}

// A module of nothing but a header and these instructions.
Words bare(std::initializer_list<Words> instructions, uint32_t bound = 100) {
  Words words = {spv::MagicNumber, make_version(1, 0), 0, bound, 0};
  for (const Words& one : instructions) words.insert(words.end(), one.begin(), one.end());
  return words;
}

Words label(uint32_t id) { return instruction(spv::Op::OpLabel, {id}); }
Words function(uint32_t id) { return instruction(spv::Op::OpFunction, {1, id, 0, 2}); }
const Words kReturn = instruction(spv::Op::OpReturn, {});
const Words kFunctionEnd = instruction(spv::Op::OpFunctionEnd, {});

TEST(module, words_are_kept_bit_for_bit) {
  ASSERT_GT(test::corpus().size(), 60u);
  for (const test::NamedModule& module : test::corpus()) {
    const Module read = parsed(module.words);
    EXPECT_TRUE(std::ranges::equal(read.words(), module.words)) << module.name;
    const Result<std::vector<uint32_t>> written = Editor(read).write();
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*written, module.words) << module.name;
  }
}

TEST(module, every_version_is_read) {
  for (uint32_t minor = 0; minor <= 6; ++minor) {
    const Words& words = test::corpus_module("lit.frag.1." + std::to_string(minor) + ".spv");
    EXPECT_EQ(parsed(words).version(), make_version(1, minor));
  }
}

TEST(module, entry_points_have_model_name_and_interface) {
  const Module module = parsed(test::corpus_module("lit.frag.spv"));
  ASSERT_EQ(module.entry_points().size(), 1u);
  const EntryPoint& entry = module.entry_points()[0];
  EXPECT_EQ(entry.model, spv::ExecutionModel::Fragment);
  EXPECT_EQ(entry.name, "main");
  EXPECT_GE(entry.interface.size(), 5u);
  for (const uint32_t id : entry.interface) EXPECT_EQ(module.opcode_of(id), spv::Op::OpVariable);
  EXPECT_EQ(module.find_entry_point(spv::ExecutionModel::Fragment, "main"), &entry);
  EXPECT_EQ(module.find_entry_point(spv::ExecutionModel::Vertex, "main"), nullptr);
  EXPECT_EQ(module.find_entry_point(spv::ExecutionModel::Fragment, "other"), nullptr);
}

TEST(module, execution_modes_are_those_of_the_entry_point) {
  const auto mode = [](uint32_t function, uint32_t number) {
    return instruction(spv::Op::OpExecutionMode, {function, number});
  };
  const auto entry = [](uint32_t function) {
    return instruction(spv::Op::OpEntryPoint, {4, function, 0x6e69616d, 0});
  };
  const Module module =
      parsed(bare({entry(9), entry(7), entry(8), mode(7, 7), mode(9, 5),
                   instruction(spv::Op::OpExecutionModeId, {7, 38, 1, 1, 1}), mode(7, 3)}));
  const std::span<const EntryPoint> entries = module.entry_points();
  EXPECT_THAT(module.execution_modes(entries[0]), ElementsAre(4));
  EXPECT_THAT(module.execution_modes(entries[1]), ElementsAre(3, 5, 6));
  EXPECT_THAT(module.execution_modes(entries[2]), ElementsAre());
  EXPECT_THAT(module.execution_modes(), ElementsAre(3, 5, 6, 4));
}

TEST(module, ids_lead_to_definitions_names_and_decorations) {
  const Module module = parsed(assemble_shader(kMain));
  const uint32_t main = module.functions()[0].id;
  EXPECT_EQ(module.name_of(main), "main");
  EXPECT_EQ(module.function_index(main), 0u);
  EXPECT_EQ(module.name_of(module.instruction(module.functions()[0].begin).type_id()), "");
  uint32_t x = 0;
  for (uint32_t id = 0; id < module.bound(); ++id) {
    if (module.name_of(id) == "x") x = id;
  }
  EXPECT_EQ(module.opcode_of(x), spv::Op::OpSpecConstant);
  EXPECT_EQ(module.opcode_of(module.type_of(x)), spv::Op::OpTypeInt);
  EXPECT_EQ(module.constant_value(x), 3u);
  EXPECT_EQ(module.decoration(x, spv::Decoration::SpecId), 7u);
  EXPECT_EQ(module.decoration(x, spv::Decoration::Location), std::nullopt);
  EXPECT_TRUE(module.has_spec_id(7));
  EXPECT_FALSE(module.has_spec_id(8));
  EXPECT_EQ(module.function_index(x), kNone);
}

TEST(module, constants_of_64_bits_have_both_words) {
  const Module module = parsed(assemble_shader(kMain));
  std::vector<uint64_t> values;
  for (uint32_t id = 0; id < module.bound(); ++id) {
    if (const auto value = module.constant_value(id)) values.push_back(*value);
  }
  EXPECT_THAT(values, ::testing::UnorderedElementsAre(3u, 0x100000002u));
}

// The ids are those of the text. %1 to %9 are specialization constants, %20 and later follow.
constexpr std::string_view kSpecialized = R"(
  OpDecorate %1 SpecId 0
  OpDecorate %2 SpecId 10
  OpDecorate %3 SpecId 2
  OpDecorate %4 SpecId 3
  OpDecorate %5 SpecId 4
  OpDecorate %6 SpecId 5
  OpDecorate %group SpecId 6
  %group = OpDecorationGroup
  OpGroupDecorate %group %7
  %u = OpTypeInt 32 0
  %i = OpTypeInt 32 1
  %u64 = OpTypeInt 64 0
  %i16 = OpTypeInt 16 1
  %f = OpTypeFloat 32
  %b = OpTypeBool
  %v2 = OpTypeVector %u 2
  %v3 = OpTypeVector %u 3
  %1 = OpSpecConstant %u 6
  %2 = OpSpecConstant %i -7
  %3 = OpSpecConstantTrue %b
  %4 = OpSpecConstant %u64 0x100000002
  %5 = OpSpecConstant %i16 -2
  %6 = OpSpecConstant %f 1
  %7 = OpSpecConstant %u 40
  %two = OpConstant %i 2
  %minus = OpConstant %i -1
  %nothing = OpConstantNull %u
  %20 = OpSpecConstantOp %u IMul %1 %7
  %21 = OpSpecConstantOp %i SDiv %2 %two
  %22 = OpSpecConstantOp %i SMod %2 %two
  %23 = OpSpecConstantOp %i SRem %2 %two
  %24 = OpSpecConstantOp %u Select %3 %1 %7
  %25 = OpSpecConstantOp %b ULessThan %1 %7
  %26 = OpSpecConstantOp %u Select %25 %20 %24
  %27 = OpSpecConstantOp %i ShiftRightArithmetic %2 %two
  %28 = OpSpecConstantOp %i SConvert %5
  %29 = OpSpecConstantOp %u UDiv %1 %nothing
  %30 = OpSpecConstantComposite %v3 %1 %7 %20
  %31 = OpSpecConstantOp %u CompositeExtract %30 1
  %32 = OpSpecConstantOp %v3 CompositeInsert %1 %30 2
  %33 = OpSpecConstantOp %v2 VectorShuffle %32 %30 2 5
  %34 = OpSpecConstantOp %v2 IAdd %33 %33
  %35 = OpSpecConstantOp %u CompositeExtract %34 0
  %36 = OpSpecConstantOp %u CompositeExtract %34 1
  %37 = OpSpecConstantOp %u64 ISub %4 %4
  %38 = OpSpecConstantOp %i SDiv %2 %minus
  %39 = OpSpecConstantOp %u IAdd %29 %1
)";

std::vector<std::optional<int64_t>> numbers_of(const Module& module, uint32_t first,
                                               uint32_t last) {
  std::vector<std::optional<int64_t>> numbers;
  for (uint32_t id = first; id <= last; ++id) {
    const auto value = module.constant_value(id);
    const auto type = module.definition(module.type_of(id));
    const bool is_int32 = type && type->operand(0) == 32;
    numbers.push_back(value ? std::optional(is_int32 ? int64_t{static_cast<int32_t>(*value)}
                                                     : static_cast<int64_t>(*value))
                            : std::nullopt);
  }
  return numbers;
}

TEST(module, what_is_computed_of_specialization_constants_follows_from_their_defaults) {
  const Module module = parsed(assemble_shader(kSpecialized));
  const auto unknown = std::nullopt;
  EXPECT_THAT(numbers_of(module, 20, 39),
              ElementsAre(240, -3, 1, -1, 6, unknown, 240, -2, -2, unknown, unknown, 40, unknown,
                          unknown, unknown, 12, 480, 0, 7, unknown));
  EXPECT_TRUE(module.is_specialization_constant(20));
  EXPECT_TRUE(module.is_specialization_constant(30));
}

TEST(module, a_specialized_module_has_the_values_of_the_application) {
  const Module module = parsed(assemble_shader(kSpecialized));
  const Specialization constants = {{0, 4, 100},        {2, 4, 0}, {3, 8, 0x300000004}, {4, 2, 5},
                                    {5, 4, 0x40000000}, {6, 4, 9}, {10, 4, 0xfffffff3}, {77, 4, 1}};
  EXPECT_EQ(module.declared(constants).size(), 7u) << "77 is none of the module";
  const Module special = module.specialized(constants);
  const auto unknown = std::nullopt;
  EXPECT_THAT(numbers_of(special, 1, 7),
              ElementsAre(100, -13, unknown, 0x300000004, 5, unknown, 9));
  EXPECT_THAT(numbers_of(special, 20, 28), ElementsAre(900, -6, 1, -1, 9, unknown, 9, -4, 5));
  EXPECT_EQ(special.words().size(), module.words().size());
  const std::string text = test::disassemble(special.words());
  EXPECT_THAT(text, ::testing::HasSubstr("OpSpecConstantFalse"));
  EXPECT_THAT(text, ::testing::HasSubstr("%6 = OpSpecConstant %14 2"));
  EXPECT_EQ(module.constant_value(1), 6u) << "the module itself stays as it is";
}

TEST(module, a_negative_value_of_16_bits_is_sign_extended) {
  const Module special = parsed(assemble_shader(kSpecialized)).specialized({{4, 2, 0xfff0}});
  EXPECT_EQ(special.constant_value(5), 0xfffffff0u);
  EXPECT_EQ(special.constant_value(28), 0xfffffff0u);
}

constexpr std::string_view kComputed = R"(
  OpDecorate %1 SpecId 0
  OpDecorate %25 RelaxedPrecision
  %void = OpTypeVoid
  %function = OpTypeFunction %void
  %u = OpTypeInt 32 0
  %b = OpTypeBool
  %1 = OpSpecConstant %u 6
  %two = OpConstant %u 2
  %yes = OpConstantTrue %b
  %unknown = OpUndef %u
  %20 = OpSpecConstantOp %u IMul %1 %two
  %21 = OpSpecConstantOp %b ULessThan %1 %two
  %main = OpFunction %void None %function
  %start = OpLabel
  %22 = OpIAdd %u %20 %two
  %23 = OpUGreaterThan %b %22 %two
  %24 = OpIAdd %u %unknown %two
  %25 = OpIAdd %u %20 %two
  %26 = OpLogicalNot %b %23
  OpReturn
  OpFunctionEnd
)";

TEST(module, a_fixed_module_has_fixed_values_of_what_its_functions_compute_of_them) {
  const Module module = parsed(assemble_shader(kComputed));
  const auto unknown = std::nullopt;
  const auto values = [](const Module& of) {
    std::vector<std::optional<uint64_t>> values{of.fixed_value(1)};
    for (uint32_t id = 20; id < 27; ++id) values.push_back(of.fixed_value(id));
    return values;
  };
  EXPECT_THAT(values(module),
              ElementsAre(unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown));
  EXPECT_THAT(values(module.fixed({})), ElementsAre(6, 12, 0, 14, 1, unknown, unknown, 0));
  const Module one = module.fixed({{0, 4, 1}});
  EXPECT_THAT(values(one), ElementsAre(1, 2, 1, 4, 1, unknown, unknown, 0));
  EXPECT_FALSE(one.is_specialization_constant(1));
  EXPECT_TRUE(module.is_specialization_constant(1));
}

TEST(module, ids_far_beyond_the_words_lead_to_definitions_too) {
  const uint32_t high = kBoundLimit - 1;
  const Module module =
      parsed(bare({instruction(spv::Op::OpTypeVoid, {high}), instruction(spv::Op::OpTypeBool, {2})},
                  kBoundLimit));
  EXPECT_EQ(module.opcode_of(high), spv::Op::OpTypeVoid);
  EXPECT_EQ(module.opcode_of(2), spv::Op::OpTypeBool);
  EXPECT_EQ(module.definition_index(high - 1), kNone);
  EXPECT_THAT(error_of(bare({instruction(spv::Op::OpTypeVoid, {high}),
                             instruction(spv::Op::OpTypeBool, {high})},
                            kBoundLimit)),
              HasSubstr("is defined twice"));
}

TEST(module, ids_little_beyond_the_words_stay_defined_as_others_are_added) {
  constexpr uint32_t kIds[] = {18, 10, 11, 3, 4, 5};
  std::vector<Words> instructions;
  for (const uint32_t id : kIds) instructions.push_back(instruction(spv::Op::OpTypeVoid, {id}));
  const Module module = parsed(bare({instructions[0], instructions[1], instructions[2],
                                     instructions[3], instructions[4], instructions[5]},
                                    kBoundLimit));
  for (uint32_t i = 0; i < std::size(kIds); ++i) EXPECT_EQ(module.definition_index(kIds[i]), i);
}

TEST(module, ids_that_are_not_there_are_no_definitions) {
  const Module module = parsed(assemble_shader(kMain));
  for (const uint32_t id : {0u, module.bound(), 0x3fffffu, ~0u}) {
    EXPECT_EQ(module.definition_index(id), kNone);
    EXPECT_FALSE(module.definition(id).has_value());
    EXPECT_EQ(module.opcode_of(id), spv::Op::OpNop);
    EXPECT_EQ(module.type_of(id), 0u);
    EXPECT_EQ(module.name_of(id), "");
    EXPECT_EQ(module.function_index(id), kNone);
    EXPECT_TRUE(module.decorations_of(id).empty());
    EXPECT_EQ(module.ext_inst_set(id), ExtInstSet::None);
  }
}

TEST(module, unknown_opcodes_and_enumerants_are_kept) {
  const Words strange = {4u << 16 | 7000, 1, 2, 3};
  const Words words = bare({instruction(spv::Op::OpCapability, {31337}), strange,
                            instruction(spv::Op::OpEntryPoint, {4711, 3, 0x6e69616d, 0, 77}),
                            strange, function(3), label(4), strange, kReturn, kFunctionEnd});
  const Module module = parsed(words);
  EXPECT_TRUE(std::ranges::equal(module.words(), words));
  EXPECT_TRUE(module.has_capability(static_cast<spv::Capability>(31337)));
  ASSERT_EQ(module.entry_points().size(), 1u);
  EXPECT_THAT(module.entry_points()[0].interface, ElementsAre(77));
  const Result<BlockMap> map =
      BlockMap::build(module, static_cast<spv::ExecutionModel>(4711), "main");
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->blocks()[0].mix[CostClass::Other], 1u);
}

TEST(module, instructions_between_blocks_may_say_nothing_but_lines) {
  const Words line = instruction(spv::Op::OpLine, {9, 1, 1});
  EXPECT_EQ(error_of(bare({function(3), line, label(4), kReturn, line, label(5), kReturn, line,
                           kFunctionEnd})),
            "");
  const Words store = instruction(spv::Op::OpStore, {9, 9});
  EXPECT_THAT(error_of(bare({function(3), label(4), kReturn, store, kFunctionEnd})),
              HasSubstr("word 13"));
}

TEST(module, errors_name_the_word) {
  EXPECT_THAT(error_of({}), HasSubstr("word 0"));
  EXPECT_THAT(error_of(Words{1, 2, 3, 4, 5}), HasSubstr("word 0"));
  EXPECT_THAT(error_of(Words{0x03022307, 2, 3, 4, 5}), HasSubstr("byte order"));
  EXPECT_THAT(error_of(bare({}, 0)), HasSubstr("word 3"));
  EXPECT_THAT(error_of(bare({}, 0x400000)), HasSubstr("word 3"));
  EXPECT_THAT(error_of(bare({{0x00000011}})), HasSubstr("word 5"));  // no words
  EXPECT_THAT(error_of(bare({{2u << 16 | 17, 1}, {3u << 16 | 17, 1}})), HasSubstr("word 7"));
  EXPECT_THAT(error_of(bare({{1u << 16 | 17}})), HasSubstr("word 5"));  // too short
  EXPECT_THAT(error_of(bare({instruction(spv::Op::OpTypeVoid, {100})})), HasSubstr("word 5"));
  EXPECT_THAT(error_of(bare({instruction(spv::Op::OpTypeVoid, {0})})), HasSubstr("word 5"));
  EXPECT_THAT(error_of(bare(
                  {instruction(spv::Op::OpTypeVoid, {1}), instruction(spv::Op::OpTypeBool, {1})})),
              HasSubstr("word 7"));
  EXPECT_THAT(error_of(bare({label(4)})), HasSubstr("word 5"));
  EXPECT_THAT(error_of(bare({kReturn})), HasSubstr("word 5"));
  EXPECT_THAT(error_of(bare({function(3), function(4)})), HasSubstr("word 10"));
  EXPECT_THAT(error_of(bare({function(3), label(4), label(5)})), HasSubstr("word 12"));
  EXPECT_THAT(error_of(bare({function(3), label(4), kFunctionEnd})), HasSubstr("word 12"));
  EXPECT_THAT(error_of(bare({function(3), label(4), kReturn})), HasSubstr("word 13"));
}

// Every reader of src/spirv on words that may be anything. The point is that it returns.
void look_at(std::span<const uint32_t> words) {
  const Result<Module> module = Module::parse(words);
  if (!module) return;
  for (const Function& function : module->functions()) {
    const Result<Cfg> cfg = Cfg::build(*module, function);
    if (cfg) {
      EXPECT_EQ(cfg->blocks().size(), function.block_count);
    }
  }
  for (const EntryPoint& entry : module->entry_points()) {
    const Result<BlockMap> map = BlockMap::build(*module, entry.model, entry.name);
    ASSERT_TRUE(map.ok());
    for (const Block& block : map->blocks()) {
      EXPECT_LE(block.word_end, words.size());
      for (const LineCost& line : map->lines_of(block)) {
        EXPECT_LT(line.location.file, map->files().size());
      }
    }
  }
  Editor editor(*module);
  editor.raise_version(make_version(1, 6));
  editor.name(editor.type_pointer(spv::StorageClass::Private, editor.type_int(32)), "pointer");
  const Result<std::vector<uint32_t>> written = editor.write();
  if (written) {
    EXPECT_TRUE(Module::parse(*written).ok());
  }
}

TEST(module, ids_that_depend_on_themselves_are_refused) {
  using spv::Op;
  const Words u32 = instruction(Op::OpTypeInt, {1, 32, 0});
  const Words one = instruction(Op::OpConstant, {1, 5, 7});
  const auto function_of = [&](std::initializer_list<Words> code) {
    Words words = bare({u32, one, function(6), label(7)});
    for (const Words& part : code) words.insert(words.end(), part.begin(), part.end());
    for (const Words& part : {kReturn, kFunctionEnd})
      words.insert(words.end(), part.begin(), part.end());
    return words;
  };
  // A constant's literal, an OpPhi's operand and the function that a call calls may be the id.
  const Words fine = function_of({instruction(Op::OpPhi, {1, 8, 8, 7, 5, 7}),
                                  instruction(Op::OpFunctionCall, {1, 9, 6}),
                                  instruction(Op::OpConstant, {1, 10, 10})});
  EXPECT_EQ(error_of(fine), "");
  // So may an id that is defined later, which does not refer back.
  EXPECT_EQ(error_of(function_of(
                {instruction(Op::OpBitcast, {1, 8, 9}), instruction(Op::OpBitcast, {1, 9, 5})})),
            "");
  EXPECT_THAT(error_of(function_of({instruction(Op::OpBitcast, {1, 8, 8})})),
              HasSubstr("id 8 is its own operand"));
  EXPECT_THAT(error_of(function_of({instruction(Op::OpUndef, {8, 8})})),
              HasSubstr("id 8 is its own operand"));
  EXPECT_THAT(error_of(function_of({instruction(Op::OpAccessChain, {1, 8, 5, 5, 8})})),
              HasSubstr("id 8 is its own operand"));
  EXPECT_THAT(error_of(function_of({instruction(Op::OpBitcast, {1, 8, 10}),
                                    instruction(Op::OpBitcast, {1, 9, 8}),
                                    instruction(Op::OpBitcast, {1, 10, 9})})),
              HasSubstr("depends on itself"));
  EXPECT_THAT(error_of(bare({u32, instruction(Op::OpSpecConstantOp,
                                              {1, 8, static_cast<uint32_t>(Op::OpIAdd), 8, 8})})),
              HasSubstr("id 8 is its own operand"));
  EXPECT_THAT(error_of(bare({instruction(Op::OpTypeStruct, {8, 9}),
                             instruction(Op::OpTypeArray, {9, 8, 5})})),
              HasSubstr("depends on itself"));
}

// One for each way in which instructions have ids, and one that only looks like it.
TEST(module, operands_that_are_ids_beyond_the_bound_are_refused) {
  using spv::Op;
  constexpr uint32_t kBeyond = 100;  // the bound
  const Words u32 = instruction(Op::OpTypeInt, {1, 32, 0});
  const Words u64 = instruction(Op::OpTypeInt, {2, 64, 0});
  const Words one = instruction(Op::OpConstant, {1, 3, 1});
  const Words wide = instruction(Op::OpConstant, {2, 4, 1, 0});
  const Words glsl =
      instruction(Op::OpExtInstImport, {5, 0x4c534c47, 0x6474732e, 0x3035342e, 0});  // GLSL.std.450
  const Words debug = instruction(
      Op::OpExtInstImport, {5, 0x6e65704f, 0x442e4c43, 0x67756265, 0x6f666e49, 0x3030312e, 0});
  const auto with = [&](const Words& code) { return bare({u32, u64, one, wide, code}, kBeyond); };
  const auto block = [&](const Words& import, const Words& code, const Words& end = kReturn) {
    return bare({import, u32, u64, one, wide, function(6), label(7), code, end, kFunctionEnd},
                kBeyond);
  };
  const Words nothing = instruction(Op::OpNop, {});
  const auto operation = static_cast<uint32_t>(Op::OpIAdd);
  const Words refused[] = {
      with(instruction(Op::OpTypeStruct, {8, 1, kBeyond})),
      with(instruction(Op::OpTypePointer, {8, 1, kBeyond})),
      with(instruction(Op::OpUndef, {kBeyond, 8})),
      with(instruction(Op::OpName, {kBeyond, 0})),
      with(instruction(Op::OpDecorate, {kBeyond, 0})),
      with(instruction(Op::OpDecorateId, {3, 5635, kBeyond})),
      with(instruction(Op::OpGroupMemberDecorate, {3, 1, 0, kBeyond, 0})),
      with(instruction(Op::OpEntryPoint, {4, 6, 0x6e69616d, 0, 3, kBeyond})),
      with(instruction(Op::OpExecutionModeId, {6, 38, 3, 3, kBeyond})),
      with(instruction(Op::OpSpecConstantOp, {1, 8, operation, 3, kBeyond})),
      block(glsl, instruction(Op::OpPhi, {1, 8, 3, kBeyond})),
      block(glsl, instruction(Op::OpFunctionCall, {1, 8, kBeyond})),
      block(glsl, instruction(Op::OpImageSampleImplicitLod, {1, 8, 3, 3, 1, kBeyond})),
      block(glsl, instruction(Op::OpExtInst, {1, 8, 5, 1, kBeyond})),
      block(glsl, instruction(Op::OpLoad, {1, 8, 3, 2 | 16, 4, kBeyond})),
      block(glsl, instruction(Op::OpCopyMemory, {3, 3, 1, 8, kBeyond})),
      block(glsl, nothing, instruction(Op::OpSwitch, {3, 7, 1, 7, 2, kBeyond})),
      block(glsl, nothing, instruction(Op::OpSwitch, {4, 7, 1, 0, 7, 2, 0, kBeyond})),
  };
  for (const Words& words : refused) {
    EXPECT_THAT(error_of(words), HasSubstr("operand id 100 out of bounds"))
        << testing::PrintToString(words);
  }
  const Words taken[] = {
      with(instruction(Op::OpConstant, {1, 8, kBeyond})),
      with(instruction(Op::OpDecorate, {3, 33, kBeyond})),
      with(instruction(Op::OpSpecConstantOp,
                       {1, 8, static_cast<uint32_t>(Op::OpCompositeExtract), 3, kBeyond})),
      block(debug, instruction(Op::OpExtInst, {1, 8, 5, 23, kBeyond})),
      block(glsl, instruction(Op::OpCompositeExtract, {1, 8, 3, kBeyond})),
      block(glsl, instruction(Op::OpLoad, {1, 8, 3, 2, kBeyond})),
      block(glsl, nothing, instruction(Op::OpSwitch, {3, 7, kBeyond, 7})),
      block(glsl, nothing, instruction(Op::OpSwitch, {4, 7, kBeyond, kBeyond, 7})),
  };
  for (const Words& words : taken) EXPECT_EQ(error_of(words), "");
  EXPECT_EQ(error_of(with(instruction(Op::OpTypeArray, {8, 1, kBeyond}))),
            "SPIR-V word 22: operand id 100 out of bounds");
}

struct IdPlaces {
  std::set<std::tuple<uint16_t, uint16_t, uint16_t>> seen;  // opcode, number of operands, operand
  std::vector<size_t> words;                                // the first place of each
  size_t word = kHeaderWords;
};

// SPIRV-Tools know where a module has ids.
TEST(module, ids_at_the_bound_are_refused_wherever_modules_have_ids) {
  size_t places_tried = 0;
  for (const test::NamedModule& module : test::corpus()) {
    IdPlaces places;
    const spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    const auto note = [](void* user, const spv_parsed_instruction_t* parsed) {
      auto& places = *static_cast<IdPlaces*>(user);
      for (uint16_t i = 0; i < parsed->num_operands; ++i) {
        const auto type = parsed->operands[i].type;
        const bool is_id = type >= SPV_OPERAND_TYPE_ID && type <= SPV_OPERAND_TYPE_SCOPE_ID;
        if (is_id && places.seen.insert({parsed->opcode, parsed->num_operands, i}).second)
          places.words.push_back(places.word + parsed->operands[i].offset);
      }
      places.word += parsed->num_words;
      return SPV_SUCCESS;
    };
    const spv_result_t known = spvBinaryParse(context, &places, module.words.data(),
                                              module.words.size(), nullptr, note, nullptr);
    spvContextDestroy(context);
    if (known != SPV_SUCCESS) continue;  // newer than the installed SPIRV-Tools
    for (const size_t word : places.words) {
      Words changed = module.words;
      changed[word] = changed[3];
      EXPECT_THAT(error_of(changed), HasSubstr("out of bounds")) << module.name << " word " << word;
    }
    places_tried += places.words.size();
  }
  EXPECT_GT(places_tried, 1000u);
}

TEST(module, a_struct_may_hold_a_pointer_to_itself_that_is_declared_forward) {
  using spv::Op;
  constexpr auto kStorage = static_cast<uint32_t>(spv::StorageClass::PhysicalStorageBuffer);
  const Words node = instruction(Op::OpTypeStruct, {2, 3});
  const Words pointer = instruction(Op::OpTypePointer, {3, kStorage, 2});
  EXPECT_EQ(error_of(bare({instruction(Op::OpTypeForwardPointer, {3, kStorage}), node, pointer})),
            "");
  EXPECT_THAT(error_of(bare({node, pointer})), HasSubstr("depends on itself"));
}

TEST(module, long_chains_of_ids_that_are_defined_later_need_no_deep_stack) {
  constexpr uint32_t kLength = 200'000;
  Words words = bare({instruction(spv::Op::OpTypeInt, {1, 32, 0})}, 2 * kLength);
  for (uint32_t id = 2; id < kLength; ++id) {
    const Words one = instruction(spv::Op::OpCopyObject, {1, id, id + 1});
    words.insert(words.end(), one.begin(), one.end());
  }
  EXPECT_EQ(error_of(words), "");
  const Words last = instruction(spv::Op::OpCopyObject, {1, kLength, 2});
  words.insert(words.end(), last.begin(), last.end());
  EXPECT_THAT(error_of(words), HasSubstr("depends on itself"));
}

TEST(module, truncated_at_any_word_is_an_error_or_shorter) {
  for (const test::NamedModule& module : test::corpus()) {
    for (size_t size = 0; size < module.words.size(); ++size) {
      look_at(std::span(module.words).first(size));
    }
  }
}

TEST(module, changed_words_never_crash) {
  std::mt19937 random(1);
  for (const test::NamedModule& module : test::corpus()) {
    for (int round = 0; round < 1000; ++round) {
      Words words = module.words;
      const int changes = 1 + static_cast<int>(random() % 4);
      for (int change = 0; change < changes; ++change) {
        uint32_t& word = words[random() % words.size()];
        switch (random() % 5) {
          case 0:
            word = static_cast<uint32_t>(random());
            break;
          case 1:
            word ^= 1u << random() % 32;
            break;
          case 2:  // an id of the module
            word = static_cast<uint32_t>(random()) % module.words[3];
            break;
          case 3:  // an opcode of the same length
            word = (word & 0xffff0000) | random() % 400;
            break;
          default:
            word += 1;
        }
      }
      look_at(words);
    }
  }
}

}  // namespace
}  // namespace tally::spirv
