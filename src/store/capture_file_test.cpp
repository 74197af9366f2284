// The capture file: what is written is read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "store/read/reader.h"
#include "store/testing/capture_file.h"
#include "store/write/writer.h"

namespace tally::store {
namespace {

using ::testing::ElementsAre;

TEST(RemoveUnused, keeps_what_is_held_or_referred_to) {
  const TestDirectory directory;
  const std::string path = directory.file("capture.tally");
  Writer writer = require(Writer::create(path, test_capture_row()));
  const TestCapture ids = write_test_rows(writer);
  const auto object = [&] { return writer.add(ObjectRow{.device = ids.device, .type = "x"}); };
  const auto label = [&](std::optional<RowId> parent, const std::string& name) {
    return writer.add(LabelRow{.parent = parent, .name = name});
  };
  const auto count = [&](const char* table) {
    writer.commit();
    const Result<Reader> reader = Reader::open(path);
    Result<Statement> rows = reader->query(std::string("SELECT count(*) FROM ") + table);
    return rows->step() ? rows->integer(0) : -1;
  };
  const int64_t objects = count("object"), labels = count("label");
  const RowId held_object = object();
  object();
  const RowId outer = label(std::nullopt, "outer"), held_label = label(outer, "held");
  label(label(outer, "unused"), "unused too");
  label(ids.inner_label, "unused");
  writer.remove_unused({.objects = {held_object}, .labels = {held_label}});
  EXPECT_EQ(count("object"), objects + 1);
  EXPECT_EQ(count("label"), labels + 2);
  EXPECT_EQ(label(outer, "held"), held_label);
  label(ids.inner_label, "unused");
  EXPECT_EQ(count("label"), labels + 3);
  writer.remove_unused({});
  EXPECT_EQ(count("object"), objects);
  EXPECT_EQ(count("label"), labels);
  ASSERT_TRUE(writer.finish(9, 0).ok());
}

TEST_F(CaptureFile, definitions_are_read_as_they_were_written) {
  const TestCapture ids = write_test_capture(path_);
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;

  const CaptureRow capture = *reader->capture();
  EXPECT_THAT(capture.command_line, ElementsAre("app", "--fast"));
  EXPECT_EQ(capture.end_monotonic_ns, 5000);
  EXPECT_EQ(capture.exit_status, 0);
  EXPECT_EQ(capture.frame_range, "0-9");
  EXPECT_EQ(capture.shader_pattern, "*blur*");
  EXPECT_EQ(capture.frame_per, "label");
  EXPECT_EQ(capture.frame_label, "^token");

  const ProcessRow process = reader->processes()->at(0);
  EXPECT_EQ(process.pid, 42);
  EXPECT_EQ(process.ending, Ending::Closed);
  EXPECT_EQ(process.end_ns, 4000);
  EXPECT_EQ(process.commands_missing, 0);
  const DeviceRow device = reader->devices()->at(0);
  EXPECT_EQ(device.name, "llvmpipe");
  EXPECT_TRUE(device.per_block);
  EXPECT_EQ(reader->queues()->at(0).timestamp_bits, 64u);
  EXPECT_EQ(reader->device_metrics(ids.device)->at(1).name, "fma");
  EXPECT_EQ(reader->metrics()->at(0).name, "executions");
  EXPECT_EQ(reader->modules()->at(0).name, "blur.spv");
  EXPECT_THAT(*reader->spirv(ids.module), ElementsAre(0x07230203, 7));
  EXPECT_EQ(reader->shaders()->at(0).module, ids.module);
  EXPECT_THAT(reader->pipelines()->at(0).shaders, ElementsAre(ids.shader));
  EXPECT_EQ(reader->objects()->at(0).handle, ~0ull);
  EXPECT_EQ(reader->labels()->at(1).parent, ids.label);
  EXPECT_EQ(reader->messages()->at(0).severity, Severity::Warning);
}

TEST_F(CaptureFile, frames_passes_commands_and_values_are_read_as_they_were_written) {
  const TestCapture ids = write_test_capture(path_);
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;

  const FrameRow frame = reader->frames()->at(0);
  EXPECT_EQ(frame.ended_by, FrameEnd::Present);
  EXPECT_EQ(frame.end_ns, 3000);
  EXPECT_EQ(collect(*reader, &Reader::for_each_submission).at(0).label, ids.label);
  EXPECT_EQ(collect(*reader, &Reader::for_each_execution).at(0).recording, 9);

  const PassRow pass = collect(*reader, &Reader::for_each_pass).at(0);
  EXPECT_EQ(pass.width, 640u);
  EXPECT_EQ(pass.gpu_time_ns, 20);
  EXPECT_EQ(pass.name, "Shadow") << "an unnamed pass goes by the label around it";

  EXPECT_EQ(reader->functions()->at(0).kind, CallKind::Draw);
  EXPECT_EQ(collect(*reader, &Reader::for_each_block_cost).at(1).per_execution, 3u);
  EXPECT_EQ(collect(*reader, &Reader::for_each_frame_value).at(0).value, 1500u);
}

TEST_F(CaptureFile, batches_are_read_as_they_were_written) {
  const TestCapture ids = write_test_capture(path_);
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;

  const auto batches = collect(*reader, &Reader::for_each_batch);
  ASSERT_EQ(batches.size(), 2u);
  const CommandBatchRow& draws = batches[0];
  EXPECT_EQ(draws.pipeline, ids.pipeline);
  EXPECT_TRUE(draws.counted);
  EXPECT_THAT(draws.positions.values, ElementsAre(0, 2));
  EXPECT_EQ(draws.labels.at(1), Column::kNull);
  ASSERT_EQ(draws.parameters.size(), 2u);
  EXPECT_EQ(draws.parameters[0].name, "vertexCount") << "in the order of the function";
  EXPECT_EQ(draws.parameters[1].values.at(1), 30);
  EXPECT_EQ(batches[1].pipeline, std::nullopt);
  EXPECT_EQ(batches[1].gpu_time_ns.at(0), 5);

  auto reading = reader->batch_values();
  ASSERT_TRUE(reading.ok());
  BatchValues values;
  ASSERT_TRUE(reading->read(ids.draws, 2, values).ok());
  ASSERT_EQ(values.counts.size(), 1u);
  EXPECT_THAT(values.counts[0].executions.values, ElementsAre(100, 7));
  ASSERT_EQ(values.others.size(), 1u);
  EXPECT_EQ(values.others[0].values.at(1), 5);
  ASSERT_TRUE(reading->read(ids.dispatch, 1, values).ok());
  EXPECT_TRUE(values.counts.empty());
}

TEST_F(CaptureFile, positions_that_follow_each_other_are_stored_as_the_first) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok());
  const TestCapture ids = write_test_rows(*writer);
  writer->add(CommandBatchRow{
      .execution = ids.execution, .size = 3, .function = 1, .positions = {{7, 8, 9}}});
  ASSERT_TRUE(writer->finish(1, 0).ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_THAT(collect(*reader, &Reader::for_each_batch).at(2).positions.values,
              ElementsAre(7, 8, 9));
  Result<Statement> rows = reader->query("SELECT positions FROM command_batch WHERE size = 3");
  ASSERT_TRUE(rows->step());
  EXPECT_EQ(rows->text(0), "7");
  Result<Statement> viewed =
      reader->query("SELECT group_concat(position) FROM command WHERE position > 6");
  ASSERT_TRUE(viewed->step());
  EXPECT_EQ(viewed->text(0), "7,8,9");
}

TEST_F(CaptureFile, the_block_view_joins_counts_costs_and_exceptions) {
  const TestCapture ids = write_test_capture(path_);
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  Result<Statement> rows = reader->query("SELECT sum(value) FROM block_metric WHERE metric = ?");
  ASSERT_TRUE(rows.ok());
  rows->bind(ids.fma);
  ASSERT_TRUE(rows->step());
  EXPECT_EQ(rows->integer(0), 3 * (100 + 7) + 2 * 5);
}

// A trace of two hit groups and one miss shader: 10 and 20 executions of the hits' only blocks,
// which cost 3 and 5, and 7 of the miss shader's, which costs 2.
TEST_F(CaptureFile, views_tell_several_shaders_of_a_stage_apart) {
  constexpr uint32_t kClosestHit = 0x400;
  constexpr uint32_t kMiss = 0x800;
  RowId fma = 0;
  {
    Result<Writer> writer = Writer::create(path_, test_capture_row());
    ASSERT_TRUE(writer.ok());
    const TestCapture ids = write_test_rows(*writer);
    fma = ids.fma;
    const auto shader = [&](const char* name, uint32_t stage, uint64_t cost) {
      const RowId row = writer->add(ShaderRow{
          .device = ids.device, .module = ids.module, .stage = stage, .entry_point = name});
      writer->add(BlockCostRow{.shader = row, .block = 0, .metric = fma, .per_execution = cost});
      return row;
    };
    const RowId pipeline = writer->add(
        PipelineRow{.device = ids.device,
                    .hash = "rays",
                    .bind_point = "ray tracing",
                    .shaders = {shader("near", kClosestHit, 3), shader("far", kClosestHit, 5),
                                shader("sky", kMiss, 2)}});
    const RowId trace =
        writer->add(FunctionRow{.kind = CallKind::TraceRays, .name = "vkCmdTraceRaysKHR"});
    const RowId batch = writer->add(CommandBatchRow{.execution = ids.execution,
                                                    .size = 1,
                                                    .function = trace,
                                                    .pipeline = pipeline,
                                                    .counted = true,
                                                    .positions = {{9}}});
    const auto count = [&](uint32_t sub, uint32_t stage, int64_t executions) {
      writer->add(BlockCountRow{
          .batch = batch, .sub = sub, .stage = stage, .block = 0, .executions = {{executions}}});
    };
    count(0, kClosestHit, 10);
    count(1, kClosestHit, 20);
    count(2, kMiss, 7);
    ASSERT_TRUE(writer->finish(0, 0).ok());
  }
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  for (const char* view : {"block_metric", "command_metric"}) {
    Result<Statement> rows =
        reader->query(fmt::format("SELECT sub, value FROM {} JOIN command_list USING (command) "
                                  "WHERE kind = 'trace rays' AND metric = ? ORDER BY sub",
                                  view)
                          .c_str());
    ASSERT_TRUE(rows.ok());
    rows->bind(fma);
    std::vector<std::pair<int64_t, int64_t>> values;
    while (rows->step()) values.emplace_back(rows->integer(0), rows->integer(1));
    EXPECT_THAT(values,
                ElementsAre(testing::Pair(0, 30), testing::Pair(1, 100), testing::Pair(2, 14)))
        << view;
  }
}

TEST_F(CaptureFile, equal_metrics_modules_labels_and_functions_share_a_row) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok());
  const TestCapture first = write_test_rows(*writer);
  EXPECT_EQ(writer->add(MetricRow{.name = "fma", .description = "fused multiply-adds"}), first.fma);
  EXPECT_NE(writer->add(MetricRow{.name = "fma", .description = "something else"}), first.fma);
  EXPECT_EQ(writer->add(ModuleRow{.hash = "abc"}), first.module);
  EXPECT_EQ(writer->add(LabelRow{.parent = first.label, .name = "Shadow"}), first.inner_label);
  EXPECT_NE(writer->add(LabelRow{.name = "Shadow"}), first.inner_label);
  EXPECT_EQ(writer->add(FunctionRow{.name = "vkCmdDraw"}),
            writer->add(FunctionRow{.name = "vkCmdDraw"}));
  EXPECT_TRUE(writer->finish(1, std::nullopt).ok());
}

