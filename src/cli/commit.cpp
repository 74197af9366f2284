#include "cli/commit.h"

#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

#include "cli/captured_run.h"

namespace tally::cli {
namespace {

constexpr std::chrono::seconds kGitLimit{30};

// GitHub, GitLab, Azure, CircleCI, Travis, Bitbucket, Buildkite, Drone, Jenkins.
constexpr const char* kVariables[] = {"GITHUB_SHA",       "CI_COMMIT_SHA",    "BUILD_SOURCEVERSION",
                                      "CIRCLE_SHA1",      "TRAVIS_COMMIT",    "BITBUCKET_COMMIT",
                                      "BUILDKITE_COMMIT", "DRONE_COMMIT_SHA", "GIT_COMMIT"};

// A revision of the checkout around the current folder, as git describes it.
std::optional<Commit> git_commit(const std::string& revision, const Environment& environment) {
  const auto run = run_captured({"git", "show", "--no-patch", "--no-show-signature",
                                 "--format=%H %ct", "--end-of-options", revision + "^{commit}"},
                                environment_strings(environment), kGitLimit);
  if (!run || run->timed_out || run->end.shell_status() != 0) return std::nullopt;
  const std::string& text = run->standard_output;
  const size_t space = text.find(' ');
  if (space == std::string::npos || space == 0) return std::nullopt;
  int64_t time = 0;
  const auto parsed = std::from_chars(text.data() + space + 1, text.data() + text.size(), time);
  if (parsed.ec != std::errc() || *parsed.ptr != '\n') return std::nullopt;
  return Commit{text.substr(0, space), time};
}

}  // namespace

Result<Commit> find_commit(const std::string& asked, const Environment& environment) {
  const auto known = git_commit(asked.empty() ? "HEAD" : asked, environment);
  if (!asked.empty()) return Commit{asked, known ? known->time : std::nullopt};
  if (known) return *known;
  for (const char* variable : kVariables) {
    if (std::string name = value_of(environment, variable); !name.empty())
      return Commit{std::move(name), std::nullopt};
  }
  return Error{
      "no commit: this is not a git checkout, and no variable of a CI system names one; "
      "name it with --commit"};
}

}  // namespace tally::cli
