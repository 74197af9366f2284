#include "egl/vendor/manifests.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/file.h"

namespace tally::egl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnLibrary = "libEGL_tally";
constexpr const char* kDefaultFolders = "/etc/glvnd/egl_vendor.d:/usr/share/glvnd/egl_vendor.d";

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

// Empty if the variable is not set or must not be trusted.
std::string environment(const char* name) {
  const char* const value = secure_getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> manifests_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> libraries_of(const std::vector<std::string>& files) {
  std::vector<std::string> libraries;
  for (const std::string& file : files) {
    std::string library = library_of_manifest(file);
    const bool ours = fs::path(library).filename().string().starts_with(kOwnLibrary);
    const bool twice = std::find(libraries.begin(), libraries.end(), library) != libraries.end();
    if (!library.empty() && !ours && !twice) libraries.push_back(std::move(library));
  }
  return libraries;
}

std::vector<std::string> libraries_in_folders(const std::string& folders) {
  std::vector<std::string> files;
  for (const std::string& folder : split(folders)) {
    const auto more = manifests_in(folder);
    files.insert(files.end(), more.begin(), more.end());
  }
  return libraries_of(files);
}

}  // namespace

std::string library_of_manifest(const std::string& file) {
  const auto text = read_small_file(file);
  if (!text) return {};
  const auto manifest = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object()) return {};
  const auto version = manifest.find("file_format_version");
  const auto icd = manifest.find("ICD");
  if (version == manifest.end() || !version->is_string() || icd == manifest.end() ||
      !icd->is_object() || !version->get_ref<const std::string&>().starts_with("1.0")) {
    return {};
  }
  const auto path = icd->find("library_path");
  return path != icd->end() && path->is_string() ? path->get<std::string>() : std::string();
}

std::vector<std::string> real_vendor_libraries() {
  const std::string named = environment("TALLY_EGL_VENDORS");
  if (!named.empty()) return libraries_of(split(named));
  auto libraries = libraries_of(split(environment("__EGL_VENDOR_LIBRARY_FILENAMES")));
  if (libraries.empty()) {
    libraries = libraries_in_folders(environment("__EGL_VENDOR_LIBRARY_DIRS"));
  }
  return libraries.empty() ? libraries_in_folders(kDefaultFolders) : libraries;
}

}  // namespace tally::egl
