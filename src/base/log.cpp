#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "platform/files.h"

namespace tally {
namespace {

constexpr size_t kMaxKeys = 4096;

struct LogState {
  std::mutex mutex;
  std::string name = "tally";
  std::string path;  // of the log file; empty: standard error
  KeptFd file;
  std::unordered_set<std::string> seen;
};

std::atomic<LogLevel> g_level{LogLevel::Warning};

// Never destroyed: a thread may still log while the process runs its static destructors.
LogState& state() {
  static LogState* instance = new LogState;
  return *instance;
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::Error:
      return "error";
    case LogLevel::Warning:
      return "warning";
    case LogLevel::Info:
      return "info";
    case LogLevel::Debug:
      return "debug";
  }
  return "message";
}

// Writes each line with one call, so that lines of several processes do not mix in one file.
void write_line(int descriptor, const std::string& line) {
  const platform::NoFileSizeSignal no_signal;
  platform::write_all(descriptor, line);
}

// Messages contain settings and names from the application. Characters that would move the
// terminal's cursor or start a new line are written as \xNN.
std::string escaped(std::string_view message) {
  std::string text;
  for (size_t i = 0; i < message.size(); ++i) {
    const auto byte = static_cast<unsigned char>(message[i]);
    const auto before = static_cast<unsigned char>(i > 0 ? message[i - 1] : 0);
    const bool second_control = before == 0xc2 && byte >= 0x80 && byte < 0xa0;  // U+0080 to U+009F
    if (byte < 0x20 || byte == 0x7f || second_control) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += message[i];
    }
  }
  return text;
}

// Never blocks: a FIFO may have no reader. Stores the reason of a failure in `why`.
KeptFd open_log_file(const std::string& file, std::string* why) {
  KeptFd opened(platform::open_to_append(file));
  if (!opened) {
    *why = std::strerror(errno);
    return {};
  }
  if (platform::size_of_regular_file(opened.get())) return opened;
  *why = "it is not a regular file";
  return {};
}

// The application may have closed the log file.
int descriptor_of_log(LogState& log) {
  if (log.path.empty()) return STDERR_FILENO;
  std::string why;
  if (!log.file) log.file = open_log_file(log.path, &why);
  const int file = log.file.get();
  return file >= 0 ? file : STDERR_FILENO;
}

}  // namespace

void configure_log(std::string_view name, LogLevel level, const std::string& file) {
  g_level.store(level, std::memory_order_relaxed);
  LogState& log_state = state();
  const std::lock_guard lock(log_state.mutex);
  log_state.name = name;
  log_state.path.clear();
  log_state.file.reset();
  if (file.empty()) return;
  std::string why;
  log_state.file = open_log_file(file, &why);
  if (!log_state.file) {
    write_line(STDERR_FILENO, fmt::format("{}: error: cannot open the log file {}: {}\n", name,
                                          escaped(file), why));
    return;
  }
  log_state.path = file;
}

LogLevel parse_log_level(std::string_view text) {
  for (LogLevel level : {LogLevel::Error, LogLevel::Warning, LogLevel::Info, LogLevel::Debug}) {
    if (text == level_name(level)) return level;
  }
  return LogLevel::Warning;
}

bool log_enabled(LogLevel level) { return level <= g_level.load(std::memory_order_relaxed); }

void write_log(LogLevel level, std::string_view message) {
  LogState& log_state = state();
  const std::lock_guard lock(log_state.mutex);
  write_line(descriptor_of_log(log_state),
             fmt::format("{}: {}: {}\n", log_state.name, level_name(level), escaped(message)));
}

bool first_time(std::string_view key) {
  LogState& log_state = state();
  const std::lock_guard lock(log_state.mutex);
  if (log_state.seen.size() >= kMaxKeys) return false;
  return log_state.seen.emplace(key).second;
}

}  // namespace tally
