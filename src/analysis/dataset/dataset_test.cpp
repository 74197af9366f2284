#include <gtest/gtest.h>

#include <map>
#include <spirv/unified1/spirv.hpp11>

#include "analysis/dataset/capture_events.h"
#include "analysis/dataset/dataset.h"
#include "analysis/dataset/value_sets.h"
#include "analysis/model/counts.h"
#include "analysis/model/model.h"
#include "analysis/model/shader_code.h"
#include "analysis/tables/summary.h"
#include "analysis/testing/test_scene.h"
#include "spirv/analysis/sites.h"
#include "store/testing/test_capture.h"

namespace tally::analysis {
namespace {

class DatasetTest : public testing::Test {
 protected:
  // Frames of three dispatches of one pipeline, of which the first two are alike.
  void write_scene(bool with_empty_frame = false) {
    TestScene scene(file_);
    const auto subgroups = scene.add_metric(catalogue::Number::Subgroups);
    const auto pipeline = scene.add_pipeline("p", "pipeline", scene.add_shader("s", "branch.comp"));
    for (int64_t frame = 0; frame < 2; ++frame) {
      scene.begin_frame(frame);
      for (const uint64_t taken : {4u, 4u, 9u}) {
        scene.dispatch(pipeline, {}, 10, {16, taken, 16 - taken, 16});
        scene.set_value(0, subgroups, taken + 1);
      }
    }
    if (with_empty_frame) scene.begin_frame(2);
    scene.finish();
  }

  Model model() {
    auto reader = store::Reader::open(file_);
    EXPECT_TRUE(reader.ok());
    auto model = load_model(std::move(*reader), {});
    EXPECT_TRUE(model.ok());
    return std::move(*model);
  }

