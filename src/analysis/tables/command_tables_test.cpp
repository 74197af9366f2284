// Tables of commands: their labels, pipelines, frames and times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "analysis/model/names.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/summary.h"
#include "analysis/testing/tables_fixture.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::ElementsAre;
using testing::HasSubstr;

// The numbers of VkPrimitiveTopology.
enum Topology : uint8_t {
  kPoints,
  kLines,
  kLineStrip,
  kTriangles,
  kTriangleStrip,
  kTriangleFan,
  kLinesAdjacent,
  kLineStripAdjacent,
  kTrianglesAdjacent,
  kTriangleStripAdjacent,
  kPatches,
  kNoTopology
};

std::optional<uint64_t> primitives(const char* name, int64_t vertices, int64_t instances,
                                   const PrimitiveAssembly& assembly) {
  const bool is_indexed = std::string_view(name) == "vkCmdDrawIndexed";
  const std::string names[] = {is_indexed ? "indexCount" : "vertexCount", "instanceCount",
                               "firstInstance"};
  const int64_t values[] = {vertices, instances, 7};
  return primitives_of({store::CallKind::Draw, name, names, values}, assembly);
}

TEST(Primitives, of_a_draw_follow_from_its_vertices_and_topology) {
  const auto draw = [](int64_t vertices, Topology topology, int64_t instances = 1) {
    return primitives("vkCmdDraw", vertices, instances, {.topology = topology}).value();
  };
  EXPECT_EQ(draw(7, kPoints), 7u);
  EXPECT_EQ(draw(7, kLines), 3u);
  EXPECT_EQ(draw(7, kLineStrip), 6u);
  EXPECT_EQ(draw(7, kTriangles), 2u);
  EXPECT_EQ(draw(7, kTriangleStrip), 5u);
  EXPECT_EQ(draw(7, kTriangleFan), 5u);
  EXPECT_EQ(draw(9, kLinesAdjacent), 2u);
  EXPECT_EQ(draw(9, kLineStripAdjacent), 6u);
  EXPECT_EQ(draw(13, kTrianglesAdjacent), 2u);
  EXPECT_EQ(draw(13, kTriangleStripAdjacent), 4u);
  EXPECT_EQ(draw(2, kTriangleStrip), 0u);
  EXPECT_EQ(draw(0, kLineStrip), 0u);
  EXPECT_EQ(draw(7, kTriangles, 10), 20u);
  EXPECT_EQ(draw(7, kTriangleStrip, 0), 0u);
  EXPECT_EQ(primitives("vkCmdDraw", 9, 2, {.topology = kPatches, .patch_control_points = 4}), 4u);
  EXPECT_EQ(primitives("vkCmdDrawIndexed", 9, 2, {.topology = kTriangles}), 6u);
}

TEST(Primitives, that_indices_or_the_device_decide_have_no_number) {
  EXPECT_EQ(primitives("vkCmdDrawIndexed", 9, 1, {.topology = kTriangleStrip, .restart = true}),
            std::nullopt);
  EXPECT_EQ(primitives("vkCmdDraw", 9, 1, {.topology = kTriangleStrip, .restart = true}), 7u)
      << "vertices without indices do not end a strip";
  EXPECT_EQ(primitives("vkCmdDrawIndirect", 9, 1, {.topology = kTriangles}), std::nullopt);
  EXPECT_EQ(primitives("vkCmdDraw", 9, 1, {}), std::nullopt);
  EXPECT_EQ(primitives("vkCmdDraw", 9, 1, {.topology = kNoTopology}), std::nullopt);
  EXPECT_EQ(primitives("vkCmdDraw", 9, 1, {.topology = kPatches}), std::nullopt);
}

