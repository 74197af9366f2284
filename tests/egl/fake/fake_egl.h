// A vendor library for tests and benchmarks: an EGL that draws nothing and takes no time, on a
// platform of its own, with driver counters whose values follow from the number of draws.
#pragma once

namespace tally::egl_test {

// For eglGetPlatformDisplay. No real vendor knows them. The second is that of a copy of the
// library, so that a program can have one behind Tally and one as it is.
inline constexpr int kFakePlatform = 0x7A11;
inline constexpr int kSecondFakePlatform = 0x7A12;

// Settings of the environment: TALLY_FAKE_BRCM=1, it has EGL_BRCM_performance_counters itself, with
// so many groups:
inline constexpr int kFakeGroups = 4711;

// A counter of either kind counts draws while it is active, times this for counter n (from 0):
constexpr unsigned fake_weight(unsigned counter) { return 10 * (counter + 1); }
inline constexpr float kFakePercentage = 42.5f;
inline constexpr unsigned kFakeAmdActive = 2;  // of the four of the group "Shaders" at a time

}  // namespace tally::egl_test
