// hot.h declares this function without a result, because it is called under many types. On the
// Linux ABIs the caller cleans up the arguments, and a result of any integer or pointer type is
// read from the register in which this function returns 0.
#include <cstdint>

extern "C" uint64_t tally_egl_do_nothing();
uint64_t tally_egl_do_nothing() { return 0; }
