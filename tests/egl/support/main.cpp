// Puts Tally in front of the real EGL, then runs the tests. TALLY_TEST_EGL selects how: "vendor"
// (the default), or "as is" if the environment has done it already (the preload library).
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace tally::egl_test {
// A test program may define this to handle these arguments itself: returns the exit status, or -1
// to run the tests.
__attribute__((weak)) int run_instead(int argc, char** argv);
}  // namespace tally::egl_test

int main(int argc, char** argv) {
  const char* const how = getenv("TALLY_TEST_EGL");
  if (how == nullptr || std::string(how) == "vendor") {
    setenv("__EGL_VENDOR_LIBRARY_FILENAMES", TALLY_TEST_MANIFESTS "/10_tally.json", 0);
  }
  // Uses a private lock, so a profiler running on this machine does not interfere.
  setenv("TALLY_PROFILING_LOCK", ("tally-egl-test-" + std::to_string(getpid())).c_str(), 0);
  if (tally::egl_test::run_instead != nullptr) {
    const int status = tally::egl_test::run_instead(argc, argv);
    if (status >= 0) return status;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
