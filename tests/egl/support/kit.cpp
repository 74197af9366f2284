#include "kit.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <array>
#include <cstdlib>

namespace tally::egl_test {
namespace {

[[noreturn]] void give_up(const char* what) {
  ADD_FAILURE() << what << ", EGL error " << std::hex << eglGetError();
  std::abort();
}

// A sanitizer can attribute a report to a library only while it is loaded, but EGL unloads its
// drivers when the last display is terminated.
void keep_drivers_loaded() {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        const std::string path = info->dlpi_name;
        const bool is_vulkan = path.find("/libvulkan_") != std::string::npos;
        if (is_vulkan || path.ends_with("_dri.so"))
          dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        return 0;
      },
      nullptr);
}

bool is_es(Api api) { return api == Api::Gles2 || api == Api::Gles3; }

std::vector<EGLint> context_attributes(Api api) {
  switch (api) {
    case Api::Gles2:
      return {EGL_CONTEXT_MAJOR_VERSION, 2, EGL_NONE};
    case Api::Gles3:
      return {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE};
    case Api::GlCore:
      return {EGL_CONTEXT_MAJOR_VERSION,
              4,
              EGL_CONTEXT_MINOR_VERSION,
              5,
              EGL_CONTEXT_OPENGL_PROFILE_MASK,
              EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
              EGL_NONE};
    default:
      return {EGL_NONE};
  }
}

GLuint compile(GLenum type, const std::string& text) {
  const GLuint shader = glCreateShader(type);
  const char* const source = text.c_str();
  glShaderSource(shader, 1, &source, nullptr);
  glCompileShader(shader);
  GLint done = GL_FALSE;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &done);
  EXPECT_EQ(done, GL_TRUE);
  return shader;
}

}  // namespace

Display::Display()
    : handle_(eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr)) {
  if (!eglInitialize(handle_, nullptr, nullptr)) give_up("no surfaceless display");
  keep_drivers_loaded();
}

Display::~Display() {
  eglMakeCurrent(handle_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglTerminate(handle_);
  eglReleaseThread();
}

Context::Context(EGLDisplay display, Api api, EGLint size) : display_(display) {
  eglBindAPI(is_es(api) ? EGL_OPENGL_ES_API : EGL_OPENGL_API);
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE,
                           is_es(api) ? EGL_OPENGL_ES2_BIT : EGL_OPENGL_BIT,
                           EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT,
                           EGL_RED_SIZE,
                           8,
                           EGL_DEPTH_SIZE,
                           24,
                           EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count == 0) give_up("no config");
  const EGLint extent[] = {EGL_WIDTH, size, EGL_HEIGHT, size, EGL_NONE};
  context_ = eglCreateContext(display, config, EGL_NO_CONTEXT, context_attributes(api).data());
  surface_ = eglCreatePbufferSurface(display, config, extent);
  if (context_ == EGL_NO_CONTEXT || surface_ == EGL_NO_SURFACE) give_up("no context");
}

Context::~Context() {
  if (eglGetCurrentContext() == context_) release();
  eglDestroyContext(display_, context_);
  eglDestroySurface(display_, surface_);
}

void Context::make_current() const {
  if (!eglMakeCurrent(display_, surface_, surface_, context_)) give_up("eglMakeCurrent");
}

void Context::release() const {
  eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
}

void Context::swap() const { EXPECT_TRUE(eglSwapBuffers(display_, surface_)); }

Brcm::Brcm()
    : constant(function<PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC>("eglGetPerfCounterConstantBRCM")),
      group_info(function<PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC>("eglGetPerfCounterGroupInfoBRCM")),
      counter_info(function<PFNEGLGETPERFCOUNTERINFOBRCMPROC>("eglGetPerfCounterInfoBRCM")),
      set(function<PFNEGLSETPERFCOUNTINGBRCMPROC>("eglSetPerfCountingBRCM")),
      choose(function<PFNEGLCHOOSEPERFCOUNTERSBRCMPROC>("eglChoosePerfCountersBRCM")),
      data(function<PFNEGLGETPERFCOUNTERDATABRCMPROC>("eglGetPerfCounterDataBRCM")) {
  if (!constant || !group_info || !counter_info || !set || !choose || !data) {
    give_up("a function of the extension is missing");
  }
}

std::string group_name(const Brcm& brcm, EGLint group) {
  std::array<char, 256> name{};
  return brcm.group_info(group, name.size(), name.data(), nullptr, nullptr) ? name.data() : "";
}

