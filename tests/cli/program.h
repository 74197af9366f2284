// Runs the built `tally` for tests.
#pragma once

#include <string>
#include <vector>

#include "cli/captured_run.h"

namespace tally::test {

// Its own folder as working directory; variables of Vulkan and Tally that the tests were started
// with are not passed on, `variables` ("NAME=value") are.
cli::CapturedRun run_tally(const std::string& folder, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& variables = {});

// Runs `script` by the shell in `folder`; $TALLY is the program, $APP the launched application.
cli::CapturedRun run_script(const std::string& folder, const std::string& script,
                            const std::vector<std::string>& variables = {});

}  // namespace tally::test
