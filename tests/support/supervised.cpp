#include "support/supervised.h"

#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>

namespace tally::test {
namespace {

// The kinds of lines on the pipe: an item begins, or a report about it.
constexpr char kBegun = 'B';
constexpr char kSaid = 'S';

void send(int pipe, char kind, std::string_view text) {
  std::string line = kind + std::string(text);
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(pipe, rest.data(), rest.size());
    if (written < 0) ::_exit(1);  // the reader has gone
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

[[noreturn]] void be_child(const Supervision& supervision, size_t first, int pipe) {
  int status = 0;
  try {
    const Work work = supervision.begin();
    for (size_t item = first; item < supervision.count; ++item) {
      send(pipe, kBegun, std::to_string(item));
      work(item, [&](std::string_view line) { send(pipe, kSaid, line); });
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 1;
  }
  std::fflush(nullptr);
  ::_exit(status);
}

// The parent's end of one child.
class Child {
 public:
  Child(const Supervision& supervision, size_t first) : supervision_(supervision) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no child process");
    if (pid_ == 0) {
      ::close(ends[0]);
      be_child(supervision, first, ends[1]);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { ::close(pipe_); }

  // Reads until the child has ended. Returns its current item if it did not end successfully.
  std::optional<size_t> finish() {
    while (listen()) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
    if (!item_) throw std::runtime_error("the child process ended before its first item");
    supervision_.on_death(*item_, {how(status), slow_});
    return item_;
  }

 private:
  std::string how(int status) const {
    const auto seconds = [](auto limit) { return std::to_string(limit.count()) + " s"; };
    if (slow_) return "used more than " + seconds(supervision_.limit) + " of processor time";
    if (hangs_) return "did nothing for " + seconds(supervision_.idle_limit);
    if (WIFSIGNALED(status)) return ::strsignal(WTERMSIG(status));
    return "exit status " + std::to_string(WEXITSTATUS(status));
  }

  // The processor time of the child until now.
  std::chrono::nanoseconds used() const {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
      return used_;  // it has ended
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  // Kills a child whose item is slow or hangs.
  bool limit_item() {
    const auto used_now = used();
    const auto now = std::chrono::steady_clock::now();
    if (used_now != used_) worked_ = now;
    used_ = used_now;
    slow_ = used_ - used_before_item_ > supervision_.limit;
    hangs_ = now - worked_ > supervision_.idle_limit;
    if (slow_ || hangs_) ::kill(pid_, SIGKILL);
    return slow_ || hangs_;
  }

  bool listen() {
    constexpr int kPause = 100;  // ms
    pollfd ready = {pipe_, POLLIN, 0};
    if (::poll(&ready, 1, kPause) == 0) return !limit_item();
    char bytes[4096];
    const ssize_t got = ::read(pipe_, bytes, sizeof(bytes));
    if (got <= 0) return false;
    text_.append(bytes, static_cast<size_t>(got));
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      hear(std::string_view(text_).substr(0, end));
    }
    return true;
  }

  void hear(std::string_view line) {
    if (line.front() == kBegun) {
      item_ = std::stoul(std::string(line.substr(1)));
      used_before_item_ = used_ = used();
      worked_ = std::chrono::steady_clock::now();
    } else {
      supervision_.on_line(*item_, line.substr(1));
    }
  }

  const Supervision& supervision_;
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string text_;  // received part of an incomplete line
  std::optional<size_t> item_;
  std::chrono::nanoseconds used_before_item_{}, used_{};
  std::chrono::steady_clock::time_point worked_ = std::chrono::steady_clock::now();
  bool slow_ = false, hangs_ = false;
};

}  // namespace

void supervise(const Supervision& supervision) {
  for (size_t next = 0; next < supervision.count;) {
    const std::optional<size_t> item = Child(supervision, next).finish();
    if (!item) return;
    next = *item + 1;
  }
}

}  // namespace tally::test
