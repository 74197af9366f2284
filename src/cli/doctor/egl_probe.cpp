// The EGL probe of `tally list` and `tally doctor`.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <tally/egl_brcm.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/command.h"
#include "cli/doctor/probe.h"

namespace tally::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedCounter, name, unit, denominator)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedGroup, name, max_active, counters)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EglProbe, library_error, display_error, version, vendor,
                                   has_extension, groups, died)

EglProbe probe_egl(const Environment& environment) {
  EglProbe probe;
  const auto answer = run_probe_process("probe-egl", environment);
  if (!answer) {
    probe.died = answer.error().message;
    return probe;
  }
  // The JSON library reports an unexpected structure by an exception, which ends here.
  try {
    return nlohmann::json::parse(*answer).get<EglProbe>();
  } catch (const nlohmann::json::exception& error) {
    probe.died = std::string("returned an answer that cannot be parsed: ") + error.what();
    return probe;
  }
}

void add_egl_probe(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("probe-egl", "Internal: the EGL probe of list and doctor");
  command->group("");  // not shown in --help
  command->callback([&chosen] {
    chosen = [] {
      const nlohmann::json json = probe_egl_here();
      return print("\n" + json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                   "\n");
    };
  });
}

namespace {

constexpr std::string_view kExtension = "EGL_BRCM_performance_counters";

// libEGL, which stays open until the process ends.
class Egl {
 public:
  bool open() {
    library_ = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    return library_ != nullptr && symbol<decltype(&::eglGetProcAddress)>("eglGetProcAddress");
  }
  template <typename Function>
  Function symbol(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  template <typename Function>
  Function function(const char* name) const {
    const auto get = symbol<decltype(&::eglGetProcAddress)>("eglGetProcAddress");
    return reinterpret_cast<Function>(get(name));
  }

 private:
  void* library_ = nullptr;
};
#define SYMBOL(egl, name) (egl).symbol<decltype(&::name)>(#name)

// Opens the first display that works without a window.
EGLDisplay open_display(const Egl& egl, std::string& error) {
  const auto initialize = SYMBOL(egl, eglInitialize);
  const auto platform_display =
      egl.function<PFNEGLGETPLATFORMDISPLAYEXTPROC>("eglGetPlatformDisplayEXT");
  const auto devices = egl.function<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT");
  std::vector<EGLDisplay> candidates;
  if (platform_display != nullptr) {
    candidates.push_back(platform_display(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr));
    std::array<EGLDeviceEXT, 1> device{};
    EGLint count = 0;
    if (devices != nullptr && devices(1, device.data(), &count) && count > 0) {
      candidates.push_back(platform_display(EGL_PLATFORM_DEVICE_EXT, device[0], nullptr));
    }
  }
  candidates.push_back(SYMBOL(egl, eglGetDisplay)(EGL_DEFAULT_DISPLAY));
  for (const EGLDisplay display : candidates) {
    if (display != EGL_NO_DISPLAY && initialize(display, nullptr, nullptr)) return display;
  }
  error = fmt::format("error {:#x}", SYMBOL(egl, eglGetError)());
  return EGL_NO_DISPLAY;
}

class CounterEnumerator {
 public:
  explicit CounterEnumerator(const Egl& egl)
      : constant_(
            egl.function<PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC>("eglGetPerfCounterConstantBRCM")),
        group_info_(
            egl.function<PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC>("eglGetPerfCounterGroupInfoBRCM")),
        counter_info_(egl.function<PFNEGLGETPERFCOUNTERINFOBRCMPROC>("eglGetPerfCounterInfoBRCM")) {
  }

  std::vector<ProbedGroup> groups() const {
    std::vector<ProbedGroup> found;
    if (!constant_ || !group_info_ || !counter_info_) return found;
    const EGLint longest = constant_(EGL_MAX_COUNTER_STRING_LEN_BRCM);
    std::string name(static_cast<size_t>(longest) + 1, '\0'), unit = name;
    for (EGLint g = 0; g < constant_(EGL_NUM_COUNTER_GROUPS_BRCM); g++) {
      EGLint counters = 0, active = 0;
      if (!group_info_(g, longest, name.data(), &counters, &active)) break;
      ProbedGroup& group = found.emplace_back(ProbedGroup{name.c_str(), active, {}});
      for (EGLint c = 0; c < counters; c++) {
        EGLuint64BRCM denominator = 1;
        if (!counter_info_(g, c, nullptr, nullptr, &denominator, longest, name.data(), longest,
                           unit.data())) {
          break;
        }
        group.counters.push_back({name.c_str(), unit.c_str(), denominator});
      }
    }
    return found;
  }

 private:
  PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC constant_;
  PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC group_info_;
  PFNEGLGETPERFCOUNTERINFOBRCMPROC counter_info_;
};

}  // namespace

EglProbe probe_egl_here() {
  EglProbe probe;
  Egl egl;
  if (!egl.open()) {
    const char* const error = dlerror();
    probe.library_error = error != nullptr ? error : "libEGL.so.1 lacks eglGetProcAddress";
    return probe;
  }
  const EGLDisplay display = open_display(egl, probe.display_error);
  if (display == EGL_NO_DISPLAY) return probe;
  const auto query = SYMBOL(egl, eglQueryString);
  const auto text = [&](EGLint name) {
    const char* const value = query(display, name);
    return std::string(value != nullptr ? value : "");
  };
  probe.version = text(EGL_VERSION);
  probe.vendor = text(EGL_VENDOR);
  probe.has_extension =
      (" " + text(EGL_EXTENSIONS) + " ").find(" " + std::string(kExtension) + " ") !=
      std::string::npos;
  if (probe.has_extension) probe.groups = CounterEnumerator(egl).groups();
  SYMBOL(egl, eglTerminate)(display);
  return probe;
}

}  // namespace tally::cli
