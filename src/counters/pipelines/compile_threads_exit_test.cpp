#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "counters/pipelines/compile_threads.h"

namespace tally::counters {
namespace {

// Like an application that does not destroy its device.
TEST(CompileThreadsDeathTest, exit_waits_for_a_running_task) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave = [] {
    auto* threads = new CompileThreads(1);
    std::promise<void> running;
    threads->run([&] {
      running.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::fputs("compiled", stderr);
    });
    running.get_future().wait();
    std::exit(7);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(7), "compiled");
}

TEST(CompileThreadsDeathTest, exit_gives_up_on_a_task_that_does_not_end) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave = [] {
    auto* threads = new CompileThreads(4);
    for (int i = 0; i < 4; ++i) {
      std::promise<void> running;
      threads->run([&] {
        running.set_value();
        std::this_thread::sleep_for(std::chrono::hours(1));
      });
      running.get_future().wait();
    }
    std::exit(7);
  };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EXIT(leave(), testing::ExitedWithCode(7), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(6));
}

}  // namespace
}  // namespace tally::counters
