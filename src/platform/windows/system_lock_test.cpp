#include "platform/system_lock.h"

#include <gtest/gtest.h>
#include <windows.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "platform/process.h"

namespace tally {
namespace {

using Outcome = SystemLock::Outcome;
using namespace std::chrono_literals;

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr const char* kHeldByChild = "TALLY_TEST_HELD_BY_CHILD";

std::string lock_name() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return std::string("tally-test-") + test->name() + "-" + std::to_string(::GetCurrentProcessId());
}

// In a child process it holds the lock that the environment names until the process is killed.
TEST(SystemLockChild, holds_the_lock_that_it_is_told_to) {
  const char* name = platform::trusted_variable(kHeldByChild);
  if (name == nullptr) GTEST_SKIP() << "part of the tests of SystemLock";
  SystemLock lock(name);
  ASSERT_EQ(lock.acquire(10 * kSecond), Outcome::Acquired);
  ::Sleep(INFINITE);
}

// Another process that holds the lock until it is killed.
class HoldingChild {
 public:
  explicit HoldingChild(const std::string& name) {
    std::array<wchar_t, 32768> program;
    ::GetModuleFileNameW(nullptr, program.data(), program.size());
    std::wstring line = L"test --gtest_filter=SystemLockChild.*";
    STARTUPINFOW how{};
    how.cb = sizeof how;
    ::SetEnvironmentVariableA(kHeldByChild, name.c_str());
    EXPECT_NE(::CreateProcessW(program.data(), line.data(), nullptr, nullptr, FALSE,
                               CREATE_NO_WINDOW, nullptr, nullptr, &how, &process_),
              0);
    ::SetEnvironmentVariableA(kHeldByChild, nullptr);
    const auto end = std::chrono::steady_clock::now() + 30s;
    SystemLock probe(name);
    while (probe.acquire(0) == Outcome::Acquired && std::chrono::steady_clock::now() < end) {
      probe.release();
      std::this_thread::sleep_for(20ms);
    }
  }
  ~HoldingChild() {
    kill_it();
    ::CloseHandle(process_.hThread);
    ::CloseHandle(process_.hProcess);
  }
  void kill_it() {
    ::TerminateProcess(process_.hProcess, 1);
    ::WaitForSingleObject(process_.hProcess, INFINITE);
  }

 private:
  PROCESS_INFORMATION process_{};
};

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

TEST(SystemLock, this_process_knows_itself_as_the_holder) {
  SystemLock lock(lock_name());
  EXPECT_FALSE(lock.holder());
  ASSERT_EQ(lock.acquire(0), Outcome::Acquired);
  const auto holder = SystemLock(lock_name()).holder();
  ASSERT_TRUE(holder);
  EXPECT_EQ(static_cast<DWORD>(*holder), ::GetCurrentProcessId());
  lock.release();
  EXPECT_FALSE(lock.holder());
}

TEST(SystemLock, a_finite_timeout_expires) {
  SystemLock first(lock_name()), second(lock_name());
  ASSERT_EQ(first.acquire(0), Outcome::Acquired);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(second.acquire(60 * kMillisecond), Outcome::Busy);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 60ms);
}

TEST(SystemLock, another_process_is_excluded_until_it_is_killed) {
  HoldingChild child(lock_name());
  SystemLock lock(lock_name());
  EXPECT_EQ(lock.acquire(0), Outcome::Busy);
  EXPECT_FALSE(lock.holder());
  child.kill_it();
  EXPECT_EQ(lock.acquire(10 * kSecond), Outcome::Acquired);
}

TEST(SystemLock, may_be_released_by_another_thread) {
  SystemLock first(lock_name()), second(lock_name());
  ASSERT_EQ(first.acquire(0), Outcome::Acquired);
  std::thread([&] { first.release(); }).join();
  EXPECT_EQ(second.acquire(0), Outcome::Acquired);
}

TEST(SystemLock, threads_take_turns) {
  std::atomic<int> inside = 0, turns = 0;
  std::atomic<bool> together = false;
  auto work = [&, name = lock_name()] {
    for (int i = 0; i < 20; i++) {
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
  EXPECT_EQ(turns, 60);
}

TEST(Environment, is_the_one_of_windows_not_of_the_c_library) {
  ::SetEnvironmentVariableA("TALLY_TEST_VARIABLE", "here");  // which getenv() does not see
  const char* value = platform::trusted_variable("TALLY_TEST_VARIABLE");
  ASSERT_NE(value, nullptr);
  EXPECT_STREQ(value, "here");
  bool found = false;
  for (const std::string& entry : platform::variables())
    found = found || entry == "TALLY_TEST_VARIABLE=here";
  EXPECT_TRUE(found);
  ::SetEnvironmentVariableA("TALLY_TEST_VARIABLE", nullptr);
  EXPECT_EQ(platform::trusted_variable("TALLY_TEST_VARIABLE"), nullptr);
  EXPECT_STREQ(value, "here");
}

}  // namespace
}  // namespace tally
