// The capture file: what is written is read, and everything else is refused in one line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "picture/picture.h"
#include "store/format/schema.h"
#include "store/read/reader.h"
#include "store/testing/test_capture.h"
#include "store/write/writer.h"

namespace tally::store {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <typename Row>
std::vector<Row> collect(const Reader& reader,
                         Status (Reader::*each)(const std::function<bool(const Row&)>&) const) {
  std::vector<Row> rows;
  const Status status = (reader.*each)([&](const Row& row) {
    rows.push_back(row);
    return true;
  });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return rows;
}

std::string why_refused(const std::string& path) {
  const Result<Reader> reader = Reader::open(path);
  return reader ? "opened" : reader.error().message;
}

void overwrite(const std::string& path, std::streamoff offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The regions of write_test_capture().
void expect_regions(const Reader& reader) {
  const auto counters = *reader.region_counters();
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[1].name, "Fragment invocations");
  const auto all = collect(reader, &Reader::for_each_pass_regions);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].pass, collect(reader, &Reader::for_each_pass).at(0).id);
  EXPECT_EQ(all[0].x, 4);
  EXPECT_EQ(all[0].height, 50u);
  EXPECT_EQ(all[0].columns(), 2u);
  EXPECT_EQ(all[0].rows(), 2u);
  std::vector<RegionValuesRow> values;
  const Status status = reader.for_each_region_values(all[0], [&](const RegionValuesRow& row) {
    values.push_back(row);
    return true;
  });
  EXPECT_TRUE(status.ok());
  ASSERT_EQ(values.size(), 1u) << "a counter that is 0 everywhere has no row";
  EXPECT_EQ(values[0].counter, counters[1].id);
  EXPECT_THAT(values[0].by_region, ElementsAre(10, 0, ~0u, 7));
  const auto picture = *reader.pass_picture(all[0].pass, 0);
  ASSERT_NE(picture, std::nullopt);
  EXPECT_EQ(picture->width, 2u);
  EXPECT_THAT(decode_png(picture->png, 2)->pixels, ElementsAre(0xff0000ff, 0xff00ff00));
  EXPECT_EQ(*reader.pass_picture(all[0].pass, 1), std::nullopt);
}

class CaptureFile : public ::testing::Test {
 protected:
  TestDirectory directory_;
  std::string path_ = directory_.file("capture.tally");
};

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

