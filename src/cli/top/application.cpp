#include "cli/top/application.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "cli/environment.h"
#include "cli/layers.h"

namespace tally::cli {
namespace {

// The last ones are enough for what is shown, and keep the capture small.
constexpr const char* kFramesKept = "4";

}  // namespace

Result<TopApplication> TopApplication::start(const std::vector<std::string>& options,
                                             const std::vector<std::string>& application,
                                             const std::string& capture, const std::string& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Error{fmt::format("{}: {}", log, std::strerror(errno))};
  const std::string program = own_executable().string();
  std::vector<std::string> words = {program, "run",       "-q",     "-o",
                                    capture, "--trigger", "--keep", kFramesKept};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), application.begin(), application.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, file, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, c_strings(words).data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(file);
  if (error != 0) return Error{fmt::format("{}: {}", program, std::strerror(error))};
  return TopApplication(pid);
}

std::optional<int> TopApplication::ended() {
  int status = 0;
  if (!status_ && ::waitpid(run_, &status, WNOHANG) == run_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

}  // namespace tally::cli
