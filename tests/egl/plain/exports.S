/* The symbols of libEGL.so.1 (TALLY_PLAIN_EGL) or of libGLESv2.so.2. */
#include "egl/preload/jump.inc"

  .text
  .hidden tally_plain_table
  .set tally_index, 0
#ifdef TALLY_PLAIN_EGL
#define PLAIN_EGL(name) EXPORT(name, tally_plain_table)
#define PLAIN_GL(name)
#else
#define PLAIN_EGL(name)
#define PLAIN_GL(name) EXPORT(name, tally_plain_table)
#endif
#include "functions.def"

  .section .note.GNU-stack, "", %progbits