std::string counter_name(const Brcm& brcm, EGLint group, EGLint counter) {
  std::array<char, 256> name{};
  const EGLBoolean found = brcm.counter_info(group, counter, nullptr, nullptr, nullptr, name.size(),
                                             name.data(), 0, nullptr);
  return found ? name.data() : "";
}

Client::Client() { EXPECT_TRUE(brcm_.set(EGL_ACQUIRE_COUNTERS_BRCM)) << std::hex << eglGetError(); }

Client::~Client() { brcm_.set(EGL_RELEASE_COUNTERS_BRCM); }

std::optional<EGLint> Client::find_group(std::string_view group) const {
  const EGLint groups = brcm_.constant(EGL_NUM_COUNTER_GROUPS_BRCM);
  for (EGLint g = 0; g < groups; g++) {
    if (group_name(brcm_, g) == group) return g;
  }
  return std::nullopt;
}

std::optional<CounterId> Client::find(std::string_view group, std::string_view counter) const {
  const auto g = find_group(group);
  if (!g) return std::nullopt;
  EGLint counters = 0;
  brcm_.group_info(*g, 0, nullptr, &counters, nullptr);
  for (EGLint c = 0; c < counters; c++) {
    if (counter_name(brcm_, *g, c) == counter) return CounterId{*g, c};
  }
  return std::nullopt;
}

void Client::choose(std::string_view group, std::string_view counter) {
  auto id = find(group, counter);
  ASSERT_TRUE(id) << group << ": " << counter;
  EXPECT_TRUE(brcm_.choose(EGL_TRUE, id->group, 1, &id->counter));
}

void Client::choose_all(std::string_view group) {
  const auto id = find_group(group);
  ASSERT_TRUE(id) << group;
  EXPECT_TRUE(brcm_.choose(EGL_TRUE, *id, 0, nullptr));
}

void Client::start() const { EXPECT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM)); }
void Client::stop() const { EXPECT_TRUE(brcm_.set(EGL_STOP_COUNTERS_BRCM)); }

std::vector<CounterRecord> Client::read_records(bool reset) const {
  EGLint bytes = 0;
  EXPECT_TRUE(brcm_.data(0, nullptr, &bytes, EGL_FALSE));
  std::vector<CounterRecord> records(static_cast<size_t>(bytes) / sizeof(CounterRecord));
  if (records.empty()) return records;
  EGLint written = 0;
  EXPECT_TRUE(brcm_.data(bytes, records.data(), &written, reset ? EGL_TRUE : EGL_FALSE));
  EXPECT_EQ(written, bytes);
  return records;
}

std::map<std::string, uint64_t> Client::read(bool reset) const {
  std::map<std::string, uint64_t> values;
  for (const CounterRecord& record : read_records(reset)) {
    values[counter_name(brcm_, static_cast<EGLint>(record.group),
                        static_cast<EGLint>(record.counter))] = record.value;
  }
  return values;
}

GLuint use_flat_program(bool desktop) {
  const std::string version =
      desktop ? "#version 150\n" : "#version 100\nprecision mediump float;\n";
  const std::string vertex =
      desktop ? "in vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }"
              : "attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }";
  const std::string fragment =
      desktop ? "uniform vec4 color; out vec4 drawn; void main() { drawn = color; }"
              : "uniform vec4 color; void main() { gl_FragColor = color; }";
  const GLuint program = glCreateProgram();
  glAttachShader(program, compile(GL_VERTEX_SHADER, version + vertex));
  glAttachShader(program, compile(GL_FRAGMENT_SHADER, version + fragment));
  glBindAttribLocation(program, 0, "at");
  glLinkProgram(program);
  GLint done = GL_FALSE;
  glGetProgramiv(program, GL_LINK_STATUS, &done);
  EXPECT_EQ(done, GL_TRUE);
  glUseProgram(program);
  return program;
}

void use_positions(const std::vector<GLfloat>& xy) {
  if (const auto gen = TALLY_FUNCTION(glGenVertexArrays)) {
    GLuint array = 0;
    gen(1, &array);
    if (glGetError() == GL_NO_ERROR) TALLY_FUNCTION(glBindVertexArray)(array);
  }
  GLuint buffer = 0;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(xy.size() * sizeof(GLfloat)), xy.data(),
               GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, nullptr);
  glEnableVertexAttribArray(0);
  glGetError();
}

}  // namespace tally::egl_test
