// The cost of a GL call with Tally between libEGL and the driver: counters not acquired, and
// counting. Tally and the bare driver are two vendors of libEGL in one process; measurements
// alternate between them.
//
// Runs on a driver that does nothing (tests/egl/fake), which shows the overhead in nanoseconds, and
// on Mesa's software driver.
#define EGL_EGLEXT_PROTOTYPES 1
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl32.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <tally/egl_brcm.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/rounds.h"
#include "harness/table.h"
#include "tests/egl/fake/fake_egl.h"

namespace tally::bench {
namespace {

constexpr int kRounds = 15;

struct Call {
  const char* name;
  int times;
  void (*make)(int times);
};

void many(int times, auto call) {
  for (int i = 0; i < times; i++) call(i);
}

// The fastest calls first; the last two make the software driver do work.
const Call kCalls[] = {
    {"glUniform4f", 200000, [](int n) { many(n, [](int) { glUniform4f(0, 1, 0, 0, 1); }); }},
    {"glEnable", 200000, [](int n) { many(n, [](int) { glEnable(GL_BLEND); }); }},
    {"glBindTexture", 200000, [](int n) { many(n, [](int) { glBindTexture(GL_TEXTURE_2D, 0); }); }},
    {"glGetError", 200000, [](int n) { many(n, [](int) { glGetError(); }); }},
    {"glDrawArrays", 20000, [](int n) { many(n, [](int) { glDrawArrays(GL_TRIANGLES, 0, 3); }); }},
};

class Side {
 public:
  explicit Side(EGLDisplay display) : display_(display) {
    eglBindAPI(EGL_OPENGL_ES_API);
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_SURFACE_TYPE,
                             EGL_PBUFFER_BIT, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
    const EGLint extent[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (!eglInitialize(display, nullptr, nullptr) ||
        !eglChooseConfig(display, wanted, &config, 1, &count)) {
      throw std::runtime_error("no display");
    }
    context_ = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    surface_ = eglCreatePbufferSurface(display, config, extent);
    make_current();
    use_program();
  }
  void make_current() const {
    if (!eglMakeCurrent(display_, surface_, surface_, context_))
      throw std::runtime_error("eglMakeCurrent");
  }
  bool has_extension() const {
    const char* const list = eglQueryString(display_, EGL_EXTENSIONS);
    return list != nullptr &&
           std::string_view(list).find("EGL_BRCM_performance_counters") != std::string_view::npos;
  }
  // Nanoseconds per call, for each kind of call.
  Sample measure() const {
    make_current();
    Sample sample;
    for (const Call& call : kCalls) {
      glFinish();
      sample.push_back(time_of([&] { call.make(call.times); }) / call.times);
    }
    return sample;
  }

 private:
  static GLuint compile(GLenum type, const char* text) {
    const GLuint shader = glCreateShader(type);
    glShaderSource(shader, 1, &text, nullptr);
    glCompileShader(shader);
    return shader;
  }
  static void use_program() {
    const GLuint program = glCreateProgram();
    glAttachShader(program, compile(GL_VERTEX_SHADER, "void main() { gl_Position = vec4(2.0); }"));
    glAttachShader(
        program,
        compile(GL_FRAGMENT_SHADER,
                "precision mediump float; uniform vec4 c; void main() { gl_FragColor = c; }"));
    glLinkProgram(program);
    glUseProgram(program);
  }

  EGLDisplay display_;
  EGLContext context_ = EGL_NO_CONTEXT;
  EGLSurface surface_ = EGL_NO_SURFACE;
};

template <typename Function>
Function function(const char* name) {
  return reinterpret_cast<Function>(eglGetProcAddress(name));
}

// Counts the groups of these names during its lifetime.
class Counting {
 public:
  explicit Counting(std::initializer_list<std::string_view> groups) {
    if (!set_(EGL_ACQUIRE_COUNTERS_BRCM))
      throw std::runtime_error("the counters are acquired by another process");
    const auto info =
        function<PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC>("eglGetPerfCounterGroupInfoBRCM");
    const auto choose = function<PFNEGLCHOOSEPERFCOUNTERSBRCMPROC>("eglChoosePerfCountersBRCM");
    char name[128];
    for (EGLint g = 0; info(g, sizeof name, name, nullptr, nullptr); g++) {
      for (const std::string_view wanted : groups) {
        if (wanted == name) choose(EGL_TRUE, g, 0, nullptr);
      }
    }
    set_(EGL_START_COUNTERS_BRCM);
  }
  ~Counting() { set_(EGL_RELEASE_COUNTERS_BRCM); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  PFNEGLSETPERFCOUNTINGBRCMPROC set_ =
      function<PFNEGLSETPERFCOUNTINGBRCMPROC>("eglSetPerfCountingBRCM");
};

void compare(const char* title, EGLDisplay bare_display, EGLDisplay tally_display) {
  const Side bare(bare_display), tally(tally_display);
  if (bare.has_extension() || !tally.has_extension())
    throw std::runtime_error("only Tally's display may list the extension");
  const Candidate candidates[] = {
      {"bare", [&] { return bare.measure(); }},
      {"not acquired", [&] { return tally.measure(); }},
      {"counting the API",
       [&] {
         const Counting counting({"API"});
         return tally.measure();
       }},
      {"counting API and GPU",
       [&] {
         const Counting counting({"API", "GPU", "Frame"});
         return tally.measure();
       }},
  };
  const auto measured = measure_in_turn(candidates, kRounds);
  std::vector<std::string> titles = {std::string(title) + ", ns a call"};
  for (const Call& call : kCalls) titles.emplace_back(call.name);
  Table table(titles);
  for (const Measured& row : measured) {
    std::vector<std::string> cells = {row.name};
    for (size_t i = 0; i < row.values.size(); i++) {
      cells.push_back(
          number(row.values[i].median, 1) +
          (&row == &measured.front() ? "" : " (+" + number(row.differences[i].median, 1) + ")"));
    }
    table.add(cells);
  }
  std::fputs((table.text() + "\n").c_str(), stdout);
}

// A copy of Mesa's vendor library and its manifest, which libEGL treats as a separate vendor.
class CopyOfMesa {
 public:
  CopyOfMesa() {
    char folder[] = "/tmp/tally-bench-XXXXXX";
    folder_ = mkdtemp(folder);
    void* const mesa = dlopen("libEGL_mesa.so.0", RTLD_LAZY);
    link_map* map = nullptr;
    if (mesa == nullptr || dlinfo(mesa, RTLD_DI_LINKMAP, &map) != 0)
      throw std::runtime_error("no Mesa");
    std::filesystem::copy_file(map->l_name, folder_ / "libEGL_copy.so");
    dlclose(mesa);
    std::ofstream(manifest())
        << "{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": \""
        << (folder_ / "libEGL_copy.so").string() << "\"}}\n";
  }
  ~CopyOfMesa() { std::filesystem::remove_all(folder_); }
  std::string manifest() const { return folder_ / "copy.json"; }

