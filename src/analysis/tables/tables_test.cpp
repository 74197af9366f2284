// Tests of tables, on captures that the tests write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>
#include <memory>

#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/tables/analyzer.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/summary.h"
#include "analysis/testing/test_scene.h"
#include "spirv/testing/testing.h"
#include "store/format/sqlite.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

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

class Tables : public testing::Test {
 protected:
  Analyzer open(const Selection& selection = {}) const {
    auto reader = store::Reader::open(file_);
    EXPECT_TRUE(reader.ok());
    auto model = load_model(std::move(*reader), selection);
    EXPECT_TRUE(model.ok());
    return Analyzer(std::move(*model), nullptr);
  }

  static Table require(Result<Table> table) {
    EXPECT_TRUE(table.ok()) << table.error().message;
    return std::move(*table);
  }

  static Cell cell(const Table& table, size_t row, const char* column) {
    const auto index = table.column_index(column);
    EXPECT_TRUE(index.has_value()) << column;
    return index ? table.rows.cell(row, *index) : Cell();
  }

  static std::vector<std::string> texts(const Table& table, const char* column) {
    std::vector<std::string> result;
    for (size_t r = 0; r < table.rows.size(); ++r)
      result.push_back(std::get<std::string>(cell(table, r, column)));
    return result;
  }

  static std::vector<uint64_t> numbers(const Table& table, const char* column) {
    std::vector<uint64_t> result;
    for (size_t r = 0; r < table.rows.size(); ++r)
      result.push_back(std::get<uint64_t>(cell(table, r, column)));
    return result;
  }

  store::TestDirectory directory_;
  const std::string file_ = directory_.file("scene.tally");
};

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

// Discards in one of two branches.
const char* const kDiscard = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
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

// Line 1 has a loop, and line 2 a condition in it.
const char* const kLoopAndCondition = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "loop.comp"
OpSource GLSL 450 %file "for (uint i = 0; i < 10; ++i)
  if (i > 6)
    ++i;"
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%six = OpConstant %uint 6
%ten = OpConstant %uint 10
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 1 1
OpBranch %header
%header = OpLabel
OpLine %file 1 1
%i = OpPhi %uint %zero %entry %next %continue
%less = OpULessThan %bool %i %ten
OpLoopMerge %merge %continue None
OpBranchConditional %less %body %merge
%body = OpLabel
OpLine %file 2 1
%big = OpUGreaterThan %bool %i %six
OpSelectionMerge %after None
OpBranchConditional %big %then %after
%then = OpLabel
OpLine %file 3 1
%more = OpIAdd %uint %i %one
OpBranch %after
%after = OpLabel
%now = OpPhi %uint %i %body %more %then
OpBranch %continue
%continue = OpLabel
OpLine %file 1 1
%next = OpIAdd %uint %now %one
OpBranch %header
%merge = OpLabel
OpReturn
OpFunctionEnd
)";

TEST_F(Tables, lines_tell_the_trips_of_their_loop_and_the_share_of_their_condition) {
  {
    TestScene scene(file_);
    scene.begin_frame(0);
    // Of 4 invocations, two run 9 times and two 10 times.
    scene.dispatch(
        scene.add_pipeline("aa", "", scene.add_shader("bb", "", assembled(kLoopAndCondition))), {},
        {}, {4, 42, 38, 19, 38, 38, 4});
    scene.finish();
  }
  Analyzer analyzer = open();
  const Table lines = require(analyzer.table(By::Line, {.sort = "location"}));
  ASSERT_EQ(texts(lines, "location"),
            (std::vector<std::string>{"loop.comp", "loop.comp:1", "loop.comp:2", "loop.comp:3"}));
  EXPECT_EQ(cell(lines, 1, "trips_per_entry"), Cell(9.5));
  EXPECT_EQ(cell(lines, 2, "trips_per_entry"), Cell());
  EXPECT_EQ(cell(lines, 1, "taken_share"), Cell()) << "the loop's test is no condition of its own";
  EXPECT_EQ(cell(lines, 2, "taken_share"), Cell(50.0));
  EXPECT_EQ(cell(lines, 3, "taken_share"), Cell());
}

