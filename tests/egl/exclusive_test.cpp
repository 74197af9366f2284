// Acquiring is exclusive across processes and shares its lock with the Vulkan layers.
//
// The other processes run this program again (--hold), because an EGL that a process has used does
// not survive fork().
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "platform/files.h"
#include "platform/system_lock.h"
#include "support/kit.h"

namespace tally::egl_test {
namespace {

// This program in another process: acquires the counters, writes "+" or "-" and the error; after
// reading a byte it releases them and writes ".".
class Other {
 public:
  explicit Other(uid_t user = getuid()) {
    int in[2], out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execl("/proc/self/exe", "egl_exclusive_test", "--hold", std::to_string(user).c_str(),
            nullptr);
      _exit(1);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  // Kills first: a process that ends by itself starts LeakSanitizer's tracer, which shares its open
  // files and may outlive it.
  ~Other() {
    kill_it();
    close(to_);
    close(from_);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  std::string line() const {
    std::string text;
    char c = 0;
    while (read(from_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
  std::string let_go() const {
    EXPECT_EQ(write(to_, "x", 1), 1);
    return line();
  }
  void kill_it() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

bool acquire(const Brcm& brcm) { return brcm.set(EGL_ACQUIRE_COUNTERS_BRCM); }

TEST(Exclusive, another_process_gets_bad_access_until_the_holder_releases) {
  const Brcm brcm;
  ASSERT_TRUE(acquire(brcm));
  EXPECT_EQ(Other().line(), "- 3002");
  EXPECT_TRUE(brcm.set(EGL_RELEASE_COUNTERS_BRCM));
  const Other other;
  EXPECT_EQ(other.line(), "+");
  EXPECT_FALSE(acquire(brcm));
  EXPECT_EQ(eglGetError(), EGL_BAD_ACCESS);
  EXPECT_FALSE(brcm.set(EGL_RELEASE_COUNTERS_BRCM));  // acquired by another process
  EXPECT_EQ(eglGetError(), EGL_BAD_ACCESS);
  EXPECT_EQ(other.let_go(), ".");
  EXPECT_TRUE(acquire(brcm));
  EXPECT_TRUE(brcm.set(EGL_RELEASE_COUNTERS_BRCM));
}

TEST(Exclusive, kill_9_of_the_holder_frees_the_counters) {
  const Brcm brcm;
  for (int i = 0; i < 3; i++) {
    Other other;
    EXPECT_EQ(other.line(), "+");
    EXPECT_FALSE(acquire(brcm));
    other.kill_it();
    EXPECT_TRUE(acquire(brcm));
    EXPECT_TRUE(brcm.set(EGL_RELEASE_COUNTERS_BRCM));
  }
}

TEST(Exclusive, of_many_that_fight_one_wins) {
  std::vector<std::unique_ptr<Other>> others;
  for (int i = 0; i < 5; i++) others.push_back(std::make_unique<Other>());
  int winners = 0;
  for (const auto& other : others) winners += other->line() == "+";
  EXPECT_EQ(winners, 1);
}

TEST(Exclusive, another_user_can_neither_take_nor_block_it) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  constexpr uid_t kNobody = 65534;
  const Brcm brcm;
  ASSERT_TRUE(acquire(brcm));
  EXPECT_EQ(Other(kNobody).line(), "- 3002");
  EXPECT_FALSE(brcm.set(0xBAD));
  EXPECT_TRUE(brcm.set(EGL_RELEASE_COUNTERS_BRCM));
}

TEST(Exclusive, the_vulkan_profiling_lock_is_the_same) {
  const Brcm brcm;
  SystemLock vulkan;
  ASSERT_EQ(vulkan.acquire(0), SystemLock::Outcome::Acquired);
  EXPECT_FALSE(acquire(brcm));
  EXPECT_EQ(eglGetError(), EGL_BAD_ACCESS);
  vulkan.release();
  EXPECT_TRUE(acquire(brcm));
  EXPECT_EQ(vulkan.acquire(0), SystemLock::Outcome::Busy);
  EXPECT_TRUE(brcm.set(EGL_RELEASE_COUNTERS_BRCM));
}

TEST(Exclusive, losing_the_lock_is_noticed) {
  // Like a program that becomes a daemon after acquiring the counters.
  const Brcm brcm;
  const int next_number = KeptFd(dup(0)).get();
  ASSERT_TRUE(acquire(brcm));
  close(next_number);
  EXPECT_FALSE(brcm.set(EGL_START_COUNTERS_BRCM));
  EXPECT_EQ(eglGetError(), EGL_BAD_ACCESS);
  EXPECT_TRUE(acquire(brcm));
  EXPECT_TRUE(brcm.set(EGL_RELEASE_COUNTERS_BRCM));
}

int hold(uid_t user) {
  const Brcm brcm;  // before the change of user: the new user may not be able to read this folder
  if (user != getuid() && setuid(user) != 0) return 1;
  if (acquire(brcm)) {
    printf("+\n");
  } else {
    printf("- %x\n", eglGetError());
  }
  fflush(stdout);
  if (getchar() != EOF && brcm.set(EGL_RELEASE_COUNTERS_BRCM)) {
    printf(".\n");
    fflush(stdout);
  }
  getchar();
  return 0;
}

}  // namespace
}  // namespace tally::egl_test

namespace tally::egl_test {
// Called by main() before the tests.
int run_instead(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--hold") != 0) return -1;
  return hold(static_cast<uid_t>(std::strtoul(argv[2], nullptr, 10)));
}
}  // namespace tally::egl_test
