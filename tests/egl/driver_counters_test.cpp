// Driver counters through the AMD and INTEL extensions, on the fake vendor: all counters that it
// offers are listed and counted.
#include <gtest/gtest.h>

#include <array>

#include "fake/fake_egl.h"
#include "support/kit.h"

namespace tally::egl_test {
namespace {

class DriverCounters : public testing::Test {
 protected:
  DriverCounters()
      : display_(eglGetPlatformDisplay(kFakePlatform, nullptr, nullptr)),
        initialized_(eglInitialize(display_, nullptr, nullptr)),
        context_(display_, Api::GlCore) {
    EXPECT_TRUE(initialized_);
    context_.make_current();
  }

  static void draw(int draws) {
    for (int i = 0; i < draws; i++) glDrawArrays(GL_TRIANGLES, 0, 3);
  }

  EGLDisplay display_;
  EGLBoolean initialized_;
  Context context_;
  Client client_;
};

TEST_F(DriverCounters, groups_and_counters_keep_the_drivers_names) {
  EXPECT_TRUE(client_.find("Shaders", "Counter 4"));
  EXPECT_TRUE(client_.find("Pipeline", "Ratio"));
  EXPECT_FALSE(client_.find_group("GPU"));  // it has no query objects
}

TEST_F(DriverCounters, a_name_that_is_too_long_is_cut) {
  const Brcm brcm;
  const EGLint longest = brcm.constant(EGL_MAX_COUNTER_STRING_LEN_BRCM);
  bool found = false;
  for (EGLint g = 0; g < brcm.constant(EGL_NUM_COUNTER_GROUPS_BRCM); g++) {
    const std::string name = group_name(brcm, g);
    EXPECT_LT(name.size(), static_cast<size_t>(longest));
    found = found || name.starts_with("MMMM");
  }
  EXPECT_TRUE(found);
}

TEST_F(DriverCounters, a_counter_whose_value_would_lie_outside_the_result_is_not_listed) {
  EXPECT_FALSE(client_.find("Pipeline", "Outside"));
}

TEST_F(DriverCounters, only_the_first_max_active_counters_become_active) {
  const Brcm brcm;
  const EGLint group = client_.find_group("Shaders").value();
  EGLint counters = 0, active = 0;
  ASSERT_TRUE(brcm.group_info(group, 0, nullptr, &counters, &active));
  EXPECT_EQ(counters, 4);
  EXPECT_EQ(active, EGLint{kFakeAmdActive});
  client_.choose_all("Shaders");
  auto records = client_.read_records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].counter, 0u);
  EXPECT_EQ(records[1].counter, 1u);
  // Disabling one counter allows another.
  EGLint first = 0;
  std::array<EGLint, 2> more = {3, 2};
  ASSERT_TRUE(brcm.choose(EGL_FALSE, group, 1, &first));
  ASSERT_TRUE(brcm.choose(EGL_TRUE, group, 2, more.data()));
  records = client_.read_records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].counter, 1u);
  EXPECT_EQ(records[1].counter, 3u);
}

TEST_F(DriverCounters, amd_counters_of_every_type) {
  client_.choose("Shaders", "Counter 1");
  client_.choose("Shaders", "Counter 2");
  client_.start();
  draw(3);
  context_.swap();
  draw(4);
  auto values = client_.read();
  EXPECT_EQ(values.at("Counter 1"), 7u * fake_weight(0));
  EXPECT_EQ(values.at("Counter 2"), 7u * fake_weight(1));
  const Brcm brcm;
  brcm.choose(EGL_FALSE, *client_.find_group("Shaders"), 0, nullptr);
  client_.choose("Shaders", "Counter 3");
  client_.choose("Shaders", "Counter 4");
  draw(5);
  values = client_.read();
  EXPECT_EQ(values.at("Counter 3"), 42500u);  // per cent, in thousandths
  EXPECT_EQ(values.at("Counter 4"), 2500u);
}

TEST_F(DriverCounters, intel_counters) {
  client_.choose_all("Pipeline");
  client_.start();
  draw(6);
  context_.swap();
  draw(2);
  const auto values = client_.read(true);
  EXPECT_EQ(values.at("Draws"), 8u);
  EXPECT_EQ(values.at("Busy"), 42500u);
  EXPECT_EQ(values.at("Ratio"), 2000u);
  EXPECT_EQ(client_.read().at("Draws"), 0u);
}

TEST_F(DriverCounters, several_groups_at_once) {
  client_.choose("Shaders", "Counter 1");
  client_.choose_all("Pipeline");
  client_.choose("API", "Draw calls");
  client_.start();
  draw(9);
  const auto values = client_.read();
  EXPECT_EQ(values.at("Counter 1"), 9u * fake_weight(0));
  EXPECT_EQ(values.at("Draws"), 9u);
  EXPECT_EQ(values.at("Draw calls"), 9u);
}

TEST_F(DriverCounters, the_applications_own_monitor_wins) {
  const auto gen = function<void (*)(GLsizei, GLuint*)>("glGenPerfMonitorsAMD");
  const auto select = function<void (*)(GLuint, GLboolean, GLuint, GLint, GLuint*)>(
      "glSelectPerfMonitorCountersAMD");
  const auto begin = function<void (*)(GLuint)>("glBeginPerfMonitorAMD");
  const auto end = function<void (*)(GLuint)>("glEndPerfMonitorAMD");
  const auto data = function<void (*)(GLuint, GLenum, GLsizei, GLuint*, GLint*)>(
      "glGetPerfMonitorCounterDataAMD");
  client_.choose("Shaders", "Counter 1");
  client_.start();
  draw(2);
  GLuint monitor = 0, group = 7, counter = 1;
  gen(1, &monitor);
  select(monitor, GL_TRUE, group, 1, &counter);
  begin(monitor);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  draw(5);
  context_.swap();
  draw(5);
  end(monitor);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  draw(3);
  GLuint result[3] = {};
  GLint written = 0;
  data(monitor, 0x8BC6, sizeof result, result, &written);  // GL_PERFMON_RESULT_AMD
  EXPECT_EQ(result[2], 10 * fake_weight(0));
  EXPECT_EQ(client_.read().at("Counter 1"), 5u * fake_weight(0));
}

TEST_F(DriverCounters, contexts_that_are_gone_stay_in_the_sum) {
  client_.choose("Pipeline", "Draws");
  client_.start();
  for (int i = 0; i < 3; i++) {
    const Context other(display_, Api::GlCore);
    other.make_current();
    draw(4);
  }
  context_.make_current();
  EXPECT_EQ(client_.read().at("Draws"), 12u);
}

}  // namespace
}  // namespace tally::egl_test
