#include "cli/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

// The library of a manifest. A relative path with a folder is relative to the manifest. The loader
// searches a bare name in the system's library path; here the folders of an installation stand for
// that path.
fs::path library_of(const fs::path& manifest, const std::string& library_path,
                    const fs::path& prefix) {
  const fs::path given(library_path);
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
    const auto found = read_manifest(entry.path(), prefix);
    if (found && found->name == layer) return found;
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> library_folders(const fs::path& prefix) {
  return {prefix / "lib/x86_64-linux-gnu", prefix / "lib/aarch64-linux-gnu", prefix / "lib64",
          prefix / "lib"};
}

fs::path own_executable() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

Result<LayerSet> find_layers(const fs::path& executable) {
  if (executable.empty()) {
    return Error{
        "/proc/self/exe cannot be read, so the folder of Tally's layers is not known: is /proc "
        "mounted?"};
  }
  const fs::path prefix = executable.parent_path().parent_path();
  const std::vector<fs::path> candidates = {
      prefix / "lib", prefix / "share/vulkan/explicit_layer.d", "/etc/vulkan/explicit_layer.d",
      "/usr/share/vulkan/explicit_layer.d"};
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
  for (const fs::path& folder : {prefix / "lib/run", prefix / "share/tally/explicit_layer.d",
                                 fs::path("/usr/share/tally/explicit_layer.d")}) {
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

}  // namespace tally::cli