TEST_F(Tables, labels_nested_100000_deep_are_summed_in_linear_time) {
  constexpr uint64_t kDepth = 100'000;
  {
    TestScene scene(file_);
    const RowId pipeline = scene.add_pipeline("aa", "", scene.add_shader("bb", ""));
    std::optional<RowId> label;
    scene.begin_frame(0);
    for (uint64_t depth = 0; depth < kDepth; ++depth) {
      label = scene.add_label(label, "L");
      scene.dispatch(pipeline, label, 1, {1, 1, 0, 1});
      if (depth == kDepth / 2) scene.begin_frame(1);
    }
    scene.finish();
  }
  const auto start = std::chrono::steady_clock::now();
  Analyzer analyzer = open();
  const Table table = require(analyzer.table(By::Label, {}));
  ASSERT_EQ(table.rows.size(), kDepth);
  // The outermost label includes everything, the innermost one dispatch. The first use of the
  // pipeline has a column of its own.
  EXPECT_EQ(cell(table, 0, "label"), Cell("L"));
  EXPECT_EQ(cell(table, 0, "dispatches"), Cell(kDepth));
  EXPECT_EQ(cell(table, 0, "frames"), Cell(uint64_t{2}));
  EXPECT_EQ(cell(table, 0, "gpu_time"), Cell(kDepth - 1));
  EXPECT_EQ(cell(table, 0, "first_use_time"), Cell(uint64_t{1}));
  EXPECT_EQ(cell(table, kDepth - 1, "dispatches"), Cell(uint64_t{1}));
  EXPECT_EQ(cell(table, kDepth - 1, "frames"), Cell(uint64_t{1}));
  EXPECT_EQ(cell(table, kDepth - 1, "label"),
            Cell("L / L / L / L / (99984 more) / L / L / L / L / L / L / L / L / L / L / L / L"));
  EXPECT_EQ(require(analyzer.table(By::Draw, {.each = true})).rows.size(), kDepth);
  EXPECT_EQ(require(analyzer.table(By::Draw, {})).rows.size(), kDepth);
  // A quadratic algorithm would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST_F(Tables, label_paths_are_complete_up_to_16_names) {
  {
    TestScene scene(file_);
    std::optional<RowId> label;
    for (char c = 'a'; c <= 'q'; ++c) label = scene.add_label(label, std::string(1, c));
    scene.finish();
  }
  const Analyzer analyzer = open();
  const LabelPaths paths(analyzer.model());
  EXPECT_EQ(paths.path(0), "a");
  EXPECT_EQ(paths.path(15), "a / b / c / d / e / f / g / h / i / j / k / l / m / n / o / p");
  EXPECT_EQ(paths.path(16),
            "a / b / c / d / (1 more) / f / g / h / i / j / k / l / m / n / o / p / q");
  EXPECT_EQ(paths.path(kNone), "");
}

// 80, 100 and 120 ns have the mean 100 and the variance 400; 5 and 7 ns the mean 6 and the
// variance 2. The error of n estimates is sqrt(variance * (n * n / timed + n)).
TEST_F(Tables, a_dispatch_that_was_not_timed_has_the_mean_of_its_sample_with_an_error) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("bb", "");
    const RowId one = scene.add_pipeline("p1", "one", shader),
                two = scene.add_pipeline("p2", "two", shader),
                three = scene.add_pipeline("p3", "three", shader);
    scene.begin_frame(0);
    scene.dispatch_sampled(one, 1, {80, 100, {}, 120});
    scene.dispatch_sampled(one, 2, {5, {}, {}});
    scene.dispatch_sampled(two, 1, {{}});
    scene.dispatch_sampled(three, 3, {9, {}});
    scene.begin_frame(1);
    scene.dispatch_sampled(one, 2, {7});
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table table = require(analyzer.table(By::Pipeline, {.sort = "gpu_time"}));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(cell(table, 0, "pipeline"), Cell("one"));
  EXPECT_EQ(cell(table, 0, "gpu_time"), Cell(uint64_t{100 + 120 + 100 + 5 + 6 + 6 + 7}))
      << "and a first use of 80";
  EXPECT_EQ(cell(table, 0, "gpu_time_error"), Cell(uint64_t{23}))
      << "sqrt(400 * (1 / 3 + 1) + 2 * (4 / 2 + 2))";
  for (size_t row : {1, 2}) {
    EXPECT_EQ(cell(table, row, "gpu_time"), Cell()) << "a first use, or one time without an error";
    EXPECT_EQ(cell(table, row, "gpu_time_error"), Cell());
  }
  const Table each = require(analyzer.table(By::Draw, {.each = true}));
  EXPECT_EQ(cell(each, 2, "gpu_time"), Cell(uint64_t{100}));
  EXPECT_EQ(cell(each, 2, "gpu_time_error"), Cell(uint64_t{23})) << "sqrt(400 * (1 / 3 + 1))";
  EXPECT_EQ(cell(each, 3, "gpu_time_error"), Cell()) << "measured";
  EXPECT_EQ(cell(each, 9, "gpu_time"), Cell());
  const Summary summary = summarize(analyzer.model());
  EXPECT_EQ(summary.dispatch_times.estimated, 4u);
  EXPECT_EQ(summary.dispatch_times.untimed, 1u);
  // Its sample is of all frames.
  Analyzer first_frame = open({.frames = FrameRange{0, 0}, .shader = {}});
  const Table frame = require(first_frame.table(By::Frame, {}));
  EXPECT_EQ(cell(frame, 0, "gpu_time_error"), Cell(uint64_t{23}))
      << "sqrt(400 * (1 / 3 + 1) + 2 * (4 / 2 + 2))";
}

