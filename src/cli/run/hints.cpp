#include "cli/run/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "cli/run/environment.h"
#include "platform/program.h"
#include "report/table/display_text.h"

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
      platform::find_program(program_of(command_line, search_path), search_path)};
  for (size_t i = 0; i < scripts.size(); ++i) {
    const std::string text = beginning_of(scripts[i]);
    if (!text.starts_with("#!")) continue;
    for (const std::string& command : commands_of(text)) {
      if (const Launcher* launcher = launcher_named(command)) return {launcher, scripts[i]};
      std::string file = platform::find_program(command, search_path);
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
      "{} runs the application in a container{}, which must see {} and {} (and write to {}): ",
      script.empty() ? std::string(launcher->name) : script,
      script.empty() ? "" : fmt::format(" with {}", launcher->name), folders.socket.string(),
      folders.prefix.string(), folders.socket.string());
  text += fmt::format(fmt::runtime(launcher->advice), folders.socket.string(),
                      folders.prefix.string(), kEnvironment);
  if (folders.prefix == "/usr" && launcher->name != "bwrap")
    text += "; the container has its own /usr: use Tally's tarball, in another folder";
  return text;
}

namespace {

// Programs that only run another program.
bool is_launcher(const std::string& program) {
  constexpr std::string_view kWrappers[] = {"bwrap",   "catchsegv", "chrt",     "dbus-run-session",
                                            "env",     "ionice",    "mangohud", "nice",
                                            "nohup",   "setarch",   "setsid",   "stdbuf",
                                            "taskset", "time",      "timeout",  "xvfb-run"};
  const std::string name = std::filesystem::path(program).filename().string();
  return std::ranges::find(kWrappers, name) != std::end(kWrappers);
}

bool is_executable(const std::string& word, const std::string& search_path) {
  const std::string file = platform::find_program(word, search_path);
  std::error_code ignored;
  return !file.empty() && platform::is_executable(file) &&
         std::filesystem::is_regular_file(file, ignored);
}

// True if the program refers to GLX functions. Programs that use libGL through other libraries are
// not found. The name is searched in two parts, since this program contains what it searches.
bool names_glx(const std::string& file) {
  constexpr std::streamsize kMaxBytes = 64 << 20;
  constexpr std::string_view kPrefix = "glX";
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  std::string bytes(std::min<uintmax_t>(std::filesystem::file_size(file, error), kMaxBytes), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (const std::string_view function : {"MakeCurrent", "MakeContextCurrent"}) {
    for (size_t at = 0; (at = bytes.find(function, at)) != bytes.npos; ++at) {
      if (at >= kPrefix.size() && bytes.compare(at - kPrefix.size(), kPrefix.size(), kPrefix) == 0)
        return true;
    }
  }
  return false;
}

bool is_tally(const std::string& file) {
  std::error_code error;
  return std::filesystem::equivalent(file, own_executable(), error);
}

}  // namespace

std::string program_of(const std::vector<std::string>& command_line,
                       const std::string& search_path) {
  size_t program = 0;
  for (size_t i = 1; i < command_line.size() && is_launcher(command_line[program]); ++i) {
    const std::string& word = command_line[i];
    const bool option = word.starts_with('-') || word.find('=') != word.npos;
    if (!option && is_executable(word, search_path)) program = i;
  }
  return command_line[program];
}

std::string own_command(const std::string& search_path) {
  std::error_code error;
  const std::filesystem::path own = own_executable();
  const std::string name = own.filename().string();
  const std::string found = platform::find_program(name, search_path);
  const bool is_ours = !found.empty() && std::filesystem::equivalent(found, own, error);
  return is_ours ? name : report::shell_word(own.string());
}

std::string beginning_of(const std::string& file) {
  constexpr std::streamsize kMaxBytes = 64 << 10;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  std::ifstream in(file, std::ios::binary);
  std::string bytes(kMaxBytes, '\0');
  in.read(bytes.data(), kMaxBytes);
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return bytes;
}

namespace {

// `wine start app.exe` or `wine cmd /c "start app.exe"`, which do not wait for the program.
bool starts_without_waiting(const std::vector<std::string>& command_line) {
  bool starts = false, waits = false;
  for (const std::string& argument : command_line) {
    std::istringstream words(argument);
    for (std::string word; words >> word;) {
      std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
      starts = starts || word == "start" || word == "start.exe";
      waits = waits || word == "/wait" || word == "/w";
    }
  }
  return starts && !waits;
}

}  // namespace

std::optional<std::string> why_no_layer_was_loaded(const std::string& program,
                                                   const Environment& environment,
                                                   const std::vector<std::string>& command_line) {
  const std::string file = platform::find_program(program, value_of(environment, "PATH"));
  if (file.empty()) return std::nullopt;
  if (is_tally(file))
    return file + " is Tally itself: a nested tally run captures only its own application";
  if (platform::runs_with_elevated_rights(file)) {
    return file +
           " runs with more privileges than its user (setuid or file capabilities), so Vulkan "
           "ignores layers";
  }
  if (platform::has_other_architecture(file))
    return file + " is built for another architecture or word size than Tally's layers";
  if (platform::is_statically_linked(file)) {
    return file +
           " is statically linked: it loads no libraries, so it cannot be captured; link it "
           "dynamically";
  }
  if (platform::runs_wine(file) && starts_without_waiting(command_line)) {
    return "start returned before the program that it starts used Vulkan, and the capture ended; "
           "start /wait waits for the program";
  }
  if (platform::runs_wine(file) &&
      value_of(environment, "WINE_D3D_CONFIG").find("renderer=vulkan") == std::string::npos) {
    return "Wine draws Direct3D 1 to 11 with OpenGL, which Tally does not capture, unless "
           "WINE_D3D_CONFIG chooses Vulkan: WINE_D3D_CONFIG=renderer=vulkan tally run ...";
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error) && names_glx(file)) {
    return file +
           " uses GLX, which Tally does not support; with Mesa, run it on Vulkan: "
           "MESA_LOADER_DRIVER_OVERRIDE=zink GALLIUM_DRIVER=zink tally run ...";
  }
  return std::nullopt;
}

}  // namespace tally::cli
