// Tests the extension's specification sentence by sentence: enumeration, the state machine, sizes,
// strings and errors.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <thread>

#include "support/kit.h"

namespace tally::egl_test {
namespace {

bool lists(const char* words, std::string_view word) {
  return words != nullptr &&
         (" " + std::string(words) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

class Page : public testing::Test {
 protected:
  Page() : context_(display_.handle(), Api::Gles3) { context_.make_current(); }
  ~Page() override { brcm_.set(EGL_RELEASE_COUNTERS_BRCM); }

  void acquire() { ASSERT_TRUE(brcm_.set(EGL_ACQUIRE_COUNTERS_BRCM)); }
  EGLint counters_in(EGLint group) {
    EGLint counters = 0;
    EXPECT_TRUE(brcm_.group_info(group, 0, nullptr, &counters, nullptr));
    return counters;
  }
  EGLint bytes_needed() {
    EGLint bytes = -1;
    EXPECT_TRUE(brcm_.data(0, nullptr, &bytes, EGL_FALSE));
    return bytes;
  }
  // The value of the only chosen counter.
  uint64_t value(bool reset = false) {
    CounterRecord record{};
    EGLint bytes = 0;
    EXPECT_TRUE(brcm_.data(sizeof record, &record, &bytes, reset ? EGL_TRUE : EGL_FALSE));
    EXPECT_EQ(bytes, EGLint{sizeof record});
    return record.value;
  }
  void clear(int times = 1) {
    for (int i = 0; i < times; i++) glClear(GL_COLOR_BUFFER_BIT);
  }
  void choose_clears() {
    const EGLint clears = 10;
    ASSERT_EQ(counter_name(brcm_, 0, clears), "Clears");
    EGLint list = clears;
    ASSERT_TRUE(brcm_.choose(EGL_TRUE, 0, 1, &list));
  }

  Display display_;
  Context context_;
  Brcm brcm_;
};

#define EXPECT_EGL_ERROR(error, call)      \
  do {                                     \
    EXPECT_FALSE(call);                    \
    EXPECT_EQ(eglGetError(), error);       \
    EXPECT_EQ(eglGetError(), EGL_SUCCESS); \
  } while (false)

TEST_F(Page, the_display_lists_the_extension_once) {
  const std::string list = eglQueryString(display_.handle(), EGL_EXTENSIONS);
  EXPECT_TRUE(lists(list.c_str(), "EGL_BRCM_performance_counters"));
  EXPECT_EQ(list.find("EGL_BRCM"), list.rfind("EGL_BRCM"));
  EXPECT_EQ(eglQueryString(display_.handle(), EGL_EXTENSIONS),
            eglQueryString(display_.handle(), EGL_EXTENSIONS));
}

TEST_F(Page, the_client_extensions_list_it_too) {
  EXPECT_TRUE(
      lists(eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS), "EGL_BRCM_performance_counters"));
}

TEST_F(Page, invalid_constants_are_bad_parameters) {
  EXPECT_EQ(brcm_.constant(EGL_ACQUIRE_COUNTERS_BRCM), 0);
  EXPECT_EQ(eglGetError(), EGL_BAD_PARAMETER);
  EXPECT_GT(brcm_.constant(EGL_NUM_COUNTER_GROUPS_BRCM), 0);
  EXPECT_EQ(eglGetError(), EGL_SUCCESS);
}

TEST_F(Page, walking_upward_ends_where_the_numbers_say) {
  const EGLint groups = brcm_.constant(EGL_NUM_COUNTER_GROUPS_BRCM);
  ASSERT_GE(groups, 4);
  for (EGLint g = 0; g < groups; g++) {
    const EGLint counters = counters_in(g);
    EXPECT_GT(counters, 0);
    EXPECT_NE(counter_name(brcm_, g, counters - 1), "");
    EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.counter_info(g, counters, nullptr, nullptr, nullptr,
                                                           0, nullptr, 0, nullptr));
    EXPECT_EGL_ERROR(EGL_BAD_PARAMETER,
                     brcm_.counter_info(g, -1, nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr));
  }
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.group_info(groups, 0, nullptr, nullptr, nullptr));
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.group_info(-1, 0, nullptr, nullptr, nullptr));
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.counter_info(groups, 0, nullptr, nullptr, nullptr, 0,
                                                         nullptr, 0, nullptr));
}

