// The receiver and the sender, on a real socket: what processes send ends up in the file, and what
// makes no sense is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>

#include "picture/picture.h"
#include "store/testing/collector_fixture.h"

namespace tally::store {
namespace {

using namespace stream;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(CollectorTest, what_a_process_sends_is_in_the_file) {
  auto client = connect();
  Bytes bytes = small_capture(3);
  append_message(bytes, End{30});
  ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  client.reset();
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM command"), 3);
  EXPECT_EQ(number("SELECT value FROM frame_value JOIN frame_counter ON frame_counter.id = counter "
                   "JOIN frame ON frame.id = frame WHERE name = 'Draw calls' AND number = 0"),
            77);
  EXPECT_EQ(number("SELECT sum(value) FROM block_metric JOIN metric ON metric.id = metric WHERE "
                   "name = 'fma'"),
            3 * (10 * 3 + 5 * 5));
  EXPECT_EQ(text("SELECT path FROM label_path JOIN command ON label = label_path.id"),
            "Outer / Inner");
  EXPECT_EQ(text("SELECT parameters FROM command"),
            R"({"groupCountX":4,"groupCountY":1,"groupCountZ":1})");
  EXPECT_EQ(number("SELECT total FROM region_values JOIN region_counter ON region_counter.id = "
                   "counter WHERE name = 'Fragment invocations'"),
            5 + 6 + 7 + 8);
  EXPECT_EQ(number("SELECT total FROM region_draw"), 2 + 8);
  const Result<Reader> reader = Reader::open(path_);
  const auto picture = *reader->pass_picture(number("SELECT id FROM pass"), 0);
  ASSERT_NE(picture, std::nullopt);
  EXPECT_THAT(decode_png(picture->png, 6)->pixels, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(text("SELECT ending FROM process"), "closed");
  EXPECT_EQ(text("SELECT ended_by FROM frame"), "present");
}

TEST_F(CollectorTest, what_is_gone_cannot_be_used_and_its_id_is_free) {
  for (const bool again : {false, true}) {
    auto client = connect();
    Bytes bytes = small_capture(1);
    append_message(bytes, Gone{{6}, {7}});
    if (again) {
      append_message(bytes, Object{.id = 6, .device = 1, .type = "VkCommandBuffer"});
      append_message(bytes, Label{7, 0, "Outer"});
    }
    append_message(bytes, Frame{1, 1, 10});
    append_message(bytes, Submission{2, 1, 0, 11, 0});
    append_message(bytes, Execution{.command_buffer = 6, .recording = 1});
    append_message(bytes, End{30});
    client->push(std::move(bytes), 1 << 20);
  }
  finish();
  EXPECT_EQ(text("SELECT group_concat(ending) FROM (SELECT ending FROM process ORDER BY id)"),
            "refused,closed");
  EXPECT_EQ(number("SELECT count(*) FROM label WHERE name = 'Outer'"), 1);
}

TEST_F(CollectorTest, a_sender_that_breaks_the_protocol_is_ended_and_named) {
  auto good = connect();
  ASSERT_TRUE(good->push(small_capture(1), 1 << 20));
  auto bad = connect();
  Bytes bytes = small_capture(1);
  append_message(bytes, Name{Named::Pipeline, 12345, "unknown"});
  ASSERT_TRUE(bad->push(std::move(bytes), 1 << 20));
  good.reset();
  bad.reset();
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'cut off'"), 1);
  EXPECT_THAT(text("SELECT text FROM message"), HasSubstr("pipeline 12345"));
  EXPECT_EQ(number("SELECT count(*) FROM command"), 2);
}

// One dispatch that would be right but for what `breaks` does to it.
template <typename Breaks>
stream::CommandBatch dispatch_but(Breaks breaks) {
  stream::CommandBatch batch{.function = Function::Dispatch,
                             .size = 1,
                             .positions = {{0}},
                             .parameters = {{{4}}, {{1}}, {{1}}}};
  breaks(batch);
  return batch;
}

// Messages that decode but make no sense: one by one after a good beginning.
TEST_F(CollectorTest, every_wrong_reference_is_refused) {
  const std::vector<AnyMessage> wrong = {
      Process{},
      Queue{9, 99},
      Queue{2, 1},
      Module{3, "again", {}},
      Module{0, "zero", {}},
      Shader{9, 1, 99},
      Shader{9, 99},
      Pipeline{{.id = 9, .device = 1, .shaders = {99}}},
      Object{6, 1},
      Object{9, 99},
      Name{Named::Object, 99},
      Label{9, 99},
      Frame{99},
      Frame{1, 0},
      FrameEnded{1, 99},
      FrameEnded{1, 0, 20, FrameEnd::Open},
      Submission{99},
      Submission{2, 99},
      Execution{.parent = 5, .command_buffer = 6},
      Execution{.command_buffer = 99},
      stream::Pass{.render_pass = 99},
      stream::Pass{.label = 99},
      dispatch_but([](auto& batch) { batch.size = 0; }),
      dispatch_but([](auto& batch) {
        batch.size = kMaxBatchCommands + 1;
        batch.positions.values.resize(batch.size);
      }),
      dispatch_but([](auto& batch) { batch.size = 2; }),
      dispatch_but([](auto& batch) {
        batch.labels = {{8, 8}};
      }),
      dispatch_but([](auto& batch) {
        batch.gpu_time_ns = {{1, 2}};
      }),
      dispatch_but([](auto& batch) { batch.parameters = {{{1}}}; }),
      dispatch_but([](auto& batch) {
        batch.parameters[1] = {{1, 2}};
      }),
      dispatch_but([](auto& batch) { batch.pipeline = 99; }),
      dispatch_but([](auto& batch) { batch.labels = {{99}}; }),
      dispatch_but([](auto& batch) { batch.pass_of = PassOf::Own, batch.pass = 99; }),
      dispatch_but([](auto& batch) { batch.pass_of = PassOf::Parent; }),
      stream::BatchValues{},
      stream::ForgetValues{99},
      BlockCosts{99, 0, 2, {}},
      BlockCosts{4, 0, 3, {1, 2, 3}},
      BlockCosts{4, 0, 2, {1}},
      Missing{1, 99},
      Missing{1, 0, -1},
      NotInstrumented{99},
      Bound{99},
      stream::FrameCounter{.id = 1, .device = 99},
      FrameCounter{.id = 1, .device = 1, .denominator = 0},
      FrameValues{1, 99, {}},
      FrameValues{1, 0, {{99, 1}}},
      FrameValues{1, 0, {{9, 1}}}};
  for (const AnyMessage& message : wrong) {
    auto client = connect();
    Bytes bytes = small_capture(0);
    append_message(bytes, message);
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  }
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"),
            static_cast<int64_t>(wrong.size()));
}

stream::CommandBatch batch_with(Id values, int64_t position, uint32_t size) {
  stream::CommandBatch batch{.function = Function::Dispatch,
                             .pipeline = 5,
                             .counted = true,
                             .size = size,
                             .parameters = {{{4}}, {{1}}, {{1}}},
                             .values = values};
  for (uint32_t i = 0; i < size; ++i) batch.positions.values.push_back(position + i);
  return batch;
}

TEST_F(CollectorTest, batches_that_name_a_value_set_have_the_values_of_the_first_of_them) {
  for (const int64_t executions : {10, 20}) {  // in two processes
    auto client = connect();
    Bytes bytes = small_capture(0);
    append_message(bytes, batch_with(77, 0, 2));
    append_message(bytes, stream::BatchValues{{{0, 32, 0, {{executions}}}}, {}});
    append_message(bytes, batch_with(0, 2, 1));
    append_message(bytes, stream::BatchValues{{{0, 32, 0, {{3}}}}, {}});
    append_message(bytes, batch_with(77, 3, 3));
    append_message(bytes, stream::ForgetValues{77});
    append_message(bytes, batch_with(77, 6, 1));  // another set
    append_message(bytes, stream::BatchValues{{{0, 32, 0, {{executions + 1}}}}, {}});
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  }
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM batch_count"), 6);
  EXPECT_EQ(number("SELECT count(*) FROM block_count"), 14);
  EXPECT_EQ(number("SELECT sum(executions) FROM block_count"), 5 * 10 + 3 + 11 + 5 * 20 + 3 + 21);
  // The cost of the block in the second metric is 3.
  EXPECT_EQ(number("SELECT sum(value) FROM block_metric JOIN metric ON metric.id = metric "
                   "WHERE metric.name = 'fma'"),
            3 * (5 * 10 + 3 + 11 + 5 * 20 + 3 + 21));
}

TEST_F(CollectorTest, samples_of_times_of_two_processes_have_different_numbers) {
  for (int process = 0; process < 2; ++process) {
    auto client = connect();
    Bytes bytes = small_capture(0);
    for (const Id sample : {4, 4, 9, 0}) {
      stream::CommandBatch batch = batch_with(0, 0, 1);
      batch.counted = false;
      batch.time_sample = sample;
      append_message(bytes, batch);
    }
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  }
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"), 0);
  EXPECT_EQ(number("SELECT count(time_sample) FROM command_batch"), 6);
  EXPECT_EQ(number("SELECT count(DISTINCT time_sample) FROM command_batch"), 4);
}

// Wherever the limit falls: the file never has a counted command without its values.
TEST_F(CollectorTest, a_batch_whose_values_no_longer_fit_is_uncounted) {
  finish();
  int uncounted = 0;
  for (uint64_t limit = 250'000; limit < 400'000; limit += 4'096) {
    Result<Writer> writer = Writer::create(directory_.file("small.tally"), test_capture_row());
    ASSERT_TRUE(writer.ok());
    auto started = Collector::start(std::move(*writer), directory_.path(), {.file_bytes = limit});
    ASSERT_TRUE(started.ok());
    auto client = StreamClient::connect((*started)->name());
    ASSERT_TRUE(client.ok());
    Bytes bytes = small_capture(0);
    for (int64_t i = 0; i < 8; ++i) {
      append_message(bytes, batch_with(i % 2 == 0 ? 0 : static_cast<Id>(70 + i), i, 1));
      stream::BatchValues values;
      for (uint32_t block = 0; block < 1000; ++block)
        values.counts.push_back({0, 32, block, {{7}}});
      append_message(bytes, values);
    }
    ASSERT_TRUE((*client)->push(std::move(bytes), 1 << 20));
    client->reset();
    ASSERT_TRUE((*started)->finish(0, std::chrono::seconds(10)).ok());
    const Result<Reader> reader = Reader::open(directory_.file("small.tally"));
    ASSERT_TRUE(reader.ok());
    const auto count = [&](const std::string& sql) {
      Result<Statement> rows = reader->query(sql);
      return rows->step() ? rows->integer(0) : -1;
    };
    EXPECT_EQ(count("SELECT count(*) FROM command_batch AS b WHERE counted AND 1000 <> (SELECT "
                    "count(*) FROM batch_count WHERE batch = coalesce(b.value_set, b.id))"),
              0)
        << limit;
    if (count("SELECT count(*) FROM command_batch WHERE NOT counted") > 0) ++uncounted;
  }
  EXPECT_GT(uncounted, 0);
}

TEST_F(CollectorTest, a_set_of_different_values_belongs_to_batches_of_as_many_commands) {
  const auto send = [&](uint32_t size, const std::vector<AnyMessage>& last) {
    auto client = connect();
    Bytes bytes = small_capture(0);
    append_message(bytes, batch_with(77, 0, 2));
    append_message(bytes, stream::BatchValues{{{0, 32, 0, {{10, 11}}}}, {}});
    append_message(bytes, batch_with(77, 2, size));
    for (const AnyMessage& message : last) append_message(bytes, message);
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  };
  send(2, {});
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"), 0);
  send(3, {});
  send(1, {});
  send(2, {stream::BatchValues{{{0, 32, 0, {{10, 11}}}}, {}}});  // they come once
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"), 3);
  // Two batches of the first and the last process, one of each other.
  EXPECT_EQ(number("SELECT sum(executions) FROM block_count"), 6 * 21);
}

TEST_F(CollectorTest, a_counter_twice_in_the_values_of_a_frame_is_refused) {
  auto client = connect();
  Bytes bytes = small_capture(0);
  append_message(bytes, Frame{1, 1, 20});
  append_message(bytes, FrameValues{1, 1, {{9, 1}, {9, 2}}});
  ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  client.reset();
  finish();
  EXPECT_THAT(text("SELECT text FROM message"), HasSubstr("a counter twice in a frame's values"));
}

// Related records are complete and in order.
TEST_F(CollectorTest, every_wrong_part_of_regions_and_pictures_is_refused) {
  const PassPicture picture{.width = 2, .height = 3};
  const Submission next{2, 0, 1, 12, 7};
  const std::vector<std::vector<AnyMessage>> wrong = {
      {PassRegions{.execution = 1}},
      {PassRegions{.execution = -1}},
      {PassRegions{.pass = 1}},
      {PassRegions{.width = 100, .height = 50, .region_width = 64}},
      {PassRegions{.width = 0, .height = 50, .region_width = 64, .region_height = 64}},
      {PassRegions{.width = ~0u, .height = ~0u, .region_width = 1, .region_height = 1}},
      {PassRegions{.x = INT64_MIN, .width = 8, .height = 8, .region_width = 8, .region_height = 8}},
      {kRegions, RegionValues{2, {1, 2, 3, 4}}},
      {kRegions, RegionValues{1, {1, 2, 3, 4, 5}}},
      {kRegions, RegionValues{1, {}}},
      {kRegions, RegionValues{0, {1}}, RegionValues{1, {1}}},
      {kRegions, RegionValues{0, {1}}, kRegions},
      {kRegions, RegionValues{0, {1}}, next},
      {next, RegionValues{0, {1}}},
      {next, RegionDraw{0, 1, {0}, {1}}},
      {RegionDraw{0, 1, {0}, {1}}},
      {kRegions, RegionDraw{2, 1, {0}, {1}}},
      {kRegions, RegionDraw{0, -1, {0}, {1}}},
      {kRegions, RegionDraw{0, 1, {}, {}}},
      {kRegions, RegionDraw{0, 1, {0, 1}, {1}}},
      {kRegions, RegionDraw{0, 1, {0, 0}, {1, 1}}},
      {kRegions, RegionDraw{0, 1, {1, 0}, {1, 1}}},
      {kRegions, RegionDraw{0, 1, {4}, {1}}},
      {kRegions, RegionValues{0, {1}}, RegionDraw{0, 1, {0}, {1}}},
      {PassPicture{.pass = 1, .width = 1, .height = 1}},
      {PassPicture{.width = 0, .height = 3}},
      {PassPicture{.width = ~0u, .height = ~0u}},
      {PictureRows{{1, 2}}},
      {picture, PictureRows{{1, 2, 3}}},
      {picture, PictureRows{}},
      {picture, PictureRows{{1, 2, 3, 4, 5, 6, 7, 8}}},
      {picture, PictureRows{{1, 2}}, picture},
      {picture, PictureRows{{1, 2}}, kRegions},
      {picture, PictureRows{{1, 2}}, next}};
  for (const std::vector<AnyMessage>& messages : wrong) {
    auto client = connect();
    Bytes bytes = small_capture(0);
    for (const AnyMessage& message : messages) append_message(bytes, message);
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  }
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"),
            static_cast<int64_t>(wrong.size()));
}

TEST_F(CollectorTest, a_stream_without_a_handshake_leaves_no_process) {
  const UniqueFd socket = connect_socket();
  ASSERT_EQ(::send(socket.get(), "hello, receiver", 15, MSG_NOSIGNAL), 15);
  finish(std::chrono::milliseconds(100));
  EXPECT_EQ(number("SELECT count(*) FROM process"), 0);
  EXPECT_THAT(text("SELECT text FROM message"), HasSubstr("other than a capture stream"));
}

TEST_F(CollectorTest, the_socket_is_for_this_user_alone_and_goes_away) {
  const std::filesystem::path socket = collector_->name();
  struct stat info {};
  ASSERT_EQ(::stat(socket.parent_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
  finish();
  collector_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

TEST_F(CollectorTest, progress_counts_what_has_come) {
  auto client = connect();
  ASSERT_TRUE(client->push(small_capture(4), 1 << 20));
  client.reset();
  finish();
  const Collector::Progress progress = collector_->progress();
  EXPECT_EQ(progress.processes, 1u);
  EXPECT_EQ(progress.connected, 0u);
  EXPECT_EQ(progress.frames, 1u);
  EXPECT_GT(progress.bytes, 0u);
}

}  // namespace
}  // namespace tally::store
