#include "counters/pipelines/compile_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

namespace tally::counters {
namespace {

// Keeps a thread busy until it is destroyed.
class Blocker {
 public:
  explicit Blocker(CompileThreads& threads) {
    accepted_ = threads.run([end = end_.get_future().share()] { end.wait(); });
  }
  ~Blocker() { end_.set_value(); }
  Blocker(const Blocker&) = delete;
  Blocker& operator=(const Blocker&) = delete;
  bool accepted() const { return accepted_; }

 private:
  std::promise<void> end_;
  bool accepted_ = false;
};

TEST(CompileThreads, run_tasks_on_other_threads) {
  std::thread::id id;
  CompileThreads threads(1);
  ASSERT_TRUE(threads.run([&] { id = std::this_thread::get_id(); }));
  threads.wait();
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(CompileThreads, refuse_a_task_while_all_are_busy) {
  std::atomic<int> ran = 0;
  CompileThreads threads(2);
  {
    const Blocker first(threads), second(threads);
    EXPECT_TRUE(first.accepted());
    EXPECT_TRUE(second.accepted());
    EXPECT_FALSE(threads.run([&] { ++ran; }));
  }
  threads.wait();
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(threads.run([&] { ++ran; }));
  threads.wait();
  EXPECT_EQ(ran, 1);
}

TEST(CompileThreads, without_a_thread_refuse_every_task) {
  CompileThreads threads(0);
  EXPECT_FALSE(threads.enabled());
  EXPECT_FALSE(threads.run([] {}));
  threads.wait();
}

TEST(CompileThreads, end_after_their_tasks) {
  std::atomic<bool> ran = false;
  {
    CompileThreads threads(1);
    threads.run([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ran = true;
    });
  }
  EXPECT_TRUE(ran);
}

// True if wait() returned before a task had ended that was added while it waited. On a busy machine
// the task may come first; then it is waited for.
bool returns_before_a_later_task() {
  std::promise<void> end, about_to_wait;
  std::atomic<bool> ended = false;
  CompileThreads threads(2);
  threads.run([&] {
    about_to_wait.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    threads.run([&] {
      end.get_future().wait_for(std::chrono::seconds(2));
      ended = true;
    });
  });
  about_to_wait.set_value();
  threads.wait();
  const bool before = !ended;
  end.set_value();
  return before;
}

TEST(CompileThreads, are_not_waited_for_with_tasks_that_come_later) {
  bool found = false;
  for (int attempt = 0; attempt < 10 && !found; ++attempt) found = returns_before_a_later_task();
  EXPECT_TRUE(found);
}

TEST(CompileThreads, release_what_a_task_holds_before_it_counts_as_ended) {
  const auto held = std::make_shared<int>(1);
  CompileThreads threads(1);
  for (int i = 0; i < 100; ++i) {
    threads.run([held] {});
    threads.wait();
    ASSERT_EQ(held.use_count(), 1);
  }
}

}  // namespace
}  // namespace tally::counters
