#include "cli/environment.h"

#include <unistd.h>

#include <algorithm>

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
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& s : strings) result.push_back(const_cast<char*>(s.c_str()));
  result.push_back(nullptr);
  return result;
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
    const size_t colon = std::min(list.find(':', start), list.size());
    if (colon > start) entries.push_back(list.substr(start, colon - start));
    start = colon + 1;
  }
  return entries;
}

std::string join_list(const std::vector<std::string>& entries) {
  std::string list;
  for (const std::string& entry : entries) {
    if (!list.empty()) list += ':';
    list += entry;
  }
  return list;
}

std::vector<std::filesystem::path> loader_folders(const Environment& environment,
                                                  const std::string& kind) {
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
  const std::string list = join_list(std::vector<std::string>(manifests.begin(), manifests.end()));
  environment["VK_DRIVER_FILES"] = list;
  environment["VK_ICD_FILENAMES"] = list;
}

}  // namespace tally::cli
