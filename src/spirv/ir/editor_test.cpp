#include "spirv/ir/editor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/analysis/cfg.h"
#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using test::parsed;
using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kFragment = R"(
  OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint Fragment %main "main" %color
  OpEntryPoint Fragment %other "other"
  OpExecutionMode %main OriginUpperLeft
  OpExecutionMode %other OriginUpperLeft
  %file = OpString "a.frag"
  OpName %main "main"
  OpDecorate %color Location 0
  OpDecorate %coord BuiltIn FragCoord
  %void = OpTypeVoid
  %f32 = OpTypeFloat 32
  %v4 = OpTypeVector %f32 4
  %p_in = OpTypePointer Input %v4
  %p_out = OpTypePointer Output %v4
  %p_private = OpTypePointer Private %f32
  %color = OpVariable %p_out Output
  %coord = OpVariable %p_in Input
  %own = OpVariable %p_private Private
  %one = OpConstant %f32 1
  %white = OpConstantComposite %v4 %one %one %one %one
  %function = OpTypeFunction %void
  OpLine %file 3 1
  %main = OpFunction %void None %function
  %entry = OpLabel
  %n = OpLoad %f32 %own
  OpStore %color %white
  OpReturn
  OpFunctionEnd
  %other = OpFunction %void None %function
  %entry2 = OpLabel
  OpReturn
  OpFunctionEnd
)";

Words written(const Editor& editor) {
  Result<std::vector<uint32_t>> words = editor.write();
  if (!words) throw std::runtime_error(words.error().message);
  EXPECT_EQ(test::validate(*words), "") << test::disassemble(*words);
  return *std::move(words);
}

// Words of `text` in the disassembly, in this order.
void expect_order(const std::string& text, std::initializer_list<std::string_view> parts) {
  size_t at = 0;
  for (const std::string_view part : parts) {
    const size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " does not follow in\n" << text;
    at = found + part.size();
  }
}

TEST(editor, without_an_edit_words_are_identical) {
  for (const test::NamedModule& named : test::corpus()) {
    const Module module = parsed(named.words);
    const Editor editor(module);
    EXPECT_EQ(*editor.write(), named.words) << named.name;
  }
}

TEST(editor, additions_stand_in_their_sections) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 0)));
  Editor editor(module);
  editor.add_capability(spv::Capability::Int64);
  editor.add_extension("SPV_KHR_storage_buffer_storage_class", make_version(1, 3));
  const uint32_t glsl = editor.import_glsl();
  editor.add_execution_mode(module.entry_points()[0].function_id,
                            spv::ExecutionMode::EarlyFragmentTests);
  const uint32_t u64 = editor.type_int(64);
  const uint32_t block = editor.new_struct({u64});
  const uint32_t variable =
      editor.new_global_variable(editor.type_pointer(spv::StorageClass::StorageBuffer, block),
                                 spv::StorageClass::StorageBuffer);
  editor.decorate(block, spv::Decoration::Block);
  editor.decorate_member(block, 0, spv::Decoration::Offset, {0});
  editor.decorate(variable, spv::Decoration::DescriptorSet, {0});
  editor.decorate(variable, spv::Decoration::Binding, {3});
  editor.name(block, "Counters");
  InstructionBuilder code = editor.new_code();
  const uint32_t f32 = editor.type_float(32);
  code.emit(spv::Op::OpExtInst, f32,
            {glsl, 31, editor.constant(f32, std::vector<uint32_t>{0x40800000})});
  editor.insert_before(first_insertion(module, module.blocks()[0]), code);
  const std::string text = test::disassemble(written(editor));
  expect_order(text, {"OpCapability Shader",
                      "OpCapability Int64",
                      "OpExtension \"SPV_KHR_storage_buffer_storage_class\"",
                      "OpExtInstImport \"GLSL.std.450\"",
                      "OpMemoryModel",
                      "OpEntryPoint",
                      "OpExecutionMode",
                      "EarlyFragmentTests",
                      "OpName",
                      "\"Counters\"",
                      "OpDecorate",
                      "Block",
                      "OpMemberDecorate",
                      "OpTypeVoid",
                      "OpTypeInt 64 0",
                      "OpTypeStruct",
                      "OpVariable",
                      "OpLine",
                      "OpFunction",
                      "Sqrt",
                      "OpLoad"});
}