TEST_F(CaptureFile, a_column_of_the_wrong_size_is_an_error) {
  const TestCapture ids = write_test_capture(path_);
  Result<Database> database = Database::open(path_, Database::Mode::Create);
  ASSERT_TRUE(database->execute("UPDATE batch_count SET executions = '[1,2,3]'").ok());
  ASSERT_TRUE(database->execute("UPDATE command_batch SET labels = 'x' WHERE size = 1").ok());
  ASSERT_TRUE(database->close().ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  BatchValues values;
  const Status counts = reader->batch_values()->read(ids.draws, 2, values);
  ASSERT_FALSE(counts.ok());
  EXPECT_THAT(counts.error().message, HasSubstr("a column of its table 'batch_count'"));
  const Status batches = reader->for_each_batch([](const CommandBatchRow&) { return true; });
  ASSERT_FALSE(batches.ok());
  EXPECT_THAT(batches.error().message, HasSubstr("a column of its table 'command_batch'"));
}

// Contents of every version.
void expect_golden(const std::string& path) {
  const Result<Reader> reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_THAT(reader->capture()->command_line, ElementsAre("app", "--fast"));
  EXPECT_EQ(collect(*reader, &Reader::for_each_batch).size(), 2u);
  EXPECT_EQ(collect(*reader, &Reader::for_each_frame_value).at(0).value, 1500u);
  expect_regions(*reader);
  // A query in SQL finds what the version lacks, too.
  Result<Statement> rows = reader->query("SELECT shader.* FROM shader");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_TRUE(rows->step());
}

TEST_F(CaptureFile, the_golden_file_of_version_6_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v6.sqlite";
  expect_golden(path);
  EXPECT_TRUE(Reader::open(path)->shaders()->at(0).constants.empty());
}

TEST_F(CaptureFile, the_golden_file_of_version_7_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v7.sqlite";
  expect_golden(path);
  EXPECT_THAT(
      Reader::open(path)->shaders()->at(0).constants,
      ElementsAre(SpecializationConstant{1, 4, 8}, SpecializationConstant{300, 8, ~uint64_t{0}}));
}

TEST_F(CaptureFile, the_golden_file_of_version_8_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v8.sqlite";
  expect_golden(path);
  EXPECT_EQ(Reader::open(path)->capture()->frame_per, "label");
  EXPECT_EQ(Reader::open(path)->capture()->frame_label, "^token");
  EXPECT_EQ(Reader::open(STORE_TEST_GOLDEN "/capture-v7.sqlite")->capture()->frame_per, "");
}

TEST_F(CaptureFile, the_golden_file_of_version_9_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v9.sqlite";
  expect_golden(path);
  EXPECT_THAT(Reader::open(path)->capture()->replacements, ElementsAre("blur.*=less.frag"));
  EXPECT_EQ(Reader::open(path)->replacements()->at(0).file, "less.frag");
  EXPECT_TRUE(Reader::open(STORE_TEST_GOLDEN "/capture-v8.sqlite")->replacements()->empty());
}

TEST_F(CaptureFile, the_golden_file_of_version_10_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v10.sqlite";
  expect_golden(path);
  const auto statistics = *Reader::open(path)->pipeline_statistics();
  ASSERT_THAT(statistics, SizeIs(2));
  EXPECT_EQ(statistics[0].name, "Registers");
  EXPECT_EQ(statistics[0].value, 40);
  EXPECT_EQ(statistics[0].executable_name, "fragment shader");
  EXPECT_EQ(statistics[1].format, StatisticFormat::Float);
  EXPECT_EQ(statistics[1].value, 0.75);
  EXPECT_THAT(*Reader::open(STORE_TEST_GOLDEN "/capture-v9.sqlite")->pipeline_statistics(),
              IsEmpty());
}

TEST_F(CaptureFile, the_golden_file_of_version_11_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v11.sqlite";
  expect_golden(path);
  const auto draws_of = [](const std::string& file) {
    return collect(*Reader::open(file), &Reader::for_each_batch).at(0);
  };
  EXPECT_EQ(draws_of(path).topology, 4);
  EXPECT_TRUE(draws_of(path).primitive_restart);
  EXPECT_EQ(draws_of(path).patch_control_points, 3u);
  EXPECT_EQ(draws_of(STORE_TEST_GOLDEN "/capture-v10.sqlite").topology, std::nullopt);
}

TEST_F(CaptureFile, the_golden_file_of_version_12_is_read) {
  const auto draws_of = [](const std::string& version) {
    const std::string path = STORE_TEST_GOLDEN "/capture-v" + version + ".sqlite";
    expect_golden(path);
    const Result<Reader> reader = Reader::open(path);
    std::vector<RegionDrawRow> draws;
    for (const PassRegionsRow& row : collect(*reader, &Reader::for_each_pass_regions)) {
      const Status read = reader->for_each_region_draw(row, [&](const RegionDrawRow& draw) {
        draws.push_back(draw);
        return true;
      });
      EXPECT_TRUE(read.ok());
    }
    return draws;
  };
  const auto draws = draws_of("12");
  ASSERT_THAT(draws, SizeIs(1));
  EXPECT_EQ(draws[0].position, 1);
  EXPECT_THAT(draws[0].places, ElementsAre(0u, 2u));
  EXPECT_THAT(draws[0].values, ElementsAre(4u, 9u));
  EXPECT_THAT(draws_of("11"), IsEmpty());
}

TEST_F(CaptureFile, malformed_constants_are_left_out) {
  write_test_capture(path_);
  Result<Database> database = Database::open(path_, Database::Mode::Create);
  ASSERT_TRUE(database
                  ->execute("UPDATE shader SET constants = "
                            "'{\"1\":\"0x0005\",\"2\":\"5\",\"3\":\"0x123\",\"x\":\"0x01\","
                            "\"4\":7,\"5\":\"0x\",\"6\":\"0x00112233445566778899\"}'")
                  .ok());
  ASSERT_TRUE(database->close().ok());
  EXPECT_THAT(Reader::open(path_)->shaders()->at(0).constants,
              ElementsAre(SpecializationConstant{1, 2, 5}));
}

TEST_F(CaptureFile, regions_and_pictures_are_read_as_they_were_written) {
  write_test_capture(path_);
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  expect_regions(*reader);
}

TEST_F(CaptureFile, region_values_of_the_wrong_size_are_left_out) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok());
  const TestCapture ids = write_test_rows(*writer);
  writer->add(
      RegionValuesRow{.regions = ids.regions, .counter = ids.invocations, .by_region = {1, 2, 3}});
  ASSERT_TRUE(writer->finish(1, 0).ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  const PassRegionsRow regions = collect(*reader, &Reader::for_each_pass_regions).at(0);
  const Status status = reader->for_each_region_values(regions, [](const RegionValuesRow&) {
    ADD_FAILURE();
    return true;
  });
  EXPECT_TRUE(status.ok());
}