// 80, 100 and 120 ns have the mean 100 and the variance 400; the two passes that use a pipeline for
// the first time are no part of it.
TEST_F(Tables, a_pass_that_was_not_timed_has_the_mean_of_its_sample_with_an_error) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("bb", "");
    const RowId one = scene.add_pipeline("p1", "one", shader),
                two = scene.add_pipeline("p2", "two", shader),
                three = scene.add_pipeline("p3", "three", shader);
    const auto pass = [&](RowId pipeline, std::optional<int64_t> time, RowId sample) {
      scene.begin_pass(time, sample);
      scene.dispatch(pipeline, {}, {}, {1});
    };
    scene.begin_frame(0);
    pass(one, 9000, 1);
    for (const std::optional<int64_t> time : {std::optional<int64_t>(80), {}, {100}, {}})
      pass(one, time, 1);
    pass(two, {}, 1);
    pass(two, {}, 2);
    pass(three, 8000, 1);
    scene.begin_frame(1);
    pass(one, 120, 1);
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table frames = require(analyzer.table(By::Frame, {.sort = "gpu_time"}));
  EXPECT_EQ(cell(frames, 0, "gpu_time"), Cell(uint64_t{80 + 100 + 100 + 100}));
  EXPECT_EQ(cell(frames, 0, "first_use_time"), Cell(uint64_t{9000 + 8000}));
  EXPECT_EQ(cell(frames, 0, "gpu_time_error"), Cell(uint64_t{37})) << "sqrt(400 * (4 / 3 + 2))";
  EXPECT_EQ(cell(frames, 1, "gpu_time_error"), Cell()) << "measured";
  const Summary summary = summarize(analyzer.model());
  EXPECT_EQ(summary.pass_times.estimated, 2u);
  EXPECT_EQ(summary.pass_times.untimed, 2u);
  EXPECT_EQ(summary.pass_times.time_ns, 80 + 3 * 100 + 120);
  EXPECT_EQ(std::round(summary.pass_times.error_ns), 37);
  EXPECT_EQ(summary.dispatch_times.estimated, 0u);
  Analyzer first_frame = open({.frames = FrameRange{0, 0}, .shader = {}});
  EXPECT_EQ(cell(require(first_frame.table(By::Frame, {})), 0, "gpu_time_error"),
            Cell(uint64_t{37}))
      << "the sample is of all frames";
}

