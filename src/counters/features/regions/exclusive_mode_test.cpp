#include "counters/features/regions/exclusive_mode.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace tally::counters {
namespace {

using namespace std::chrono_literals;

// A lock of this program's own, however many run side by side.
const bool g_own_lock = [] {
  const std::string name = "tally-exclusive-mode-test-" + std::to_string(getpid());
  return setenv("TALLY_PROFILING_LOCK", name.c_str(), 1) == 0;
}();

constexpr uint64_t kShort = 20'000'000;     // ns
constexpr uint64_t kLong = 10'000'000'000;  // ns

template <typename Handle>
Handle fake(uintptr_t number) {
  return (Handle)number;  // NOLINT: any number will do, nobody looks behind it
}
const auto kQueueA = fake<VkQueue>(1);
const auto kQueueB = fake<VkQueue>(2);
const auto kSemaphore = fake<VkSemaphore>(3);

class ExclusiveModeTest : public testing::Test {
 protected:
  ExclusiveMode& mode_ = ExclusiveMode::instance();
};

TEST_F(ExclusiveModeTest, submissions_of_one_queue_follow_each_other) {
  const auto first = mode_.enter({kQueueA, {}, {}}, kLong);
  const auto second = mode_.enter({kQueueA, {}, {}}, kShort);
  ASSERT_TRUE(first && second);
  mode_.leave(*first);
  mode_.leave(*second);
}

TEST_F(ExclusiveModeTest, another_queue_waits_until_the_work_has_completed) {
  const auto first = mode_.enter({kQueueA, {}, {}}, kLong);
  EXPECT_FALSE(mode_.enter({kQueueB, {}, {}}, kShort));
  std::atomic<bool> entered = false;
  std::thread other([&] {
    const auto hold = mode_.enter({kQueueB, {}, {}}, kLong);
    entered = true;
    mode_.leave(hold.value());
  });
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(entered);
  mode_.leave(*first);
  other.join();
  EXPECT_TRUE(entered);
}

// Who came first is not overtaken by the queue that has the lock.
TEST_F(ExclusiveModeTest, a_busy_queue_lets_another_have_its_turn) {
  const auto first = mode_.enter({kQueueA, {}, {}}, kLong);
  std::thread other([&] { mode_.leave(mode_.enter({kQueueB, {}, {}}, kLong).value()); });
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(mode_.enter({kQueueA, {}, {}}, kShort));
  mode_.leave(*first);
  other.join();
}

TEST_F(ExclusiveModeTest, work_that_a_semaphore_puts_behind_need_not_wait) {
  const auto first = mode_.enter({kQueueA, {}, {{kSemaphore, 0}}}, kLong);
  const auto second = mode_.enter({kQueueB, {{kSemaphore, 0}}, {}}, kShort);
  ASSERT_TRUE(first && second);
  mode_.leave(*first);
  mode_.leave(*second);
}

// A wait before the signal: the first cannot complete before the second has run.
TEST_F(ExclusiveModeTest, work_that_is_waited_for_is_let_through) {
  const auto waiting = mode_.enter({kQueueA, {{kSemaphore, 5}}, {}}, kLong);
  EXPECT_FALSE(mode_.enter({kQueueB, {}, {{kSemaphore, 4}}}, kShort));
  const auto signalling = mode_.enter({kQueueB, {}, {{kSemaphore, 5}}}, kShort);
  ASSERT_TRUE(waiting && signalling);
  mode_.leave(*signalling);
  mode_.leave(*waiting);
}

TEST_F(ExclusiveModeTest, the_system_lock_is_held_as_long_as_work_is) {
  SystemLock other;
  const auto hold = mode_.enter({kQueueA, {}, {}}, kLong);
  EXPECT_EQ(other.acquire(0), SystemLock::Outcome::Busy);
  mode_.leave(*hold);
  EXPECT_EQ(other.acquire(0), SystemLock::Outcome::Acquired);
}

// The profiling lock of this process and its capturing work do not exclude each other.
TEST_F(ExclusiveModeTest, a_lock_that_the_process_has_is_no_hindrance) {
  SystemLock ours;
  ASSERT_EQ(ours.acquire(0), SystemLock::Outcome::Acquired);
  const auto hold = mode_.enter({kQueueA, {}, {}}, kShort);
  ASSERT_TRUE(hold);
  mode_.leave(*hold);
  EXPECT_TRUE(ours.held());
}

}  // namespace
}  // namespace tally::counters
