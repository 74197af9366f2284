// Threads that compile pipelines while the application goes on. Thread-safe. A process that exits
// first waits, for a limited time, for what they compile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tally::counters {

class CompileThreads {
 public:
  // Starts at most `limit` threads, each when it is first needed.
  explicit CompileThreads(size_t limit) : limit_(limit) {}
  ~CompileThreads();  // runs the tasks to their end
  CompileThreads(const CompileThreads&) = delete;
  CompileThreads& operator=(const CompileThreads&) = delete;

  bool enabled() const { return limit_ != 0; }
  // Returns false, and does not run the task, if no thread is free. A task must not throw.
  bool run(std::function<void()> task);
  // Until all tasks have ended that were there when it was called.
  void wait();

 private:
  struct Task {
    uint64_t number;
    std::function<void()> body;
  };

  bool has_thread();
  void work();

  const size_t limit_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable added_, ended_;
  std::deque<Task> waiting_;
  uint64_t next_ = 0;                 // the number of the next task
  std::vector<uint64_t> unfinished_;  // the tasks that wait or run
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tally::counters
