// Interposes dlsym, for programs that open libEGL or a GL library themselves and look up its
// functions.
//
// Only lookups of an intercepted function through an explicit handle or the default search are
// answered by us. All others are forwarded by a jump, not a call: RTLD_NEXT means "after the
// calling library", which the C library derives from the return address. This file is therefore
// always compiled with optimisation (CMakeLists.txt), and no destructor may run after the jump.

#include <dlfcn.h>

#include "egl/preload/preload.h"

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle,
                                                              const char* name) noexcept {
  using namespace tally::egl;
  const DlSym real = real_dlsym();
  if (handle == RTLD_NEXT || !is_ours(name)) return real(handle, name);
  return look_up_ours(handle, name, __builtin_return_address(0));
}
