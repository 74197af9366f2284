#include "platform/system_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "platform/files.h"

namespace tally {
namespace {

using Outcome = SystemLock::Outcome;
using namespace std::chrono_literals;

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;

// A name unique to this test, so that a profiler running elsewhere on the machine does not
// interfere.
std::string lock_name() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return std::string("tally-test-") + test->name() + "-" + std::to_string(getpid());
}

// A child process that holds the lock until it is killed.
class HoldingChild {
 public:
  explicit HoldingChild(const std::string& name) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      SystemLock lock(name);
      const char answer = lock.acquire(10 * kSecond) == Outcome::Acquired ? '+' : '-';
      if (write(ready[1], &answer, 1) != 1) _exit(1);
      while (true) pause();
    }
    char answer = 0;
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, '+');
    close(ready[0]);
    close(ready[1]);
  }
  ~HoldingChild() { kill_it(); }

  void kill_it() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// Runs `body` in a child process and returns its exit status.
int in_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SystemLock, is_exclusive_within_a_process) {
  SystemLock first(lock_name()), second(lock_name());
  EXPECT_EQ(first.acquire(0), Outcome::Acquired);
  EXPECT_EQ(first.acquire(0), Outcome::Acquired);
  EXPECT_EQ(second.acquire(0), Outcome::Busy);
  first.release();
  EXPECT_FALSE(first.held());
  EXPECT_EQ(second.acquire(0), Outcome::Acquired);
}

TEST(SystemLock, locks_of_different_names_are_independent) {
  SystemLock first(lock_name() + "a"), second(lock_name() + "b");
  EXPECT_EQ(first.acquire(0), Outcome::Acquired);
  EXPECT_EQ(second.acquire(0), Outcome::Acquired);
}

TEST(SystemLock, another_process_is_excluded_and_identified) {
  HoldingChild child(lock_name());
  SystemLock lock(lock_name());
  EXPECT_EQ(lock.acquire(0), Outcome::Busy);
  EXPECT_EQ(lock.holder(), child.pid());
}

TEST(SystemLock, sigkill_releases_it_at_once) {
  HoldingChild child(lock_name());
  SystemLock lock(lock_name());
  EXPECT_EQ(lock.acquire(0), Outcome::Busy);
  child.kill_it();
  EXPECT_EQ(lock.acquire(0), Outcome::Acquired);
}

TEST(SystemLock, a_finite_timeout_expires) {
  HoldingChild child(lock_name());
  SystemLock lock(lock_name());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(lock.acquire(60 * kMillisecond), Outcome::Busy);
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, 60ms);
  EXPECT_LT(waited, 5s);
}

// Any process may hold the name and treat its connections as it likes.
TEST(SystemLock, a_holder_that_accepts_and_closes_does_not_make_waiters_spin) {
  const std::string name = lock_name();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int holder = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(holder, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(holder, 8), 0);
  int accepted = 0;
  std::thread accepting([&] {
    for (int fd = accept(holder, nullptr, nullptr); fd >= 0;
         fd = accept(holder, nullptr, nullptr)) {
      ++accepted;
      close(fd);
    }
  });
  SystemLock lock(name);
  EXPECT_EQ(lock.acquire(200 * kMillisecond), Outcome::Busy);
  shutdown(holder, SHUT_RDWR);
  accepting.join();
  close(holder);
  EXPECT_GT(accepted, 1);
  EXPECT_LE(accepted, 50) << "200 ms are 40 pauses of 5 ms";
}

TEST(SystemLock, waiters_are_woken_when_the_holder_dies) {
  for (const uint64_t timeout : {60 * kSecond, SystemLock::kForever}) {
    HoldingChild child(lock_name());
    std::thread killer([&] {
      std::this_thread::sleep_for(50ms);
      child.kill_it();
    });
    SystemLock lock(lock_name());
    EXPECT_EQ(lock.acquire(timeout), Outcome::Acquired);
    killer.join();
  }
}

TEST(SystemLock, threads_take_turns) {
  std::atomic<int> inside = 0, turns = 0;
  std::atomic<bool> together = false;
  auto work = [&, name = lock_name()] {
    for (int i = 0; i < 100; i++) {
      SystemLock lock(name);
      ASSERT_EQ(lock.acquire(SystemLock::kForever), Outcome::Acquired);
      if (inside.fetch_add(1) != 0) together = true;
      turns++;
      inside--;
    }
  };
  std::thread a(work), b(work), c(work);
  a.join();
  b.join();
  c.join();
  EXPECT_FALSE(together);
  EXPECT_EQ(turns, 300);
}

TEST(SystemLock, competing_processes_never_hold_it_at_the_same_time) {
  // Each winner creates a file that must not exist yet, and removes it before releasing the lock.
  char folder[] = "/tmp/tally-lock-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string witness = std::string(folder) + "/witness", name = lock_name();
  std::vector<pid_t> children;
  for (int c = 0; c < 4; c++) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (int i = 0; i < 100; i++) {
        SystemLock lock(name);
        if (lock.acquire(20 * kSecond) != Outcome::Acquired) _exit(1);
        if (symlink("here", witness.c_str()) != 0) _exit(2);
        if (unlink(witness.c_str()) != 0) _exit(3);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(rmdir(folder), 0);
}

TEST(SystemLock, a_forked_child_does_not_hold_what_its_parent_held) {
  SystemLock lock(lock_name());
  ASSERT_EQ(lock.acquire(0), Outcome::Acquired);
  EXPECT_EQ(in_child([&] { return lock.held() ? 1 : 0; }), 0);
  EXPECT_TRUE(lock.held());
  // A child that outlives the release does not keep the lock.
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    while (true) pause();
  }
  lock.release();
  SystemLock next(lock_name());
  EXPECT_EQ(next.acquire(10 * kSecond), Outcome::Acquired);  // the child may still be starting
  kill(sleeper, SIGKILL);
  waitpid(sleeper, nullptr, 0);
}

