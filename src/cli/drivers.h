// Vulkan driver manifests: where the loader looks for them, and which one a user means by a word.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/environment.h"

namespace tally::cli {

struct DriverManifest {
  std::filesystem::path path;
  std::string library;      // as the manifest names it
  std::string api_version;  // as the manifest claims
  std::string problem;      // why it cannot be used, "" = it can be read
};

DriverManifest read_driver_manifest(const std::filesystem::path& path);

// Those that an environment makes the loader use: VK_DRIVER_FILES (or its older name), else all in
// the folders.
std::vector<DriverManifest> driver_manifests(const Environment& environment);

// The manifests that `asked` means: a file (or several, separated by colons), or a word that is in
// the names of manifests in the standard folders ("lvp", "radeon"; "lavapipe" is understood too).
Result<std::vector<std::filesystem::path>> find_drivers(const Environment& environment,
                                                        const std::string& asked);

}  // namespace tally::cli