  store::TestDirectory directory_;
  const std::string file_ = directory_.file("scene.tally");
};

TEST_F(DatasetTest, the_new_capture_has_its_findings) {
  write_scene();
  const Model now = model(), old = model();
  ShaderCodes codes(now);
  ShaderSources sources(now, codes);
  const auto findings = find_findings(now, codes, sources, Variants(now, codes), {});
  ASSERT_TRUE(findings.ok());
  ASSERT_FALSE(findings->list.empty());
  const auto dataset = make_dataset(now, &old, {}, {});
  ASSERT_TRUE(dataset.ok());
  ASSERT_EQ(dataset->captures[0].findings.list.size(), findings->list.size());
  EXPECT_EQ(dataset->captures[0].findings.list[0].text, findings->list[0].text);
  EXPECT_TRUE(dataset->captures[1].findings.list.empty());
}

// A compute shader that loads a word of a buffer.
constexpr const char* kLoad = R"(
OpDecorate %values Binding 0
OpDecorate %values DescriptorSet 0
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%block = OpTypeStruct %uint
%buffer = OpTypePointer StorageBuffer %block
%word = OpTypePointer StorageBuffer %uint
%zero = OpConstant %uint 0
%values = OpVariable %buffer StorageBuffer
%main = OpFunction %void None %function
%entry = OpLabel
%at = OpAccessChain %word %values %zero
%value = OpLoad %uint %at
OpReturn
OpFunctionEnd
)";

uint32_t site_of_load(const std::vector<uint32_t>& words) {
  uint32_t at = 5;
  while ((words.at(at) & 0xffff) != static_cast<uint32_t>(spv::Op::OpLoad)) at += words[at] >> 16;
  return spirv::site_number(at);
}

TEST_F(DatasetTest, a_footprint_is_the_largest_of_the_commands_of_a_row) {
  TestScene scene(file_);
  const auto requested = scene.add_metric(catalogue::Number::RequestedBytes);
  const auto touched = scene.add_metric(catalogue::Number::TouchedLines);
  const std::vector<uint32_t> words = assembled(kLoad);
  const uint32_t load = site_of_load(words), elsewhere = spirv::site_number(1);
  const auto pipeline = scene.add_pipeline("p", "pipeline", scene.add_shader("s", "load", words));
  scene.begin_frame(0);
  for (const uint64_t lines : {2u, 7u, 3u}) {
    scene.dispatch(pipeline, {}, {}, {64});
    scene.set_value(load, requested, 1000 * lines);
    scene.set_value(elsewhere, requested, 5);  // of no buffer
    scene.set_value(elsewhere, touched, lines);
  }
  scene.finish();
  const Model loaded = model();
  ShaderCodes codes(loaded);
  const auto merged = find_footprints(loaded, codes, {0, 1, 1}, 2, nullptr);
  ASSERT_TRUE(merged.ok());
  ASSERT_EQ(merged->size(), 2u);
  EXPECT_EQ((*merged)[1].largest, 7u * 128);
  EXPECT_EQ((*merged)[1].sum, 10u * 128);
  EXPECT_EQ((*merged)[1].requested, 10'000u);
  const auto dataset = make_dataset(loaded, nullptr, {}, nullptr);
  ASSERT_TRUE(dataset.ok());
  const DataTable& commands = *dataset->captures[0].find("commands");
  ASSERT_TRUE(commands.find("footprint"));
  EXPECT_EQ(commands.find("footprint")->at(2), 3u * 128);
  EXPECT_EQ(commands.find("footprints")->at(2), 3u * 128);
  EXPECT_EQ(commands.find("requested")->at(2), 3000u);
}

TEST_F(DatasetTest, without_footprints_the_commands_have_no_such_columns) {
  write_scene();
  const auto dataset = make_dataset(model(), nullptr, {}, nullptr);
  ASSERT_TRUE(dataset.ok());
  EXPECT_FALSE(dataset->captures[0].find("commands")->find("footprint"));
}

// Keyed by block: executions, then the value of the counted metric.
using SumsByBlock = std::map<uint64_t, std::pair<uint64_t, uint64_t>>;

struct GroupedCounts {
  size_t rows = 0, sets = 0;
  SumsByBlock sums;
};

GroupedCounts count_grouped(const Model& model, Grouping grouping) {
  ShaderCodes codes(model);
  ShaderSources sources(model, codes);
  const Variants variants(model, codes);
  const std::vector<Metric> metrics = describe_metrics(model);
  const std::vector<bool> counted = {false, false, true};
  DataStrings strings;
  const auto costs = BlockCosts::load(model, [](store::RowId) { return true; });
  const CaptureCode::Input input{model,  codes,   variants, sources,
                                 *costs, metrics, counted,  strings};
  CaptureCode code(input);
  const CommandRows rows = group_rows(model, grouping);
  ValueSets sets(input, code, {2});
  EXPECT_TRUE(*sets.count(rows.row_of, rows.first_of.size(), 1000, nullptr));
  const std::vector<uint32_t> set_of = sets.set_of();
  DataCapture capture;
  std::move(sets).finish(capture);
  GroupedCounts grouped{rows.first_of.size(), capture.find("value_sets")->rows(), {}};
  const DataTable& table = *capture.find("value_sets");
  const DataTable& counts = *capture.find("counts");
  for (const uint32_t set : set_of) {
    const uint64_t first = table.find("first")->at(set);
    for (uint64_t i = first; i < first + table.find("count")->at(set); ++i) {
      auto& [executions, value] = grouped.sums[counts.find("block")->at(i)];
      executions += counts.find("executions")->at(i);
      value += counts.find("subgroups")->at(i);
    }
  }
  return grouped;
}

TEST_F(DatasetTest, commands_with_equal_counts_share_a_set_of_values) {
  write_scene();
  const GroupedCounts each = count_grouped(model(), Grouping::Each);
  EXPECT_EQ(each.rows, 6u);
  EXPECT_EQ(each.sets, 2u);
  const SumsByBlock expected = {
      {0, {96, 2 * (5 + 5 + 10)}}, {1, {34, 0}}, {2, {62, 0}}, {3, {96, 0}}};
  EXPECT_EQ(each.sums, expected);
}

TEST_F(DatasetTest, grouped_commands_have_the_sums_of_their_commands_without_first_uses) {
  write_scene();
  const Model scene = model();
  const SumsByBlock expected = count_grouped(scene, Grouping::Each).sums;
  for (const Grouping grouping : {Grouping::SameCall, Grouping::SamePipeline}) {
    const GroupedCounts grouped = count_grouped(scene, grouping);
    EXPECT_EQ(grouped.rows, 3u);  // one for each frame, and the first use
    EXPECT_EQ(grouped.sets, 3u);
    EXPECT_EQ(grouped.sums, expected);
  }
}

TEST_F(DatasetTest, its_frames_are_those_that_the_summary_counts) {
  write_scene(true);
  const Model scene = model();
  const auto dataset = make_dataset(scene, nullptr, {}, nullptr);
  ASSERT_TRUE(dataset.ok());
  const DataTable& frames = *dataset->captures[0].find("frames");
  ASSERT_EQ(scene.frames.size(), 3u);
  EXPECT_EQ(frames.rows(), 2u);
  EXPECT_EQ(frames.rows(), summarize(scene).frames);
  for (size_t f = 0; f < frames.rows(); ++f) EXPECT_EQ(frames.find("counted")->at(f), 1u);
}

TEST_F(DatasetTest, statistics_of_the_drivers_compiler_stand_beside_the_shader_that_they_are_of) {
  store::write_test_capture(file_);
  const Model scene = model();
  const auto dataset = make_dataset(scene, nullptr, {}, nullptr);
  ASSERT_TRUE(dataset.ok());
  const DataTable& statistics = *dataset->captures[0].find("statistics");
  ASSERT_EQ(statistics.rows(), 2u);
  const auto text = [&](const char* column, size_t row) {
    return dataset->strings[statistics.find(column)->at(row)];
  };
  EXPECT_EQ(text("name", 0), "Registers");
  EXPECT_EQ(text("executable", 0), "fragment shader");
  EXPECT_EQ(statistics.find("value")->at(0), 40u);
  const uint64_t shader = statistics.find("shader")->at(0);
  const DataTable& shaders = *dataset->captures[0].find("shaders");
  ASSERT_LT(shader, shaders.rows());
  EXPECT_EQ(dataset->strings[shaders.find("stage")->at(shader)], "fragment");
}

TEST_F(DatasetTest, the_columns_of_a_table_have_the_same_number_of_rows) {
  write_scene();
  const Model scene = model();
  const auto dataset = make_dataset(scene, &scene, {}, nullptr);
  ASSERT_TRUE(dataset.ok());
  for (const DataCapture& capture : dataset->captures) {
    for (const DataTable& table : capture.tables) {
      for (const auto& [name, column] : table.columns())
        EXPECT_EQ(column.size(), table.rows()) << table.name() << '.' << name;
    }
  }
}

}  // namespace
}  // namespace tally::analysis