TEST_F(Tables, gpu_time_of_first_uses_is_separate_and_their_frames_are_not_warm) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("bb", "");
    const RowId early = scene.add_pipeline("p1", "early", shader),
                late = scene.add_pipeline("p2", "late", shader);
    for (int64_t frame = 0; frame < 5; ++frame) {
      scene.begin_frame(frame);
      scene.dispatch(early, {}, 10, {1});
      scene.dispatch(early, {}, 10, {1});
      if (frame >= 2) scene.dispatch(late, {}, 1000, {1});
    }
    scene.finish();
  }
  Analyzer all = open();
  const Table table = require(all.table(By::Pipeline, {.sort = "gpu_time"}));
  EXPECT_THAT(texts(table, "pipeline"), ElementsAre("late", "early"));
  EXPECT_THAT(numbers(table, "gpu_time"), ElementsAre(2000, 90));
  EXPECT_THAT(numbers(table, "first_use_time"), ElementsAre(1000, 10));
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("First use")));
  const auto warm = summarize(all.model()).warm_frames;
  ASSERT_EQ(warm.size(), 2u);
  EXPECT_EQ(std::pair(warm[0].first, warm[0].last), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(std::pair(warm[1].first, warm[1].last), std::pair(int64_t{3}, int64_t{4}));
  auto batches = load_model(std::move(*store::Reader::open(file_)), {}, Model::Detail::Batches);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  const auto warm_by_batches = summarize(*batches).warm_frames;
  ASSERT_EQ(warm_by_batches.size(), 2u);
  EXPECT_EQ(warm_by_batches[1].first, 3);
  // A pipeline that an earlier frame used has no first use in a later one.
  Analyzer later = open({.frames = FrameRange{2, 3}, .shader = {}});
  const Table of_later = require(later.table(By::Pipeline, {.sort = "gpu_time"}));
  EXPECT_THAT(numbers(of_later, "gpu_time"), ElementsAre(1000, 40));
  EXPECT_EQ(cell(of_later, 0, "first_use_time"), Cell(uint64_t{1000}));
  EXPECT_EQ(cell(of_later, 1, "first_use_time"), Cell());
}

TEST_F(Tables, identical_draws_are_one_row_unless_each_is_requested) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("bb", "");
    const RowId one = scene.add_pipeline("p1", "one", shader),
                two = scene.add_pipeline("p2", "two", shader);
    for (int64_t frame = 0; frame < 3; ++frame) {
      scene.begin_frame(frame);
      scene.dispatch(one, {}, {}, {1, 0, 0, 1});
      scene.dispatch(two, {}, {}, {2, 0, 0, 2});
    }
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table together = require(analyzer.table(By::Draw, {}));
  EXPECT_THAT(texts(together, "pipeline"), ElementsAre("two", "one"));
  EXPECT_THAT(numbers(together, "dispatches"), ElementsAre(3, 3));
  EXPECT_EQ(require(analyzer.table(By::Draw, {.each = true})).rows.size(), 6u);
}

TEST_F(Tables, frames_are_those_that_hold_something) {
  {
    TestScene scene(file_);
    const RowId shader = scene.add_shader("bb", "");
    const RowId pipeline = scene.add_pipeline("p1", "", shader);
    for (int64_t frame = 0; frame < 4; ++frame) {
      scene.begin_frame(frame);
      if (frame < 3) scene.dispatch(pipeline, {}, {}, {1});
    }
    scene.finish();
  }
  const Summary all = summarize(open().model());
  EXPECT_EQ(all.frames, 3u);
  EXPECT_EQ(all.frames_of_capture->last, 2);
  EXPECT_TRUE(all.has_names) << "of the source file";
  Analyzer analyzer = open({.frames = FrameRange{3, 9}, .shader = {}});
  EXPECT_EQ(why_selection_is_empty(analyzer.model()),
            "the capture has nothing in frames 3-9; it has frames 0-2");
}

TEST_F(Tables, the_overview_of_dispatches_begins_with_their_labels_or_pipelines) {
  for (const bool has_label : {false, true}) {
    const std::string path = directory_.file(has_label ? "label" : "none");
    TestScene scene(path);
    const RowId pipeline = scene.add_pipeline("a", "matmul", scene.add_shader("1111", ""));
    scene.begin_frame(0);
    std::optional<RowId> label;
    if (has_label) label = scene.add_label({}, "token");
    scene.dispatch(pipeline, label, {}, {1, 1, 0, 1});
    scene.finish();
    auto model = load_model(store::require(store::Reader::open(path)), {});
    ASSERT_TRUE(model.ok());
    const auto tables = Analyzer(std::move(*model), nullptr).overview({});
    ASSERT_TRUE(tables.ok());
    EXPECT_EQ(tables->at(0).id, has_label ? "label" : "pipeline");
  }
}

TEST_F(Tables, empty_captures_name_what_was_requested) {
  {
    TestScene scene(file_, "100-");
    scene.finish();
  }
  Analyzer analyzer = open();
  EXPECT_THAT(why_selection_is_empty(analyzer.model()), HasSubstr("100-"));
  EXPECT_TRUE(require(analyzer.table(By::Draw, {})).rows.empty());
}

}  // namespace
}  // namespace tally::analysis
