// Finds Tally's layers next to this program, in a build tree or an installation, even if that was
// moved.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::cli {

inline constexpr const char* kCountersLayer = "VK_LAYER_TALLY_counters";
inline constexpr const char* kCaptureLayer = "VK_LAYER_TALLY_capture";
// Both layers, capture above counters. Every loader enables the parts of such a layer in this
// order; only newer loaders (since about 1.3.250) respect the order of VK_INSTANCE_LAYERS.
inline constexpr const char* kRunLayer = "VK_LAYER_TALLY_run";
inline constexpr const char* kCountersLibrary = "libVkLayer_tally_counters.so";
inline constexpr const char* kCaptureLibrary = "libVkLayer_tally_capture.so";

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
};

// This program's own executable.
std::filesystem::path own_executable();

// The folders of libraries in an installation or a build tree.
std::vector<std::filesystem::path> library_folders(const std::filesystem::path& prefix);

// Finds the layers for a program at `executable`: in <prefix>/lib next to <prefix>/bin (build
// tree), then in <prefix>/share (installation). The error names the folders that were searched.
Result<LayerSet> find_layers(const std::filesystem::path& executable);

}  // namespace tally::cli
