// A library that is called like NVIDIA's, and looks up functions.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) void* look_up(void* handle, const char* name) {
  void* const found = dlsym(handle, name);
  asm volatile("" ::: "memory");  // no tail call: the return address is in this library
  return found;
}
