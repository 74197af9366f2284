// The exclusive mode: capturing work never overlaps other capturing work, also of another device or
// process; work that does not capture is never delayed.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "api/regions/kit.h"
#include "plain.frag.h"
#include "platform/system_lock.h"

extern char** environ;

namespace tally::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kChild = "TALLY_TEST_CHILD";
// Longer than any machine takes: a timeout without a competing lock is a defect.
constexpr const char* kForEver = "3600000";  // ms

// Runs this program again with one of the tests of "Child" until it is killed.
class Child {
 public:
  explicit Child(const std::string& test) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::string filter = "--gtest_filter=Child." + test;
    std::string program = "/proc/self/exe";
    char* arguments[] = {program.data(), filter.data(), nullptr};
    setenv(kChild, "1", 1);
    const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ);
    unsetenv(kChild);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
    if (error != 0) throw std::runtime_error("no child");
  }
  ~Child() {
    kill();
    close(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits until the child has reported that it is ready.
  void wait_until_ready() const {
    std::string text;
    std::array<char, 256> part;
    while (text.find("ready\n") == std::string::npos) {
      const ssize_t count = read(out_, part.data(), part.size());
      if (count <= 0) throw std::runtime_error("the child ended: " + text);
      text.append(part.data(), static_cast<size_t>(count));
    }
  }
  // Like kill -9.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

// A child runs until it or its parent is killed.
bool parent_lives() {
  static const pid_t parent = getppid();
  return getppid() == parent;
}

void say_ready() { static_cast<void>(!write(STDERR_FILENO, "ready\n", 6)); }

// A device with a pass over a target of `size` x `size`.
class Capturing : public RegionsTest {
 public:
  struct Interval {
    uint64_t begin, end;
  };

  void TestBody() override {}
  void prepare(uint32_t size, const char* timeout = kForEver) {
    start({{"exclusive_timeout", timeout}});
    target_.emplace(context(), RenderTargetInfo{.extent = {size, size}});
    pipeline_.emplace(make_rectangles(plain_frag));
    values_.emplace(context(), Capture::Info{{size, size}});
    times_ = make_query_pool(context(), VK_QUERY_TYPE_TIMESTAMP, 2);
  }
  // Draws `draws` times and returns the sum over the regions, or 0 if not captured.
  uint64_t run(uint32_t draws, bool captured = true) {
    values_->reset();
    context().run([&](VkCommandBuffer commands) {
      vkCmdResetQueryPool(commands, times_, 0, 2);
      vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, times_, 0);
      target_->begin(commands, {0, 0, 0, 0}, 0, captured ? values_->begin_info() : nullptr);
      for (uint32_t i = 0; i < draws; ++i) draw(commands, *pipeline_, whole(*target_));
      target_->end(commands);
      vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times_, 1);
      attachment_barrier(commands);
    });
    return captured ? values_->sum(kInvocations) : 0;
  }
  Interval interval() {
    uint64_t times[2] = {};
    check(vkGetQueryPoolResults(context().device(), times_, 0, 2, sizeof times, times, 8,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    return {times[0], times[1]};
  }
  bool was_told(std::string_view text) {
    return std::ranges::any_of(context().messages(), [&](const Message& message) {
      return message.text.find(text) != std::string::npos;
    });
  }

 private:
  std::optional<RenderTarget> target_;
  std::optional<Pipeline> pipeline_;
  std::optional<Capture> values_;
  QueryPool times_;
};

TEST(Child, holds_the_lock) {
  if (!std::getenv(kChild)) GTEST_SKIP() << "a part of other tests";
  SystemLock lock;
  ASSERT_EQ(lock.acquire(SystemLock::kForever), SystemLock::Outcome::Acquired);
  say_ready();
  while (parent_lives()) std::this_thread::sleep_for(100ms);
}

TEST(Child, captures_for_ever) {
  if (!std::getenv(kChild)) GTEST_SKIP() << "a part of other tests";
  Capturing capturing;
  capturing.prepare(1024);
  for (bool first = true; parent_lives(); first = false) {
    EXPECT_EQ(capturing.run(4), 4u * 1024 * 1024);
    if (first) say_ready();
  }
}

TEST(Exclusive, what_cannot_be_had_reads_zero_and_a_message_says_why) {
  Capturing capturing;
  capturing.prepare(128, "50");
  EXPECT_EQ(capturing.run(1), 128u * 128);
  {
    Child child("holds_the_lock");
    child.wait_until_ready();
    const auto before = Clock::now();
    EXPECT_EQ(capturing.run(1), 0u);
    EXPECT_GE(Clock::now() - before, 50ms);
    EXPECT_TRUE(capturing.was_told("process " + std::to_string(child.pid())));
    EXPECT_TRUE(capturing.was_told("read 0"));
  }
  EXPECT_EQ(capturing.run(1), 128u * 128);
}

TEST(Exclusive, what_does_not_capture_is_not_delayed) {
  Capturing capturing;
  capturing.prepare(128);
  Child child("holds_the_lock");
  child.wait_until_ready();
  capturing.run(1, false);  // would wait for an hour
}

TEST(Exclusive, a_process_that_is_killed_frees_it) {
  Capturing capturing;
  capturing.prepare(128);
  Child child("captures_for_ever");
  child.wait_until_ready();
  child.kill();
  EXPECT_EQ(capturing.run(1), 128u * 128);
}

TEST(Exclusive, two_processes_take_turns) {
  Capturing capturing;
  capturing.prepare(128);
  Child child("captures_for_ever");
  child.wait_until_ready();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(capturing.run(1), 128u * 128);
}

// The device's own clock provides the start and end times of the work.
TEST(Exclusive, captures_of_three_devices_never_overlap) {
  constexpr uint32_t kSizes[] = {2048, 512, 512};
  constexpr int kRounds = 3;
  std::vector<std::unique_ptr<Capturing>> devices;
  std::vector<std::vector<Capturing::Interval>> intervals(3);
  for (const uint32_t size : kSizes) {
    devices.push_back(std::make_unique<Capturing>());
    devices.back()->prepare(size);
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_EQ(devices[i]->run(2), uint64_t{2} * kSizes[i] * kSizes[i]);
        intervals[i].push_back(devices[i]->interval());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      for (const Capturing::Interval& a : intervals[i]) {
        for (const Capturing::Interval& b : intervals[j]) {
          EXPECT_TRUE(a.end <= b.begin || b.end <= a.begin)
              << "device " << i << ": " << a.begin << " to " << a.end << ", device " << j << ": "
              << b.begin << " to " << b.end;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tally::test
