// The rows of a process that is killed, or that closes the descriptors of its sender.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>

#include "store/stream/ledger.h"
#include "store/testing/collector_fixture.h"

namespace tally::store {
namespace {

using namespace stream;

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

TEST_F(CollectorTest, a_process_that_lives_on_is_cut_off_after_the_grace) {
  auto client = connect();
  ASSERT_TRUE(client->push(small_capture(2), 1 << 20));
  ASSERT_TRUE(client->flush());
  finish(std::chrono::milliseconds(50));
  EXPECT_EQ(number("SELECT count(*) FROM command"), 2);
  EXPECT_EQ(text("SELECT ending FROM process"), "cut off");
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

// The receiver knows the end of a connection, and waits for the end of its process.
bool watches_a_process() {
  std::error_code error;
  for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd")) {
    if (std::filesystem::read_symlink(open, error) == "anon_inode:[pidfd]") return true;
  }
  return false;
}

// It may connect again as long as it lives: the end of its connection is not its end.
TEST_F(CollectorTest, commands_that_a_process_submits_without_its_connection_are_missing) {
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t go_on;
    ::sigemptyset(&go_on);
    ::sigaddset(&go_on, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &go_on, nullptr);
    auto client = StreamClient::connect(collector_->name());
    if (!client || !(*client)->push(small_capture(5), 1 << 20) || !(*client)->flush()) ::_exit(1);
    const Daemon daemon(Closing::WholeRange);
    int signal = 0;
    ::sigwait(&go_on, &signal);
    (*client)->ledger().add_submitted(12);
    ::kill(::getpid(), SIGKILL);
  }
  EXPECT_TRUE(wait_for(watches_a_process));
  ::kill(child, SIGUSR1);
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
    EXPECT_TRUE(wait_for([] { return !has_thread("tally-send"); }));
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
