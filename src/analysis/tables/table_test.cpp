// Rows, columns and shares of tables of any kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/tables/table_builder.h"
#include "analysis/testing/tables_fixture.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(RowsOfTables, are_computed_on_demand) {
  size_t made = 0;
  Rows rows({10, 20, 30}, {[&](size_t n) -> Cell { return ++made, uint64_t{n}; }}, nullptr);
  EXPECT_EQ(made, 0u);
  rows.reorder({2, 0, 1});
  rows.append_column(0, [](const Cell& cell) -> Cell { return 2 * std::get<uint64_t>(cell); });
  rows.truncate(2);
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.cell(0, 1), Cell(uint64_t{60}));
  EXPECT_EQ(rows.cell(1, 0), Cell(uint64_t{10}));
  EXPECT_EQ(made, 2u);
}

TEST(RowsOfTables, are_edited_alike_whether_stored_or_computed) {
  Rows rows = {{uint64_t{1}, std::string("a")}, {uint64_t{2}, std::string("b")}};
  rows.select_columns({1});
  rows.reorder({1, 0});
  EXPECT_EQ(rows.cell(0, 0), Cell("b"));
  EXPECT_EQ(rows.cell(1, 0), Cell("a"));
}

TEST(Ratios, have_no_value_without_their_base_or_a_part_of_them) {
  Table table;
  Row some, none, lacking;
  const auto add = [&](const char* id, const Cell& a, const Cell& b, const Cell& c) {
    table.columns.push_back({.id = id, .title = id, .unit = Unit::Count});
    some.push_back(a), none.push_back(b), lacking.push_back(c);
  };
  for (const char* id : {"float16", "float32", "float64", "int8", "int16", "int32", "int64",
                         "division", "logic", "conversion", "special_function", "derivative"})
    add(id, uint64_t{1}, uint64_t{1}, uint64_t{1});
  add("fma", uint64_t{4}, uint64_t{4}, Cell());
  add("buffer_bytes_loaded", uint64_t{5}, uint64_t{0}, uint64_t{5});
  add("buffer_bytes_stored", uint64_t{2}, uint64_t{0}, uint64_t{2});
  add("uniform_bytes_loaded", uint64_t{1}, uint64_t{0}, uint64_t{1});
  add("invocations", uint64_t{2}, uint64_t{2}, uint64_t{0});
  table.rows = {some, none, lacking};
  ASSERT_TRUE(finish_table(table, {}, {}).ok());
  const auto ratios = [&](const char* id) {
    std::vector<Cell> cells;
    for (size_t r = 0; r < 3; ++r) cells.push_back(table.rows.cell(r, *table.column_index(id)));
    return cells;
  };
  EXPECT_THAT(ratios("operations_per_byte"), ElementsAre(Cell(2.5), Cell(), Cell()));
  EXPECT_THAT(ratios("bytes_per_invocation"), ElementsAre(Cell(4.0), Cell(0.0), Cell()));
}

TEST_F(Tables, rows_that_lack_a_time_leave_no_share_of_the_time) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("bb", "");
    const RowId inside = scene.add_pipeline("p1", "inside", shader),
                outside = scene.add_pipeline("p2", "outside", shader);
    for (int64_t frame = 0; frame < 2; ++frame) {
      scene.begin_frame(frame);
      scene.dispatch(outside, {}, 70, {1});
      scene.begin_pass(930);
      scene.dispatch(inside, {}, {}, {1});
    }
    scene.finish();
  }
  Analyzer analyzer = open({.frames = FrameRange{1, 1}, .shader = {}});
  for (const By by : {By::Draw, By::Pipeline}) {
    const Table table = require(analyzer.table(by, {.sort = "gpu_time"}));
    EXPECT_EQ(cell(table, 0, "gpu_time"), Cell(uint64_t{70}));
    EXPECT_EQ(cell(table, 1, "gpu_time"), Cell());
    EXPECT_FALSE(table.column_index("share"));
    EXPECT_THAT(
        table.notes,
        ElementsAre("No share: 1 of 2 rows lack GPU time: what is in a pass is "
                    "timed with its pass (--by pass), unless tally run has --times draws."));
    EXPECT_TRUE(require(analyzer.table(by, {})).column_index("share")) << "of the instructions";
  }
  const Table passes = require(analyzer.table(By::Pass, {.sort = "gpu_time"}));
  EXPECT_EQ(cell(passes, 0, "share"), Cell(93.0));
  EXPECT_EQ(cell(passes, 1, "share"), Cell(7.0));
  EXPECT_THAT(passes.notes, ElementsAre());
}

