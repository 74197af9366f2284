// The receiver and the sender, on a real socket: what processes send ends up in the file, whatever
// becomes of them.
#include "store/write/collector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tuple>

#include "base/file.h"
#include "picture/picture.h"
#include "store/read/reader.h"
#include "store/stream/ledger.h"
#include "store/stream/stream_client.h"
#include "store/testing/test_capture.h"

namespace tally::store {
namespace {

using namespace stream;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PassRegions kRegions{.width = 100, .height = 50, .region_width = 64, .region_height = 32};

// A whole little capture of one frame with `commands` dispatches.
Bytes small_capture(int commands) {
  Bytes bytes;
  append_message(bytes, Process{.pid = ::getpid(),
                                .parent_pid = 1,
                                .executable = "app",
                                .command_line = {"app"},
                                .start_ns = 1});
  append_message(bytes, Device{{.id = 1, .name = "gpu"},
                               {{.name = "executions", .description = "d"},
                                {.name = "fma", .description = "d"}},
                               {"Fragment warps", "Fragment invocations"}});
  append_message(bytes, Queue{.id = 2, .device = 1, .flags = 7, .timestamp_bits = 64});
  append_message(bytes, Module{.id = 3, .hash = "hash", .spirv = {1, 2, 3}});
  append_message(bytes, Shader{4, 1, 3, 32, "main", "", {}});
  append_message(
      bytes,
      Pipeline{
          {.id = 5, .device = 1, .hash = "pipeline", .bind_point = "compute", .shaders = {4}}});
  append_message(bytes, Object{.id = 6, .device = 1, .type = "VkCommandBuffer", .handle = 77});
  append_message(bytes, Label{7, 0, "Outer"});
  append_message(bytes, Label{8, 7, "Inner"});
  append_message(bytes, Frame{1, 0, 10});
  append_message(bytes, Submission{2, 0, 0, 11, 7});
  append_message(bytes, Execution{.command_buffer = 6, .recording = 1});
  append_message(bytes, stream::Pass{.width = 100, .height = 50, .attachments = "[]"});
  append_message(bytes, BlockCosts{4, 0, 2, {1, 3, 1, 5}});
  for (int first = 0; first < commands; first += kMaxBatchCommands) {
    stream::CommandBatch batch{.function = Function::Dispatch,
                               .pipeline = 5,
                               .counted = true,
                               .labels = {{8}},
                               .parameters = {{{4}}, {{1}}, {{1}}}};
    batch.size = static_cast<uint32_t>(std::min<int>(commands - first, kMaxBatchCommands));
    for (uint32_t i = 0; i < batch.size; ++i) batch.positions.values.push_back(first + i);
    append_message(bytes, batch);
    append_message(bytes, stream::BatchValues{{{0, 32, 0, {{10}}}, {0, 32, 1, {{5}}}}, {}});
  }
  append_message(bytes, FrameCounter{9, 1, "API", "Draw calls", "calls"});
  append_message(bytes, FrameValues{1, 0, {{9, 77}}});
  append_message(bytes, kRegions);
  append_message(bytes, RegionValues{1, {5, 6, 7}});
  append_message(bytes, RegionValues{1, {8}});
  append_message(bytes, RegionDraw{1, 0, {1, 3}, {2, 8}});
  append_message(bytes, PassPicture{.width = 2, .height = 3});
  append_message(bytes, PictureRows{{1, 2, 3, 4}});
  append_message(bytes, PictureRows{{5, 6}});
  append_message(bytes, FrameEnded{1, 0, 20, FrameEnd::Present});
  return bytes;
}

class CollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Writer> writer = Writer::create(path_, test_capture_row());
    ASSERT_TRUE(writer.ok());
    auto started = Collector::start(std::move(*writer), directory_.path());
    ASSERT_TRUE(started.ok()) << started.error().message;
    collector_ = std::move(*started);
  }

