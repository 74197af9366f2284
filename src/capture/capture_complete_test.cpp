// Nothing is lost: however a program ends, what it submitted and what the GPU completed is in the
// capture, and what is missing is counted. With both cores busy. TALLY_TEST_DRAWS: how many draws a
// program submits, 100,000 by default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "capture/testing/session.h"

namespace tally::capture::testing {
namespace {

constexpr const char* kLayers = "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters";

int64_t all_draws() {
  const char* const text = std::getenv("TALLY_TEST_DRAWS");
  return text ? std::stoll(text) : 100'000;
}

// Keeps two cores busy.
class BusyCores {
 public:
  BusyCores() {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this] {
        while (!done_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyCores() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::vector<std::thread> threads_;
};

// Sanitizers catch signals otherwise.
std::string left_to_the_system(const char* options) {
  const char* const others = std::getenv(options);
  return (others ? std::string(others) + ":" : "") + "handle_segv=0";
}

Session run_draws(const std::string& how, int64_t frames) {
  const BusyCores busy;
  return Session({.scenario = "draws",
                  .how = how,
                  .environment = {{"TEST_DRAWS", std::to_string(all_draws() / frames)},
                                  {"TEST_FRAMES", std::to_string(frames)},
                                  {"ASAN_OPTIONS", left_to_the_system("ASAN_OPTIONS")},
                                  {"TSAN_OPTIONS", left_to_the_system("TSAN_OPTIONS")}},
                  .layers = kLayers});
}

int64_t captured(const Session& session) {
  return session.number("SELECT ifnull(sum(size), 0) FROM command_batch");
}

int64_t missing(const Session& session) {
  return session.number("SELECT ifnull(sum(commands_missing), 0) FROM process") +
         session.number("SELECT ifnull(sum(commands_missing), 0) FROM frame");
}

// The n-th draw of a frame has n % 3 + 1 instances of three vertices.
int64_t vertices(int64_t frames) {
  int64_t sum = 0;
  for (int64_t i = 0; i < all_draws() / frames; ++i) sum += 3 * (i % 3 + 1);
  return sum * frames;
}

struct Ending {
  const char* how;
  int status;
};

class CaptureComplete : public ::testing::TestWithParam<Ending> {
 protected:
  void expect_everything(int64_t frames) {
    const auto [how, status] = GetParam();
    const Session session = run_draws(how, frames);
    EXPECT_EQ(session.exit_status(), status) << session.errors();
    EXPECT_EQ(captured(session), all_draws());
    EXPECT_EQ(missing(session), 0);
    EXPECT_EQ(
        session.number("SELECT sum(executions) FROM block_count WHERE stage = 1 AND block = 0"),
        vertices(frames));
  }
};

TEST_P(CaptureComplete, every_draw_of_one_frame_is_in_the_capture) { expect_everything(1); }

TEST_P(CaptureComplete, every_draw_of_a_hundred_frames_is_in_the_capture) {
  expect_everything(100);
}

INSTANTIATE_TEST_SUITE_P(Endings, CaptureComplete,
                         ::testing::Values(Ending{"return", 0}, Ending{"exit", 4},
                                           Ending{"_exit", 3}, Ending{"quick_exit", 5},
                                           Ending{"exec", 0}, Ending{"fork", 0},
                                           Ending{"kill", 128 + SIGKILL},
                                           Ending{"segv", 128 + SIGSEGV}),
                         [](const auto& named) { return std::string(named.param.how); });

TEST(CaptureOfUnfinishedWork, is_in_the_capture_or_counted_as_missing) {
  const Session session = run_draws("unwaited", 1);
  EXPECT_EQ(captured(session) + missing(session), all_draws());
}

// exit() waits until the values are read, so no handler of the application may run on the thread
// that reads them. A process that waits in vain ends by SIGALRM.
class ExitInSignalHandler : public ::testing::TestWithParam<const char*> {
 protected:
  static void expect_end(const std::string& how) {
    const Session session({.scenario = "exit_in_handler",
                           .how = how,
                           .environment = {{"TEST_SIGNAL_AFTER_MS", GetParam()},
                                           {"TALLY_TEST_NATIVE_SLOW_MS", "500"}}});
    EXPECT_EQ(session.exit_status(), 6) << session.errors();
    EXPECT_EQ(captured(session) + missing(session), 1);
  }
};

TEST_P(ExitInSignalHandler, ends_a_process_whose_thread_reads_values) { expect_end("at once"); }

TEST_P(ExitInSignalHandler, ends_a_process_whose_thread_waits_for_the_reading) {
  expect_end("late");
}

INSTANTIATE_TEST_SUITE_P(AfterMilliseconds, ExitInSignalHandler, ::testing::Values("100", "300"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace tally::capture::testing
