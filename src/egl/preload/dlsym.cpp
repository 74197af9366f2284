// dlsym in front of the C library's, for programs that open libEGL or a GL library themselves and
// look the functions up.
//
// Only an explicit handle, or the default search, for a function that we stand in front of gets our
// answer. All else is passed on by a jump, not a call: RTLD_NEXT means "after the library that the
// call came from", which the C library reads from the return address. So this file is compiled with
// optimisation always (CMakeLists.txt), and no destructor may stand between.

#include <dlfcn.h>

#include "egl/preload/libraries.h"
#include "egl/preload/preload.h"

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle,
                                                              const char* name) noexcept {
  using namespace tally::egl;
  const DlSym real = real_dlsym();
  if (handle == RTLD_NEXT || !is_ours(name)) return real(handle, name);
  return look_up_ours(handle, name);
}