  std::unique_ptr<StreamClient> connect() {
    auto client = StreamClient::connect(collector_->name());
    EXPECT_TRUE(client.ok()) << client.error().message;
    return std::move(*client);
  }
  // Without a sender.
  UniqueFd connect_socket() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    collector_->name().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return socket;
  }
  void finish(std::chrono::milliseconds grace = std::chrono::seconds(10)) {
    const Status status = collector_->finish(0, grace);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  int64_t number(const std::string& sql) {
    const Result<Reader> reader = Reader::open(path_);
    EXPECT_TRUE(reader.ok());
    Result<Statement> rows = reader->query(sql);
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    return rows->step() ? rows->integer(0) : -1;
  }
  std::string text(const std::string& sql) {
    const Result<Reader> reader = Reader::open(path_);
    Result<Statement> rows = reader->query(sql);
    return rows->step() ? rows->text(0) : "";
  }

  TestDirectory directory_;
  std::string path_ = directory_.file("capture.tally");
  std::unique_ptr<Collector> collector_;
};

// With --keep.
class KeepingCollector : public CollectorTest {
 protected:
  void SetUp() override {
    auto started = Collector::start(std::move(*Writer::create(path_, test_capture_row())),
                                    directory_.path(), {.last_frames = 3});
    ASSERT_TRUE(started.ok()) << started.error().message;
    collector_ = std::move(*started);
  }

  // A frame of the small capture's device with a command buffer, labels and passes of its own,
  // which are gone after it. The ids are not used again.
  static void append_frame(Bytes& bytes, int64_t number, bool again) {
    const Id first = 1'000 + static_cast<Id>(number) * 10;
    const Id object = again ? 6 : first;
    const std::string name = std::to_string(number);
    append_message(bytes, Object{.id = first, .device = 1, .type = "VkCommandBuffer"});
    append_message(bytes, Object{.id = first + 1, .device = 1, .type = "VkFramebuffer"});
    append_message(bytes, Name{Named::Object, first, "commands " + name});
    append_message(bytes, Label{first + 2, 7, "frame " + name});
    append_message(bytes, Label{first + 3, first + 2, "draw " + name});
    append_message(bytes, Label{first + 4, 0, "submission " + name});
    append_message(bytes, Label{first + 5, first + 2, "pass " + name});
    append_message(bytes, Frame{1, number, 10});
    append_message(bytes, Submission{2, number, number, 11, first + 4});
    append_message(bytes, Execution{.command_buffer = object, .recording = 1});
    append_message(bytes, stream::Pass{.framebuffer = first + 1,
                                       .width = 1,
                                       .height = 1,
                                       .attachments = "[]",
                                       .label = first + 5});
    append_message(bytes, stream::CommandBatch{.function = Function::Dispatch,
                                               .pipeline = 5,
                                               .size = 2,
                                               .positions = {{0, 1}},
                                               .labels = {{static_cast<int64_t>(first + 3), 8}},
                                               .parameters = {{{4}}, {{1}}, {{1}}}});
    append_message(bytes, FrameEnded{1, number, 20, FrameEnd::Present});
    append_message(bytes, Gone{{first, first + 1}, {first + 2, first + 3, first + 4, first + 5}});
  }
};

