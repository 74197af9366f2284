#include "cli/run/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "platform/process.h"
#include "platform/program.h"

namespace tally::cli {
namespace {

std::string value_or(const Environment& environment, const std::string& name,
                     const std::string& fallback) {
  const std::string value = value_of(environment, name);
  return value.empty() ? fallback : value;
}

}  // namespace

Environment current_environment() {
  Environment result;
  for (const std::string& text : platform::variables()) {
    const size_t equals = text.find('=', 1);  // names of Windows' own begin with one
    if (equals != std::string::npos)
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::vector<std::string> environment_strings(const Environment& environment) {
  std::vector<std::string> result;
  for (const auto& [name, value] : environment) result.push_back(name + "=" + value);
  return result;
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> entries;
  size_t start = 0;
  while (start <= list.size()) {
    const size_t end = std::min(list.find(platform::list_separator(), start), list.size());
    if (end > start) entries.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return entries;
}

std::string join_list(const std::vector<std::string>& entries) {
  std::string list;
  for (const std::string& entry : entries) {
    if (!list.empty()) list += platform::list_separator();
    list += entry;
  }
  return list;
}

std::vector<std::filesystem::path> loader_folders(const Environment& environment,
                                                  const std::string& kind) {
  if (!platform::loader_reads_folders()) return {};
  const std::string home = value_of(environment, "HOME");
  std::vector<std::string> roots;
  const auto add = [&roots](const std::string& list) {
    for (const std::string& root : split_list(list)) roots.push_back(root);
  };
  add(value_or(environment, "XDG_CONFIG_HOME", home.empty() ? "" : home + "/.config"));
  add(value_or(environment, "XDG_CONFIG_DIRS", "/etc/xdg"));
  add("/etc");
  add(value_or(environment, "XDG_DATA_HOME", home.empty() ? "" : home + "/.local/share"));
  add(value_or(environment, "XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
  std::vector<std::filesystem::path> folders;
  for (const std::string& root : roots) {
    const std::filesystem::path folder = std::filesystem::path(root) / "vulkan" / kind;
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  }
  return folders;
}

void add_layer_folders(Environment& environment,
                       const std::vector<std::filesystem::path>& folders) {
  const bool replaced = !value_of(environment, "VK_LAYER_PATH").empty();
  const char* name = replaced ? "VK_LAYER_PATH" : "VK_ADD_LAYER_PATH";
  std::vector<std::string> entries = split_list(value_of(environment, name));
  const auto add = [&entries](const std::filesystem::path& folder) {
    if (std::find(entries.begin(), entries.end(), folder) == entries.end())
      entries.push_back(folder.string());
  };
  for (const auto& folder : loader_folders(environment, "explicit_layer.d")) {
    std::error_code ignored;
    if (!replaced && std::filesystem::is_directory(folder, ignored)) add(folder);
  }
  for (const auto& folder : folders) add(folder);
  environment[name] = join_list(entries);
}

void add_instance_layers(Environment& environment, const std::vector<std::string>& layers) {
  std::vector<std::string> entries = split_list(value_of(environment, "VK_INSTANCE_LAYERS"));
  for (const std::string& layer : layers) {
    if (std::find(entries.begin(), entries.end(), layer) == entries.end()) entries.push_back(layer);
  }
  environment["VK_INSTANCE_LAYERS"] = join_list(entries);
}

void set_drivers(Environment& environment, const std::vector<std::filesystem::path>& manifests) {
  std::vector<std::string> files;
  for (const auto& manifest : manifests) files.push_back(manifest.string());
  const std::string list = join_list(files);
  environment["VK_DRIVER_FILES"] = list;
  environment["VK_ICD_FILENAMES"] = list;
}

namespace {

namespace fs = std::filesystem;

// The library of a manifest. A relative path with a folder is relative to the manifest. The loader
// searches a bare name in the system's library path; here the folders of an installation stand for
// that path.
fs::path library_of(const fs::path& manifest, const std::string& library_path,
                    const fs::path& prefix) {
  fs::path given(library_path);
  if (given.is_absolute()) return given;
  if (given.has_parent_path()) return (manifest.parent_path() / given).lexically_normal();
  for (const fs::path& folder : library_folders(prefix)) {
    std::error_code ignored;
    if (fs::exists(folder / given, ignored)) return folder / given;
  }
  return given;
}

std::optional<LayerFiles> read_manifest(const fs::path& manifest, const fs::path& prefix) {
  std::ifstream in(manifest);
  if (!in) return std::nullopt;
  const auto json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("layer") || !json["layer"].is_object())
    return std::nullopt;
  const auto& layer = json["layer"];
  if (!layer.contains("name") || !layer["name"].is_string()) return std::nullopt;
  if (!layer.contains("library_path") || !layer["library_path"].is_string()) return std::nullopt;
  return LayerFiles{layer["name"], manifest,
                    library_of(manifest, layer["library_path"].get<std::string>(), prefix)};
}

// The manifest in `folder` that names `layer`, under any file name.
std::optional<LayerFiles> find_in(const fs::path& folder, const std::string& layer,
                                  const fs::path& prefix) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    auto found = read_manifest(entry.path(), prefix);
    if (found && found->name == layer) return found;
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> library_folders(const fs::path& prefix) {
  return {prefix / "lib/x86_64-linux-gnu", prefix / "lib/aarch64-linux-gnu", prefix / "lib64",
          prefix / "lib"};
}

fs::path own_executable() { return platform::executable_path(); }

std::string document(const std::string& page) {
  const fs::path installed =
      own_executable().parent_path().parent_path() / "share/doc/tally" / page;
  std::error_code error;
  return fs::exists(installed, error) ? installed.string() : "docs/" + page;
}

Result<LayerSet> find_layers(const fs::path& executable) {
  if (executable.empty()) {
    return Error{
        "/proc/self/exe cannot be read, so the folder of Tally's layers is not known: is /proc "
        "mounted?"};
  }
  const fs::path prefix =
      platform::name_for_loader(executable.parent_path().parent_path().string());
  std::vector<fs::path> candidates = {prefix / "lib", prefix / "share/vulkan/explicit_layer.d"};
  std::vector<fs::path> run_folders = {prefix / "lib/run", prefix / "share/tally/explicit_layer.d"};
  if (platform::loader_reads_folders()) {
    candidates.emplace_back("/etc/vulkan/explicit_layer.d");
    candidates.emplace_back("/usr/share/vulkan/explicit_layer.d");
    run_folders.emplace_back("/usr/share/tally/explicit_layer.d");
  }
  LayerSet set;
  for (const char* name : {kCountersLayer, kCaptureLayer}) {
    std::optional<LayerFiles> found;
    for (const fs::path& folder : candidates) {
      if (!found) found = find_in(folder, name, prefix);
    }
    if (!found) {
      return Error{fmt::format("the layer {} was not found; searched {}, {}", name,
                               candidates[0].string(), candidates[1].string())};
    }
    const fs::path folder = found->manifest.parent_path();
    if (std::find(set.folders.begin(), set.folders.end(), folder) == set.folders.end()) {
      set.folders.push_back(folder);
    }
    set.layers.push_back(std::move(*found));
  }
  const fs::path run_manifest = "VkLayer_tally_run.json";
  for (const fs::path& folder : run_folders) {
    std::error_code ignored;
    if (set.run_folder.empty() && fs::exists(folder / run_manifest, ignored))
      set.run_folder = folder;
  }
  if (set.run_folder.empty()) {
    return Error{
        fmt::format("{} was not found; searched lib/run and share/tally/explicit_layer.d "
                    "of {}",
                    run_manifest.string(), prefix.string())};
  }
  return set;
}

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
  DriverManifest manifest{path, {}, {}};
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
