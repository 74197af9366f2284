// Tables of regions, and of the draws in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "analysis/testing/tables_fixture.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::Contains;
using testing::ElementsAre;

TEST_F(Tables, regions_are_ranked_per_pixel_with_their_sums_beside_it) {
  {
    TestScene scene(file_);
    scene.begin_frame(0);
    const RowId pass = scene.begin_pass({});
    scene.add_regions(pass, {{"fragment_invocations", {256, 160}}});
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table table = require(analyzer.table(By::Region, {}));
  EXPECT_THAT(numbers(table, "fragment_invocations"), ElementsAre(160, 256));
  EXPECT_EQ(cell(table, 0, "fragment_invocations_per_pixel"), Cell(1.25));
  EXPECT_EQ(cell(table, 1, "fragment_invocations_per_pixel"), Cell(1.0));
  EXPECT_EQ(cell(table, 0, "share"), Cell(100.0 * 160 / 416)) << "of the sum";
  EXPECT_EQ(table.sorted_by, "fragment_invocations_per_pixel");
  const Table by_density =
      require(analyzer.table(By::Region, {.sort = "fragment_invocations_per_pixel"}));
  EXPECT_THAT(numbers(by_density, "fragment_invocations"), ElementsAre(160, 256));
  EXPECT_FALSE(by_density.column_index("share")) << "densities have no sum";
}

TEST_F(Tables, draws_of_a_region_have_their_share_and_what_is_left_has_a_row) {
  {
    TestScene scene(file_);
    scene.begin_frame(0);
    const RowId pass = scene.begin_pass({});
    const RowId pipeline = scene.add_pipeline("p", "", scene.add_shader("hash", "lamp"));
    scene.dispatch(pipeline, {}, {}, {1});
    scene.dispatch(pipeline, {}, {}, {1});
    scene.add_regions(pass, {{"fragment_invocations", {256, 160}}});
    scene.add_region_draw(1, "fragment_invocations", {0, 1}, {64, 160});
    scene.add_region_draw(2, "fragment_invocations", {0}, {128});
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table table = require(analyzer.table(By::RegionDraw, {.sort = "fragment_invocations"}));
  EXPECT_THAT(numbers(table, "fragment_invocations"), ElementsAre(160, 128, 64, 64));
  EXPECT_EQ(cell(table, 0, "region_share"), Cell(100.0));
  EXPECT_EQ(cell(table, 1, "region_share"), Cell(50.0));
  const Table first = require(analyzer.table(
      By::RegionDraw, {.sort = "fragment_invocations", .at = std::pair<int64_t, int64_t>{15, 15}}));
  EXPECT_THAT(numbers(first, "fragment_invocations"), ElementsAre(128, 64, 64));
  EXPECT_THAT(texts(first, "call"), Contains("(other draws)"));
  const Table second = require(analyzer.table(
      By::RegionDraw, {.sort = "fragment_invocations", .at = std::pair<int64_t, int64_t>{16, 0}}));
  EXPECT_THAT(numbers(second, "fragment_invocations"), ElementsAre(160));
}

TEST_F(Tables, helpers_and_discarded_invocations_of_a_region_are_shares_of_its_fragments) {
  {
    TestScene scene(file_);
    scene.begin_frame(0);
    const RowId pass = scene.begin_pass({});
    scene.add_regions(pass, {{"fragment_invocations", {256, 160}},
                             {"helper_invocations", {64, 40}},
                             {"discarded_invocations", {64, 0}}});
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table table = require(analyzer.table(By::Region, {.sort = "x"}));
  EXPECT_EQ(cell(table, 0, "helper_share"), Cell(20.0)) << "64 of 256 + 64";
  EXPECT_EQ(cell(table, 1, "helper_share"), Cell(20.0));
  EXPECT_EQ(cell(table, 0, "discarded_share"), Cell(25.0));
  EXPECT_EQ(cell(table, 1, "discarded_share"), Cell(0.0));
}

}  // namespace
}  // namespace tally::analysis