TEST(editor, what_is_core_needs_no_extension) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  editor.add_extension("SPV_KHR_storage_buffer_storage_class", make_version(1, 3));
  EXPECT_EQ(*editor.write(), Words(module.words().begin(), module.words().end()));
}

TEST(editor, what_is_there_is_used_again) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  const uint32_t bound = module.bound();
  editor.add_capability(spv::Capability::Shader);
  const uint32_t f32 = editor.type_float(32);
  EXPECT_LT(editor.type_void(), bound);
  EXPECT_LT(editor.type_function(editor.type_void()), bound);
  EXPECT_LT(editor.type_pointer(spv::StorageClass::Private, f32), bound);
  EXPECT_LT(editor.type_vector(f32, 4), bound);
  EXPECT_LT(editor.constant(f32, std::vector<uint32_t>{0x3f800000}), bound);
  EXPECT_EQ(*editor.write(), Words(module.words().begin(), module.words().end()));
}

TEST(editor, a_bound_that_leaves_too_few_ids_is_refused) {
  Words words = test::assemble(kFragment, make_version(1, 3));
  words[3] = kBoundLimit;
  const Module module = parsed(words);
  Editor editor(module);
  EXPECT_EQ(*editor.write(), words);
  editor.new_id();
  const auto result = editor.write();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "SPIR-V: its bound of ids, 4194303, leaves too few for further code");
}

TEST(editor, what_was_added_is_used_again) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  EXPECT_EQ(editor.type_int(32), editor.type_int(32));
  EXPECT_NE(editor.type_int(32), editor.type_int(64));
  EXPECT_EQ(editor.constant_u32(7), editor.constant_u32(7));
  EXPECT_NE(editor.constant_u32(7), editor.constant_u32(8));
  EXPECT_EQ(editor.constant_u64(1ull << 40), editor.constant_u64(1ull << 40));
  EXPECT_EQ(editor.constant_bool(true), editor.constant_bool(true));
  EXPECT_NE(editor.constant_bool(true), editor.constant_bool(false));
  EXPECT_EQ(editor.import_glsl(), editor.import_glsl());
  editor.add_capability(spv::Capability::Int64);
  editor.add_capability(spv::Capability::Int64);
  const std::string text = test::disassemble(written(editor));
  EXPECT_EQ(text.find("OpCapability Int64"), text.rfind("OpCapability Int64"));
  EXPECT_EQ(text.find("OpTypeInt 32 0"), text.rfind("OpTypeInt 32 0"));
}

// Two structs, arrays or decorated pointers of one shape may be laid out differently.
TEST(editor, what_carries_decorations_is_not_used_again) {
  const Module module = parsed(test::assemble(R"(
    OpCapability Shader
    OpCapability Linkage
    OpMemoryModel Logical GLSL450
    OpDecorate %pointer ArrayStride 16
    OpDecorate %special SpecId 1
    %u32 = OpTypeInt 32 0
    %pointer = OpTypePointer StorageBuffer %u32
    %special = OpSpecConstant %u32 5
    %block = OpTypeStruct %u32
  )"));
  Editor editor(module);
  const uint32_t u32 = editor.type_int(32);
  EXPECT_LT(u32, module.bound());
  EXPECT_GE(editor.type_pointer(spv::StorageClass::StorageBuffer, u32), module.bound());
  EXPECT_GE(editor.constant_u32(5), module.bound());
  EXPECT_GE(editor.new_struct({u32}), module.bound());
  EXPECT_NE(editor.new_struct({u32}), editor.new_struct({u32}));
}

TEST(editor, code_stands_where_it_was_put_and_in_order) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  const uint32_t f32 = editor.type_float(32);
  const uint32_t one = editor.constant(f32, std::vector<uint32_t>{0x3f800000});
  const BlockRange& block = module.blocks()[0];
  const auto put = [&](uint32_t instruction, spv::Op opcode) {
    InstructionBuilder code = editor.new_code();
    code.emit(opcode, f32, {one, one});
    editor.insert_before(instruction, code);
  };
  put(block.end - 1, spv::Op::OpFDiv);
  put(first_insertion(module, block), spv::Op::OpFAdd);
  put(first_insertion(module, block), spv::Op::OpFMul);
  InstructionBuilder after = editor.new_code();
  after.emit(spv::Op::OpFSub, f32, {one, one});
  editor.insert_after(block.begin + 1, after);
  expect_order(test::disassemble(written(editor)), {"OpLabel", "OpFAdd", "OpFMul", "OpLoad",
                                                    "OpFSub", "OpStore", "OpFDiv", "OpReturn"});
}

