// A receiver that writes a capture, and what an instrumented process sends to it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/file.h"
#include "store/read/reader.h"
#include "store/stream/stream.h"
#include "store/stream/stream_client.h"
#include "store/testing/test_capture.h"
#include "store/write/collector.h"

namespace tally::store {

inline const stream::PassRegions kRegions{
    .width = 100, .height = 50, .region_width = 64, .region_height = 32};

// A whole little capture of one frame with `commands` dispatches.
inline stream::Bytes small_capture(int commands) {
  using namespace stream;
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

// Waits until the state is reached, as long as a busy machine may take for it.
template <typename IsReached>
bool wait_for(const IsReached& is_reached) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_reached()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
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

  std::unique_ptr<stream::StreamClient> connect() {
    auto client = stream::StreamClient::connect(collector_->name());
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

}  // namespace tally::store