TEST_F(KeepingCollector, objects_and_labels_are_kept_with_the_frames_that_use_them) {
  auto client = connect();
  ASSERT_TRUE(client->push(small_capture(3), 1 << 20));
  constexpr int64_t kFrames = 3'000;
  for (int64_t i = 1; i <= kFrames; ++i) {
    Bytes bytes;
    append_frame(bytes, i, i == kFrames);  // the last one uses what the first one used
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
    // The rows of dropped frames are removed each time the collector is idle.
    if (i % 1'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  const int64_t labels = number("SELECT count(*) FROM label");
  EXPECT_GE(labels, 3 * 4 + 2);
  EXPECT_LT(labels, 4 * kFrames / 2);
  EXPECT_LT(number("SELECT count(*) FROM object"), 2 * kFrames / 2);
  Bytes bytes;
  append_message(bytes, End{30});
  ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  client.reset();
  finish();
  EXPECT_EQ(text("SELECT group_concat(number) FROM (SELECT number FROM frame ORDER BY number)"),
            "2998,2999,3000");
  EXPECT_EQ(text("SELECT group_concat(object.name, ';') FROM execution JOIN object ON object.id = "
                 "command_buffer"),
            "commands 2998;commands 2999;");  // the third one's has no name
  EXPECT_EQ(text("SELECT group_concat(path, ';') FROM (SELECT path FROM command JOIN label_path ON "
                 "label_path.id = command.label ORDER BY command.id)"),
            "Outer / frame 2998 / draw 2998;Outer / Inner;Outer / frame 2999 / draw 2999;Outer / "
            "Inner;Outer / frame 3000 / draw 3000;Outer / Inner");
  EXPECT_EQ(text("SELECT group_concat(path, ';') FROM (SELECT path FROM submission JOIN label_path "
                 "ON label_path.id = label ORDER BY number)"),
            "submission 2998;submission 2999;submission 3000");
  EXPECT_EQ(number("SELECT count(*) FROM pass JOIN object ON object.id = framebuffer JOIN label ON "
                   "label.id = pass.label"),
            3);
  EXPECT_EQ(number("SELECT count(*) FROM object"), 3 + 3);
  EXPECT_EQ(number("SELECT count(*) FROM label"), 3 * 4 + 2);
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

TEST_F(CollectorTest, what_arrived_before_a_kill_is_in_the_file) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto client = StreamClient::connect(collector_->name());
    if (client && (*client)->push(small_capture(5), 1 << 20) && (*client)->flush()) {
      ::kill(::getpid(), SIGKILL);
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM command"), 5);
  EXPECT_EQ(text("SELECT ending FROM process"), "cut off");
}

TEST_F(CollectorTest, commands_that_a_killed_process_did_not_send_are_counted) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto client = StreamClient::connect(collector_->name());
    if (client) {
      (*client)->ledger().add_submitted(12);
      (*client)->push(small_capture(5), 1 << 20);
      (*client)->flush();
      ::kill(::getpid(), SIGKILL);
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  finish();
  EXPECT_EQ(number("SELECT commands_missing FROM process"), 12 - 5);
}

TEST_F(CollectorTest, commands_that_a_frame_misses_are_not_missing_twice) {
  auto client = connect();
  client->ledger().add_submitted(9);
  Bytes bytes = small_capture(5);
  append_message(bytes, Missing{1, 0, 4});
  append_message(bytes, End{30});
  ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  client.reset();
  finish();
  EXPECT_EQ(number("SELECT commands_missing FROM frame"), 4);
  EXPECT_EQ(number("SELECT commands_missing FROM process"), 0);
}

TEST_F(CollectorTest, many_processes_share_the_file) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    {
      auto client = StreamClient::connect(collector_->name());
      if (!client || !(*client)->push(small_capture(100), 1 << 20)) ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process"), 8);
  EXPECT_EQ(number("SELECT count(*) FROM command"), 800);
  EXPECT_EQ(number("SELECT count(*) FROM module"), 1) << "equal modules are stored once";
  EXPECT_EQ(number("SELECT count(*) FROM metric"), 2);
}

TEST_F(CollectorTest, a_process_that_lives_on_is_cut_off_after_the_grace) {
  auto client = connect();
  ASSERT_TRUE(client->push(small_capture(2), 1 << 20));
  ASSERT_TRUE(client->flush());
  finish(std::chrono::milliseconds(50));
  EXPECT_EQ(number("SELECT count(*) FROM command"), 2);
  EXPECT_EQ(text("SELECT ending FROM process"), "cut off");
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

TEST_F(CollectorTest, values_of_a_set_come_once_and_are_the_same_for_each_command) {
  const auto send = [&](const AnyMessage& last) {
    auto client = connect();
    Bytes bytes = small_capture(0);
    append_message(bytes, batch_with(77, 0, 2));
    append_message(bytes, stream::BatchValues{{{0, 32, 0, {{10}}}}, {}});
    append_message(bytes, batch_with(77, 2, 2));
    append_message(bytes, last);
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  };
  send(stream::BatchValues{{{0, 32, 0, {{10}}}}, {}});
  auto client = connect();
  Bytes bytes = small_capture(0);
  append_message(bytes, batch_with(77, 0, 2));
  append_message(bytes, stream::BatchValues{{{0, 32, 0, {{10, 11}}}}, {}});
  ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'refused'"), 2);
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
  EXPECT_THAT(text("SELECT text FROM message"), HasSubstr("does not send"));
}

TEST_F(CollectorTest, processes_beyond_the_most_that_it_accepts_are_counted) {
  constexpr size_t kMost = 256;
  std::vector<UniqueFd> sockets;
  while (sockets.size() < kMost) sockets.push_back(connect_socket());
  while (collector_->progress().processes < kMost) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) {
    char byte = 0;
    EXPECT_LE(::recv(connect_socket().get(), &byte, 1, 0), 0) << "the receiver has closed it";
  }
  sockets.clear();
  finish();
  EXPECT_EQ(collector_->progress().processes, kMost);
  EXPECT_THAT(text("SELECT text FROM message WHERE text LIKE '%not captured%'"),
              HasSubstr("because 256 others were connected: 3"));
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
  EXPECT_EQ(progress.commands, 4u);
  EXPECT_EQ(progress.frames, 1u);
  EXPECT_GT(progress.bytes, 0u);
}

// The thread of the receiver may not have run between.
TEST_F(CollectorTest, a_process_is_connected_before_it_is_accepted) {
  for (int i = 0; i < 10; ++i) {
    auto client = connect();
    ASSERT_NE(collector_->progress().connected, 0u) << i;
    ASSERT_NE(collector_->request_frames(3), 0u) << i;
    while (client->ledger().orders().frames == 0) std::this_thread::yield();
    EXPECT_EQ(client->ledger().orders().frames, 3u) << i;
    client.reset();
    while (collector_->progress().connected != 0) std::this_thread::yield();
  }
}

// All that wait are accepted together.
TEST(CollectorOfManyProcesses, accepts_all_that_wait_at_once) {
  constexpr uint64_t kProcesses = 200;
  const TestDirectory directory;
  int to_test[2], to_receiver[2];
  ASSERT_EQ(::pipe(to_test), 0);
  ASSERT_EQ(::pipe(to_receiver), 0);
  const pid_t receiver = ::fork();
  if (receiver == 0) {
    ::close(to_receiver[1]);
    auto collector =
        Collector::start(std::move(*Writer::create(directory.file("a.tally"), test_capture_row())),
                         directory.path());
    std::string path = (*collector)->name();
    path.resize(200);
    if (::write(to_test[1], path.data(), path.size()) != 200) ::_exit(1);
    while ((*collector)->progress().processes < kProcesses) std::this_thread::yield();
    const uint64_t rounds = (*collector)->progress().accept_rounds;
    if (::write(to_test[1], &rounds, sizeof rounds) != sizeof rounds) ::_exit(1);
    char byte = 0;  // until the test has closed its end
    ::_exit(::read(to_receiver[0], &byte, 1) == 0 ? 0 : 1);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::array<char, 200> path{};
  ASSERT_EQ(::read(to_test[0], path.data(), path.size()), 200);
  std::memcpy(address.sun_path, path.data(), sizeof address.sun_path - 1);
  int status = 0;
  ::kill(receiver, SIGSTOP);
  ::waitpid(receiver, &status, WUNTRACED);
  std::vector<UniqueFd> sockets;
  while (sockets.size() < kProcesses) {
    sockets.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(sockets.back().get(), reinterpret_cast<const sockaddr*>(&address),
                        sizeof address),
              0);
  }
  ::kill(receiver, SIGCONT);
  uint64_t rounds = 0;
  EXPECT_EQ(::read(to_test[0], &rounds, sizeof rounds), static_cast<ssize_t>(sizeof rounds));
  EXPECT_EQ(rounds, 1u);
  ::close(to_receiver[1]);
  ::waitpid(receiver, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int opened : {to_test[0], to_test[1], to_receiver[0]}) ::close(opened);
}

// How many processes send at a time.
class CollectorOfShortProcesses : public ::testing::TestWithParam<int> {
 protected:
  // Receives until `ending` has no writer. Returns an exit status.
  int receive(int to_test, int ending) const {
    auto collector =
        Collector::start(std::move(*Writer::create(path_, test_capture_row())), directory_.path());
    const std::string& path = (*collector)->name();
    if (::write(to_test, path.c_str(), path.size() + 1) != std::ssize(path) + 1) return 1;
    char byte = 0;
    if (::read(ending, &byte, 1) != 0) return 1;
    return (*collector)->finish(0, std::chrono::seconds(60)).ok() ? 0 : 1;
  }

  TestDirectory directory_;
  std::string path_ = directory_.file("a.tally");
};

TEST_P(CollectorOfShortProcesses, has_each_of_them_and_takes_little_time) {
  constexpr int kProcesses = 2'000;
  std::array<int, 2> to_test{}, ending{};
  ASSERT_EQ(::pipe2(to_test.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(ending.data(), O_CLOEXEC), 0);
  const pid_t receiver = ::fork();
  if (receiver == 0) {
    ::close(ending[1]);
    ::_exit(receive(to_test[1], ending[0]));
  }
  std::array<char, 200> path{};
  ASSERT_GT(::read(to_test[0], path.data(), path.size() - 1), 0);
  Bytes bytes = small_capture(2);
  append_message(bytes, End{30});
  std::atomic<int> begun = 0, sent = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> senders(static_cast<size_t>(GetParam()));
  for (std::thread& sender : senders) {
    sender = std::thread([&] {
      while (begun++ < kProcesses) {
        auto client = StreamClient::connect(path.data());
        if (client && (*client)->push(Bytes(bytes), 1 << 20) && (*client)->flush()) ++sent;
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  for (const int end : {to_test[0], to_test[1], ending[0], ending[1]}) ::close(end);
  int status = 0;
  rusage used{};
  ASSERT_EQ(::wait4(receiver, &status, 0, &used), receiver);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sent, kProcesses);
  Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  const auto number = [&](const char* sql) {
    Result<Statement> rows = reader->query(sql);
    return rows.ok() && rows->step() ? rows->integer(0) : -1;
  };
  EXPECT_EQ(number("SELECT count(*) FROM process WHERE ending = 'closed'"), kProcesses);
  EXPECT_EQ(number("SELECT sum(commands_missing) FROM process"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM command"), 2 * kProcesses);
  EXPECT_EQ(number("SELECT count(*) FROM message"), 0) << "none was refused";
  const auto seconds = [](const timeval& value) {
    return static_cast<double>(value.tv_sec) + 1e-6 * static_cast<double>(value.tv_usec);
  };
  const double processor = seconds(used.ru_utime) + seconds(used.ru_stime);
  fmt::print("{} at a time: {:.0f} processes a second; {:.2f} ms of processor time for each\n",
             GetParam(), kProcesses / time.count(), 1e3 * processor / kProcesses);
  EXPECT_LT(processor / kProcesses, 10e-3);
}

INSTANTIATE_TEST_SUITE_P(AtATime, CollectorOfShortProcesses, ::testing::Values(1, 8));

// How a program that becomes a daemon closes what it did not open.
enum class Closing { EachNumber, WholeRange };

// As such a program: the numbers of all descriptors then are those of its own socket.
class Daemon {
 public:
  explicit Daemon(Closing closing) {
    constexpr int kEnd = 4200;
    std::vector<int> numbers;
    for (int number = 5; number < kEnd; ++number) numbers.push_back(number);
    if (closing == Closing::WholeRange) {
      for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd"))
        numbers.push_back(std::max(5, std::stoi(open.path().filename())));
      ::close_range(3, ~0u, 0);
    }
    for (int number = 3; number < kEnd; ++number) ::close(number);
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) != 0) ::_exit(2);
    for (const int number : numbers) ::dup2(pair[0], number);
    other_end_ = pair[1];
  }
  bool received_nothing() const {
    char byte = 0;
    return ::recv(other_end_, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  // Else there is no free number below the limit.
  void free_some() const {
    for (int number = 100; number < 110; ++number) ::close(number);
  }

 private:
  int other_end_ = -1;
};

enum class AfterClosing { ConnectsAgain, WhileAForkHasCopies, CannotConnect };

class ClosedDescriptors : public CollectorTest,
                          public ::testing::WithParamInterface<std::tuple<AfterClosing, Closing>> {
 protected:
  static AfterClosing then() { return std::get<0>(GetParam()); }
  // The whole life of a process that sends a capture of 100 commands.
  bool send_in_parts() const {
    auto client = StreamClient::connect(collector_->name());
    if (!client) return false;
    (*client)->ledger().add_submitted(100);
    Bytes bytes = small_capture(100);
    append_message(bytes, End{30});
    const auto middle = bytes.begin() + 333;  // within a message
    if (!(*client)->push(Bytes(bytes.begin(), middle), 1 << 20) || !(*client)->flush())
      return false;
    const pid_t copies = then() == AfterClosing::WhileAForkHasCopies ? ::fork() : -1;
    if (copies == 0) {
      ::pause();
      ::_exit(0);
    }
    const Daemon daemon(std::get<1>(GetParam()));
    daemon.free_some();
    if (then() == AfterClosing::CannotConnect) ::unlink(collector_->name().c_str());
    (*client)->push(Bytes(middle, bytes.end()), 1 << 20);
    const bool sent = (*client)->flush();
    client->reset();
    if (copies > 0) ::kill(copies, SIGKILL);
    return daemon.received_nothing() && sent == (then() != AfterClosing::CannotConnect);
  }
};

TEST_P(ClosedDescriptors, of_the_application_get_nothing_and_nothing_is_lost_unsaid) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(send_in_parts() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  finish();
  EXPECT_EQ(number("SELECT count(*) FROM process"), 1);
  EXPECT_EQ(collector_->progress().processes, 1u);
  if (then() == AfterClosing::CannotConnect) {
    EXPECT_EQ(text("SELECT ending FROM process"), "cut off");
    EXPECT_EQ(number("SELECT commands_missing IS NULL FROM process"), 1);
  } else {
    EXPECT_EQ(number("SELECT count(*) FROM command"), 100);
    EXPECT_EQ(text("SELECT ending FROM process"), "closed");
    EXPECT_EQ(number("SELECT commands_missing FROM process"), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ClosedDescriptors,
                         ::testing::Combine(::testing::Values(AfterClosing::ConnectsAgain,
                                                              AfterClosing::WhileAForkHasCopies,
                                                              AfterClosing::CannotConnect),
                                            ::testing::Values(Closing::EachNumber,
                                                              Closing::WholeRange)));

// It may connect again as long as it lives: the end of its connection is not its end.
TEST_F(CollectorTest, commands_that_a_process_submits_without_its_connection_are_missing) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto client = StreamClient::connect(collector_->name());
    if (!client || !(*client)->push(small_capture(5), 1 << 20) || !(*client)->flush()) ::_exit(1);
    const Daemon daemon(Closing::WholeRange);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the receiver sees the end
    (*client)->ledger().add_submitted(12);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  finish();
  EXPECT_EQ(text("SELECT ending FROM process"), "cut off");
  EXPECT_EQ(number("SELECT commands_missing FROM process"), 12 - 5);
}

bool has_thread(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    if (found == name) return true;
  }
  return false;
}

// A process lives as long as one of its threads.
TEST_F(CollectorTest, the_sender_s_thread_ends_when_there_is_nothing_to_send_and_starts_again) {
  auto client = connect();
  for (int turn = 0; turn < 2; ++turn) {
    Bytes bytes = turn == 0 ? small_capture(1) : Bytes{};
    const std::vector<uint32_t> words(1 << 20);  // more than the socket takes at once
    append_message(bytes, Module{.id = turn + 100u, .hash = std::to_string(turn), .spirv = words});
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
    EXPECT_TRUE(has_thread("tally-send"));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (has_thread("tally-send") && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_FALSE(has_thread("tally-send"));
  }
}

TEST(Writer, that_died_leaves_a_readable_capture) {
  const TestDirectory directory;
  const std::string path = directory.file("capture.tally");
  const pid_t child = ::fork();
  if (child == 0) {
    Result<Writer> writer = Writer::create(path, test_capture_row());
    if (writer) {
      write_test_rows(*writer);
      writer->commit();
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  const Result<Reader> reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader->capture()->end_monotonic_ns, std::nullopt);
  size_t batches = 0;
  EXPECT_TRUE(reader->for_each_batch([&](const CommandBatchRow&) { return ++batches > 0; }).ok());
  EXPECT_EQ(batches, 2u);
}

}  // namespace
}  // namespace tally::store