TEST(editor, instructions_are_removed_and_replaced) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  const BlockRange& block = module.blocks()[0];
  editor.remove(block.begin + 1);  // OpLoad
  InstructionBuilder kill = editor.new_code();
  kill.emit(spv::Op::OpKill);
  editor.replace(block.end - 1, kill);
  const std::string text = test::disassemble(written(editor));
  EXPECT_THAT(text, Not(HasSubstr("OpLoad")));
  expect_order(text, {"OpStore", "OpKill", "OpFunctionEnd", "OpReturn", "OpFunctionEnd"});
}

TEST(editor, names_of_the_module_are_removed) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  const uint32_t block = editor.new_struct({editor.type_int(32)});
  editor.name(block, "before");
  editor.remove_names();
  editor.name(editor.type_int(32), "behind");
  const std::string text = test::disassemble(written(editor));
  EXPECT_THAT(text, HasSubstr("\"before\""));
  EXPECT_THAT(text, HasSubstr("\"behind\""));
  EXPECT_THAT(text, Not(HasSubstr("OpName %main")));
}

TEST(editor, single_words_are_replaced) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  editor.replace_word(module.functions()[0].begin, 3, 1);  // None -> Inline
  EXPECT_THAT(test::disassemble(written(editor)), HasSubstr("Inline"));
}

TEST(editor, blocks_are_split_by_conditions) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  InstructionBuilder code = editor.new_code();
  uint32_t inside = 0;
  const uint32_t after = code.if_then(
      editor.constant_bool(true), [&] { code.emit(spv::Op::OpNop); }, &inside);
  EXPECT_EQ(code.last_label(), after);
  editor.insert_before(module.blocks()[0].end - 1, code);
  const Module edited = parsed(written(editor));
  const Result<Cfg> cfg = Cfg::build(edited, edited.functions()[0]);
  ASSERT_TRUE(cfg.ok());
  ASSERT_EQ(cfg->blocks().size(), 3u);
  EXPECT_EQ(cfg->blocks()[1].label_id, inside);
  EXPECT_EQ(cfg->blocks()[0].merge_block, 2u);
}

// --- entry points and versions

TEST(editor, before_1_4_only_inputs_and_outputs_are_listed) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  const EntryPoint& entry = module.entry_points()[0];
  const uint32_t own = editor.new_global_variable(
      editor.type_pointer(spv::StorageClass::Private, editor.type_float(32)),
      spv::StorageClass::Private);
  const uint32_t coord = editor.new_global_variable(
      editor.type_pointer(spv::StorageClass::Input, editor.type_float(32)),
      spv::StorageClass::Input);
  editor.decorate(coord, spv::Decoration::Location, {1});
  editor.add_to_interface(entry, own);
  editor.add_to_interface(entry, coord);
  editor.add_to_interface(entry, coord);
  const Module edited = parsed(written(editor));
  EXPECT_THAT(edited.entry_points()[0].interface, ElementsAre(entry.interface[0], coord));
  EXPECT_TRUE(edited.entry_points()[1].interface.empty());
}

TEST(editor, crossing_1_4_lists_every_variable_that_is_used) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 0)));
  Editor editor(module);
  editor.raise_version(make_version(1, 5));
  const Words words = written(editor);
  const Module edited = parsed(words);
  EXPECT_EQ(edited.version(), make_version(1, 5));
  // %color and %own, not %coord.
  EXPECT_EQ(edited.entry_points()[0].interface,
            referenced_variables(module, module.functions()[0].id));
  EXPECT_EQ(edited.entry_points()[0].interface.size(), 2u);
  EXPECT_TRUE(edited.entry_points()[1].interface.empty());
}

TEST(editor, versions_are_never_lowered) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 5)));
  Editor editor(module);
  editor.raise_version(make_version(1, 3));
  EXPECT_EQ(parsed(*editor.write()).version(), make_version(1, 5));
}

TEST(editor, other_entry_points_go_with_their_modes) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  editor.keep_only(module.entry_points()[0]);
  const std::string text = test::disassemble(written(editor));
  EXPECT_THAT(text, Not(HasSubstr("\"other\"")));
  EXPECT_EQ(text.find("OriginUpperLeft"), text.rfind("OriginUpperLeft"));
}

