// A program that links neither EGL nor GL and looks everything up itself, as SDL and GLFW do. Run
// it preloaded.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tally/egl_brcm.h>

#include <string>

namespace {

// A library's functions according to dlsym.
struct Library {
  explicit Library(const char* name) : handle(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle, nullptr) << dlerror();
  }
  template <typename Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle, name));
  }
  void* handle;
};
#define GET(library, name) library.get<decltype(name)>(#name)

TEST(LookedUp, functions_are_found_and_counted) {
  const Library egl("libEGL.so.1"), gl("libGLESv2.so.2");
  const auto get_proc = GET(egl, eglGetProcAddress);
  const EGLDisplay display =
      GET(egl, eglGetPlatformDisplay)(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr);
  ASSERT_TRUE(GET(egl, eglInitialize)(display, nullptr, nullptr));
  const std::string list = GET(egl, eglQueryString)(display, EGL_EXTENSIONS);
  EXPECT_NE(list.find("EGL_BRCM_performance_counters"), std::string::npos);

  EGLConfig config = nullptr;
  EGLint count = 0;
  const EGLint any[] = {EGL_NONE}, es2[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
  GET(egl, eglBindAPI)(EGL_OPENGL_ES_API);
  GET(egl, eglChooseConfig)(display, any, &config, 1, &count);
  const EGLContext context = GET(egl, eglCreateContext)(display, config, nullptr, es2);
  ASSERT_TRUE(GET(egl, eglMakeCurrent)(display, nullptr, nullptr, context));

  // dlsym and eglGetProcAddress return the same functions.
  const auto set =
      reinterpret_cast<PFNEGLSETPERFCOUNTINGBRCMPROC>(get_proc("eglSetPerfCountingBRCM"));
  const auto choose =
      egl.get<EGLBoolean(EGLBoolean, EGLint, EGLint, EGLint*)>("eglChoosePerfCountersBRCM");
  const auto data =
      egl.get<EGLBoolean(EGLint, void*, EGLint*, EGLBoolean)>("eglGetPerfCounterDataBRCM");
  ASSERT_TRUE(set != nullptr && choose != nullptr && data != nullptr);
  ASSERT_TRUE(set(EGL_ACQUIRE_COUNTERS_BRCM));
  EGLint clears = 10;
  EXPECT_TRUE(choose(EGL_TRUE, 0, 1, &clears));
  EXPECT_TRUE(set(EGL_START_COUNTERS_BRCM));
  GET(gl, glClear)(GL_COLOR_BUFFER_BIT);
  reinterpret_cast<decltype(&glClear)>(get_proc("glClear"))(GL_COLOR_BUFFER_BIT);
  struct {
    uint32_t group, counter;
    uint64_t value;
  } record{};
  EXPECT_TRUE(data(sizeof record, &record, nullptr, EGL_FALSE));
  EXPECT_EQ(record.value, 2u);
  EXPECT_TRUE(set(EGL_RELEASE_COUNTERS_BRCM));
}

TEST(LookedUp, what_the_library_lacks_is_not_found) {
  const Library egl("libEGL.so.1");
  EXPECT_EQ(dlsym(egl.handle, "glDrawArraysInstancedBaseInstanceEXT"), nullptr);
  EXPECT_EQ(dlsym(egl.handle, "eglNoSuchFunction"), nullptr);
  const Library libm("libm.so.6");
  EXPECT_EQ(dlsym(libm.handle, "glClear"), nullptr);
  EXPECT_EQ(dlsym(libm.handle, "eglSetPerfCountingBRCM"), nullptr);
  EXPECT_NE(dlsym(libm.handle, "cos"), nullptr);
}

TEST(LookedUp, the_default_search_finds_no_function_that_the_program_has_not) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "glClear"), nullptr);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "eglSetPerfCountingBRCM"), nullptr);
  EXPECT_NE(dlsym(RTLD_DEFAULT, "dlopen"), nullptr);
}

// As NVIDIA's driver for Vulkan does, which unloads EGL behind the program's back.
TEST(LookedUp, a_driver_gets_the_functions_of_its_library) {
  const Library egl("libEGL.so.1"), driver(LOOKS_UP_NVIDIA);
  const auto look_up = driver.get<void*(void*, const char*)>("look_up");
  ASSERT_NE(look_up, nullptr);
  void* const real = look_up(egl.handle, "eglGetProcAddress");
  EXPECT_NE(real, nullptr);
  EXPECT_NE(real, dlsym(egl.handle, "eglGetProcAddress"));
  EXPECT_EQ(look_up(egl.handle, "eglSetPerfCountingBRCM"), nullptr);
  EXPECT_EQ(look_up(RTLD_DEFAULT, "glClear"), nullptr);
}

TEST(LookedUp, the_next_library_is_counted_from_the_caller) {
  // For the program itself, the next "dlsym" is the preloaded one, not the one after that.
  EXPECT_EQ(dlsym(RTLD_NEXT, "dlsym"), dlsym(RTLD_DEFAULT, "dlsym"));
}

}  // namespace
