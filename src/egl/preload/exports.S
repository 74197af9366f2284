/* The exported symbols of the preload library. Each jumps to its stub or thunk. They are written in
 * assembly because a symbol for functions of any signature has no other common form. The tables are
 * in the order of the .def files. */

#include "egl/preload/jump.inc"

  .text
  .hidden tally_egl_gl_stubs
  .hidden tally_egl_thunks

  .set tally_index, 0
#define GL(function, handler) EXPORT(function, tally_egl_gl_stubs)
#include "egl/gl/functions.def"
#undef GL

  .set tally_index, 0
#define EGL(function, handler) EXPORT(function, tally_egl_thunks)
#include "egl/front/functions.def"
#undef EGL

  .section .note.GNU-stack, "", %progbits
