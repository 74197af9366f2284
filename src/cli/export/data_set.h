// `tally export --to`: adds captures to a data set of many.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace tally::cli {

struct ExportToOptions {
  std::vector<std::string> files;
  std::string folder;
  std::string commit;
  std::string scene;
};

// Prints the folder of each capture. Returns the exit status.
Result<int> export_to(const ExportToOptions& options);

}  // namespace tally::cli
