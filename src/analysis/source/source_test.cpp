// Sources of shaders: reconstructed GLSL, files of a folder, and the isolation of SPIRV-Cross.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "analysis/model/disassembly.h"
#include "analysis/model/model.h"
#include "analysis/source/line_marks.h"
#include "analysis/source/reconstruct.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/analyzer.h"
#include "analysis/testing/test_scene.h"
#include "platform/isolation.h"
#include "spirv/testing/testing.h"
#include "store/testing/test_capture.h"

namespace tally::analysis {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using platform::run_isolated;

// Blocks: 0 entry, 1 loop header, 2 body, 3 then, 4 after, 5 continue, 6 merge.
constexpr const char* kLoop = R"(
OpName %main "main"
OpName %sum "sum"
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%block = OpTypeStruct %uint
%to_block = OpTypePointer StorageBuffer %block
%to_uint = OpTypePointer StorageBuffer %uint
%data = OpVariable %to_block StorageBuffer
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%three = OpConstant %uint 3
%ten = OpConstant %uint 10
%main = OpFunction %void None %function
%entry = OpLabel
%sum = OpAccessChain %to_uint %data %zero
OpStore %sum %zero
OpBranch %header
%header = OpLabel
%i = OpPhi %uint %zero %entry %next %continue
%less = OpULessThan %bool %i %ten
OpLoopMerge %merge %continue None
OpBranchConditional %less %body %merge
%body = OpLabel
%old = OpLoad %uint %sum
%new = OpIAdd %uint %old %i
OpStore %sum %new
%big = OpUGreaterThan %bool %new %three
OpSelectionMerge %after None
OpBranchConditional %big %then %after
%then = OpLabel
OpStore %sum %three
OpBranch %after
%after = OpLabel
OpBranch %continue
%continue = OpLabel
%next = OpIAdd %uint %i %one
OpBranch %header
%merge = OpLabel
OpStore %sum %one
OpReturn
OpFunctionEnd
)";

spirv::Module module_of(const char* text) {
  return spirv::test::parsed(spirv::test::assemble_shader(text, spirv::make_version(1, 3)));
}

Reconstruction reconstructed(const spirv::Module& module) {
  auto made = reconstruct(module, module.entry_points().front(), "x:glsl");
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return std::move(*made);
}

// The lines of the block, trimmed.
std::set<std::string> texts_of_block(const Reconstruction& made, size_t block) {
  std::set<std::string> texts;
  for (const spirv::LineCost& line : made.map.lines_of(made.map.blocks()[block])) {
    const std::string& text = made.lines.at(line.location.line - 1);
    texts.insert(text.substr(text.find_first_not_of(' ')));
  }
  return texts;
}

TEST(Reconstruction, each_block_has_the_lines_that_it_became) {
  const Reconstruction made = reconstructed(module_of(kLoop));
  ASSERT_EQ(made.map.blocks().size(), 7u);
  const std::string name = *texts_of_block(made, 1).begin();
  EXPECT_THAT(name, testing::StartsWith("for (uint "));
  EXPECT_THAT(texts_of_block(made, 5), ElementsAre(name));
  EXPECT_THAT(texts_of_block(made, 2), testing::Contains(testing::StartsWith("if (")));
  EXPECT_THAT(*texts_of_block(made, 3).begin(), HasSubstr("= 3u;"));
  EXPECT_EQ(texts_of_block(made, 3).size(), 1u);
  EXPECT_THAT(*texts_of_block(made, 6).begin(), HasSubstr("= 1u;"));
}

TEST(Reconstruction, lines_outside_loop_headers_belong_to_one_block) {
  const Reconstruction made = reconstructed(module_of(kLoop));
  std::map<uint32_t, std::set<size_t>> blocks_of_line;
  for (size_t b = 0; b < made.map.blocks().size(); ++b) {
    for (const spirv::LineCost& line : made.map.lines_of(made.map.blocks()[b]))
      blocks_of_line[line.location.line].insert(b);
  }
  for (const auto& [line, blocks] : blocks_of_line) {
    const bool is_loop = made.lines[line - 1].find("for (") != std::string::npos;
    EXPECT_EQ(blocks.size() > 1, is_loop) << made.lines[line - 1];
  }
}

