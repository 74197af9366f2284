// The GL part of the fake vendor.
#pragma once

namespace tally::egl_test {

// Returns a GL function by name. Functions that the fake does not implement do nothing.
void* fake_gl(const char* name);

}  // namespace tally::egl_test
