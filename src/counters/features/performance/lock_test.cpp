#include "counters/features/performance/lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tally::counters {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A lock of this program's own, however many run side by side.
const bool g_own_lock = [] {
  const std::string name = "tally-counters-test-" + std::to_string(getpid());
  return setenv("TALLY_PROFILING_LOCK", name.c_str(), 0) == 0;
}();

constexpr uint64_t kForever = UINT64_MAX;
constexpr uint64_t kShort = 30'000'000;  // ns

TEST(ProfilingLock, one_device_holds_it_at_a_time) {
  ProfilingLock one, other;
  EXPECT_EQ(one.acquire(0), VK_SUCCESS);
  EXPECT_EQ(other.acquire(0), VK_TIMEOUT);
  EXPECT_FALSE(other.release());
  EXPECT_TRUE(one.release());
  EXPECT_EQ(other.acquire(0), VK_SUCCESS);
}

TEST(ProfilingLock, a_device_that_has_it_gets_it_again) {
  ProfilingLock lock, other;
  EXPECT_EQ(lock.acquire(0), VK_SUCCESS);
  EXPECT_EQ(lock.acquire(kForever), VK_SUCCESS);
  EXPECT_TRUE(lock.release());
  EXPECT_FALSE(lock.release()) << "one release gives it back";
  EXPECT_EQ(other.acquire(0), VK_SUCCESS);
}

TEST(ProfilingLock, a_finite_timeout_is_waited_for) {
  ProfilingLock one, other;
  ASSERT_EQ(one.acquire(0), VK_SUCCESS);
  const auto begin = Clock::now();
  EXPECT_EQ(other.acquire(kShort), VK_TIMEOUT);
  EXPECT_GE(Clock::now() - begin, std::chrono::nanoseconds(kShort));
}

TEST(ProfilingLock, an_infinite_timeout_ends_with_the_other_device) {
  auto one = std::make_unique<ProfilingLock>();
  ProfilingLock other;
  ASSERT_EQ(one->acquire(0), VK_SUCCESS);
  std::atomic<bool> gone = false;
  std::thread holder([&] {
    std::this_thread::sleep_for(20ms);
    gone = true;
    one.reset();
  });
  EXPECT_EQ(other.acquire(kForever), VK_SUCCESS);
  EXPECT_TRUE(gone);
  holder.join();
}

TEST(ProfilingLock, it_goes_with_the_process_that_has_it) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    ProfilingLock theirs;
    const char held = theirs.acquire(0) == VK_SUCCESS;
    if (write(ready[1], &held, 1) == 1) pause();
    _exit(1);
  }
  char held = 0;
  ASSERT_EQ(read(ready[0], &held, 1), 1);
  ASSERT_TRUE(held);
  ProfilingLock lock;
  EXPECT_EQ(lock.acquire(0), VK_TIMEOUT);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(lock.acquire(kForever), VK_SUCCESS);
  close(ready[0]);
  close(ready[1]);
}

TEST(ProfilingLock, a_thread_that_only_tries_does_not_wait_for_one_that_waits) {
  ProfilingLock one, other;
  ASSERT_EQ(one.acquire(0), VK_SUCCESS);
  std::thread waiting([&] { EXPECT_EQ(other.acquire(kForever), VK_SUCCESS); });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(other.acquire(0), VK_TIMEOUT);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(other.release());
  EXPECT_TRUE(one.release());
  waiting.join();
  EXPECT_EQ(other.acquire(0), VK_SUCCESS) << "what one thread got is the device's";
}

TEST(ProfilingLock, many_threads_of_several_devices_never_hold_it_together) {
  constexpr int kDevices = 3, kRounds = 20;
  std::atomic<int> holders = 0, rounds = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kDevices; ++i) {
    threads.emplace_back([&] {
      ProfilingLock lock;
      for (int round = 0; round < kRounds; ++round) {
        ASSERT_EQ(lock.acquire(kForever), VK_SUCCESS);
        EXPECT_EQ(holders.fetch_add(1), 0);
        ++rounds;
        holders.fetch_sub(1);
        EXPECT_TRUE(lock.release());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rounds, kDevices * kRounds);
}

}  // namespace
}  // namespace tally::counters
