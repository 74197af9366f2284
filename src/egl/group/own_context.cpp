#define EGL_EGLEXT_PROTOTYPES 1
#include "egl/group/own_context.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>

#include <new>
#include <system_error>
#include <thread>

#include "egl/driver/driver.h"
#include "egl/gl/context.h"

namespace tally::egl {
namespace {

// The driver's function, cast to its type.
template <EglFn kFunction, typename Signature>
auto call(const Driver& driver) {
  return reinterpret_cast<Signature*>(driver.egl(kFunction));
}
#define REAL(driver, function) call<EglFn::function, decltype(::function)>(driver)

class OwnContext {
 public:
  OwnContext(Driver& driver, EGLDisplay display, EGLenum api) : driver_(driver), display_(display) {
    if (REAL(driver_, eglBindAPI) != nullptr) REAL(driver_, eglBindAPI)(api);
    const EGLint renderable = api == EGL_OPENGL_ES_API ? EGL_OPENGL_ES2_BIT : EGL_OPENGL_BIT;
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, renderable,
                             EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    REAL(driver_, eglChooseConfig)(display_, wanted, &config, 1, &count);
    if (count == 0) return;
    create(config, api);
    const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
    surface_ = REAL(driver_, eglCreatePbufferSurface)(display_, config, size);
    if (context_ == EGL_NO_CONTEXT) return;
    current_ = REAL(driver_, eglMakeCurrent)(display_, surface_, surface_, context_);
  }
  ~OwnContext() {
    if (current_) {
      REAL(driver_, eglMakeCurrent)(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    }
    if (surface_ != EGL_NO_SURFACE) REAL(driver_, eglDestroySurface)(display_, surface_);
    if (context_ != EGL_NO_CONTEXT) REAL(driver_, eglDestroyContext)(display_, context_);
    REAL(driver_, eglReleaseThread)();
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;

  bool current() const { return current_; }
  EGLContext handle() const { return context_; }

 private:
  // Creates a context of the newest API version that the driver supports.
  void create(EGLConfig config, EGLenum api) {
    const EGLint es3[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
    const EGLint es2[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    const EGLint any[] = {EGL_NONE};
    for (const EGLint* attributes : {api == EGL_OPENGL_ES_API ? es3 : any, es2}) {
      if (context_ != EGL_NO_CONTEXT) return;
      context_ = REAL(driver_, eglCreateContext)(display_, config, EGL_NO_CONTEXT, attributes);
    }
  }

  Driver& driver_;
  EGLDisplay display_;
  EGLContext context_ = EGL_NO_CONTEXT;
  EGLSurface surface_ = EGL_NO_SURFACE;
  bool current_ = false;
};

}  // namespace

bool with_own_context(Driver& driver, EGLDisplay display, EGLenum api,
                      const std::function<void(GlContext&)>& body) try {
  bool made = false;
  std::thread([&] {
    const OwnContext own(driver, display, api);
    if (!own.current()) return;
    try {
      GlContext context(driver, display, own.handle());
      body(context);
      made = true;
    } catch (const std::bad_alloc&) {
    }
  }).join();
  return made;
} catch (const std::system_error&) {  // the thread could not be started
  return false;
}

}  // namespace tally::egl
