// What the EGL tests build on: displays and contexts without windows, the extension's functions,
// and a client of it that speaks of groups and counters by name.
#pragma once

#define EGL_EGLEXT_PROTOTYPES 1
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl32.h>
#include <tally/egl_brcm.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally::egl_test {

// A function of EGL or GL by its type.
template <typename Function>
Function function(const char* name) {
  return reinterpret_cast<Function>(eglGetProcAddress(name));
}
#define TALLY_FUNCTION(name) ::tally::egl_test::function<decltype(&::name)>(#name)

// An initialised display of the surfaceless platform, terminated at the end.
class Display {
 public:
  Display();
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  EGLDisplay handle() const { return handle_; }

 private:
  EGLDisplay handle_;
};

enum class Api { Gles2, Gles3, GlCore, GlCompatibility };

// A context with a pbuffer. Not current until make_current().
class Context {
 public:
  static constexpr EGLint kSize = 64;

  Context(EGLDisplay display, Api api, EGLint size = kSize);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void make_current() const;
  void release() const;
  void swap() const;
  EGLContext handle() const { return context_; }
  EGLSurface surface() const { return surface_; }

 private:
  EGLDisplay display_;
  EGLContext context_;
  EGLSurface surface_;
};

// The extension's functions as eglGetProcAddress gives them.
struct Brcm {
  Brcm();
  PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC constant;
  PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC group_info;
  PFNEGLGETPERFCOUNTERINFOBRCMPROC counter_info;
  PFNEGLSETPERFCOUNTINGBRCMPROC set;
  PFNEGLCHOOSEPERFCOUNTERSBRCMPROC choose;
  PFNEGLGETPERFCOUNTERDATABRCMPROC data;
};

struct CounterRecord {
  uint32_t group;
  uint32_t counter;
  uint64_t value;
};

struct CounterId {
  EGLint group;
  EGLint counter;
};

// Has the counters acquired as long as it lives.
class Client {
 public:
  Client();
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::optional<EGLint> find_group(std::string_view group) const;
  std::optional<CounterId> find(std::string_view group, std::string_view counter) const;

  void choose(std::string_view group, std::string_view counter);
  void choose_all(std::string_view group);
  void start() const;
  void stop() const;
  // Values by the counter's name, of the chosen ones.
  std::map<std::string, uint64_t> read(bool reset = false) const;
  std::vector<CounterRecord> read_records(bool reset = false) const;

 private:
  Brcm brcm_;
};

std::string group_name(const Brcm& brcm, EGLint group);
std::string counter_name(const Brcm& brcm, EGLint group, EGLint counter);

// A program that draws the colour uniform "color" where attribute 0, "at", says; current
// afterwards.
GLuint use_flat_program(bool desktop = false);
// Attribute 0 reads these positions from a buffer (in a vertex array, which core profiles want).
void use_positions(const std::vector<GLfloat>& xy);

}  // namespace tally::egl_test
