// The commit that a capture belongs to in a data set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/environment.h"

namespace tally::cli {

struct Commit {
  std::string name;
  std::optional<int64_t> time;  // in seconds since 1970; none: no checkout knows it
};

// `asked`, or HEAD of the git checkout around the current folder, or what a CI system says in
// `environment`.
Result<Commit> find_commit(const std::string& asked, const Environment& environment);

}  // namespace tally::cli