TEST_F(Page, every_counter_describes_itself_within_bounds) {
  const auto longest = static_cast<size_t>(brcm_.constant(EGL_MAX_COUNTER_STRING_LEN_BRCM));
  ASSERT_GT(longest, 16u);
  std::set<std::string> groups;
  for (EGLint g = 0; g < brcm_.constant(EGL_NUM_COUNTER_GROUPS_BRCM); g++) {
    EXPECT_TRUE(groups.insert(group_name(brcm_, g)).second);
    EXPECT_LT(group_name(brcm_, g).size(), longest);
    EGLint counters = 0, active = 0;
    ASSERT_TRUE(brcm_.group_info(g, 0, nullptr, &counters, &active));
    EXPECT_GT(active, 0);
    EXPECT_LE(active, counters);
    std::set<std::string> names;
    for (EGLint c = 0; c < counters; c++) {
      std::array<char, 256> name{}, unit{};
      EGLuint64BRCM least = 1, most = 0, denominator = 0;
      ASSERT_TRUE(brcm_.counter_info(g, c, &least, &most, &denominator, name.size(), name.data(),
                                     unit.size(), unit.data()));
      EXPECT_TRUE(names.insert(name.data()).second) << name.data();
      EXPECT_LT(std::strlen(name.data()), longest);
      EXPECT_LT(std::strlen(unit.data()), longest);
      EXPECT_LT(least, most) << name.data();
      EXPECT_GT(denominator, 0u);
      EXPECT_LE(most, UINT64_MAX / denominator) << name.data();
    }
  }
}

TEST_F(Page, strings_end_within_the_size_given) {
  std::array<char, 8> text;
  text.fill('#');
  EXPECT_TRUE(brcm_.group_info(2, 4, text.data(), nullptr, nullptr));
  EXPECT_EQ(std::string(text.data()), "Pro");
  EXPECT_EQ(text[4], '#');
  text.fill('#');
  EXPECT_TRUE(brcm_.group_info(2, 1, text.data(), nullptr, nullptr));
  EXPECT_EQ(text[0], '\0');
  EXPECT_EQ(text[1], '#');
  text.fill('#');
  EXPECT_TRUE(brcm_.group_info(2, 0, text.data(), nullptr, nullptr));
  EXPECT_EQ(text[0], '#');
  EXPECT_TRUE(brcm_.group_info(2, 8, nullptr, nullptr, nullptr));

  std::array<char, 8> unit;
  text.fill('#');
  unit.fill('#');
  EXPECT_TRUE(brcm_.counter_info(0, 0, nullptr, nullptr, nullptr, 5, text.data(), 3, unit.data()));
  EXPECT_EQ(std::string(text.data()), "Draw");
  EXPECT_EQ(std::string(unit.data()), "ca");
  EXPECT_EQ(text[5], '#');
  EXPECT_EQ(unit[3], '#');
}

TEST_F(Page, without_acquiring_everything_is_bad_access) {
  EGLint bytes = 0;
  std::array<char, 64> data;
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.set(EGL_RELEASE_COUNTERS_BRCM));
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.set(EGL_START_COUNTERS_BRCM));
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.set(EGL_STOP_COUNTERS_BRCM));
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.choose(EGL_TRUE, 0, 0, nullptr));
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.data(data.size(), data.data(), &bytes, EGL_FALSE));
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.data(0, nullptr, &bytes, EGL_FALSE));
}

TEST_F(Page, an_invalid_pname_is_a_bad_parameter) {
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.set(EGL_NUM_COUNTER_GROUPS_BRCM));
  acquire();
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.set(0));
}

TEST_F(Page, the_same_client_may_acquire_again) {
  acquire();
  EXPECT_TRUE(brcm_.set(EGL_ACQUIRE_COUNTERS_BRCM));
  EXPECT_TRUE(brcm_.set(EGL_RELEASE_COUNTERS_BRCM));
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.set(EGL_RELEASE_COUNTERS_BRCM));
}

TEST_F(Page, invalid_indices_choose_nothing) {
  acquire();
  const EGLint groups = brcm_.constant(EGL_NUM_COUNTER_GROUPS_BRCM);
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.choose(EGL_TRUE, groups, 0, nullptr));
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.choose(EGL_TRUE, -1, 0, nullptr));
  EGLint list[] = {0, 1, counters_in(0)};
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.choose(EGL_TRUE, 0, 3, list));
  EXPECT_EQ(bytes_needed(), 0);
  list[2] = -1;
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.choose(EGL_TRUE, 0, 3, list));
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.choose(EGL_TRUE, 0, -1, list));
  EXPECT_EQ(bytes_needed(), 0);
}