TEST(Reconstruction, constants_have_the_values_of_the_pipeline) {
  const auto module = spirv::Module::parse(branching_shader());
  ASSERT_TRUE(module.ok());
  const auto declaration = [](const spirv::Module& code) {
    for (const std::string& line : reconstructed(code).lines) {
      if (line.find("constant_id = 0") != line.npos) return line;
    }
    return std::string();
  };
  EXPECT_THAT(declaration(*module), testing::EndsWith("= true;"));
  EXPECT_THAT(declaration(module->specialized({{0, 4, 0}})), testing::EndsWith("= false;"));
}

TEST(Reconstruction, text_holds_no_directive_of_ours) {
  for (const std::string& line : reconstructed(module_of(kLoop)).lines) {
    EXPECT_EQ(line.find("#line"), std::string::npos);
    EXPECT_EQ(line.find("line_directive"), std::string::npos);
  }
}

TEST(Reconstruction, debug_information_of_the_module_is_not_in_the_way) {
  auto module = spirv::Module::parse(branching_shader());
  ASSERT_TRUE(module.ok());
  const Reconstruction made = reconstructed(*module);
  ASSERT_EQ(made.map.files().size(), 1u);
  EXPECT_EQ(made.map.files()[0].name, "x:glsl");
}

TEST(Reconstruction, invalid_modules_are_refused_before_spirv_cross_sees_them) {
  std::string text = kLoop;
  text.replace(text.find("%new = OpIAdd %uint %old %i"), 27, "%new = OpFAdd %uint %old %i");
  const spirv::Module module = module_of(text.c_str());
  const auto made = reconstruct(module, module.entry_points().front(), "x");
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("SPIRV-Tools does not accept the module"));
}

// Debian 12's SPIRV-Tools 2023.1 knows none of them.
TEST(Reconstruct, declarations_that_the_tools_do_not_know_are_left_out) {
  const spirv::Module plain = module_of(kLoop);
  const uint32_t main = plain.entry_points().front().function_id;
  spirv::test::Words words(plain.words().begin(), plain.words().end());
  const auto add_before = [&](spv::Op next, const spirv::test::Words& instruction) {
    const spirv::Module module = spirv::test::parsed(words);
    for (size_t i = 0; i < module.instruction_count(); ++i) {
      if (module.instruction(i).opcode() != next) continue;
      words.insert(words.begin() + module.word_offset(i), instruction.begin(), instruction.end());
      return;
    }
  };
  spirv::test::Words extension = {0};
  for (const std::string_view text = "SPV_KHR_maximal_reconvergence"; extension.size() < 9;) {
    uint32_t word = 0;
    const size_t at = (extension.size() - 1) * 4;
    for (size_t i = 0; i < 4 && at + i < text.size(); ++i)
      word |= static_cast<uint32_t>(static_cast<uint8_t>(text[at + i])) << 8 * i;
    extension.push_back(word);
  }
  extension[0] = 9u << spv::WordCountShift | static_cast<uint32_t>(spv::Op::OpExtension);
  constexpr uint32_t kCooperativeMatrixKHR = 6022, kMaximallyReconvergesKHR = 6023;
  constexpr uint32_t kSaturatedToLargestFloat8NormalConversionEXT = 4216;
  add_before(spv::Op::OpMemoryModel,
             spirv::test::instruction(spv::Op::OpCapability, {kCooperativeMatrixKHR}));
  add_before(spv::Op::OpMemoryModel, extension);
  add_before(spv::Op::OpName,
             spirv::test::instruction(spv::Op::OpExecutionMode, {main, kMaximallyReconvergesKHR}));
  add_before(spv::Op::OpTypeVoid,
             spirv::test::instruction(spv::Op::OpDecorate,
                                      {main, kSaturatedToLargestFloat8NormalConversionEXT}));
  const spirv::Module newer = spirv::test::parsed(words);
  EXPECT_TRUE(newer.has_extension("SPV_KHR_maximal_reconvergence"));
  const auto made = reconstruct(newer, newer.entry_points().front(), "x");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->lines, reconstruct(plain, plain.entry_points().front(), "x")->lines);
  EXPECT_EQ(without_unknown_declarations(plain),
            spirv::test::Words(plain.words().begin(), plain.words().end()));
  EXPECT_EQ(without_unknown_declarations(newer), without_unknown_declarations(plain));
}

