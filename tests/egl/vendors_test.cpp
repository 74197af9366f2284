// Several vendors at the same time: Mesa and the fake vendor. The environment (CMakeLists.txt)
// selects how libEGL and Tally find them; an application sees the same in each case.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <latch>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fake/fake_egl.h"
#include "support/kit.h"

namespace tally::egl_test {
namespace {

EGLDisplay fake_display() {
  const EGLDisplay display = eglGetPlatformDisplay(kFakePlatform, nullptr, nullptr);
  EXPECT_TRUE(eglInitialize(display, nullptr, nullptr));
  return display;
}

std::string vendor_of(EGLDisplay display) {
  const char* const text = eglQueryString(display, EGL_VENDOR);
  return text != nullptr ? text : "";
}

TEST(BothVendors, each_display_has_its_vendor) {
  const Display mesa;
  const EGLDisplay fake = fake_display();
  EXPECT_EQ(vendor_of(mesa.handle()), "Mesa Project");
  EXPECT_EQ(vendor_of(fake), "Fake");
}

TEST(BothVendors, calls_go_to_the_vendor_of_the_current_context) {
  const Display mesa;
  const EGLDisplay fake = fake_display();
  const Context a(mesa.handle(), Api::GlCore), b(fake, Api::GlCore);
  Client client;
  a.make_current();
  client.choose("GPU", "Primitives generated");
  client.choose("API", "Draw calls");
  b.make_current();
  client.choose("Pipeline", "Draws");
  client.start();
  for (int i = 0; i < 3; i++) {
    a.make_current();
    EXPECT_NE(std::string(reinterpret_cast<const char*>(glGetString(GL_VERSION))).find("Mesa"),
              std::string::npos);
    use_flat_program(true);
    use_positions({5, 5, 6, 5, 5, 6});
    glDrawArrays(GL_TRIANGLES, 0, 3);
    b.make_current();
    EXPECT_STREQ(reinterpret_cast<const char*>(glGetString(GL_VERSION)), "4.6 fake");
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glDrawArrays(GL_TRIANGLES, 0, 3);
  }
  const auto values = client.read();
  EXPECT_EQ(values.at("Primitives generated"), 3u);
  EXPECT_EQ(values.at("Draws"), 6u);
  EXPECT_EQ(values.at("Draw calls"), 9u);
}

TEST(BothVendors, errors_come_from_the_vendor_that_was_called) {
  const Display mesa;
  const EGLDisplay fake = fake_display();
  EGLint value = 0;
  EXPECT_FALSE(eglQueryContext(mesa.handle(), nullptr, EGL_CONFIG_ID, &value));
  EXPECT_EQ(eglGetError(), EGL_BAD_CONTEXT);
  EXPECT_TRUE(eglQueryContext(fake, nullptr, EGL_CONFIG_ID, &value));
  EXPECT_EQ(eglGetError(), EGL_SUCCESS);
}

TEST(BothVendors, devices_of_both_are_listed_and_usable) {
  EGLint count = 0;
  ASSERT_TRUE(TALLY_FUNCTION(eglQueryDevicesEXT)(0, nullptr, &count));
  std::vector<EGLDeviceEXT> devices(static_cast<size_t>(count));
  ASSERT_TRUE(TALLY_FUNCTION(eglQueryDevicesEXT)(count, devices.data(), &count));
  std::vector<std::string> vendors;
  for (const EGLDeviceEXT device : devices) {
    const EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, device, nullptr);
    if (eglInitialize(display, nullptr, nullptr)) vendors.push_back(vendor_of(display));
  }
  EXPECT_NE(std::find(vendors.begin(), vendors.end(), "Mesa Project"), vendors.end());
  EXPECT_NE(std::find(vendors.begin(), vendors.end(), "Fake"), vendors.end());
}

// One manifest of ours with two vendors behind it: the vendor of the application's display serves.
TEST(OnePlace, serves_with_the_vendor_that_gives_a_display) {
  const Display mesa;
  EXPECT_EQ(vendor_of(mesa.handle()), "Mesa Project");
  const Context context(mesa.handle(), Api::Gles3);
  context.make_current();
  EXPECT_NE(std::string(reinterpret_cast<const char*>(glGetString(GL_VERSION))).find("Mesa"),
            std::string::npos);
}

TEST(OnePlaceDevices, of_all_vendors_are_listed) {
  EGLint count = 0;
  std::vector<EGLDeviceEXT> devices(8);
  ASSERT_TRUE(TALLY_FUNCTION(eglQueryDevicesEXT)(8, devices.data(), &count));
  ASSERT_GE(count, 2);
  const EGLDisplay last = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[0], nullptr);
  ASSERT_TRUE(eglInitialize(last, nullptr, nullptr));
  EXPECT_EQ(vendor_of(last), "Fake");
}

// Half of the threads ask for a display that only Mesa has, half for one that only the fake has.
TEST(OnePlaceThreads, agree_on_the_vendor_that_serves) {
  constexpr size_t kThreads = 8;
  std::array<EGLDisplay, kThreads> displays{};
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; i++) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      EXPECT_NE(eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS), nullptr);
      const EGLenum platform = i % 2 == 0 ? EGL_PLATFORM_SURFACELESS_MESA : kFakePlatform;
      displays[i] = eglGetPlatformDisplay(platform, nullptr, nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const bool mesa_serves = displays[0] != EGL_NO_DISPLAY;
  for (size_t i = 0; i < kThreads; i++) {
    EXPECT_EQ(displays[i] != EGL_NO_DISPLAY, mesa_serves == (i % 2 == 0)) << i;
  }
}

// libEGL merges the lists of its vendors, and aborts the process if one of them has a word twice.
TEST(OnePlaceExtensions, are_those_of_all_vendors_each_once) {
  std::istringstream words(eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS));
  std::multiset<std::string> found{std::istream_iterator<std::string>(words), {}};
  EXPECT_EQ(found.count("EGL_EXT_client_extensions"), 1U);
  for (const std::string& word : found) EXPECT_EQ(found.count(word), 1U) << word;
}

TEST(OnePlaceErrors, no_vendor_knows_the_platform) {
  EXPECT_EQ(eglGetPlatformDisplay(0x1234, nullptr, nullptr), EGL_NO_DISPLAY);
  EXPECT_EQ(eglGetError(), EGL_BAD_PARAMETER);
}

TEST(NativeExtension, a_driver_that_has_it_keeps_it) {
  const EGLDisplay fake = fake_display();
  const std::string list = eglQueryString(fake, EGL_EXTENSIONS);
  EXPECT_EQ(list, "EGL_BRCM_performance_counters");
  const auto constant =
      function<PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC>("eglGetPerfCounterConstantBRCM");
  EXPECT_EQ(constant(EGL_NUM_COUNTER_GROUPS_BRCM), kFakeGroups);
}

TEST(NoVendor, is_no_display) {
  EXPECT_EQ(eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr), EGL_NO_DISPLAY);
}

}  // namespace
}  // namespace tally::egl_test
