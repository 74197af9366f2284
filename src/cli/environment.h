// A program's environment as a value: what `tally run` changes in it is computed here, without
// touching our own.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tally::cli {

using Environment = std::map<std::string, std::string>;

// The environment of this process.
Environment current_environment();

// The value of a variable, or nothing.
std::string value_of(const Environment& environment, const std::string& name);

// "NAME=value" strings, for exec.
std::vector<std::string> environment_strings(const Environment& environment);

// The folders of <kind> ("icd.d", "explicit_layer.d" ...) that the loader searches in an
// environment, in its order.
std::vector<std::filesystem::path> loader_folders(const Environment& environment,
                                                  const std::string& kind);

// Adds folders to the end of the search path for layers: the loader ignores VK_ADD_LAYER_PATH where
// VK_LAYER_PATH is set, so whichever the user has set is extended. VK_ADD_LAYER_PATH comes before
// the loader's own folders, so those go into it too: older loaders (1.3.239 is one) put the layers
// of the environment in the order of the search path, and the user's are to be nearer to the
// application.
void add_layer_folders(Environment& environment, const std::vector<std::filesystem::path>& folders);

// Switches `layers` on (nearest to the application first). The user's own layers keep their order
// and stand above them; a layer of ours that the user has placed already stays where it is.
void add_instance_layers(Environment& environment, const std::vector<std::string>& layers);

// Makes the loader see these driver manifests only, under the name of today and the name that
// loaders before 1.3.207 know.
void set_drivers(Environment& environment, const std::vector<std::filesystem::path>& manifests);

// A list separated by colons, without its empty entries.
std::vector<std::string> split_list(const std::string& list);
std::string join_list(const std::vector<std::string>& entries);

}  // namespace tally::cli
