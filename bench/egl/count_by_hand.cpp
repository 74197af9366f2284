// A library for LD_PRELOAD: the shaders of a GL ES program count their invocations by hand,
// exactly, and the program is otherwise unchanged. At the end it prints to stderr how many
// invocations of vertex and of fragment shaders there were. It shows a lower bound of what counting
// costs: nothing reads the counts before the end, and nothing takes times. With COUNT_BY_HAND=read
// the counts of each frame are read after three more frames, which rarely has to wait, and
// written to the file COUNTS_FILE; with COUNT_BY_HAND=times also the device's time at the begin and
// the end of each frame.
//
//   LD_PRELOAD=build/bench/lib/libcount_by_hand.so glmark2-es2 -b build:nframes=100 -s 320x240
//
// The program gets its functions by dlsym and eglGetProcAddress. Its shaders are GLSL ES 1.00, have
// no discard and no storage buffers, and the buffer of counts stays bound.
#include <EGL/egl.h>
#include <GLES3/gl31.h>

#include <GLES2/gl2ext.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

// A cache line for the vertex shaders, and one for each shard of the fragment shaders.
constexpr size_t kLineWords = 16, kShards = 4;
constexpr size_t kFrames = 4, kFrameBytes = 512;
static_assert(kLineWords * (1 + kShards) * sizeof(uint32_t) <= kFrameBytes);

constexpr char kVertexBegin[] = R"(#version 310 es
#define attribute in
#define varying out
#define main application_main
)";
constexpr char kVertexEnd[] = R"(
#undef main
layout(std430, binding = 0) buffer Counts { uint counts[]; };
void main() {
  application_main();
  atomicAdd(counts[0], 1u);
}
)";
constexpr char kFragmentBegin[] = R"(#version 310 es
layout(early_fragment_tests) in;
layout(location = 0) out mediump vec4 by_hand_color;
#define varying in
#define gl_FragColor by_hand_color
#define main application_main
)";
constexpr char kFragmentEnd[] = R"(
#undef main
layout(std430, binding = 0) buffer Counts { uint counts[]; };
void main() {
  application_main();
  atomicAdd(counts[16 + (int(gl_FragCoord.x) >> 2 & 48)], 1u);
}
)";

using Address = void (*)();

