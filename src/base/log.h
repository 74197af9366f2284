// Diagnostic messages for the user. They go to standard error or to the file that a setting names,
// never to standard output, which belongs to the application. Thread-safe. Each library that links
// this code has its own log.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tally {

enum class LogLevel { Error, Warning, Info, Debug };

// Each line has the form "<name>: <level>: <message>", with control characters escaped. Messages
// above `level` are dropped (default: Warning). An empty `file` selects standard error. A regular
// file is appended to. If `file` cannot be opened or is not a regular file, the error is reported
// on standard error, and the log uses standard error.
void configure_log(std::string_view name, LogLevel level, const std::string& file);

// Parses "error", "warning", "info" or "debug"; returns Warning for anything else.
LogLevel parse_log_level(std::string_view text);

bool log_enabled(LogLevel level);
void write_log(LogLevel level, std::string_view message);

// Returns true on the first call with this key in the process. Use it for messages that would
// repeat every frame. The number of remembered keys is bounded; after that every key counts as
// seen.
bool first_time(std::string_view key);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) write_log(level, fmt::format(format, std::forward<Args>(args)...));
}

// Writes each distinct message once.
template <typename... Args>
void log_once(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(level)) return;
  const std::string message = fmt::format(format, std::forward<Args>(args)...);
  if (first_time(message)) write_log(level, message);
}

}  // namespace tally
