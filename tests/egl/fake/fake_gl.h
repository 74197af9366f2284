// GL's side of the fake vendor.
#pragma once

namespace tally::egl_test {

// A function of GL by name; those that the fake does not play do nothing.
void* fake_gl(const char* name);

}  // namespace tally::egl_test