TEST_F(CaptureFile, names_that_arrive_late_are_kept) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok());
  const TestCapture ids = write_test_rows(*writer);
  writer->set_pipeline_name(ids.pipeline, "tone map");
  writer->set_object_name(ids.object, "main commands");
  ASSERT_TRUE(writer->finish(1, std::nullopt).ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->pipelines()->at(0).name, "tone map");
  EXPECT_EQ(reader->objects()->at(0).name, "main commands");
}

TEST_F(CaptureFile, a_finished_capture_is_one_plain_file) {
  write_test_capture(path_);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    ++files;
    EXPECT_EQ(entry.path().filename().string(), "capture.tally");
  }
  EXPECT_EQ(files, 1u);
}

TEST_F(CaptureFile, a_capture_is_readable_while_it_is_written) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok());
  write_test_rows(*writer);
  writer->commit();
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(collect(*reader, &Reader::for_each_batch).size(), 2u);
  EXPECT_TRUE(writer->finish(1, 0).ok()) << "a reader does not keep the writer from finishing";
}

TEST_F(CaptureFile, an_older_capture_is_replaced) {
  write_test_capture(path_);
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE(writer->finish(1, 0).ok());
  EXPECT_TRUE(Reader::open(path_)->devices()->empty());
}

TEST_F(CaptureFile, rows_that_are_added_together_are_all_in_the_file) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  std::vector<BlockCountRow> rows;
  for (uint32_t i = 0; i < 95; ++i) {
    rows.push_back({.batch = 1, .block = i, .executions = {{1000 + i}}});
  }
  writer->add_all(rows);
  ASSERT_TRUE(writer->finish(1, 0).ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  Result<Statement> read =
      reader->query("SELECT block, executions FROM batch_count ORDER BY block");
  ASSERT_TRUE(read.ok());
  for (uint32_t i = 0; i < 95; ++i) {
    ASSERT_TRUE(read->step()) << i;
    EXPECT_EQ(read->integer(0), i);
    EXPECT_EQ(read->text(1), std::to_string(1000 + i));
  }
  EXPECT_FALSE(read->step());
}

}  // namespace
}  // namespace tally::store
