// A vendor library for tests and benchmarks: an EGL that draws nothing and takes no time, on its
// own platform, with driver counters whose values follow from the number of draws.
#pragma once

namespace tally::egl_test {

// Platforms for eglGetPlatformDisplay that no real vendor knows. The second belongs to a copy of
// the library, so that a program can use one copy behind Tally and one directly.
inline constexpr int kFakePlatform = 0x7A11;
inline constexpr int kSecondFakePlatform = 0x7A12;

// Environment setting: with TALLY_FAKE_BRCM=1 the fake itself offers EGL_BRCM_performance_counters,
// with this many groups:
inline constexpr int kFakeGroups = 4711;

// Each counter counts the draws while it is active, multiplied by this weight for counter n (from
// 0):
constexpr unsigned fake_weight(unsigned counter) { return 10 * (counter + 1); }
inline constexpr float kFakePercentage = 42.5f;
inline constexpr unsigned kFakeAmdActive =
    2;  // of the four counters of the group "Shaders" at the same time

}  // namespace tally::egl_test