TEST_F(Tables, lines_and_functions_cost_what_an_invocation_of_their_shader_costs) {
  {
    TestScene scene(file_);
    scene.begin_frame(0);
    scene.dispatch(
        scene.add_pipeline("aa", "", scene.add_shader("bb", "", assembled(kLoopAndCondition))), {},
        {}, {4, 42, 38, 19, 38, 38, 4});
    scene.finish();
  }
  Analyzer analyzer = open();
  for (const By by : {By::Line, By::Function}) {
    const Table table = require(analyzer.table(by, {}));
    double all = 0;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      EXPECT_EQ(cell(table, row, "invocations"), Cell(uint64_t{4}));
      const double instructions = number_of(cell(table, row, "instructions"));
      EXPECT_EQ(cell(table, row, "instructions_per_invocation"), Cell(instructions / 4));
      all += instructions;
    }
    EXPECT_GT(all, 0);
  }
}

// Replaces a number by its sine; loads it a second time and multiplies it for nothing.
const char* const kSine = R"(
OpCapability Shader
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "sine.comp"
OpSource GLSL 450 %file "float x = a, y = a * a;
  x = sin(x);
  a = x;"
OpDecorate %block BufferBlock
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%f32 = OpTypeFloat 32
%u32 = OpTypeInt 32 0
%block = OpTypeStruct %f32
%pointer = OpTypePointer Uniform %block
%element = OpTypePointer Uniform %f32
%buffer = OpVariable %pointer Uniform
%zero = OpConstant %u32 0
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 1 1
%at = OpAccessChain %element %buffer %zero
%x = OpLoad %f32 %at
%again = OpLoad %f32 %at
%unused = OpFMul %f32 %again %x
OpLine %file 2 1
%sine = OpExtInst %f32 %glsl Sin %x
OpLine %file 3 1
OpStore %at %sine
OpReturn
OpFunctionEnd
)";

