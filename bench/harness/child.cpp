#include "harness/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace tally::bench {
namespace {

uint64_t run(const std::vector<std::string>& words, int errors) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    if (errors < 0) errors = nowhere;
    if (::dup2(nowhere, STDOUT_FILENO) < 0 || ::dup2(errors, STDERR_FILENO) < 0) ::_exit(126);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  if (status != 0) throw std::runtime_error(fmt::format("{} does not run", fmt::join(words, " ")));
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

uint64_t run_quietly(const std::vector<std::string>& words) { return run(words, -1); }

std::string errors_of(const std::vector<std::string>& words) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  if (!file) throw std::runtime_error("no temporary file");
  run(words, ::fileno(file.get()));
  std::rewind(file.get());
  std::string text;
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) {
    text.push_back(static_cast<char>(c));
  }
  return text;
}

Usage usage_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_nvcsw),
          static_cast<double>(usage.ru_minflt + usage.ru_majflt)};
}

}  // namespace tally::bench