TEST(Reconstruct, an_instruction_that_the_tools_do_not_know_is_named) {
  constexpr uint32_t kTypeCooperativeMatrixKHR = 4456;
  const spirv::Module plain = module_of(kLoop);
  spirv::test::Words words(plain.words().begin(), plain.words().end());
  const spirv::test::Words matrix = {
      7u << spv::WordCountShift | kTypeCooperativeMatrixKHR, words[3]++, 1, 1, 1, 1, 1};
  const spirv::Module module = spirv::test::parsed(words);
  words.insert(words.begin() + module.word_offset(module.functions().front().begin), matrix.begin(),
               matrix.end());
  const spirv::Module newer = spirv::test::parsed(words);
  const auto made = reconstruct(newer, newer.entry_points().front(), "x");
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, StartsWith("SPIRV-Tools v"));
  EXPECT_THAT(made.error().message, EndsWith(" does not know OpTypeCooperativeMatrixKHR"));
}

// coop.comp of glslang 14: matrices of constants, which Debian 12's SPIRV-Tools does not know.
TEST(Reconstruct, cooperative_matrices_are_shown_as_readable_spirv_with_the_reason) {
  std::ifstream file(ANALYSIS_TEST_DATA "/cooperative_matrix.spv", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  spirv::test::Words words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  const spirv::Module module = spirv::test::parsed(words);

  const auto listing = disassemble(module);
  EXPECT_THAT(listing, Contains(HasSubstr("OpCapability CooperativeMatrixKHR")));
  EXPECT_THAT(listing, Contains(HasSubstr("= OpCooperativeMatrixMulAddKHR %")));
  for (const char* name : {"OpCapability", "OpString", "OpExtInst"})
    EXPECT_THAT(listing, Not(Contains(ContainsRegex(std::string(name) + " \\d"))));

  store::TestDirectory directory;
  const std::string path = directory.file("matrices.tally");
  {
    TestScene scene(path);
    const auto shader = scene.add_shader("11112222aaaa", "matrices", words);
    const auto pipeline = scene.add_pipeline("aaaa0000cccc", "p", shader);
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, {32});
    scene.finish();
  }
  auto reader = store::Reader::open(path);
  ASSERT_TRUE(reader.ok());
  auto model = load_model(std::move(*reader), {});
  ASSERT_TRUE(model.ok());
  Analyzer analyzer(std::move(*model), nullptr, {.choice = SourceChoice::Glsl, .folder = nullptr});
  const auto listings = analyzer.listings(ListingKind::Source, {});
  ASSERT_TRUE(listings.ok());
  const Table& table = listings->at(0);
  if (table.id == "source") {  // a newer SPIRV-Cross can express them
    EXPECT_THAT(table.rows, Not(IsEmpty()));
    EXPECT_THAT(table.notes, Not(Contains(HasSubstr("shown as SPIR-V"))));
    return;
  }
  EXPECT_EQ(table.rows.size(), listing.size());
  EXPECT_THAT(table.notes, Contains(AnyOf(HasSubstr("shown as SPIR-V (matrices: SPIRV-Tools v"),
                                          HasSubstr("shown as SPIR-V (matrices: SPIRV-Cross: "))));
}

