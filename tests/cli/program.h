// Runs the built `tally` for tests.
#pragma once

#include <string>
#include <vector>

#include "platform/program.h"

namespace tally::test {

// Runs `tally` in `folder` as the working directory. Variables of Vulkan and Tally in the tests'
// environment are not passed on; `variables` ("NAME=value") are.
platform::CapturedRun run_tally(const std::string& folder,
                                const std::vector<std::string>& arguments,
                                const std::vector<std::string>& variables = {});

// Runs `script` with the shell in `folder`; $TALLY is the program, $APP the launched application.
platform::CapturedRun run_script(const std::string& folder, const std::string& script,
                                 const std::vector<std::string>& variables = {});

// One line on standard error, which has `because`, nothing on standard output, and the status.
void expect_refused(const platform::CapturedRun& run, const std::string& because, int status);

}  // namespace tally::test
