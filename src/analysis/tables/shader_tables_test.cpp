// Tables of shaders, their permutations and their executables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/tables/summary.h"
#include "analysis/testing/tables_fixture.h"
#include "store/format/sqlite.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Discards in one of two branches.
const char* const kDiscard = R"(
%void = OpTypeVoid
%bool = OpTypeBool
%true = OpConstantTrue %bool
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%entry = OpLabel
OpSelectionMerge %end None
OpBranchConditional %true %gone %end
%gone = OpLabel
OpKill
%end = OpLabel
OpReturn
OpFunctionEnd
)";

TEST_F(Tables, discarded_invocations_are_a_share_where_the_shader_can_discard) {
  {
    TestScene scene(file_);
    scene.begin_frame(0);
    scene.dispatch(scene.add_pipeline("aa", "", scene.add_shader("bb", "", assembled(kDiscard))),
                   {}, {}, {8, 3, 5});
    scene.dispatch(scene.add_pipeline("cc", "", scene.add_shader("dd", "")), {}, {}, {4, 1, 3, 4});
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table shaders = require(analyzer.table(By::Shader, {.sort = "hash"}));
  EXPECT_EQ(cell(shaders, 0, "discarded"), Cell(uint64_t{3}));
  EXPECT_EQ(cell(shaders, 0, "discarded_share"), Cell(37.5));
  EXPECT_EQ(cell(shaders, 1, "discarded"), Cell());
  EXPECT_EQ(cell(shaders, 1, "discarded_share"), Cell());
}

// Without debug information.
constexpr const char* kNameless = R"(
%void = OpTypeVoid
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%entry = OpLabel
OpReturn
OpFunctionEnd
)";

TEST_F(Tables, a_name_of_a_shader_or_of_a_pipeline_is_a_name) {
  const auto has_names = [&](const char* shader_name, const char* pipeline_name) {
    {
      TestScene scene(file_);
      const RowId shader = scene.add_shader("0123456789", shader_name, assembled(kNameless));
      scene.begin_frame(0);
      scene.dispatch(scene.add_pipeline("p1", pipeline_name, shader), {}, {}, {1});
      scene.finish();
    }
    return summarize(open().model()).has_names;
  };
  EXPECT_FALSE(has_names("", ""));
  EXPECT_TRUE(has_names("blur", ""));
  EXPECT_TRUE(has_names("", "blur"));
}

TEST_F(Tables, a_shader_without_a_name_has_that_of_its_pipelines) {
  TestScene scene(file_);
  const RowId one = scene.add_shader("11112222aaaa", "", assembled(kNameless)),
              several = scene.add_shader("33334444bbbb", "", assembled(kNameless)),
              source = scene.add_shader("55556666cccc", "");
  const RowId pipelines[] = {
      scene.add_pipeline("a", "matmul", one), scene.add_pipeline("b", "matmul", one),
      scene.add_pipeline("c", "soft max", several), scene.add_pipeline("d", "norm", several),
      scene.add_pipeline("e", "copy", source)};
  scene.begin_frame(0);
  for (const RowId pipeline : pipelines) scene.dispatch(pipeline, {}, {}, {1});
  scene.finish();
  EXPECT_THAT(open().model().shader_names, ElementsAre("matmul", "33334444", "branch.comp"));
  EXPECT_THAT(open({.frames = {}, .shader = "soft max"}).model().shader_selected,
              ElementsAre(false, true, false));
}

TEST_F(Tables, executables_have_a_column_for_each_statistic_of_the_drivers_compiler) {
  store::write_test_capture(file_);
  const Table table = require(open().table(By::Executable, {.sort = "occupancy"}));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(texts(table, "pipeline"), std::vector<std::string>{"blur"});
  EXPECT_EQ(texts(table, "executable"), std::vector<std::string>{"fragment shader"});
  EXPECT_EQ(texts(table, "stages"), std::vector<std::string>{"fragment"});
  EXPECT_EQ(cell(table, 0, "registers"), Cell(uint64_t{40}));
  EXPECT_EQ(cell(table, 0, "occupancy"), Cell(0.75));
  EXPECT_EQ(table.columns[*table.column_index("registers")].description, "of an invocation");
  EXPECT_FALSE(table.column_index("share")) << "they do not add up";
  EXPECT_TRUE(
      require(open({.frames = {}, .shader = "none"}).table(By::Executable, {})).rows.empty());
}