TEST_F(Tables, what_ran_uncounted_is_not_0_and_leaves_no_share) {
  {
    TestScene scene(file_);
    const RowId known = scene.add_shader("aa", ""), unknown = scene.add_shader("bb", "");
    const RowId counted = scene.add_pipeline("p1", "counted", known),
                uncounted = scene.add_uncounted_pipeline("p2", unknown, "no memory");
    scene.begin_frame(0);
    scene.dispatch(counted, {}, 10, {1});
    scene.begin_frame(1);
    scene.dispatch_uncounted(uncounted);
    scene.finish();
  }
  Analyzer analyzer = open();
  for (const By by : {By::Draw, By::Pipeline, By::Frame, By::Shader}) {
    const Table table = require(analyzer.table(by, {}));
    ASSERT_EQ(table.rows.size(), 2u);
    EXPECT_EQ(cell(table, 0, "instructions"), Cell(uint64_t{1}));
    EXPECT_EQ(cell(table, 1, "instructions"), Cell());
    EXPECT_FALSE(table.column_index("share"));
    EXPECT_EQ(table.notes.at(0),
              "No share: 1 of 2 rows lack cost: they ran without being counted.");
    Analyzer first = open({.frames = FrameRange{0, 0}, .shader = {}});
    EXPECT_EQ(cell(require(first.table(by, {})), 0, "share"), Cell(100.0));
  }
}

// A shader of two pipelines, one of which runs uncounted.
TEST_F(Tables, where_only_a_part_of_the_runs_was_counted_there_is_no_share) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("aa", ""), other = scene.add_shader("bb", "");
    const RowId counted = scene.add_pipeline("p1", "one", shader),
                uncounted = scene.add_uncounted_pipeline("p2", shader, "no memory"),
                whole = scene.add_pipeline("p3", "three", other);
    scene.begin_frame(0);
    scene.dispatch(counted, {}, {}, {1, 1, 0, 1});
    scene.dispatch_uncounted(uncounted);
    scene.dispatch(whole, {}, {}, {1, 0, 1, 1});
    scene.finish();
  }
  Analyzer analyzer = open();
  for (const By by : {By::Frame, By::Shader, By::Line, By::Block, By::Function, By::CallTree}) {
    const Table table = require(analyzer.table(by, {}));
    EXPECT_FALSE(table.column_index("share"));
    EXPECT_THAT(table.notes,
                Contains("No share: 1 of 3 commands ran a shader that was not counted."));
    Analyzer whole = open({.frames = {}, .shader = "bb"});
    EXPECT_THAT(require(whole.table(by, {})).notes, Not(Contains(HasSubstr("No share"))));
    if (by == By::CallTree) continue;
    EXPECT_TRUE(require(whole.table(by, {})).column_index("share"));
  }
  for (const By by : {By::Function, By::CallTree}) {
    const Table table = require(analyzer.table(by, {}));
    EXPECT_EQ(cell(table, 0, "share_with_callees"), Cell());
    EXPECT_FALSE(table.columns[*table.column_index("share_with_callees")].shown);
  }
  EXPECT_TRUE(require(analyzer.table(By::Shader, {.sort = "commands"})).column_index("share"));
  const auto made = analyzer.listings(ListingKind::Disassembly, {});
  ASSERT_TRUE(made.ok());
  const std::vector<Table>& listings = *made;
  ASSERT_EQ(listings.size(), 2u);
  const auto shares = [](const Table& table) {
    size_t count = 0;
    for (size_t r = 0; r < table.rows.size(); ++r) count += cell(table, r, "share") != Cell();
    return count;
  };
  EXPECT_EQ(shares(listings[0]), 0u);
  EXPECT_FALSE(listings[0].columns[*listings[0].column_index("share")].shown);
  EXPECT_THAT(listings[0].notes,
              Contains("No share: 1 of 2 commands ran a shader that was not counted."));
  EXPECT_GT(shares(listings[1]), 0u) << "all of its own runs are counted";
  EXPECT_THAT(listings[1].notes, Not(Contains(HasSubstr("No share"))));
}

TEST_F(Tables, show_the_multiply_adds_of_matrices_in_place_of_those_that_no_shader_has) {
  {
    TestScene scene(file_);
    const RowId products = scene.add_metric(catalogue::Number::MatrixMultiplyAdds);
    scene.add_metric(catalogue::Number::Fma);
    const RowId pipeline = scene.add_pipeline("p1", "one", scene.add_shader("aa", ""));
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, {1, 0, 0, 1});
    scene.set_value(0, products, 4096);
    scene.finish();
  }
  Analyzer analyzer = open();
  for (const By by : {By::Draw, By::Pipeline, By::Shader}) {
    const Table table = require(analyzer.table(by, {}));
    EXPECT_EQ(cell(table, 0, "matrix_multiply_adds"), Cell(uint64_t{4096}));
    EXPECT_TRUE(table.columns[*table.column_index("matrix_multiply_adds")].shown);
    EXPECT_FALSE(table.columns[*table.column_index("fma")].shown);
  }
}

}  // namespace
}  // namespace tally::analysis
