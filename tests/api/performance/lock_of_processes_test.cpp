// The profiling lock of VK_KHR_performance_query between processes. src/platform tests Windows'
// lock.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "api/performance/performance_kit.h"
#include "platform/system_lock.h"

namespace tally::test {
namespace {

constexpr const char* kLockHolder = "TALLY_TEST_LOCK_HOLDER";

// Runs this program again: a fork would inherit locks held by threads that do not exist in the
// child.
pid_t hold_lock_in_child() {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=LockHolder.*";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  setenv(kLockHolder, "1", 1);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  unsetenv(kLockHolder);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char held = 0;
  const bool told = error == 0 && read(ends[0], &held, 1) == 1;
  close(ends[0]);
  if (!told || held != 'y') throw std::runtime_error("the child did not get the lock");
  return child;
}

TEST(LockHolder, has_the_lock_until_it_is_killed) {
  if (!std::getenv(kLockHolder)) GTEST_SKIP() << "runs in a process of its own";
  SystemLock lock;
  const char held = lock.acquire(0) == SystemLock::Outcome::Acquired ? 'y' : 'n';
  ASSERT_EQ(write(STDERR_FILENO, &held, 1), 1);
  pause();
}

// A process that holds the lock until it is killed. It creates no device, because the lock belongs
// to the process.
TEST_F(PerformanceTest, the_lock_of_another_process_dies_with_it) {
  const pid_t child = hold_lock_in_child();
  EXPECT_EQ(lock(context(), 0), VK_TIMEOUT);
  EXPECT_EQ(lock(context(), kShort), VK_TIMEOUT);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(lock(context(), UINT64_MAX), VK_SUCCESS);
}

}  // namespace
}  // namespace tally::test
