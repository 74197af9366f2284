// Helpers of the EGL tests: displays and contexts without windows, the extension's functions, and a
// client of the extension that refers to groups and counters by name.
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

// A function of EGL or GL, cast to its type.
template <typename Function>
Function function(const char* name) {
  return reinterpret_cast<Function>(eglGetProcAddress(name));
}
#define TALLY_FUNCTION(name) ::tally::egl_test::function<decltype(&::name)>(#name)

// An initialised display of the surfaceless platform, terminated on destruction.
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

 private:
  EGLDisplay display_;
  EGLContext context_;
  EGLSurface surface_;
};

// The extension's functions from eglGetProcAddress.
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

// Holds the counters acquired during its lifetime.
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
  // The values of the chosen counters, by name.
  std::map<std::string, uint64_t> read(bool reset = false) const;
  std::vector<CounterRecord> read_records(bool reset = false) const;

 private:
  Brcm brcm_;
};

std::string group_name(const Brcm& brcm, EGLint group);
std::string counter_name(const Brcm& brcm, EGLint group, EGLint counter);

// Makes current a program that draws in the colour of uniform "color" at the positions of attribute
// 0, "at".
GLuint use_flat_program(bool desktop = false);
// Sources attribute 0 from a buffer with these positions (in a vertex array, which core profiles
// require).
void use_positions(const std::vector<GLfloat>& xy);

}  // namespace tally::egl_test
