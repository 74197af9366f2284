// A program's environment as a value. `tally run` computes its changes here, without touching our
// own environment.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::cli {

using Environment = std::map<std::string, std::string>;

// The environment of this process.
Environment current_environment();

// The value of a variable, or "".
std::string value_of(const Environment& environment, const std::string& name);

// The variables as "NAME=value" strings, for exec.
std::vector<std::string> environment_strings(const Environment& environment);

// The folders of <kind> ("icd.d", "explicit_layer.d" ...) that the loader searches in an
// environment, in its search order. None on Windows.
std::vector<std::filesystem::path> loader_folders(const Environment& environment,
                                                  const std::string& kind);

// Appends folders to the search path for layers. The loader ignores VK_ADD_LAYER_PATH if
// VK_LAYER_PATH is set, so this extends VK_LAYER_PATH if the user has set it, else
// VK_ADD_LAYER_PATH. VK_ADD_LAYER_PATH precedes the loader's own folders, so those are added to it
// as well: older loaders (such as 1.3.239) order the layers of the environment by the search path,
// and the user's layers must be closer to the application.
void add_layer_folders(Environment& environment, const std::vector<std::filesystem::path>& folders);

// Enables `layers` (closest to the application first). The user's own layers keep their order and
// stay above them. A layer of ours that the user has already listed keeps its position.
void add_instance_layers(Environment& environment, const std::vector<std::string>& layers);

// Restricts the loader to these driver manifests, under the current variable name and the name that
// loaders before 1.3.207 use.
void set_drivers(Environment& environment, const std::vector<std::filesystem::path>& manifests);

// Splits and joins a list of a variable (platform::list_separator). Empty entries are dropped.
std::vector<std::string> split_list(const std::string& list);
std::string join_list(const std::vector<std::string>& entries);

// Finds Tally's layers next to this program, in a build tree or an installation, even if that was
// moved.

inline constexpr const char* kCountersLayer = "VK_LAYER_TALLY_counters";
inline constexpr const char* kCaptureLayer = "VK_LAYER_TALLY_capture";
// Both layers, capture above counters. Every loader enables the parts of such a layer in this
// order; only newer loaders (since about 1.3.250) respect the order of VK_INSTANCE_LAYERS.
inline constexpr const char* kRunLayer = "VK_LAYER_TALLY_run";

// One layer's manifest and the library that it names.
struct LayerFiles {
  std::string name;
  std::filesystem::path manifest;
  std::filesystem::path library;
};

// The folders that hold Tally's manifests, in the order of the search path, and the layers found
// there.
struct LayerSet {
  std::vector<std::filesystem::path> folders;
  std::vector<LayerFiles> layers;    // counters, capture
  std::filesystem::path run_folder;  // holds the manifest of kRunLayer alone

  std::vector<std::string> all_folders() const {
    std::vector<std::string> all;
    for (const std::filesystem::path& folder : folders) all.push_back(folder.string());
    all.push_back(run_folder.string());
    return all;
  }
};

// This program's own executable.
std::filesystem::path own_executable();

// A document as a user can open it: its installed file, or its path in the project. `page` is
// "user/explain.md".
std::string document(const std::string& page);

// The folders of libraries in an installation or a build tree.
std::vector<std::filesystem::path> library_folders(const std::filesystem::path& prefix);

// Finds the layers for a program at `executable`: in <prefix>/lib next to <prefix>/bin (build
// tree), then in <prefix>/share (installation). The error names the folders that were searched.
Result<LayerSet> find_layers(const std::filesystem::path& executable);

// Vulkan driver manifests: where the loader looks for them, and which one a user means by a name.

struct DriverManifest {
  std::filesystem::path path;
  std::string library;  // as stated in the manifest
  std::string problem;  // why it cannot be used; "" if there is no problem
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
