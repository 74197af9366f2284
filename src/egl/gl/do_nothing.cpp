// Declared in hot.h without a result, since it is called under many types: on the ABIs of Linux the
// caller cleans up the arguments, and a result of any integer or pointer type is read from the
// register that this 0 is returned in.
#include <cstdint>

extern "C" uint64_t tally_egl_do_nothing();
uint64_t tally_egl_do_nothing() { return 0; }