TEST(LineMarks, marked_copies_are_valid) {
  const spirv::Module module = module_of(kLoop);
  std::vector<uint32_t> lines(module.instruction_count());
  const std::vector<bool> marks = markable(module);
  for (uint32_t i = 0; i < lines.size(); ++i) lines[i] = marks[i] ? i + 1 : 0;
  const Status valid = check_decompilable(with_lines(module, kMarkFile, lines));
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().message);
}

TEST(LineMarks, text_without_marks_gives_no_instruction_a_line) {
  const spirv::Module module = module_of(kLoop);
  const GlslLines read =
      read_marks(module, "#line 99999 \"tally\"\nvoid main()\n{\n#line 0\n}\n}\n#line x\n");
  EXPECT_THAT(read.text, ElementsAre("void main()", "{", "}", "}"));
  for (const uint32_t line : read.line_of) EXPECT_EQ(line, 0u);
}

using Done = Result<std::string>;

const platform::IsolatedWork kEchoTwice("echo_twice", [](const std::string& request) {
  return Done(request + request);
});
const platform::IsolatedWork kFail("fail", [](const std::string&) { return Done(Error{"no"}); });
const platform::IsolatedWork kCrash("crash", [](const std::string&) -> Done { __builtin_trap(); });
const platform::IsolatedWork kThrow("throw", [](const std::string&) -> Done {
  throw std::runtime_error("thrown");
});
const platform::IsolatedWork kHang("hang", [](const std::string&) -> Done {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));  // until it is killed
});

TEST(Isolation, returns_what_the_work_returns) {
  const auto done = run_isolated(kEchoTwice, std::string(200'000, 'x'));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(*done, std::string(400'000, 'x'));
  const auto failed = run_isolated(kFail, "");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "no");
}

TEST(Isolation, names_how_the_work_ended) {
  const auto error_of = [](const platform::IsolatedWork& work, const std::string& request = "") {
    const auto result = run_isolated(work, request, {.seconds = 1, .output = 1000});
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_THAT(error_of(kCrash), StartsWith("it crashed with "));
  EXPECT_EQ(error_of(kThrow), "thrown");
  EXPECT_EQ(error_of(kHang), "it took more than 1 s");
  EXPECT_EQ(error_of(kEchoTwice, std::string(1000, 'x')), "its result is too large");
}

class Folder : public testing::Test {
 protected:
  void add(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.file(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  SourceFolder open() {
    auto opened = SourceFolder::open(folder_.path());
    EXPECT_TRUE(opened.ok());
    return std::move(*opened);
  }
  store::TestDirectory folder_;
};

TEST_F(Folder, the_longest_common_end_of_the_path_decides) {
  add("a/light.hlsl", "a");
  add("b/light.hlsl", "b");
  const SourceFolder folder = open();
  EXPECT_EQ(folder.find("C:\\game\\b\\light.hlsl")->text, "b");
  EXPECT_EQ(folder.find("/other/a/light.hlsl")->text, "a");
  EXPECT_FALSE(folder.find("/other/a/dark.hlsl"));
  EXPECT_FALSE(folder.find(""));
}

TEST_F(Folder, files_that_match_equally_well_are_all_named) {
  add("a/light.hlsl", "a");
  add("b/light.hlsl", "b");
  const auto match = open().find("light.hlsl");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->text, "");
  EXPECT_THAT(match->candidates, ElementsAre("a/light.hlsl", "b/light.hlsl"));
}

TEST_F(Folder, hidden_folders_and_links_to_folders_are_passed_over) {
  add(".git/light.hlsl", "git");
  add("real/light.hlsl", "real");
  std::error_code no_links;
  std::filesystem::create_directory_symlink(folder_.file("real"), folder_.file("link"), no_links);
  const auto match = open().find("light.hlsl");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->text, "real");
}

}  // namespace
}  // namespace tally::analysis
