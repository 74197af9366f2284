// An EGL without libglvnd, as on set-top boxes: libEGL.so.1 (TALLY_PLAIN_EGL) and libGLESv2.so.2,
// both calling Mesa's vendor library directly. Contains only what the tests call.

#include <EGL/egl.h>
#include <dlfcn.h>
#include <glvnd/libeglabi.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace {

const char* const kNames[] = {
#ifdef TALLY_PLAIN_EGL
#define PLAIN_EGL(name) #name,
#define PLAIN_GL(name)
#else
#define PLAIN_EGL(name)
#define PLAIN_GL(name) #name,
#endif
#include "functions.def"
};

}  // namespace

extern "C" {
void* tally_plain_table[std::size(kNames)];
}

namespace {

void nothing() {}

// Mesa needs few of the exports when nothing dispatches through it.
constexpr __EGLapiExports kExports = [] {
  __EGLapiExports exports{};
  exports.threadInit = nothing;
  exports.setEGLError = [](EGLint) {};
  exports.setLastVendor = [](__EGLvendorInfo*) -> EGLBoolean { return EGL_TRUE; };
  return exports;
}();

struct Load {
  Load() {
    void* const mesa = dlopen("libEGL_mesa.so.0", RTLD_NOW);
    const auto main = reinterpret_cast<__PFNEGLMAINPROC>(dlsym(mesa, __EGL_MAIN_PROTO_NAME));
    static __EGLapiImports imports{};
    if (main == nullptr || !main(EGL_VENDOR_ABI_VERSION, &kExports, nullptr, &imports)) {
      std::fputs("plain EGL: no libEGL_mesa.so.0\n", stderr);
      std::abort();
    }
    for (size_t i = 0; i < std::size(kNames); i++) {
      tally_plain_table[i] = imports.getProcAddress(kNames[i]);
    }
  }
} g_load;

}  // namespace
