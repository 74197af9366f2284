#include "cli/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

// {0} is the folder of the socket, {1} the prefix.
struct Launcher {
  std::string_view name;
  std::string_view advice;
};

constexpr std::string_view kEnvironment =
    "VK_INSTANCE_LAYERS, VK_ADD_LAYER_PATH, __EGL_VENDOR_LIBRARY_FILENAMES and the TALLY_ "
    "variables (tally run -v shows them)";
constexpr std::string_view kSteam =
    "set PRESSURE_VESSEL_FILESYSTEMS_RW={0} PRESSURE_VESSEL_FILESYSTEMS_RO={1}";
constexpr std::string_view kVolumes =
    "add --volume {0}:{0} --volume {1}:{1}:ro --env VK_INSTANCE_LAYERS --env VK_ADD_LAYER_PATH "
    "--env __EGL_VENDOR_LIBRARY_FILENAMES, and --env for each TALLY_ variable (tally run -v shows "
    "them)";
constexpr Launcher kLaunchers[] = {
    {"bwrap", "add --bind {0} {0} --ro-bind {1} {1}, without --clearenv or with --setenv for {2}"},
    {"docker", kVolumes},
    {"flatpak",
     "add --filesystem={0} --filesystem={1}:ro, and --env= for VK_ADD_LAYER_PATH and "
     "__EGL_VENDOR_LIBRARY_FILENAMES, which flatpak does not pass on (tally run -v shows them)"},
    {"podman", kVolumes},
    {"pressure-vessel-wrap", kSteam},
    {"_v2-entry-point", kSteam},
};

const Launcher* launcher_in(const std::vector<std::string>& command_line) {
  for (const std::string& word : command_line) {
    const std::string name = fs::path(word).filename().string();
    const auto found =
        std::find_if(std::begin(kLaunchers), std::end(kLaunchers),
                     [&](const Launcher& launcher) { return launcher.name == name; });
    if (found != std::end(kLaunchers)) return found;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> container_advice(const std::vector<std::string>& command_line,
                                            const NeededFolders& folders) {
  const Launcher* const launcher = launcher_in(command_line);
  if (launcher == nullptr) return std::nullopt;
  std::string text = fmt::format(
      "{} runs the application in a container, which has to see {} and {} (and write to {}): ",
      launcher->name, folders.socket.string(), folders.prefix.string(), folders.socket.string());
  text += fmt::format(fmt::runtime(launcher->advice), folders.socket.string(),
                      folders.prefix.string(), kEnvironment);
  if (folders.prefix == "/usr" && launcher->name != "bwrap")
    text += "; the container has a /usr of its own: use Tally's tarball, in another folder";
  return text;
}

}  // namespace tally::cli
