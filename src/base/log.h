// Messages to the person at the keyboard: standard error, or the file that a setting names; never
// standard output, which belongs to the application. Thread-safe. Each library that links this has
// a log of its own.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tally {

enum class LogLevel { Error, Warning, Info, Debug };

// Lines read "<name>: <level>: <message>", without control characters. Messages above `level` are
// dropped (default: Warning). An empty `file` means standard error; a regular file is appended to,
// and one that is not or cannot be opened is reported on standard error, which is then used.
void configure_log(std::string_view name, LogLevel level, const std::string& file);

// "error", "warning", "info" or "debug"; anything else gives `fallback`.
LogLevel parse_log_level(std::string_view text, LogLevel fallback);

bool log_enabled(LogLevel level);
void write_log(LogLevel level, std::string_view message);

// True the first time it is called with this key in the process: for messages that would repeat
// every frame. Remembers a bounded number of keys; after that everything counts as seen.
bool first_time(std::string_view key);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) write_log(level, fmt::format(format, std::forward<Args>(args)...));
}

// Writes a message only once, however often the same text comes.
template <typename... Args>
void log_once(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(level)) return;
  const std::string message = fmt::format(format, std::forward<Args>(args)...);
  if (first_time(message)) write_log(level, message);
}

}  // namespace tally
