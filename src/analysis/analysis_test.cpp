#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "analysis/model/counts.h"
#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/model/timeline.h"
#include "analysis/tables/analyzer.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/summary.h"
#include "store/format/sqlite.h"
#include "store/testing/test_capture.h"

namespace tally::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FrameRange, accepts_single_frames_and_ranges_open_at_either_end) {
  const auto range = [](const char* text) {
    const auto parsed = parse_frame_range(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return std::pair(parsed->first, parsed->last);
  };
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(range("7"), std::pair(int64_t{7}, int64_t{7}));
  EXPECT_EQ(range("3-9"), std::pair(int64_t{3}, int64_t{9}));
  EXPECT_EQ(range("3-"), std::pair(int64_t{3}, kLast));
  EXPECT_EQ(range("-9"), std::pair(int64_t{0}, int64_t{9}));
}

TEST(FrameRange, refuses_everything_else) {
  for (const char* text :
       {"", "-", "x", "3-x", "9-3", "1-2-3", "--3", " 3", "99999999999999999999"}) {
    EXPECT_FALSE(parse_frame_range(text).ok()) << text;
  }
}

TEST(Pattern, without_wildcards_matches_anywhere_and_ignores_case) {
  EXPECT_TRUE(matches_pattern("BLUR", "my_blur.frag"));
  EXPECT_FALSE(matches_pattern("blur", "bl_ur"));
}

TEST(Pattern, with_wildcards_matches_the_whole_text) {
  EXPECT_TRUE(matches_pattern("*.frag", "blur.frag"));
  EXPECT_FALSE(matches_pattern("*.frag", "blur.frag.spv"));
  EXPECT_TRUE(matches_pattern("b?ur*", "blur.frag"));
  EXPECT_TRUE(matches_pattern("*a*b*c", "xxaxxbxxbxxc"));
  EXPECT_FALSE(matches_pattern("*a*b*c", "xxaxxbxxbxxcd"));
  EXPECT_TRUE(matches_pattern("*", ""));
}

CommandPosition command(uint32_t number, store::RowId execution, int64_t position) {
  return {.execution = execution, .position = position, .command = number};
}

std::vector<uint32_t> order(const std::vector<store::ExecutionRow>& executions,
                            const std::vector<CommandPosition>& commands) {
  std::vector<uint32_t> numbers;
  for (const auto& place : in_execution_order(executions, commands)) {
    numbers.push_back(place.command);
  }
  return numbers;
}

TEST(ExecutionOrder, primaries_run_by_position) {
  EXPECT_THAT(order({{.id = 1, .position = 1}, {.id = 2, .position = 0}},
                    {command(10, 1, 0), command(20, 2, 1), command(21, 2, 0)}),
              ElementsAre(21, 20, 10));
}

TEST(ExecutionOrder, secondary_runs_before_its_parent_command) {
  EXPECT_THAT(
      order({{.id = 1, .position = 0}, {.id = 2, .position = 1, .parent = 1, .parent_command = 1}},
            {command(10, 1, 0), command(11, 1, 1), command(20, 2, 0)}),
      ElementsAre(10, 20, 11));
}

TEST(ExecutionOrder, secondary_after_the_last_command_runs_last) {
  EXPECT_THAT(
      order({{.id = 1, .position = 0}, {.id = 2, .position = 1, .parent = 1, .parent_command = 2}},
            {command(10, 1, 0), command(20, 2, 0)}),
      ElementsAre(10, 20));
}

TEST(ExecutionOrder, unknown_parents_and_cycles_lose_no_command) {
  EXPECT_THAT(order({{.id = 1, .position = 0, .parent = 2},
                     {.id = 2, .position = 1, .parent = 1},
                     {.id = 3, .position = 2, .parent = 99}},
                    {command(10, 1, 0), command(20, 2, 0), command(30, 3, 0), command(40, 77, 0)}),
              testing::UnorderedElementsAre(10, 20, 30, 40));
}

TEST(ExecutionOrder, secondaries_may_be_nested_a_million_deep) {
  constexpr store::RowId kDepth = 1'000'000;
  std::vector<store::ExecutionRow> executions;
  for (store::RowId id = 1; id <= kDepth; ++id) {
    executions.push_back({.id = id, .position = id, .parent_command = 0});
    if (id > 1) executions.back().parent = id - 1;
  }
  EXPECT_THAT(order(executions, {command(10, kDepth, 0), command(20, 1, 0)}), ElementsAre(10, 20));
}

Table one_column(std::vector<Cell> cells, Unit unit, ColumnRole role) {
  Table table;
  table.columns = {{.id = "x", .title = "x", .unit = unit, .role = role}};
  for (Cell& cell : cells) table.rows.push_back({std::move(cell)});
  return table;
}

TEST(Table, counts_above_2_to_the_53_are_sorted_exactly) {
  constexpr uint64_t kBig = uint64_t{1} << 60;
  Table table = one_column({Cell(kBig), Cell(kBig + 1)}, Unit::Count, ColumnRole::Value);
  sort_rows(table, 0);
  EXPECT_EQ(std::get<uint64_t>(table.rows.cell(0, 0)), kBig + 1);
}

TEST(Table, values_are_sorted_descending_and_keys_ascending) {
  Table values =
      one_column({Cell(uint64_t{1}), Cell(), Cell(uint64_t{3})}, Unit::Count, ColumnRole::Value);
  sort_rows(values, 0);
  EXPECT_EQ(std::get<uint64_t>(values.rows.cell(0, 0)), 3u);
  Table keys = one_column({Cell(uint64_t{3}), Cell(uint64_t{1})}, Unit::Count, ColumnRole::Key);
  sort_rows(keys, 0);
  EXPECT_EQ(std::get<uint64_t>(keys.rows.cell(0, 0)), 1u);
}

TEST(Counts, sums_and_products_saturate) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(saturating_sum(kMax, 1), kMax);
  EXPECT_EQ(saturating_sum(1, 2), 3u);
  EXPECT_EQ(saturating_product(kMax / 2, 3), kMax);
  EXPECT_EQ(saturating_product(2, 3), 6u);
}

