#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "cli/run/environment.h"

namespace tally::test {
namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

cli::Environment clean_environment() {
  cli::Environment environment = cli::current_environment();
  std::erase_if(environment, [](const auto& variable) {
    // Keep the driver that the test runs on.
    if (variable.first == "VK_DRIVER_FILES" || variable.first == "VK_ICD_FILENAMES") return false;
    return variable.first.starts_with("VK_") || variable.first.starts_with("TALLY_");
  });
  return environment;
}

}  // namespace

platform::CapturedRun run_script(const std::string& folder, const std::string& script,
                                 const std::vector<std::string>& variables) {
  cli::Environment environment = clean_environment();
  environment["TALLY"] = TALLY_PROGRAM;
  environment["APP"] = TALLY_LAUNCHED_APP;
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  const std::string whole = "cd " + quoted(folder) + " || exit 98\n" + script;
  auto run = platform::run_captured(
      {"/bin/bash", "-c", whole}, cli::environment_strings(environment), std::chrono::seconds(120));
  if (!run) throw std::runtime_error(run.error().message);
  return std::move(*run);
}

platform::CapturedRun run_tally(const std::string& folder,
                                const std::vector<std::string>& arguments,
                                const std::vector<std::string>& variables) {
  std::string script = "exec \"$TALLY\"";
  for (const std::string& argument : arguments) script += " " + quoted(argument);
  return run_script(folder, script, variables);
}

void expect_refused(const platform::CapturedRun& run, const std::string& because, int status) {
  EXPECT_EQ(run.end.shell_status(), status);
  EXPECT_EQ(run.standard_output, "");
  EXPECT_THAT(run.standard_error, testing::HasSubstr(because));
  EXPECT_EQ(std::ranges::count(run.standard_error, '\n'), 1) << run.standard_error;
}

}  // namespace tally::test
