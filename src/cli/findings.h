// What `tally doctor` thinks of the facts that it was given. Facts and judgement are apart so that
// every judgement can be tested without a machine that is ill in that way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/device_support.h"
#include "cli/drivers.h"
#include "cli/egl_injection.h"
#include "cli/egl_probe.h"
#include "cli/environment.h"
#include "cli/layers.h"

namespace tally::cli {

// A file or folder as this user finds it.
struct PathFact {
  std::string path;
  bool exists = false;
  bool usable = false;  // readable and writable
};

struct DoctorFacts {
  Environment environment;
  std::optional<LayerSet> layers;
  std::string layers_error;
  std::vector<std::string> layer_load_errors;  // one for each library that cannot be loaded
  std::vector<DriverManifest> drivers;
  VulkanProbe native;
  VulkanProbe with_tally;
  EglFiles egl_files;
  EglLibrary egl_library = EglLibrary::None;
  EglProbe egl;  // with Tally in front
  PathFact temporary_folder;
  std::optional<PathFact> runtime_folder;    // XDG_RUNTIME_DIR, where it is set
  std::vector<PathFact> device_nodes;        // of /dev/dri and /dev/nvidia*
  std::vector<std::string> override_layers;  // manifests that replace the search for layers
  std::vector<std::string> settings_files;   // vk_layer_settings.txt files with keys of ours
};

enum class Level { Good, Note, Problem };

struct Finding {
  Level level;
  std::string subject;
  std::string text;
  std::string remedy;  // what to do, "" = nothing to do
};

// In the order in which one thing depends on another.
std::vector<Finding> examine(const DoctorFacts& facts);

bool has_problem(const std::vector<Finding>& findings);

}  // namespace tally::cli