TEST(Calls, equal_calls_share_a_number) {
  const store::FunctionRow draw{.id = 1, .kind = store::CallKind::Draw, .name = "vkCmdDraw"};
  const std::vector<std::string> names = {"vertexCount", "firstVertex"};
  const auto of = [](int64_t a, int64_t b) { return std::vector<int64_t>{a, b}; };
  Calls calls;
  EXPECT_EQ(calls.intern(draw, names, of(3, 0)), 0u);
  EXPECT_EQ(calls.intern(draw, names, of(3, 1)), 1u);
  EXPECT_EQ(calls.intern(draw, names, of(3, 0)), 0u);
  EXPECT_EQ(calls[1].name, "vkCmdDraw");
  EXPECT_EQ(calls[1].parameters[1], 1);
}

TEST(CallText, sizes_come_first_and_zeros_are_omitted) {
  const auto text = [](const char* name, std::vector<std::string> names,
                       std::vector<int64_t> values) {
    return call_text({store::CallKind::Draw, name, names, values});
  };
  EXPECT_EQ(text("vkCmdDraw", {"vertexCount", "instanceCount", "firstVertex"}, {3, 1, 0}),
            "Draw 3");
  EXPECT_EQ(text("vkCmdDrawIndexed", {"indexCount", "instanceCount", "firstIndex"}, {36, 10, 6}),
            "DrawIndexed 36 x 10 firstIndex=6");
  EXPECT_EQ(text("vkCmdDispatch", {"groupCountX", "groupCountY", "groupCountZ"}, {8, 1, 1}),
            "Dispatch 8 x 1 x 1");
  EXPECT_EQ(text("vkCmdDrawIndirect", {}, {}), "DrawIndirect");
}

