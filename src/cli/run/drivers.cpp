#include "cli/run/drivers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <set>

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> manifests_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> found;
  for (const fs::path& folder : folders) {
    std::error_code error;
    std::set<fs::path> sorted;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") sorted.insert(entry.path());
    }
    found.insert(found.end(), sorted.begin(), sorted.end());
  }
  return found;
}

// Common names of drivers whose manifests have different names.
std::string manifest_word(const std::string& asked) {
  if (asked == "lavapipe" || asked == "llvmpipe") return "lvp";
  if (asked == "radv") return "radeon";
  if (asked == "anv") return "intel_icd";
  return asked;
}

}  // namespace

DriverManifest read_driver_manifest(const fs::path& path) {
  DriverManifest manifest{path, {}, {}, {}};
  std::ifstream in(path);
  if (!in) {
    manifest.problem = "cannot be read";
    return manifest;
  }
  const auto json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  const auto icd = json.is_object() && json.contains("ICD") ? json["ICD"] : nlohmann::json();
  if (!icd.is_object() || !icd.contains("library_path") || !icd["library_path"].is_string()) {
    manifest.problem = "is not a driver manifest";
    return manifest;
  }
  manifest.library = icd["library_path"];
  if (icd.contains("api_version") && icd["api_version"].is_string())
    manifest.api_version = icd["api_version"];
  const fs::path library(manifest.library);
  std::error_code ignored;
  if (library.has_parent_path() &&
      !fs::exists(library.is_absolute() ? library : path.parent_path() / library, ignored)) {
    manifest.problem = "names " + manifest.library + ", which does not exist";
  }
  return manifest;
}

std::vector<DriverManifest> driver_manifests(const Environment& environment) {
  std::string files = value_of(environment, "VK_DRIVER_FILES");
  if (files.empty()) files = value_of(environment, "VK_ICD_FILENAMES");
  std::vector<fs::path> paths;
  for (const std::string& file : split_list(files)) paths.emplace_back(file);
  if (files.empty()) paths = manifests_in(loader_folders(environment, "icd.d"));
  std::vector<DriverManifest> manifests;
  for (const fs::path& path : paths) manifests.push_back(read_driver_manifest(path));
  return manifests;
}

Result<std::vector<fs::path>> find_drivers(const Environment& environment,
                                           const std::string& asked) {
  if (asked.find('/') != std::string::npos || asked.ends_with(".json")) {
    std::vector<fs::path> files;
    for (const std::string& file : split_list(asked)) {
      const DriverManifest manifest = read_driver_manifest(fs::absolute(file));
      if (!manifest.problem.empty())
        return Error{fmt::format("driver manifest {} {}", file, manifest.problem)};
      files.push_back(manifest.path);
    }
    return files;
  }
  const std::vector<fs::path> all = manifests_in(loader_folders(environment, "icd.d"));
  std::vector<fs::path> files;
  std::vector<std::string> names;
  for (const fs::path& path : all) {
    names.push_back(path.filename().string());
    if (names.back().find(manifest_word(asked)) != std::string::npos) files.push_back(path);
  }
  if (files.empty()) {
    return Error{fmt::format("no driver manifest has '{}' in its name; there are {}", asked,
                             fmt::join(names, ", "))};
  }
  return files;
}

}  // namespace tally::cli