TEST_F(Tables, a_capture_without_statistics_names_the_option) {
  TestScene scene(file_);
  scene.begin_frame(0);
  scene.finish();
  EXPECT_THAT(why_no_rows(open().model(), By::Executable, {}), HasSubstr("--statistics"));
}

// Two modules with the same name, one of which has two specializations.
class Permutations : public Tables {
 protected:
  void SetUp() override {
    TestScene scene(file_);
    const RowId first = scene.add_shader("11112222aaaa", "blur.comp"),
                second = scene.add_shader("33334444bbbb", "blur.comp"),
                third = scene.add_shader("33334444bbbb", "blur.comp", branching_shader(), kSlow);
    const RowId plain = scene.add_pipeline("aaaa0000cccc", "blur", first),
                fast = scene.add_pipeline("bbbb0000cccc", "blur", second),
                slow = scene.add_pipeline("cccc0000dddd", "blur", third);
    scene.begin_frame(0);
    scene.dispatch(plain, {}, {}, {1, 1, 0, 1});
    scene.dispatch(fast, {}, {}, {10, 10, 0, 10});
    scene.dispatch(slow, {}, {}, {100, 0, 100, 100});
    scene.finish();
  }

  static inline const Specialization kSlow = {{0, 4, 0}};
};

TEST_F(Permutations, of_a_shader_have_separate_rows_by_hash_and_specialization) {
  Analyzer analyzer = open();
  const Table table = require(analyzer.table(By::Shader, {}));
  EXPECT_THAT(texts(table, "shader"), ElementsAre("blur.comp (33334444) [0=false]",
                                                  "blur.comp (33334444)", "blur.comp (11112222)"));
  EXPECT_THAT(texts(table, "constants"), ElementsAre("0=false", "", ""));
  EXPECT_FALSE(table.columns[*table.column_index("constants")].shown);
  EXPECT_THAT(numbers(table, "invocations"), ElementsAre(100, 10, 1));
  EXPECT_THAT(numbers(table, "commands"), ElementsAre(1, 1, 1));
}

TEST_F(Permutations, have_separate_lines_and_blocks) {
  Analyzer analyzer = open();
  const Table lines = require(analyzer.table(By::Line, {.sort = "instructions"}));
  std::vector<std::string> last;  // the shaders with line 6, hottest first
  for (size_t r = 0; r < lines.rows.size(); ++r) {
    if (cell(lines, r, "location") != Cell("branch.comp:6")) continue;
    last.push_back(std::get<std::string>(cell(lines, r, "shader")) + " " +
                   std::to_string(std::get<uint64_t>(cell(lines, r, "executions"))));
  }
  EXPECT_THAT(last, ElementsAre("blur.comp (33334444) [0=false] 100", "blur.comp (33334444) 10",
                                "blur.comp (11112222) 1"));
  EXPECT_TRUE(lines.columns[*lines.column_index("shader")].shown);
  const Table blocks = require(analyzer.table(By::Block, {.sort = "block"}));
  EXPECT_THAT(texts(blocks, "shader"),
              testing::Contains("blur.comp (33334444) [0=false]").Times(4));
}

TEST_F(Permutations, share_one_row_per_line_with_merge) {
  Analyzer analyzer = open();
  const Table lines = require(analyzer.table(By::Line, {.merge = true}));
  EXPECT_THAT(texts(lines, "location"), testing::Contains("branch.comp:6").Times(1));
  EXPECT_EQ(require(analyzer.table(By::Line, {})).rows.size(), 3 * 5u);
}

TEST_F(Permutations, are_listed_once_for_each_one_that_ran) {
  Analyzer analyzer = open({.frames = {}, .shader = "blur.comp"});
  const auto listings = analyzer.listings(ListingKind::Source, {});
  ASSERT_TRUE(listings.ok());
  std::vector<std::string> titles;
  for (const Table& listing : *listings) titles.push_back(listing.title);
  EXPECT_THAT(titles, UnorderedElementsAre(HasSubstr("(11112222) ("), HasSubstr("(33334444) ("),
                                           HasSubstr("(33334444) [0=false] (")));
}

