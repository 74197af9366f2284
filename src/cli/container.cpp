#include "cli/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "cli/hints.h"

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

const Launcher* launcher_named(const std::string& word) {
  const std::string name = fs::path(word).filename().string();
  const auto found = std::find_if(std::begin(kLaunchers), std::end(kLaunchers),
                                  [&](const Launcher& launcher) { return launcher.name == name; });
  return found != std::end(kLaunchers) ? found : nullptr;
}

bool is_assignment(const std::string& word) {
  return word.find('=') != std::string::npos && !word.starts_with('-');
}

// Words that a command may follow: `if x; then exec nice y`.
bool precedes_a_command(const std::string& word) {
  constexpr std::string_view kWords[] = {"!",    "&&", "(",    "command", "do", "else", "env",
                                         "exec", "if", "nice", "then",    "{",  "|",    "||"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

// The commands that a script names: `exec /usr/bin/bwrap "$@"` -> "/usr/bin/bwrap".
std::vector<std::string> commands_of(const std::string& script) {
  std::vector<std::string> commands;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    bool at_command = true;
    for (std::string word; words >> word && !word.starts_with('#');) {
      std::string name = word;
      std::erase_if(name, [](char c) { return c == '"' || c == '\'' || c == ';'; });
      const bool before = precedes_a_command(name);
      if (at_command && !before && !is_assignment(name)) commands.push_back(name);
      at_command = before || word.ends_with(';') || (at_command && is_assignment(name));
    }
  }
  return commands;
}

struct Found {
  const Launcher* launcher = nullptr;
  std::string script;  // that runs it; empty: the command line does
};

Found find_launcher(const std::vector<std::string>& command_line, const std::string& search_path) {
  constexpr size_t kMaxScripts = 16;
  for (const std::string& word : command_line) {
    if (const Launcher* launcher = launcher_named(word)) return {launcher, {}};
  }
  std::vector<std::string> scripts = {
      find_program(program_of(command_line, search_path), search_path)};
  for (size_t i = 0; i < scripts.size(); ++i) {
    const std::string text = beginning_of(scripts[i]);
    if (!text.starts_with("#!")) continue;
    for (const std::string& command : commands_of(text)) {
      if (const Launcher* launcher = launcher_named(command)) return {launcher, scripts[i]};
      std::string file = find_program(command, search_path);
      if (!file.empty() && scripts.size() < kMaxScripts &&
          std::ranges::find(scripts, file) == scripts.end())
        scripts.push_back(std::move(file));
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> container_advice(const std::vector<std::string>& command_line,
                                            const std::string& search_path,
                                            const NeededFolders& folders) {
  const auto [launcher, script] = find_launcher(command_line, search_path);
  if (launcher == nullptr) return std::nullopt;
  std::string text = fmt::format(
      "{} runs the application in a container{}, which has to see {} and {} (and write to {}): ",
      script.empty() ? std::string(launcher->name) : script,
      script.empty() ? "" : fmt::format(" with {}", launcher->name), folders.socket.string(),
      folders.prefix.string(), folders.socket.string());
  text += fmt::format(fmt::runtime(launcher->advice), folders.socket.string(),
                      folders.prefix.string(), kEnvironment);
  if (folders.prefix == "/usr" && launcher->name != "bwrap")
    text += "; the container has a /usr of its own: use Tally's tarball, in another folder";
  return text;
}

}  // namespace tally::cli
