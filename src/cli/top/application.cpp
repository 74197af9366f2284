#include "cli/top/application.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "cli/child.h"
#include "cli/environment.h"
#include "cli/layers.h"
#include "store/unique_fd.h"

namespace tally::cli {
namespace {

// The last ones are enough for what is shown, and keep the capture small.
constexpr const char* kFramesKept = "4";

}  // namespace

Result<TopApplication> TopApplication::start(const std::vector<std::string>& options,
                                             const std::vector<std::string>& application,
                                             const std::string& capture, const std::string& log) {
  const store::UniqueFd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return Error{fmt::format("{}: {}", log, std::strerror(errno))};
  const std::string program = own_executable().string();
  std::vector<std::string> words = {program, "run",       "-q",     "-o",
                                    capture, "--trigger", "--keep", kFramesKept};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), application.begin(), application.end());
  const store::UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  pid_t pid = -1;
  const int error =
      spawn_program(&pid, words, environment_strings(current_environment()),
                    {.streams = {nothing.get(), file.get(), file.get()}, .new_session = true});
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