TEST_F(Permutations, are_disassembled_with_their_constants) {
  Analyzer analyzer = open({.frames = {}, .shader = "blur.comp (33334444) [0=false]"});
  const auto listings = analyzer.listings(ListingKind::Disassembly, {});
  ASSERT_TRUE(listings.ok());
  ASSERT_EQ(listings->size(), 1u);
  EXPECT_THAT(texts(listings->front(), "text"),
              testing::Contains(HasSubstr("OpSpecConstantFalse")));
}

// A capture of format 6 has one shader for both pipelines.
TEST_F(Permutations, of_an_older_capture_go_by_their_pipelines) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("33334444bbbb", "blur.comp");
    const RowId fast = scene.add_pipeline("bbbb0000cccc", "blur", shader),
                slow = scene.add_pipeline("cccc0000dddd", "blur", shader);
    scene.begin_frame(0);
    scene.dispatch(fast, {}, {}, {10, 10, 0, 10});
    scene.dispatch(slow, {}, {}, {100, 0, 100, 100});
    scene.finish();
  }
  {
    auto database = store::require(store::Database::open(file_, store::Database::Mode::Create));
    ASSERT_TRUE(database.execute("PRAGMA user_version = 6").ok());
  }
  const Table table = require(open().table(By::Shader, {}));
  EXPECT_THAT(texts(table, "shader"), ElementsAre("blur.comp", "blur.comp"));
  EXPECT_THAT(texts(table, "pipeline"), ElementsAre("blur (cccc0000)", "blur (bbbb0000)"));
  EXPECT_THAT(numbers(table, "invocations"), ElementsAre(100, 10));
}

TEST_F(Permutations, are_selected_by_the_name_that_a_report_shows) {
  EXPECT_THAT(open({.frames = {}, .shader = "blur.comp (11112222)"}).model().shader_selected,
              ElementsAre(true, false, false));
  EXPECT_THAT(open({.frames = {}, .shader = "blur.comp"}).model().shader_selected,
              ElementsAre(true, true, true));
  EXPECT_THAT(
      open({.frames = {}, .shader = "blur.comp (33334444) [0=false]"}).model().shader_selected,
      ElementsAre(false, false, true));
}

TEST_F(Permutations, are_selected_by_the_name_or_hash_of_their_pipeline) {
  for (const char* pattern : {"blur (cccc0000)", "cccc0000", "cccc"}) {
    Analyzer analyzer = open({.frames = {}, .shader = pattern});
    EXPECT_THAT(numbers(require(analyzer.table(By::Shader, {})), "invocations"), ElementsAre(100))
        << pattern;
    const auto listings = analyzer.listings(ListingKind::Source, {});
    ASSERT_TRUE(listings.ok());
    ASSERT_EQ(listings->size(), 1u) << pattern;
    EXPECT_THAT(listings->at(0).title, HasSubstr("blur.comp (33334444) [0=false]"));
  }
  EXPECT_THAT(open({.frames = {}, .shader = "blur"}).model().shader_selected,
              ElementsAre(true, true, true));
  EXPECT_THAT(open({.frames = {}, .shader = "lur (cccc0000)"}).model().shader_selected,
              ElementsAre(false, false, false));
}

TEST_F(Permutations, have_pipelines_of_different_names) {
  Analyzer analyzer = open();
  EXPECT_THAT(texts(require(analyzer.table(By::Draw, {})), "pipeline"),
              UnorderedElementsAre("blur (aaaa0000)", "blur (bbbb0000)", "blur (cccc0000)"));
}

TEST_F(Permutations, that_are_not_selected_explain_an_empty_result) {
  const auto why = [this](const Selection& selection, By by) {
    return why_no_rows(open(selection).model(), by, {});
  };
  EXPECT_EQ(why({.frames = FrameRange{3, 9}, .shader = {}}, By::Draw),
            "the capture has nothing in frames 3-9; it has frame 0");
  EXPECT_THAT(why({}, By::Region), HasSubstr("--regions"));
  EXPECT_THAT(why({}, By::Counter), HasSubstr("EGL"));
  EXPECT_THAT(why({.frames = {}, .shader = "vertex"}, By::Draw), HasSubstr("'vertex'"));
}

}  // namespace
}  // namespace tally::analysis
