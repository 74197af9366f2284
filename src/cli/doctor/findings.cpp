#include "cli/doctor/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "analysis/model/model.h"
#include "catalogue/hidden_extensions.h"
#include "cli/doctor/device_support.h"
#include "platform/process.h"

namespace tally::cli {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
// The first loader version that supports VK_ADD_LAYER_PATH.
constexpr std::array<uint32_t, 3> kMinLoader = {1, 3, 234};

std::array<uint32_t, 3> version_of(const std::string& text) {
  std::array<uint32_t, 3> version{};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (uint32_t& part : version) {
    at = std::from_chars(at, end, part).ptr;
    if (at == end) break;
    ++at;
  }
  return version;
}

// As a shell reads it: one word.
std::string shell_word(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

class Examination {
 public:
  explicit Examination(const DoctorFacts& facts) : facts_(facts) {}

  std::vector<Finding> run() {
    layers();
    loader();
    drivers();
    devices();
    layers_in_vulkan();
    egl();
    variables();
    container();
    steam();
    files();
    validation();
    if (!facts_.no_html.empty())
      note("HTML reports", facts_.no_html, "build Tally with npm installed");
    return std::move(findings_);
  }

 private:
  void good(std::string subject, std::string text) {
    add(Level::Good, std::move(subject), std::move(text), {});
  }
  void note(std::string subject, std::string text, std::string remedy = {}) {
    add(Level::Note, std::move(subject), std::move(text), std::move(remedy));
  }
  void problem(std::string subject, std::string text, std::string remedy) {
    add(Level::Problem, std::move(subject), std::move(text), std::move(remedy));
  }
  void add(Level level, std::string subject, std::string text, std::string remedy) {
    findings_.push_back({level, std::move(subject), std::move(text), std::move(remedy)});
  }

  std::string variable(const char* name) const { return value_of(facts_.environment, name); }

  void layers() {
    if (!facts_.layers) {
      problem("layers", facts_.layers_error,
              "build or install Tally again; the layers belong next to the program");
      return;
    }
    for (const std::string& error : facts_.layer_load_errors) {
      problem("layers", "cannot be loaded: " + error, "build or install Tally again");
    }
    if (!facts_.left_layer_folders.empty()) {
      note("layers",
           fmt::format("a tally run that was killed left these folders of layers in the registry: "
                       "{}",
                       fmt::join(facts_.left_layer_folders, ", ")),
           "run tally doctor as administrator, which removes them");
    }
    if (!facts_.layer_load_errors.empty()) return;
    for (const LayerFiles& layer : facts_.layers->layers)
      good("layers", layer.name + " in " + layer.library.string());
    if (facts_.layers_in_registry) {
      good("layers",
           "this process is elevated, so Vulkan ignores VK_ADD_LAYER_PATH: tally run names the "
           "layers' folders in the registry while it runs");
    }
  }

  void loader() {
    if (!facts_.native.died.empty()) {
      problem("Vulkan", "the Vulkan probe " + facts_.native.died,
              "find the driver at fault: tally run --driver, or VK_DRIVER_FILES");
      return;
    }
    if (!facts_.native.loader_error.empty()) {
      problem("loader", facts_.native.loader_error, install("apt-get install libvulkan1"));
      return;
    }
    const std::string text =
        fmt::format("Vulkan {} ({})", facts_.native.loader_version, facts_.native.loader_path);
    if (version_of(facts_.native.loader_version) < kMinLoader &&
        variable("VK_LAYER_PATH").empty() && !facts_.layers_in_registry) {
      problem("loader", text + " is older than 1.3.234 and does not support VK_ADD_LAYER_PATH",
              facts_.is_linux ? "set VK_LAYER_PATH=/usr/share/vulkan/explicit_layer.d; tally run "
                                "adds its own folder to it"
                              : "install a newer driver of the GPU's vendor");
      return;
    }
    good("loader", text);
  }

  // A package of Debian, or what stands for it on Windows.
  std::string install(const char* package) const {
    return facts_.is_linux ? package : "install the driver of the GPU's vendor, with its Vulkan";
  }

  void drivers() {
    if (!facts_.is_linux) return;  // the registry names them
    for (const DriverManifest& driver : facts_.drivers) {
      if (driver.problem.empty()) continue;
      problem("driver", driver.path.string() + " " + driver.problem,
              named_by_variable() ? "correct VK_DRIVER_FILES"
                                  : "install the driver's package again, or remove the file");
    }
    if (facts_.drivers.empty()) {
      problem("driver", "there is no driver manifest in the folders that Vulkan searches",
              "apt-get install mesa-vulkan-drivers (AMD, Intel and a software driver), or "
              "nvidia-vulkan-icd");
    }
  }

  bool named_by_variable() const {
    return !variable("VK_DRIVER_FILES").empty() || !variable("VK_ICD_FILENAMES").empty();
  }

  void devices() {
    if (!facts_.native.died.empty() || !facts_.native.loader_error.empty()) return;
    if (!facts_.native.instance_error.empty()) {
      problem("device", "cannot create a Vulkan instance: " + facts_.native.instance_error,
              install("apt-get install mesa-vulkan-drivers") +
                  "; VK_LOADER_DEBUG=all vulkaninfo shows what the loader tries");
      return;
    }
    if (facts_.native.devices.empty()) {
      problem("device", "the drivers find no device",
              install("apt-get install mesa-vulkan-drivers for a software device"));
    }
    for (const DeviceSupport& support : compare_devices(facts_.native, facts_.with_tally))
      device(support);
    nodes();
  }

  void device(const DeviceSupport& support) {
    const ProbedDevice& d = *support.native;
    const std::string subject = "device " + d.name;
    if (support.with_tally == nullptr && support.missing.empty()) {
      note(subject,
           fmt::format("{}, Vulkan {}: not probed with Tally's layer", d.driver, d.api_version));
      return;
    }
    if (!support.can_capture()) {
      cannot_capture(subject, support);
      return;
    }
    const bool native = std::any_of(
        support.interfaces.begin(), support.interfaces.end(), [](const auto& interface) {
          return interface.name == "VK_ARM_shader_instrumentation" && interface.native;
        });
    good(subject, fmt::format("{}, Vulkan {}: {}", d.driver, d.api_version,
                              native ? "shader counts by the driver itself"
                                     : "shader counts emulated by instrumenting SPIR-V, exact"));
    for (const std::string& text : support.limitations) note(subject, text);
    for (const std::string& name : support.hidden) {
      note(subject, fmt::format("{} is hidden from a captured application: {}", name,
                                catalogue::find_hidden_extension(name)->reason));
    }
    std::vector<std::string> without;
    for (const CountingInterface& interface : support.interfaces) {
      if (!interface.with_tally) without.push_back(interface.name);
    }
    if (!without.empty()) note(subject, fmt::format("not available: {}", fmt::join(without, ", ")));
  }

  void cannot_capture(const std::string& subject, const DeviceSupport& support) {
    for (const std::string& missing : support.missing) {
      problem(subject, "lacks " + missing + ", which shader counting needs",
              "a newer driver may have it (Mesa: bookworm-backports), or use another device: tally "
              "run --driver lavapipe");
    }
    if (support.missing.empty() && facts_.layers && facts_.with_tally.died.empty()) {
      problem(subject, "Tally's layer was loaded but offers no counters on this device",
              "TALLY_LOG_LEVEL=debug tally list says why");
    }
  }

  void nodes() {
    for (const PathFact& node : facts_.device_nodes) {
      if (node.usable) continue;
      problem("permissions", node.path + " cannot be opened by this user",
              "add the user to the groups of the device: usermod -aG render,video USER, and log in "
              "again");
    }
  }

  void layers_in_vulkan() {
    if (!facts_.layers || !facts_.native.loader_error.empty()) return;
    if (!facts_.with_tally.died.empty()) {
      problem("layers", "with Tally's layer, the Vulkan probe " + facts_.with_tally.died,
              "Vulkan works without Tally's layer. This is a bug; please report it with the output "
              "of vulkaninfo");
      return;
    }
    for (const char* name : {kCountersLayer, kCaptureLayer}) {
      if (facts_.with_tally.layer(name) == nullptr) {
        problem("layers", fmt::format("Vulkan does not find {}", name),
                "VK_LOADER_DEBUG=layer tally list shows where it looks");
      }
    }
  }

  // Vulkan programs do not need EGL: a missing part is a note, a broken part a problem.
  void egl() {
    if (!facts_.is_linux) {
      note("EGL", facts_.egl_files.problem);
      return;
    }
    if (!facts_.egl_files.complete()) {
      const bool any = !facts_.egl_files.manifests.empty() || !facts_.egl_files.preload.empty();
      note("EGL",
           fmt::format("{}: {}",
                       any ? "some of Tally's EGL libraries cannot be used"
                           : "EGL programs are not profiled",
                       facts_.egl_files.problem),
           "build or install Tally again; the libraries belong next to the program");
      return;
    }
    if (facts_.egl_library == EglLibrary::None) {
      note("EGL", "there is no libEGL.so.1", "for EGL programs: apt-get install libegl1");
      return;
    }
    const EglProbe& probe = facts_.egl;
    if (!probe.died.empty()) {
      problem("EGL", "with Tally in front, the EGL probe " + probe.died,
              "tally run --egl off works around it. This is a bug; please report it with the "
              "output of eglinfo");
    } else if (!probe.display_error.empty() || !probe.library_error.empty()) {
      note("EGL", probe.why_unavailable(), "for EGL programs: apt-get install libegl-mesa0");
    } else if (!probe.has_extension) {
      problem("EGL", probe.why_unavailable() + " with Tally in front",
              "is __EGL_VENDOR_LIBRARY_FILENAMES or LD_PRELOAD set? try tally run --egl preload");
    } else {
      good("EGL",
           fmt::format("{} {}: {} counters in {} groups, by {}", probe.vendor, probe.version,
                       probe.counter_count(), probe.groups.size(),
                       facts_.egl_library == EglLibrary::Glvnd ? "a vendor library of libglvnd"
                                                               : "a preloaded library"));
    }
  }

  // Matches the patterns of VK_LOADER_LAYERS_DISABLE as the loader does: globs, and words such as
  // ~all~.
  bool disabled(const char* layer) const {
    for (const std::string& pattern :
         split_list(with_separators(variable("VK_LOADER_LAYERS_DISABLE")))) {
      if (pattern == "~all~" || pattern == "~explicit~" || pattern == "*") return true;
      const bool glob = pattern.find('*') != std::string::npos;
      if (glob ? analysis::matches_pattern(pattern, layer) : pattern == layer) return true;
    }
    return false;
  }

  static std::string with_separators(std::string list) {
    std::replace(list.begin(), list.end(), ',', platform::list_separator());
    return list;
  }

  void variables() {
    for (const char* layer : {kCountersLayer, kCaptureLayer}) {
      if (disabled(layer)) {
        problem("environment", fmt::format("VK_LOADER_LAYERS_DISABLE disables {}", layer),
                "unset VK_LOADER_LAYERS_DISABLE");
      }
    }
    if (!variable("VK_DRIVER_FILES").empty() && !variable("VK_ICD_FILENAMES").empty() &&
        variable("VK_DRIVER_FILES") != variable("VK_ICD_FILENAMES")) {
      note("environment",
           "VK_DRIVER_FILES and VK_ICD_FILENAMES differ; newer loaders use the first",
           "unset one of them");
    }
    for (const char* name :
         {"VK_INSTANCE_LAYERS", "VK_LAYER_PATH", "VK_LOADER_LAYERS_ENABLE",
          "VK_LOADER_DRIVERS_DISABLE", "VK_LOADER_DRIVERS_SELECT", "VK_DRIVER_FILES",
          "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS"}) {
      if (!variable(name).empty())
        note("environment", fmt::format("{}={} is set; Tally keeps it", name, variable(name)));
    }
    for (const auto& [name, value] : facts_.environment) {
      if (name.starts_with("TALLY_"))
        note("environment",
             fmt::format("{}={} is set and may change what Tally does", name, value));
    }
  }

  // Below `tally run`, in a container of the application.
  void container() {
    if (!facts_.capture_socket) return;
    if (!facts_.capture_socket->exists) {
      problem("capture", facts_.capture_socket->path + ", the socket of tally run, is not visible",
              "share the folder above it with the container, for writing");
    } else if (!facts_.capture_socket->usable) {
      problem("capture", facts_.capture_socket->path + ", the socket of tally run, is not writable",
              "run the application as the user who runs tally");
    } else {
      good("capture", "the socket of tally run is visible");
    }
    for (const PathFact& folder : facts_.layer_folders) {
      if (folder.exists) continue;
      problem("capture", folder.path + ", a folder of layers, is not visible",
              "share the folder that Tally is installed in with the container, for reading");
    }
  }

  // Its container has a /usr of its own.
  void steam() {
    if (!facts_.has_steam) return;
    const std::filesystem::path own = facts_.tally.parent_path().parent_path();
    const bool is_shared = own != "/usr";
    const std::string folder = shell_word(is_shared ? own.string() : "/opt/tally");
    const std::string shared = shell_word(facts_.temporary_folder.path);
    note("Steam", "games run in a container, which must see Tally and the socket of tally run",
         fmt::format("{}set the launch options of a game to PRESSURE_VESSEL_FILESYSTEMS_RW={} "
                     "PRESSURE_VESSEL_FILESYSTEMS_RO={} {}/bin/tally run -o {}/game.tally -- "
                     "%command%",
                     is_shared ? ""
                               : "unpack Tally's tarball in /opt/tally, as the container does "
                                 "not see /usr, and ",
                     shared, folder, folder, shared));
  }

  void files() {
    if (!facts_.temporary_folder.usable) {
      problem(
          "permissions",
          facts_.temporary_folder.path + " is not writable; the capture's socket is created there",
          "set TMPDIR to a writable folder");
    }
    if (facts_.runtime_folder && !facts_.runtime_folder->usable) {
      note("permissions", "XDG_RUNTIME_DIR=" + facts_.runtime_folder->path + " cannot be used",
           "applications with a Wayland window need it: set it to a folder of this user with mode "
           "0700");
    }
    for (const std::string& file : facts_.override_layers) {
      note("layers", file + " (Vulkan Configurator) overrides the layers",
           "disable the override in Vulkan Configurator if Tally's layers are not found");
    }
    for (const std::string& file : facts_.settings_files)
      note("settings", file + " has settings for Tally's layers");
  }

  void validation() {
    const ProbedLayer* layer = facts_.native.layer(kValidationLayer);
    if (layer != nullptr) {
      good("validation", fmt::format("{} {}", layer->name, layer->version));
    } else if (facts_.native.loader_error.empty() && facts_.native.died.empty()) {
      note("validation", "the validation layer is not installed; only Tally's own tests need it",
           facts_.is_linux ? "apt-get install vulkan-validationlayers" : "install the Vulkan SDK");
    }
  }

  const DoctorFacts& facts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> examine(const DoctorFacts& facts) { return Examination(facts).run(); }

bool has_problem(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.level == Level::Problem; });
}

}  // namespace tally::cli