// The store's test capture: two draws in one batch and one dispatch whose shader is not valid
// SPIR-V.
class SmallCapture : public testing::Test {
 protected:
  Analyzer analyzer(const Selection& selection = {}) {
    if (!std::filesystem::exists(file_)) store::write_test_capture(file_);
    auto reader = store::Reader::open(file_);
    EXPECT_TRUE(reader.ok());
    auto model = load_model(std::move(*reader), selection);
    EXPECT_TRUE(model.ok());
    return Analyzer(std::move(*model), nullptr);
  }

  static Cell cell(const Table& table, size_t row, const char* column) {
    const auto index = table.column_index(column);
    EXPECT_TRUE(index.has_value()) << column;
    return index ? table.rows.cell(row, *index) : Cell();
  }

  store::TestDirectory directory_;
  const std::string file_ = directory_.file("one.tally");
};

TEST_F(SmallCapture, block_has_static_costs_and_stored_values) {
  const auto table = analyzer().table(By::Block, {.sort = "fma"});
  ASSERT_TRUE(table.ok()) << table.error().message;
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(cell(*table, 0, "block"), Cell(uint64_t{0}));
  EXPECT_EQ(cell(*table, 0, "executions"), Cell(uint64_t{107}));
  // The block of the first row has a cost of 3; the second row is not executions x cost.
  EXPECT_EQ(cell(*table, 0, "fma"), Cell(uint64_t{3 * 107}));
  EXPECT_EQ(cell(*table, 1, "fma"), Cell(uint64_t{2 * 5}));
}

TEST_F(SmallCapture, draw_has_the_sums_of_its_stages) {
  const auto table = analyzer().table(By::Draw, {.sort = "fma", .each = true});
  ASSERT_TRUE(table.ok()) << table.error().message;
  ASSERT_EQ(table->rows.size(), 3u);
  EXPECT_EQ(cell(*table, 0, "call"), Cell("Draw 3"));
  EXPECT_EQ(cell(*table, 0, "fma"), Cell(uint64_t{3 * 100 + 5}));
  EXPECT_EQ(cell(*table, 0, "label"), Cell("Frame / Shadow"));
  EXPECT_EQ(cell(*table, 1, "call"), Cell("Draw 3 firstVertex=30"));
  EXPECT_EQ(cell(*table, 1, "fma"), Cell(uint64_t{3 * 7 + 5}));
  EXPECT_EQ(cell(*table, 1, "label"), Cell("Frame")) << "of the queue";
  EXPECT_EQ(cell(*table, 2, "gpu_time"), Cell(uint64_t{5}));
}

TEST_F(SmallCapture, frames_that_are_not_selected_are_omitted) {
  const Selection later{.frames = FrameRange{1, 5}, .shader = {}};
  const auto table = analyzer(later).table(By::Draw, {});
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_TRUE(table->rows.empty());
  EXPECT_EQ(summarize(analyzer(later).model()).draws, 0u);
}

// The capture's only dispatch has the counts of another one.
TEST_F(SmallCapture, repeated_dispatches_are_told_in_the_summary) {
  EXPECT_EQ(summarize(analyzer().model()).dispatches_repeated, 0u);
  {
    auto database = store::require(store::Database::open(file_, store::Database::Mode::Create));
    ASSERT_TRUE(database.execute("UPDATE command_batch SET repeats = 1 WHERE pass IS NULL").ok());
  }
  for (const auto detail : {Model::Detail::Commands, Model::Detail::Batches}) {
    auto model = load_model(std::move(*store::Reader::open(file_)), {}, detail);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(summarize(*model).dispatches_repeated, 1u);
  }
}