 private:
  std::filesystem::path folder_;
};

// The display of the last device: libEGL queries its vendors in order.
EGLDisplay on_last_device() {
  EGLDeviceEXT devices[16];
  EGLint count = 0;
  const auto query = function<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT");
  if (!query(16, devices, &count) || count == 0) return EGL_NO_DISPLAY;
  return eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[count - 1], nullptr);
}

int run() {
  // The vendors of libEGL: Tally twice, in front of the fake and of Mesa; and unwrapped copies of
  // both.
  const CopyOfMesa copy;
  const std::string vendors = TALLY_MANIFESTS "/10_tally.json:" TALLY_MANIFESTS
                                              "/11_tally.json:" TALLY_SECOND_FAKE ":" +
                              copy.manifest();
  setenv("__EGL_VENDOR_LIBRARY_FILENAMES", vendors.c_str(), 1);
  // Uses a private lock, so a profiler running on this machine does not interfere.
  setenv("TALLY_PROFILING_LOCK", ("tally-egl-calls-" + std::to_string(getpid())).c_str(), 0);
  setenv("TALLY_EGL_VENDORS", TALLY_FAKE ":" TALLY_MESA, 1);
  compare("a driver that does nothing",
          eglGetPlatformDisplay(egl_test::kSecondFakePlatform, nullptr, nullptr),
          eglGetPlatformDisplay(egl_test::kFakePlatform, nullptr, nullptr));
  compare("llvmpipe", on_last_device(),
          eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr));
  return 0;
}

}  // namespace
}  // namespace tally::bench

int main() try { return tally::bench::run(); } catch (const std::exception& error) {
  std::fprintf(stderr, "egl_calls: %s\n", error.what());
  return 1;
}