TEST(editor, an_entry_point_that_becomes_too_long_is_an_error) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  const uint32_t type = editor.type_pointer(spv::StorageClass::Input, editor.type_float(32));
  for (int i = 0; i < 0xffff; ++i) {
    editor.add_to_interface(module.entry_points()[0],
                            editor.new_global_variable(type, spv::StorageClass::Input));
  }
  EXPECT_FALSE(editor.write().ok());
}

TEST(editor, specialization_constants_take_free_ids) {
  const Module module = parsed(test::assemble(R"(
    OpCapability Shader
    OpCapability Linkage
    OpMemoryModel Logical GLSL450
    OpDecorate %taken SpecId 1952541817
    %u32 = OpTypeInt 32 0
    %taken = OpSpecConstant %u32 5
  )"));
  Editor editor(module);
  const Editor::SpecConstant first = editor.new_spec_constant_u32(0);
  const Editor::SpecConstant second = editor.new_spec_constant_u32(1);
  EXPECT_NE(first.spec_id, 1952541817u);
  EXPECT_NE(first.spec_id, second.spec_id);
  const Module edited = parsed(*editor.write());
  EXPECT_EQ(edited.decoration(first.id, spv::Decoration::SpecId), first.spec_id);
  EXPECT_EQ(edited.constant_value(second.id), 1u);
}

// --- where code may stand

TEST(layout, code_begins_after_phis_and_variables) {
  const Module module = parsed(test::assemble_shader(R"(
    %file = OpString "x"
    %void = OpTypeVoid
    %u32 = OpTypeInt 32 0
    %bool = OpTypeBool
    %p = OpTypePointer Function %u32
    %zero = OpConstant %u32 0
    %yes = OpConstantTrue %bool
    %function = OpTypeFunction %void
    %main = OpFunction %void None %function
    %a = OpLabel
    %v1 = OpVariable %p Function
    %v2 = OpVariable %p Function
    OpLine %file 1 1
    OpBranch %b
    %b = OpLabel
    %phi1 = OpPhi %u32 %zero %a %phi1 %c
    OpLine %file 2 1
    %phi2 = OpPhi %u32 %zero %a %phi2 %c
    OpLine %file 3 1
    %x = OpIAdd %u32 %phi1 %phi2
    OpLoopMerge %d %c None
    OpNoLine
    OpBranchConditional %yes %c %d
    %c = OpLabel
    OpBranch %b
    %d = OpLabel
    OpReturn
    OpFunctionEnd
  )"));
  const auto block = [&](size_t index) { return module.blocks()[index]; };
  EXPECT_EQ(first_insertion(module, block(0)), block(0).begin + 3);
  EXPECT_EQ(first_insertion(module, block(1)), block(1).begin + 4);
  EXPECT_EQ(first_insertion(module, block(3)), block(3).begin + 1);
}

// The output of InstructionBuilder's functions, as SPIRV-Tools prints it.
TEST(code, instructions_are_what_they_say) {
  const Module module = parsed(test::assemble(kFragment, make_version(1, 3)));
  Editor editor(module);
  const uint32_t f32 = editor.type_float(32);
  const uint32_t pointer = editor.type_pointer(spv::StorageClass::Private, f32);
  const uint32_t variable = editor.new_global_variable(pointer, spv::StorageClass::Private);
  InstructionBuilder code = editor.new_code();
  const uint32_t before = code.load(f32, variable);
  const uint32_t start = code.new_id();
  const uint32_t next = code.new_id();
  const uint32_t end = code.new_id();
  code.branch(start);
  code.label(start);
  code.loop_merge(end, next);
  code.branch_if(editor.constant_bool(false), next, end);
  code.label(next);
  code.branch(start);
  code.label(end);
  const uint32_t merged = code.phi(f32, {{before, start}});
  code.store(variable, merged, {1});  // Volatile
  editor.insert_before(module.blocks()[0].end - 1, code);
  expect_order(test::disassemble(written(editor)),
               {"OpLoad", "OpBranch", "OpLabel", "OpLoopMerge", "OpBranchConditional", "OpLabel",
                "OpBranch", "OpLabel", "OpPhi", "OpStore", "Volatile", "OpReturn"});
}

}  // namespace
}  // namespace tally::spirv
