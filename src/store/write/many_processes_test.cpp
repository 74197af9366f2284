// Many processes that send at a time, or one after another.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "store/testing/collector_fixture.h"

namespace tally::store {
namespace {

using namespace stream;
using ::testing::HasSubstr;

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

TEST_F(CollectorTest, processes_beyond_the_most_that_it_accepts_are_counted) {
  constexpr size_t kSockets = 256;
  std::vector<UniqueFd> sockets;
  while (sockets.size() < kSockets) sockets.push_back(connect_socket());
  while (collector_->progress().processes < kSockets) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) {
    char byte = 0;
    EXPECT_LE(::recv(connect_socket().get(), &byte, 1, 0), 0) << "the receiver has closed it";
  }
  sockets.clear();
  finish();
  EXPECT_EQ(collector_->progress().processes, kSockets);
  EXPECT_THAT(text("SELECT text FROM message WHERE text LIKE '%not captured%'"),
              HasSubstr("not captured because 256 others were connected: 3"));
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

}  // namespace
}  // namespace tally::store