TEST_F(Page, no_list_or_no_number_means_the_whole_group) {
  acquire();
  EGLint list[] = {3};
  EXPECT_TRUE(brcm_.choose(EGL_TRUE, 0, 0, list));
  EXPECT_EQ(bytes_needed(), counters_in(0) * 16);
  EXPECT_TRUE(brcm_.choose(EGL_FALSE, 0, 5, nullptr));
  EXPECT_EQ(bytes_needed(), 0);
}

TEST_F(Page, counters_are_chosen_and_unchosen_one_by_one) {
  acquire();
  EGLint list[] = {3, 7, 3};
  EXPECT_TRUE(brcm_.choose(EGL_TRUE, 0, 3, list));
  EXPECT_EQ(bytes_needed(), 32);
  EXPECT_TRUE(brcm_.choose(EGL_TRUE, 1, 1, list));
  EXPECT_EQ(bytes_needed(), 48);
  std::array<CounterRecord, 4> records{};
  EGLint bytes = 0;
  EXPECT_TRUE(brcm_.data(sizeof records, records.data(), &bytes, EGL_FALSE));
  EXPECT_EQ(bytes, 48);
  EXPECT_EQ(records[0].counter, 3u);
  EXPECT_EQ(records[1].counter, 7u);
  EXPECT_EQ(records[2].group, 1u);
  EXPECT_TRUE(brcm_.choose(EGL_FALSE, 0, 1, list));
  EXPECT_EQ(bytes_needed(), 32);
}

TEST_F(Page, the_size_is_asked_for_with_null_or_zero) {
  acquire();
  EXPECT_TRUE(brcm_.choose(EGL_TRUE, 0, 0, nullptr));
  const EGLint needed = counters_in(0) * 16;
  EGLint bytes = 0;
  std::array<char, 16> data;
  data.fill('#');
  EXPECT_TRUE(brcm_.data(1000, nullptr, &bytes, EGL_FALSE));
  EXPECT_EQ(bytes, needed);
  bytes = 0;
  EXPECT_TRUE(brcm_.data(0, data.data(), &bytes, EGL_FALSE));
  EXPECT_EQ(bytes, needed);
  EXPECT_EQ(data[0], '#');
  EXPECT_TRUE(brcm_.data(0, nullptr, nullptr, EGL_FALSE));
  EXPECT_EGL_ERROR(EGL_BAD_PARAMETER, brcm_.data(-1, data.data(), &bytes, EGL_FALSE));
}

TEST_F(Page, asking_for_the_size_resets_nothing) {
  acquire();
  choose_clears();
  ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
  clear(2);
  EGLint bytes = 0;
  EXPECT_TRUE(brcm_.data(0, nullptr, &bytes, EGL_TRUE));
  EXPECT_EQ(value(), 2u);
}

TEST_F(Page, a_short_buffer_gets_whole_records_only) {
  acquire();
  EXPECT_TRUE(brcm_.choose(EGL_TRUE, 0, 0, nullptr));
  std::array<unsigned char, 64> data;
  data.fill(0xEE);
  EGLint bytes = 0;
  EXPECT_TRUE(brcm_.data(47, data.data(), &bytes, EGL_FALSE));
  EXPECT_EQ(bytes, 32);
  EXPECT_EQ(data[32], 0xEE);
  EXPECT_TRUE(brcm_.data(15, data.data(), &bytes, EGL_FALSE));
  EXPECT_EQ(bytes, 0);
  EXPECT_TRUE(brcm_.data(64, data.data(), nullptr, EGL_FALSE));
}

TEST_F(Page, records_may_lie_at_any_address) {
  acquire();
  choose_clears();
  std::array<unsigned char, 33> data;
  data.fill(0xEE);
  EGLint bytes = 0;
  EXPECT_TRUE(brcm_.data(32, data.data() + 1, &bytes, EGL_FALSE));
  EXPECT_EQ(bytes, 16);
  EXPECT_EQ(data[5], 10);
  EXPECT_EQ(data[17], 0xEE);
}

TEST_F(Page, nothing_is_counted_before_the_start_and_after_the_stop) {
  acquire();
  choose_clears();
  clear(5);
  EXPECT_EQ(value(), 0u);
  ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
  clear(3);
  EXPECT_EQ(value(), 3u);
  ASSERT_TRUE(brcm_.set(EGL_STOP_COUNTERS_BRCM));
  clear(7);
  EXPECT_EQ(value(), 3u);
}

