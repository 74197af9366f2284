#include "platform/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "platform/program.h"

namespace tally::platform {
namespace {

using testing::ElementsAre;

constexpr const char* kAsWine = "TALLY_TEST_AS_WINE";

// Before main(), what wine's main() does for the program's name in lists of processes.
[[gnu::constructor]] void move_arguments(int count, char** arguments) {
  if (std::getenv(kAsWine) == nullptr) return;
  char* const end = arguments[count - 1] + std::strlen(arguments[count - 1]) + 1;
  const auto offset = static_cast<size_t>(arguments[1] - arguments[0]);
  std::memmove(arguments[0], arguments[1], static_cast<size_t>(end - arguments[1]));
  std::memset(end - offset, 0, offset);
  for (int i = 1; i < count; ++i) arguments[i - 1] = arguments[i] - offset;
  arguments[count - 1] = nullptr;
}

// In a process of its own.
TEST(CommandLine, DISABLED_is_printed) {
  for (const std::string& argument : command_line()) std::printf("\n<%s>", argument.c_str());
  std::printf("\n");
}

// The lines that a process of this program prints, without its name.
std::vector<std::string> printed_by(const std::vector<std::string>& arguments,
                                    const char* variable = "UNUSED") {
  std::vector<std::string> command = {executable_path()}, environment;
  command.insert(command.end(), arguments.begin(), arguments.end());
  for (const std::string& entry : variables()) {
    if (!entry.starts_with("GTEST_")) environment.push_back(entry);
  }
  environment.insert(environment.end(),
                     {"GTEST_FILTER=CommandLine.DISABLED_is_printed",
                      "GTEST_ALSO_RUN_DISABLED_TESTS=1", std::string(variable) + "=1"});
  const auto run = run_captured(command, environment, std::chrono::seconds(60));
  if (!run) return {run.error().message};
  std::vector<std::string> found;
  const std::string& text = run->standard_output;
  for (size_t at = 0; (at = text.find("\n<", at)) != std::string::npos;) {
    const size_t end = text.find(">\n", at);
    found.push_back(text.substr(at + 2, end - at - 2));
    at = end;
  }
  std::erase(found, executable_path());
  return found;
}

TEST(CommandLine, has_its_last_arguments_also_if_they_are_empty) {
  EXPECT_THAT(printed_by({}), ElementsAre());
  EXPECT_THAT(printed_by({"", "a b", ""}), ElementsAre("", "a b", ""));
  EXPECT_THAT(printed_by({"a", "", ""}), ElementsAre("a", "", ""));
}

TEST(CommandLine, has_the_arguments_that_the_program_removes_from_its_array) {
  EXPECT_THAT(printed_by({"--gtest_brief=1", "a", ""}), ElementsAre("--gtest_brief=1", "a", ""));
}

TEST(CommandLine, of_wine_is_that_of_the_program_for_windows) {
  EXPECT_THAT(printed_by({"app.exe"}, kAsWine), ElementsAre("app.exe"));
  EXPECT_THAT(printed_by({"app.exe", "a b"}, kAsWine), ElementsAre("app.exe", "a b"));
  EXPECT_THAT(printed_by({"app.exe", "", "a", "", ""}, kAsWine),
              ElementsAre("app.exe", "", "a", "", ""));
}

}  // namespace
}  // namespace tally::platform