void* real_dlsym(void* handle, const char* name) {
  using Find = void* (*)(void*, const char*);
  static const auto find = reinterpret_cast<Find>(::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  return find(handle, name);
}

decltype(&::eglGetProcAddress) g_get_address;

// A GL or EGL function of the driver.
template <typename Type>
Type real(const char* name) {
  return reinterpret_cast<Type>(g_get_address(name));
}
#define REAL(name) real<decltype(&::name)>(#name)

// A part of the buffer of counts for each of some frames, if each is read.
class Counts {
 public:
  bool exist() const { return words_ != nullptr; }

  void make() {
    constexpr GLbitfield kMapped =
        GL_MAP_READ_BIT | GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT_EXT | GL_MAP_COHERENT_BIT_EXT;
    GLuint buffer = 0;
    REAL(glGenBuffers)(1, &buffer);
    REAL(glBindBuffer)(GL_SHADER_STORAGE_BUFFER, buffer);
    const auto allocate = real<PFNGLBUFFERSTORAGEEXTPROC>("glBufferStorageEXT");
    allocate(GL_SHADER_STORAGE_BUFFER, kFrames * kFrameBytes, nullptr, kMapped);
    words_ = static_cast<uint32_t*>(
        REAL(glMapBufferRange)(GL_SHADER_STORAGE_BUFFER, 0, kFrames * kFrameBytes, kMapped));
    if (words_ == nullptr) std::abort();
    std::memset(words_, 0, kFrames * kFrameBytes);
    buffer_ = buffer;
    const char* use = std::getenv("COUNT_BY_HAND");
    times_ = use != nullptr && std::string_view(use) == "times";
    if (use != nullptr) {
      const char* path = std::getenv("COUNTS_FILE");
      file_ = ::open(path != nullptr ? path : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    }
    for (Frame& frame : frames_) real<PFNGLGENQUERIESEXTPROC>("glGenQueriesEXT")(2, frame.times);
    begin_frame();
  }

  void end_frame() {
    if (!exist() || file_ < 0) return;
    if (times_) take_time(1);
  }

  void begin_next_frame() {
    if (!exist() || file_ < 0) return;
    now_ = (now_ + 1) % kFrames;
    take(now_);
    begin_frame();
  }

  void print() {
    if (!exist()) return;
    REAL(glFinish)();
    for (size_t i = 1; i <= kFrames; ++i) take((now_ + i) % kFrames);
    std::fprintf(stderr, "by hand: %u vertex, %u fragment invocations\n", total_.vertices,
                 total_.fragments);
    words_ = nullptr;
  }

 private:
  struct Frame {
    uint32_t vertices = 0, fragments = 0;  // all that its part of the buffer has counted
    GLuint times[2] = {};
    bool has_times = false;
  };

  void begin_frame() {
    REAL(glBindBufferRange)(GL_SHADER_STORAGE_BUFFER, 0, buffer_, now_ * kFrameBytes, kFrameBytes);
    if (times_) take_time(0);
  }

  void take_time(int i) {
    static const auto query = real<PFNGLQUERYCOUNTEREXTPROC>("glQueryCounterEXT");
    query(frames_[now_].times[i], GL_TIMESTAMP_EXT);
    frames_[now_].has_times = true;
  }

  void take(size_t i) {
    Frame& frame = frames_[i];
    const uint32_t* words = words_ + i * kFrameBytes / sizeof(uint32_t);
    uint32_t fragments = 0;
    for (size_t shard = 1; shard <= kShards; ++shard) fragments += words[kLineWords * shard];
    struct {
      uint32_t vertices, fragments;
      GLuint64 times[2];
    } values = {words[0] - frame.vertices, fragments - frame.fragments, {}};
    frame.vertices = words[0];
    frame.fragments = fragments;
    total_.vertices += values.vertices;
    total_.fragments += values.fragments;
    if (frame.has_times) {
      static const auto get = real<PFNGLGETQUERYOBJECTUI64VEXTPROC>("glGetQueryObjectui64vEXT");
      for (int t = 0; t < 2; ++t) get(frame.times[t], GL_QUERY_RESULT, &values.times[t]);
    }
    if (file_ >= 0 && ::write(file_, &values, sizeof values) < 0) std::abort();
  }

  uint32_t* words_ = nullptr;
  GLuint buffer_ = 0;
  bool times_ = false;
  int file_ = -1;
  size_t now_ = 0;
  std::array<Frame, kFrames> frames_;
  Frame total_;
};
Counts g_counts;

// Not in glShaderSource: glmark2 checks what it has set.
void compile(GLuint shader) {
  GLint type = 0, length = 0;
  REAL(glGetShaderiv)(shader, GL_SHADER_TYPE, &type);
  REAL(glGetShaderiv)(shader, GL_SHADER_SOURCE_LENGTH, &length);
  std::string source(static_cast<size_t>(length), '\0');
  REAL(glGetShaderSource)(shader, length, &length, source.data());
  source.resize(static_cast<size_t>(length));
  source = type == GL_VERTEX_SHADER ? kVertexBegin + source + kVertexEnd
                                    : kFragmentBegin + source + kFragmentEnd;
  const GLchar* text = source.c_str();
  REAL(glShaderSource)(shader, 1, &text, nullptr);
  REAL(glCompileShader)(shader);
}

void use_program(GLuint program) {
  static const auto use = REAL(glUseProgram);
  use(program);
  if (!g_counts.exist()) g_counts.make();
}

EGLBoolean swap_buffers(EGLDisplay display, EGLSurface surface) {
  static const auto swap = REAL(eglSwapBuffers);
  g_counts.end_frame();
  const EGLBoolean result = swap(display, surface);
  g_counts.begin_next_frame();
  return result;
}

EGLBoolean make_current(EGLDisplay display, EGLSurface draw, EGLSurface read, EGLContext context) {
  if (context == EGL_NO_CONTEXT) g_counts.print();
  return REAL(eglMakeCurrent)(display, draw, read, context);
}

EGLBoolean destroy_context(EGLDisplay display, EGLContext context) {
  g_counts.print();
  return REAL(eglDestroyContext)(display, context);
}

EGLBoolean terminate(EGLDisplay display) {
  g_counts.print();
  return REAL(eglTerminate)(display);
}

Address get_address(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "glCompileShader") return reinterpret_cast<Address>(&compile);
  if (wanted == "glUseProgram") return reinterpret_cast<Address>(&use_program);
  if (wanted == "eglSwapBuffers") return reinterpret_cast<Address>(&swap_buffers);
  if (wanted == "eglMakeCurrent") return reinterpret_cast<Address>(&make_current);
  if (wanted == "eglDestroyContext") return reinterpret_cast<Address>(&destroy_context);
  if (wanted == "eglTerminate") return reinterpret_cast<Address>(&terminate);
  return g_get_address(name);
}

}  // namespace

// After RTLD_NEXT the search starts behind this library, not behind the caller.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  void* const found = real_dlsym(handle, name);
  const std::string_view wanted = name;
  if (wanted == "eglGetProcAddress" && found != nullptr) {
    g_get_address = reinterpret_cast<decltype(g_get_address)>(found);
    return reinterpret_cast<void*>(&get_address);
  }
  const bool is_egl = wanted.starts_with("egl") && g_get_address != nullptr && found != nullptr;
  return is_egl ? reinterpret_cast<void*>(get_address(name)) : found;
}