TEST_F(Tables, cost_ranks_lines_by_weights_and_leaves_counts_alone) {
  {
    TestScene scene(file_);
    scene.begin_frame(0);
    scene.dispatch(scene.add_pipeline("aa", "", scene.add_shader("bb", "", assembled(kSine))), {},
                   {}, {2});
    scene.finish();
  }
  Analyzer generic = open();
  const Table lines = require(generic.table(By::Line, {}));
  EXPECT_EQ(lines.sorted_by, "cost");
  // A load or store of four bytes is 5, a sine 4; the second load and the product are left out.
  EXPECT_THAT(texts(lines, "location"), ElementsAre("sine.comp:1", "sine.comp:3", "sine.comp:2"));
  EXPECT_THAT(numbers(lines, "cost"), ElementsAre(10, 10, 8));
  EXPECT_THAT(numbers(lines, "instructions"), ElementsAre(8, 4, 2));
  const Table shaders = require(generic.table(By::Shader, {}));
  EXPECT_EQ(cell(shaders, 0, "cost"), Cell(uint64_t{28}));
  EXPECT_EQ(cell(shaders, 0, "cost_per_invocation"), Cell(14.0));
  EXPECT_EQ(cell(shaders, 0, "instructions_per_invocation"), Cell(7.0));

  auto device = DeviceCosts::parse("d", R"({"name": "d", "weights": {"special_function": 100}})",
                                   DeviceCosts::generic().get());
  ASSERT_TRUE(device.ok());
  Analyzer own = open({.frames = {},
                       .shader = {},
                       .device = std::make_shared<const DeviceCosts>(std::move(*device))});
  const Table by_own = require(own.table(By::Line, {}));
  EXPECT_THAT(numbers(by_own, "cost"), ElementsAre(200, 10, 10));
  EXPECT_THAT(numbers(by_own, "instructions"), ElementsAre(2, 8, 4));
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

TEST_F(Tables, a_name_of_a_shader_or_of_a_pipeline_is_a_name) {
  const auto has_names = [&](const char* shader_name, const char* pipeline_name) {
    const std::vector<uint32_t> words = spirv::test::assemble(
        "OpCapability Shader\nOpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main "
        "\"main\"\n"
        "OpExecutionMode %main LocalSize 1 1 1\n%void = OpTypeVoid\n%f = OpTypeFunction %void\n"
        "%main = OpFunction %void None %f\n%b = OpLabel\nOpReturn\nOpFunctionEnd",
        spirv::make_version(1, 3));
    {
      TestScene scene(file_);
      const RowId shader = scene.add_shader("0123456789", shader_name, words);
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

// Block 0 of the shader branches in line 2 to block 1 (true) and block 2 (false).
class BranchTargets : public Tables {
 protected:
  void write(bool with_branches) {
    TestScene scene(file_);
    RowId yes = 0, no = 0;
    if (with_branches) {
      yes = scene.add_metric(catalogue::Number::BranchTarget0);
      no = scene.add_metric(catalogue::Number::BranchTarget1);
    }
    const RowId shader = scene.add_shader("11112222aaaa", "branch.comp");
    const RowId pipeline = scene.add_pipeline("aaaa0000cccc", "p", shader);
    scene.begin_frame(0);
    for (const uint64_t taken : {5u, 7u}) {
      scene.dispatch(pipeline, {}, {}, {16, taken, 16 - taken, 16});
      if (!with_branches) continue;
      scene.set_value(0, yes, taken);
      scene.set_value(0, no, 16 - taken);
    }
    scene.finish();
  }

  Table annotated(ListingKind kind) {
    Analyzer analyzer = open();
    const auto listings = analyzer.listings(kind, {});
    EXPECT_TRUE(listings.ok());
    return listings->at(0);
  }
};

TEST_F(BranchTargets, follow_their_line_with_the_times_that_each_target_was_taken) {
  write(true);
  for (const ListingKind kind : {ListingKind::Source, ListingKind::Disassembly}) {
    const Table table = annotated(kind);
    const auto labels = texts(table, "branch");
    const auto first = static_cast<size_t>(std::ranges::find(labels, "true") - labels.begin());
    ASSERT_LT(first + 1, labels.size());
    EXPECT_EQ(cell(table, first, "executions"), Cell(uint64_t{12}));
    EXPECT_EQ(cell(table, first, "branch_block"), Cell(uint64_t{0}));
    EXPECT_EQ(cell(table, first, "text"), Cell("branch 0 true: taken 37.5 %"));
    EXPECT_EQ(cell(table, first + 1, "branch"), Cell("false"));
    EXPECT_EQ(cell(table, first + 1, "executions"), Cell(uint64_t{20}));
    EXPECT_EQ(std::ranges::count(labels, ""), static_cast<int64_t>(labels.size()) - 2);
    if (kind == ListingKind::Source) {
      EXPECT_EQ(cell(table, first - 1, "location"), Cell("branch.comp:2"));
    } else {
      EXPECT_THAT(texts(table, "text").at(first - 1), HasSubstr("OpBranchConditional"));
    }
  }
}

TEST_F(BranchTargets, are_no_metric_of_other_tables) {
  write(true);
  const Table with = require(open().table(By::Shader, {}));
  EXPECT_FALSE(with.column_index("branch_target_0"));
  write(false);
  EXPECT_EQ(with.columns.size(), require(open().table(By::Shader, {})).columns.size());
}

TEST_F(BranchTargets, have_no_rows_where_they_are_not_counted) {
  write(false);
  EXPECT_FALSE(annotated(ListingKind::Source).column_index("branch"));
}

// Two shaders on a device with subgroups of 8, of which those of one are counted.
class Subgroups : public Tables {
 protected:
  void SetUp() override {
    TestScene scene(file_);
    const RowId subgroups = scene.add_metric(catalogue::Number::Subgroups);
    const RowId lanes = scene.add_metric(catalogue::Number::SubgroupLanes);
    const RowId counted = scene.add_pipeline("aaaa0000cccc", "counted",
                                             scene.add_shader("11112222aaaa", "branch.comp"));
    const RowId other =
        scene.add_pipeline("bbbb0000cccc", "other", scene.add_shader("33334444bbbb", "other.comp"));
    scene.begin_frame(0);
    scene.dispatch(counted, {}, {}, {16, 4, 12, 16});
    for (const auto& [block, times] : {std::pair(0, 2), {1, 2}, {2, 2}, {3, 4}}) {
      scene.set_value(block, subgroups, times);
      scene.set_value(block, lanes, 8 * times);
    }
    scene.dispatch(other, {}, {}, {5, 5, 0, 5});
    scene.finish();
  }
};

TEST_F(Subgroups, give_the_efficiency_of_what_is_counted) {
  Analyzer analyzer = open();
  const Table shaders = require(analyzer.table(By::Shader, {}));
  ASSERT_EQ(texts(shaders, "shader"), (std::vector<std::string>{"branch.comp", "other.comp"}));
  EXPECT_EQ(cell(shaders, 0, "simd_efficiency"), Cell(100.0 * 48 / 80));
  EXPECT_EQ(cell(shaders, 1, "simd_efficiency"), Cell());
  EXPECT_THAT(shaders.notes, testing::Contains(HasSubstr("1 row(s) have no SIMD efficiency")));
  const Table frames = require(analyzer.table(By::Frame, {}));
  EXPECT_EQ(cell(frames, 0, "simd_efficiency"), Cell(100.0 * 48 / 80))
      << "the other shader's executions are left out";
  EXPECT_EQ(cell(frames, 0, "executions"), Cell(uint64_t{48 + 15}));
}

TEST_F(Subgroups, of_a_line_are_those_of_its_most_executed_block) {
  const Table lines = require(open({.frames = {}, .shader = "branch.comp"}).table(By::Line, {}));
  std::map<std::string, Cell> efficiency;
  for (size_t r = 0; r < lines.rows.size(); ++r) {
    efficiency[std::get<std::string>(cell(lines, r, "location"))] =
        cell(lines, r, "simd_efficiency");
  }
  EXPECT_EQ(efficiency["branch.comp:2"], Cell(100.0));
  EXPECT_EQ(efficiency["branch.comp:3"], Cell(25.0));
  EXPECT_EQ(efficiency["branch.comp:4"], Cell(75.0));
  EXPECT_EQ(efficiency["branch.comp:6"], Cell(50.0));
}

TEST_F(Subgroups, sorted_by_efficiency_have_the_worst_first_and_the_column_beside_the_key) {
  for (const char* name : {"simd_efficiency", "SIMD efficiency"}) {
    const Table lines =
        require(open({.frames = {}, .shader = "branch.comp"}).table(By::Line, {.sort = name}));
    EXPECT_EQ(cell(lines, 0, "location"), Cell("branch.comp:3"));
    double before = 0;
    for (size_t r = 0; r < lines.rows.size();
         before = number_of(cell(lines, r++, "simd_efficiency")))
      EXPECT_GE(number_of(cell(lines, r, "simd_efficiency")), before);
    const auto first_value = std::ranges::find(lines.columns, ColumnRole::Value, &Column::role);
    EXPECT_EQ(first_value->id, "simd_efficiency");
    EXPECT_TRUE(first_value->shown);
  }
}

TEST_F(Subgroups, show_their_efficiency_beside_the_source) {
  Analyzer analyzer = open({.frames = {}, .shader = "branch.comp"});
  const auto listings = analyzer.listings(ListingKind::Source, {});
  ASSERT_TRUE(listings.ok());
  EXPECT_EQ(cell(listings->at(0), 2, "simd_efficiency"), Cell(25.0));
}

// Two modules with the same name, one of which has two specializations.
// Without debug information.
constexpr const char* kNameless = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%entry = OpLabel
OpReturn
OpFunctionEnd
)";

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

// Lines 1 to 3 of l.comp, then one of common.glsl, then line 22 of l.comp, then one far beyond.
constexpr const char* kLineDirectives = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "l.comp"
%common = OpString "dir/common.glsl"
%huge = OpString "huge.glsl"
OpSource GLSL 450 %file "#version 450
#line 100 \"dir/common.glsl\"
shared code
#line 22 \"l.comp\"
main code
#line 4000000000 \"huge.glsl\"
far code
"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%one = OpConstant %uint 1
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %common 100 0
%a = OpIAdd %uint %one %one
OpLine %file 22 0
%b = OpIAdd %uint %one %one
OpLine %file 24 0
%c = OpIAdd %uint %one %one
OpLine %huge 4000000000 0
%d = OpIAdd %uint %one %one
OpNoLine
OpReturn
OpFunctionEnd
)";

TEST_F(Tables, texts_of_lines_are_those_that_line_directives_give_them) {
  TestScene scene(file_);
  scene.begin_frame(0);
  scene.dispatch(
      scene.add_pipeline("p", "", scene.add_shader("1111", "", assembled(kLineDirectives))), {}, {},
      {7});
  scene.finish();
  Analyzer analyzer = open();
  std::map<std::string, std::string> lines, listed;
  const Table table = require(analyzer.table(By::Line, {}));
  for (size_t row = 0; row < table.rows.size(); ++row)
    lines[texts(table, "location")[row]] = texts(table, "text")[row];
  EXPECT_EQ(lines["common.glsl:100"], "shared code");
  EXPECT_EQ(lines["l.comp:22"], "main code");
  EXPECT_EQ(lines["l.comp:24"], "(not available)");
  EXPECT_EQ(lines["huge.glsl:4000000000"], "");
  const auto listings = analyzer.listings(ListingKind::Source, {});
  ASSERT_TRUE(listings.ok());
  const Table& listing = listings->at(0);
  EXPECT_LT(listing.rows.size(), 30u);
  for (size_t row = 0; row < listing.rows.size(); ++row) {
    if (std::holds_alternative<uint64_t>(cell(listing, row, "executions")))
      listed[texts(listing, "location")[row]] = texts(listing, "text")[row];
  }
  lines.erase("l.comp:0"), lines.erase("source:0");
  for (const auto& [location, text] : listed) EXPECT_EQ(text, lines[location]) << location;
  EXPECT_EQ(listed.size(), 4u);
}

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

class Branches : public Tables {
 protected:
  void SetUp() override {
    TestScene scene(file_);
    const RowId used = scene.add_shader("1111", "used"),
                unused = scene.add_shader("2222", "unused");
    const RowId pipeline = scene.add_pipeline("aa", "", used);
    scene.add_pipeline("bb", "", unused);
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, {4, 4, 0, 4});
    scene.finish();
  }

  std::vector<Cell> executions(const char* shader) const {
    Analyzer analyzer = open({.frames = {}, .shader = shader});
    const auto listings = analyzer.listings(ListingKind::Source, {});
    EXPECT_TRUE(listings.ok());
    const Table& listing = listings->at(0);
    EXPECT_EQ(listing.columns[*listing.column_index("executions")].zero, "#####");
    std::vector<Cell> result;
    for (size_t r = 0; r < listing.rows.size(); ++r)
      result.push_back(cell(listing, r, "executions"));
    return result;
  }
};

TEST_F(Branches, lines_that_never_ran_are_0_and_lines_without_code_are_empty) {
  const Cell none, zero(uint64_t{0}), four(uint64_t{4});
  EXPECT_THAT(executions("1111"), ElementsAre(none, four, four, zero, none, four, none));
}

TEST_F(Branches, every_line_with_code_of_an_unused_shader_is_0) {
  const Cell none, zero(uint64_t{0});
  EXPECT_THAT(executions("2222"), ElementsAre(none, zero, zero, zero, none, zero, none));
}

TEST_F(Branches, instructions_without_a_line_were_executed_as_often_as_their_block) {
  Analyzer analyzer = open();
  const Table lines = require(analyzer.table(By::Line, {}));
  std::vector<std::pair<Cell, Cell>> without;
  for (size_t r = 0; r < lines.rows.size(); ++r) {
    if (cell(lines, r, "text") == Cell("(instructions without a source line)"))
      without.emplace_back(cell(lines, r, "instructions"), cell(lines, r, "executions"));
  }
  EXPECT_THAT(without, ElementsAre(std::pair(Cell(uint64_t{4}), Cell(uint64_t{4}))));
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
