// The diagnosis of `tally doctor`. The facts are separate from the diagnosis, so that every finding
// can be tested without a machine that has the problem.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/probe.h"
#include "cli/run/egl_injection.h"
#include "cli/run/environment.h"

namespace tally::cli {

// A file or folder, and this user's access to it.
struct PathFact {
  std::string path;
  bool exists = false;
  bool usable = false;  // readable and writable
};

struct DoctorFacts {
  Environment environment;
  bool is_linux = true;         // with packages, and manifests in folders; else Windows
  std::filesystem::path tally;  // this program
  bool has_steam = false;
  std::optional<LayerSet> layers;
  std::string layers_error;
  std::vector<std::string> layer_load_errors;  // one per library that cannot be loaded
  bool layers_in_registry = false;  // Windows elevates this process: the loader reads no variables
  std::vector<std::string> left_layer_folders;  // in the registry of Windows
  std::vector<DriverManifest> drivers;
  VulkanProbe native;
  VulkanProbe with_tally;
  EglFiles egl_files;
  EglLibrary egl_library = EglLibrary::None;
  EglProbe egl;  // with Tally's EGL in front
  PathFact temporary_folder;
  std::optional<PathFact> runtime_folder;    // XDG_RUNTIME_DIR, if set
  std::optional<PathFact> capture_socket;    // TALLY_CAPTURE_SOCKET, if set: run by `tally run`
  std::vector<PathFact> layer_folders;       // of VK_ADD_LAYER_PATH and VK_LAYER_PATH
  std::vector<PathFact> device_nodes;        // in /dev/dri, and /dev/nvidia*
  std::vector<std::string> override_layers;  // manifests that override the layers
  std::string no_html;                       // why there are no HTML reports; empty: there are
  std::vector<std::string> settings_files;   // vk_layer_settings.txt files with Tally's keys
};

enum class Level { Good, Note, Problem };

struct Finding {
  Level level;
  std::string subject;
  std::string text;
  std::string remedy;  // what to do; "" if nothing
};

// The findings, in order of dependency.
std::vector<Finding> examine(const DoctorFacts& facts);

bool has_problem(const std::vector<Finding>& findings);

}  // namespace tally::cli