TEST(SystemLock, a_child_can_acquire_it) {
  SystemLock lock(lock_name());
  ASSERT_EQ(lock.acquire(0), Outcome::Acquired);
  lock.release();
  EXPECT_EQ(in_child([&] { return lock.acquire(0) == Outcome::Acquired ? 0 : 1; }), 0);
}

// The number that the next kept descriptor gets.
int next_kept_number() { return KeptFd(dup(0)).get(); }

TEST(SystemLock, a_descriptor_that_the_application_reused_stays_open) {
  const int next_number = next_kept_number();
  SystemLock lock(lock_name());
  ASSERT_EQ(lock.acquire(0), Outcome::Acquired);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  // Like a program that closes all descriptors before it becomes a daemon.
  ASSERT_EQ(dup2(pipe_ends[0], next_number), next_number);
  EXPECT_FALSE(lock.held());
  EXPECT_EQ(lock.acquire(0), Outcome::Acquired);
  EXPECT_TRUE(lock.held());
  lock.release();
  EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(next_number, &byte, 1), 1);
  close(next_number);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(SystemLock, it_can_be_acquired_again_after_the_application_closed_it) {
  const int next_number = next_kept_number();
  SystemLock lock(lock_name());
  ASSERT_EQ(lock.acquire(0), Outcome::Acquired);
  close(next_number);
  EXPECT_FALSE(lock.held());
  EXPECT_EQ(lock.acquire(0), Outcome::Acquired);  // may reuse the same descriptor number
  EXPECT_TRUE(lock.held());
}

TEST(KeptFd, has_a_high_number_where_the_limit_allows_one) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 4096));
  EXPECT_GE(next_kept_number(), end - 64);
  EXPECT_LT(next_kept_number(), end);
  EXPECT_EQ(in_child([] {
              const rlimit low{64, 64};
              setrlimit(RLIMIT_NOFILE, &low);
              const KeptFd file(dup(0));
              return file && file.get() < 64 ? 0 : 1;
            }),
            0);
}

TEST(KeptFd, is_lost_when_its_number_is_closed_or_another_file) {
  for (const bool replaced : {false, true}) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    KeptFd file(open("/dev/null", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const int number = file.get();
    ASSERT_GE(number, 0);
    if (replaced) {
      // The same device: the application's own has other flags.
      const int own = open("/dev/null", O_RDONLY | O_CLOEXEC);
      ASSERT_EQ(dup2(own, number), number);
      close(own);
      EXPECT_EQ(file.get(), -1);
      ASSERT_EQ(dup2(pipe_ends[1], number), number);
    } else {
      close(number);
    }
    EXPECT_EQ(file.get(), -1);
    file.reset();
    EXPECT_EQ(write(number, "x", 1), replaced ? 1 : -1) << "a file of the application stays open";
    if (replaced) close(number);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }
}

TEST(SystemLock, running_out_of_descriptors_is_not_reported_as_busy) {
  EXPECT_EQ(in_child([&] {
              rlimit none{0, 0};
              setrlimit(RLIMIT_NOFILE, &none);
              SystemLock lock(lock_name());
              return lock.acquire(kMillisecond) == Outcome::Unavailable ? 0 : 1;
            }),
            0);
}

// Abstract sockets belong to a network namespace; containers have their own.
TEST(SystemLock, a_process_in_another_network_namespace_is_excluded) {
  SystemLock lock(lock_name());
  const std::string name = lock_name();
  ASSERT_EQ(lock.acquire(0), Outcome::Acquired);
  constexpr int kNoNamespaces = 77;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
      _exit(kNoNamespaces);
    SystemLock theirs(name);
    if (theirs.acquire(0) != Outcome::Busy) _exit(1);
    if (theirs.holder()) _exit(2);  // not to be seen from there
    if (write(ready[1], "x", 1) != 1) _exit(3);
    _exit(theirs.acquire(10 * kSecond) == Outcome::Acquired ? 0 : 4);
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_GE(read(ready[0], &byte, 1), 0);  // it found the lock taken, or has ended
  close(ready[0]);
  EXPECT_TRUE(lock.held());
  lock.release();
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespaces)
    GTEST_SKIP() << "this system forbids network namespaces";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SystemLock, another_user_is_excluded_and_identified) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  SystemLock lock(lock_name());
  const std::string name = lock_name();
  ASSERT_EQ(lock.acquire(0), Outcome::Acquired);
  EXPECT_EQ(in_child([&] {
              if (setuid(65534) != 0) return 1;
              SystemLock theirs(name);
              if (theirs.acquire(0) != Outcome::Busy) return 2;
              return theirs.holder() == getppid() ? 0 : 3;
            }),
            0);
  EXPECT_TRUE(lock.held());
}

}  // namespace
}  // namespace tally