TEST_F(SmallCapture, counted_by_batches_has_the_same_summary) {
  const Analyzer by_command = analyzer();
  auto by_batch = load_model(std::move(*store::Reader::open(file_)), {}, Model::Detail::Batches);
  ASSERT_TRUE(by_batch.ok()) << by_batch.error().message;
  EXPECT_LT(by_batch->commands.size(), by_command.model().commands.size());
  const Summary each = summarize(by_command.model()), batches = summarize(*by_batch);
  EXPECT_EQ(each.draws, 2u);
  EXPECT_EQ(batches.draws, each.draws);
  EXPECT_EQ(batches.dispatches, each.dispatches);
  EXPECT_EQ(batches.frames, each.frames);
  EXPECT_EQ(batches.passes, each.passes);
  EXPECT_EQ(batches.pipelines, each.pipelines);
  EXPECT_EQ(batches.shaders_counted, each.shaders_counted);
  ASSERT_EQ(batches.uncounted.size(), each.uncounted.size());
  for (size_t i = 0; i < each.uncounted.size(); ++i) {
    EXPECT_EQ(batches.uncounted[i].what, each.uncounted[i].what);
    EXPECT_EQ(batches.uncounted[i].commands, each.uncounted[i].commands);
  }
}

TEST_F(SmallCapture,
       commands_that_the_device_generates_are_draws_in_a_pass_and_dispatches_outside) {
  store::write_test_capture(file_);
  auto model = load_model(std::move(*store::Reader::open(file_)), {}, Model::Detail::Commands);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Summary before = summarize(*model);
  const store::FunctionRow generated{
      .id = 99, .kind = store::CallKind::Generated, .name = "vkCmdExecuteGeneratedCommandsEXT"};
  for (Command& command : model->commands) {
    ASSERT_EQ(model->is_draw(command), command.pass != kNone);
    command.call = model->calls.intern(generated, {}, {});
  }
  const Summary after = summarize(*model);
  EXPECT_EQ(before.draws, 2u);
  EXPECT_EQ(after.draws, before.draws);
  EXPECT_EQ(after.dispatches, before.dispatches);
}

TEST_F(SmallCapture, shader_whose_code_cannot_be_read_is_counted_all_the_same) {
  const auto table = analyzer().table(By::Shader, {});
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(cell(*table, 0, "shader"), Cell("blur.spv"));
  EXPECT_EQ(cell(*table, 0, "fma"), Cell(uint64_t{3 * 107 + 2 * 5}));
}

TEST_F(SmallCapture, metric_of_a_driver_keeps_its_name) {
  // The description of the capture's "executions" differs from the catalogue's.
  const auto metrics = describe_metrics(analyzer().model());
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[1].id, "fma");
  EXPECT_EQ(metrics[1].description, "fused multiply-adds");
  EXPECT_EQ(metrics[1].attribution, Attribution::FirstLine);
}

TEST_F(SmallCapture, pattern_matches_shaders_by_name_stage_or_hash) {
  const auto selected = [this](const char* pattern) {
    const Analyzer a = analyzer({.frames = {}, .shader = pattern});
    return bool(a.model().shader_selected.at(0));
  };
  EXPECT_TRUE(selected("blur"));
  EXPECT_TRUE(selected("frag"));
  EXPECT_TRUE(selected("*.spv"));
  EXPECT_FALSE(selected("ab"));  // a prefix of the hash, but too short
  EXPECT_FALSE(selected("vertex"));
}

TEST_F(SmallCapture, unknown_column_is_rejected_with_a_list_of_the_columns) {
  const auto table = analyzer().table(By::Frame, {.sort = "colour"});
  ASSERT_FALSE(table.ok());
  EXPECT_THAT(table.error().message, HasSubstr("gpu_time"));
}

TEST(MetricMatrix, widens_to_64_bits_if_a_value_needs_it) {
  constexpr uint64_t kNarrow = std::numeric_limits<uint32_t>::max();
  MetricMatrix matrix(3, 2);
  EXPECT_TRUE(matrix.is_zero(0));
  matrix.add(1, 0, kNarrow);
  matrix.add(2, 0, 7);
  matrix.add(1, 0, 1);
  EXPECT_EQ(matrix.at(0, 0), 0u);
  EXPECT_EQ(matrix.at(1, 0), kNarrow + 1);
  EXPECT_EQ(matrix.at(2, 0), 7u);
  matrix.raise_to(2, 0, 5);
  EXPECT_EQ(matrix.at(2, 0), 7u);
  matrix.add(1, 0, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(matrix.at(1, 0), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(matrix.is_zero(1));
}

}  // namespace
}  // namespace tally::analysis
