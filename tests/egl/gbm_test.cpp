// The GBM platform: surfaces of a DRM device without a window system. Exits with status 77 if there
// is no such device; scripts/test-gbm creates one in a virtual machine.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "support/kit.h"

namespace tally::egl_test {

constexpr const char* kDevice = "/dev/dri/card0";

int run_instead(int, char**) {
  constexpr int kSkipped = 77;
  return access(kDevice, R_OK | W_OK) == 0 ? -1 : kSkipped;
}

namespace {

constexpr EGLint kSize = 64;
constexpr uint32_t kXrgb = 0x34325258;    // GBM_FORMAT_XRGB8888
constexpr uint32_t kRendering = 1u << 2;  // GBM_BO_USE_RENDERING

// libgbm, opened at run time, so that the build does not need its headers.
class Gbm {
 public:
  Gbm()
      : file_(open(kDevice, O_RDWR | O_CLOEXEC)),
        device_(call<void*(int)>("gbm_create_device")(file_)) {}
  ~Gbm() {
    call<void(void*)>("gbm_device_destroy")(device_);
    close(file_);
  }
  Gbm(const Gbm&) = delete;
  Gbm& operator=(const Gbm&) = delete;

  void* device() const { return device_; }
  void* create_surface() const {
    return call<void*(void*, uint32_t, uint32_t, uint32_t, uint32_t)>("gbm_surface_create")(
        device_, kSize, kSize, kXrgb, kRendering);
  }
  // Displays the image, as a program does after a swap.
  static bool take_picture(void* surface) {
    void* const buffer = call<void*(void*)>("gbm_surface_lock_front_buffer")(surface);
    if (buffer == nullptr) return false;
    call<void(void*, void*)>("gbm_surface_release_buffer")(surface, buffer);
    return true;
  }

 private:
  template <typename Signature>
  static Signature* call(const char* name) {
    static void* const library = dlopen("libgbm.so.1", RTLD_NOW);
    return reinterpret_cast<Signature*>(dlsym(library, name));
  }

  int file_;
  void* device_;
};

EGLConfig find_config(EGLDisplay display) {
  const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_WINDOW_BIT, EGL_RENDERABLE_TYPE,
                           EGL_OPENGL_ES2_BIT, EGL_NONE};
  std::array<EGLConfig, 256> configs{};
  EGLint count = 0;
  eglChooseConfig(display, wanted, configs.data(), configs.size(), &count);
  for (EGLint i = 0; i < count; i++) {
    EGLint visual = 0, samples = 0;
    eglGetConfigAttrib(display, configs[i], EGL_NATIVE_VISUAL_ID, &visual);
    eglGetConfigAttrib(display, configs[i], EGL_SAMPLES, &samples);
    if (visual == static_cast<EGLint>(kXrgb) && samples == 0) return configs[i];
  }
  return nullptr;
}

TEST(Gbm, counts_what_is_drawn_on_its_surfaces) {
  const Gbm gbm;
  ASSERT_NE(gbm.device(), nullptr);
  const EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_GBM_KHR, gbm.device(), nullptr);
  ASSERT_TRUE(eglInitialize(display, nullptr, nullptr));
  const std::string extensions = eglQueryString(display, EGL_EXTENSIONS);
  EXPECT_NE(extensions.find("EGL_BRCM_performance_counters"), std::string::npos);
  const EGLConfig config = find_config(display);
  ASSERT_NE(config, nullptr);
  eglBindAPI(EGL_OPENGL_ES_API);
  const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
  const EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
  void* const native = gbm.create_surface();
  const EGLSurface surface = eglCreatePlatformWindowSurface(display, config, native, nullptr);
  ASSERT_TRUE(eglMakeCurrent(display, surface, surface, context)) << std::hex << eglGetError();
  const GLuint program = use_flat_program();
  use_positions({-1, -1, 3, -1, -1, 3});
  glUniform4f(glGetUniformLocation(program, "color"), 1, 0, 0, 1);
  {
    Client client;
    client.choose_all("API");
    client.choose_all("Frame");
    client.start();
    for (int frame = 1; frame <= 3; frame++) {
      for (int i = 0; i < frame; i++) glDrawArrays(GL_TRIANGLES, 0, 3);
      std::array<GLubyte, 4> pixel{};
      glReadPixels(kSize / 2, kSize / 2, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel.data());
      EXPECT_EQ(pixel, (std::array<GLubyte, 4>{255, 0, 0, 255}));
      ASSERT_TRUE(eglSwapBuffers(display, surface));
      EXPECT_TRUE(Gbm::take_picture(native));
    }
    const auto values = client.read();
    EXPECT_EQ(values.at("Draw calls"), 6u);
    EXPECT_EQ(values.at("Vertices submitted"), 18u);
    EXPECT_EQ(values.at("Primitives submitted"), 6u);
    EXPECT_EQ(values.at("Swaps"), 3u);
    EXPECT_EQ(values.at("Frames"), 2u);
    EXPECT_EQ(values.at("GL errors"), 0u);
  }
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroySurface(display, surface);
  eglTerminate(display);
}

TEST(Gbm, a_display_of_the_default_device) {
  const EGLDisplay display =
      eglGetPlatformDisplay(EGL_PLATFORM_GBM_KHR, EGL_DEFAULT_DISPLAY, nullptr);
  ASSERT_TRUE(eglInitialize(display, nullptr, nullptr));
  const std::string extensions = eglQueryString(display, EGL_EXTENSIONS);
  EXPECT_NE(extensions.find("EGL_BRCM_performance_counters"), std::string::npos);
  eglTerminate(display);
}

}  // namespace
}  // namespace tally::egl_test