TEST_F(Page, starting_again_resumes) {
  acquire();
  choose_clears();
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
    ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
    clear(2);
    ASSERT_TRUE(brcm_.set(EGL_STOP_COUNTERS_BRCM));
    ASSERT_TRUE(brcm_.set(EGL_STOP_COUNTERS_BRCM));
    clear(2);
  }
  EXPECT_EQ(value(), 6u);
}

TEST_F(Page, reading_resets_only_when_asked) {
  acquire();
  choose_clears();
  ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
  clear(2);
  EXPECT_EQ(value(), 2u);
  EXPECT_EQ(value(true), 2u);
  EXPECT_EQ(value(), 0u);
  clear(4);
  EXPECT_EQ(value(), 4u);
  ASSERT_TRUE(brcm_.set(EGL_STOP_COUNTERS_BRCM));
  EXPECT_EQ(value(true), 4u);
  EXPECT_EQ(value(), 0u);
}

TEST_F(Page, choosing_while_counting_resets_and_goes_on) {
  acquire();
  choose_clears();
  ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
  clear(2);
  EGLint draws = 0;
  ASSERT_TRUE(brcm_.choose(EGL_TRUE, 0, 1, &draws));
  clear(3);
  glDrawArrays(GL_POINTS, 0, 1);
  std::array<CounterRecord, 2> records{};
  EGLint bytes = 0;
  EXPECT_TRUE(brcm_.data(sizeof records, records.data(), &bytes, EGL_FALSE));
  EXPECT_EQ(records[0].value, 1u);
  EXPECT_EQ(records[1].value, 3u);
}

TEST_F(Page, choosing_while_stopped_keeps_what_others_counted) {
  acquire();
  choose_clears();
  ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
  clear(2);
  ASSERT_TRUE(brcm_.set(EGL_STOP_COUNTERS_BRCM));
  EGLint flushes = 36;
  ASSERT_TRUE(brcm_.choose(EGL_TRUE, 0, 1, &flushes));
  std::array<CounterRecord, 2> records{};
  EXPECT_TRUE(brcm_.data(sizeof records, records.data(), nullptr, EGL_FALSE));
  EXPECT_EQ(records[0].value, 2u);
  EXPECT_EQ(records[1].value, 0u);
}

TEST_F(Page, release_forgets_choice_and_values) {
  acquire();
  choose_clears();
  ASSERT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
  clear(2);
  EXPECT_TRUE(brcm_.set(EGL_RELEASE_COUNTERS_BRCM));
  acquire();
  EXPECT_EQ(bytes_needed(), 0);
  choose_clears();
  clear(2);
  EXPECT_EQ(value(), 0u);
}

TEST_F(Page, an_error_is_the_calling_threads_own) {
  EXPECT_FALSE(brcm_.set(EGL_STOP_COUNTERS_BRCM));
  std::thread([] { EXPECT_EQ(eglGetError(), EGL_SUCCESS); }).join();
  EXPECT_EQ(eglGetError(), EGL_BAD_ACCESS);
}

TEST_F(Page, another_egl_call_replaces_the_error) {
  EXPECT_FALSE(brcm_.set(EGL_STOP_COUNTERS_BRCM));
  EXPECT_NE(eglQueryString(display_.handle(), EGL_VERSION), nullptr);
  EXPECT_EQ(eglGetError(), EGL_SUCCESS);
  EXPECT_FALSE(eglMakeCurrent(nullptr, nullptr, nullptr, nullptr));
  EXPECT_TRUE(brcm_.group_info(0, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(eglGetError(), EGL_SUCCESS);
}

TEST_F(Page, threads_of_a_process_are_one_client) {
  acquire();
  choose_clears();
  std::thread([&] {
    EXPECT_TRUE(brcm_.set(EGL_ACQUIRE_COUNTERS_BRCM));
    EXPECT_TRUE(brcm_.set(EGL_START_COUNTERS_BRCM));
  }).join();
  clear(2);
  std::thread([&] {
    EXPECT_EQ(value(), 2u);
    EXPECT_TRUE(brcm_.set(EGL_RELEASE_COUNTERS_BRCM));
  }).join();
  EXPECT_EGL_ERROR(EGL_BAD_ACCESS, brcm_.set(EGL_STOP_COUNTERS_BRCM));
}

}  // namespace
}  // namespace tally::egl_test
