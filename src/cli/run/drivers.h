// Vulkan driver manifests: where the loader looks for them, and which one a user means by a name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/run/environment.h"

namespace tally::cli {

struct DriverManifest {
  std::filesystem::path path;
  std::string library;      // as stated in the manifest
  std::string api_version;  // as stated in the manifest
  std::string problem;      // why it cannot be used; "" if there is no problem
};

DriverManifest read_driver_manifest(const std::filesystem::path& path);

// The manifests that the loader uses in an environment: VK_DRIVER_FILES (or its older name), else
// all manifests in the loader's folders.
std::vector<DriverManifest> driver_manifests(const Environment& environment);

// The manifests that `asked` selects: a file (or several, separated by colons), or a part of the
// file name of manifests in the standard folders ("lvp", "radeon"; "lavapipe" works, too).
Result<std::vector<std::filesystem::path>> find_drivers(const Environment& environment,
                                                        const std::string& asked);

}  // namespace tally::cli