TEST_F(CaptureFile, regions_of_a_render_area_beyond_all_offsets_are_left_out) {
  write_test_capture(path_);
  Result<Database> database = Database::open(path_, Database::Mode::Create);
  ASSERT_TRUE(database->execute("UPDATE pass_regions SET x = 9223372036854775807").ok());
  ASSERT_TRUE(database->close().ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(collect(*reader, &Reader::for_each_pass_regions).empty());
}

// A schema that differs is another version: raise kCaptureVersion and add a golden file, which
// TALLY_UPDATE_GOLDEN=1 store_test writes. Views hold nothing, and the reader brings its own.
TEST_F(CaptureFile, the_schema_of_version_12_is_that_of_the_golden_file) {
  const std::string golden_file = STORE_TEST_GOLDEN "/capture-v12.sqlite";
  EXPECT_EQ(kCaptureVersion, 12);
  write_test_capture(path_);
  if (std::getenv("TALLY_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::copy_file(path_, golden_file,
                               std::filesystem::copy_options::overwrite_existing);
  }
  const auto schema = [](const std::string& path) {
    const Result<Reader> reader = Reader::open(path);
    std::vector<std::string> statements;
    if (!reader) return statements;
    Result<Statement> rows =
        reader->query("SELECT sql FROM sqlite_schema WHERE type <> 'view' ORDER BY type, name");
    while (rows && rows->step()) statements.push_back(rows->text(0));
    return statements;
  };
  const auto golden = schema(golden_file);
  EXPECT_FALSE(golden.empty());
  EXPECT_EQ(schema(path_), golden);
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

TEST_F(CaptureFile, missing_and_foreign_files_are_refused) {
  EXPECT_THAT(why_refused(path_), EndsWith("No such file or directory"));
  // Windows does not open a folder.
  EXPECT_THAT(why_refused(directory_.path()),
              AnyOf(EndsWith("not a regular file"), EndsWith("Permission denied")));
  std::ofstream(path_) << "#!/bin/sh\n";
  EXPECT_THAT(why_refused(path_), EndsWith("not a Tally capture"));
  std::ofstream(path_, std::ios::trunc).close();
  EXPECT_THAT(why_refused(path_), EndsWith("not a Tally capture"));
}

TEST_F(CaptureFile, another_program_s_database_is_refused) {
  write_test_capture(path_);
  overwrite(path_, 68, std::string("\0\0\0\1", 4));
  EXPECT_THAT(why_refused(path_), EndsWith("an SQLite database, but not a Tally capture"));
}

TEST_F(CaptureFile, other_versions_are_refused) {
  write_test_capture(path_);
  overwrite(path_, 60, std::string("\0\0\0\x63", 4));
  EXPECT_THAT(why_refused(path_), HasSubstr("is a capture of format 99, newer than"));
  overwrite(path_, 60, std::string("\0\0\0\x3", 4));
  EXPECT_THAT(why_refused(path_), HasSubstr("is a capture of format 3, older than"));
}

TEST_F(CaptureFile, a_truncated_capture_is_refused_at_every_length) {
  write_test_capture(path_);
  const auto size = std::filesystem::file_size(path_);
  for (const double part : {0.9, 0.5, 0.1, 0.0005, 0.0001}) {
    std::filesystem::resize_file(path_, static_cast<uintmax_t>(static_cast<double>(size) * part));
    EXPECT_THAT(why_refused(path_),
                ::testing::AnyOf(HasSubstr("truncated"), HasSubstr("not a Tally")));
  }
}

TEST_F(CaptureFile, a_capture_without_a_table_is_refused) {
  write_test_capture(path_);
  Result<Database> database = Database::open(path_, Database::Mode::Create);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database->execute("DROP TABLE batch_other").ok());
  ASSERT_TRUE(database->close().ok());
  EXPECT_THAT(why_refused(path_), EndsWith("capture is damaged: it has no table 'batch_other'"));
}

TEST_F(CaptureFile, a_capture_whose_rows_cannot_be_looked_up_is_refused) {
  write_test_capture(path_);
  Result<Database> database = Database::open(path_, Database::Mode::Create);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database
                  ->execute("CREATE TABLE copy AS SELECT * FROM region_values;"
                            "DROP TABLE region_values;"
                            "CREATE TABLE region_values AS SELECT * FROM copy")
                  .ok());
  ASSERT_TRUE(database->close().ok());
  EXPECT_THAT(why_refused(path_),
              EndsWith("capture is damaged: its table 'region_values' has no key"));
}

TEST_F(CaptureFile, damaged_pages_give_an_error_and_no_crash) {
  write_test_capture(path_);
  const auto size = std::filesystem::file_size(path_);
  overwrite(path_, 4096, std::string(size - 4096, '\xa5'));
  const Result<Reader> reader = Reader::open(path_);
  if (reader) {
    const auto devices = reader->devices();
    ASSERT_FALSE(devices.ok());
    EXPECT_THAT(devices.error().message, HasSubstr("damaged"));
  } else {
    EXPECT_THAT(reader.error().message, HasSubstr("damaged"));
  }
}

TEST_F(CaptureFile, a_foreign_file_is_never_overwritten) {
  std::ofstream(path_) << "somebody's thesis, which is longer than the header of a database is, by "
                          "some way, as they are";
  const auto size = std::filesystem::file_size(path_);
  const Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, HasSubstr("not a Tally capture"));
  EXPECT_EQ(std::filesystem::file_size(path_), size);
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

TEST_F(CaptureFile, a_place_that_cannot_be_written_is_an_error) {
  const Result<Writer> writer =
      Writer::create(directory_.file("no/such/directory.tally"), test_capture_row());
  EXPECT_FALSE(writer.ok());
}

}  // namespace
}  // namespace tally::store
