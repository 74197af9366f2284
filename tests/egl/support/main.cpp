// Puts Tally in front of the real EGL, then runs the tests. TALLY_TEST_EGL says how: "vendor" (the default) or "as is",
// where the environment has done it already (the preload library).
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

int main(int argc, char** argv) {
  const char* const how = getenv("TALLY_TEST_EGL");
  if (how == nullptr || std::string(how) == "vendor") {
    setenv("__EGL_VENDOR_LIBRARY_FILENAMES", TALLY_TEST_MANIFESTS "/10_tally.json", 0);
  }
  // A profiler at work elsewhere on the machine does not matter here.
  setenv("TALLY_PROFILING_LOCK", ("tally-egl-test-" + std::to_string(getpid())).c_str(), 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
