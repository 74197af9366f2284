#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/frame_range.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/text.h"
#include "platform/files.h"

namespace tally {
namespace {

const std::vector<KnownName> kColumns = {
    {"gpu_time", "GPU time"}, {"fma", "multiply-adds"}, {"fma_share", ""}, {"time", "gpu_time"}};

Result<std::unique_ptr<int>> boxed(int number) {
  if (number < 0) return Error{"too small"};
  return std::make_unique<int>(number);
}

// The sum of two boxed numbers, if the first is no more than ten; `reached` says how far it came.
Result<int> sum(int first, int second, int& reached) {
  const auto a = TALLY_TRY(boxed(first));
  reached = 1;
  TALLY_TRY(*a > 10 ? Status(Error{"too large"}) : Status());
  reached = 2;
  int b = 0;
  b = TALLY_TRY([&]() -> Result<int> {
    const auto inner = TALLY_TRY(with_context(boxed(second), "second"));
    return *inner;
  }());
  reached = 3;
  return *a + b;
}

TEST(Try, gives_the_value_or_returns_the_failure_at_once) {
  int reached = 0;
  EXPECT_EQ(*sum(1, 2, reached), 3);
  EXPECT_EQ(reached, 3);
  reached = 0;
  EXPECT_EQ(sum(-1, 2, reached).error().message, "too small");
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(sum(11, 2, reached).error().message, "too large");
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(sum(1, -1, reached).error().message, "second: too small");
  EXPECT_EQ(reached, 2);
}

TEST(UserNames, a_heading_stands_for_its_column_and_an_id_comes_first) {
  EXPECT_EQ(*find_name("column", "GPU time", kColumns), 0u);
  EXPECT_EQ(*find_name("column", "multiply-adds", kColumns), 1u);
  EXPECT_EQ(*find_name("column", "Multiply Adds", kColumns), 1u);
  EXPECT_EQ(*find_name("column", "time", kColumns), 3u);
}

TEST(UserNames, a_slip_is_named_and_another_word_is_not) {
  EXPECT_EQ(find_name("column", "gpu_tmie", kColumns).error().message,
            "there is no column 'gpu_tmie'; did you mean gpu_time? The columns are gpu_time, fma, "
            "fma_share, time");
  EXPECT_EQ(find_name("column", "colour", kColumns).error().message,
            "there is no column 'colour'; the columns are gpu_time, fma, fma_share, time");
  EXPECT_EQ(similar_name("reprot", {"run", "report", "top"}), "report");
  EXPECT_EQ(similar_name("frobnicate", {"run", "report", "top"}), "");
  EXPECT_EQ(similar_name("x", {"y"}), "");
}

std::string chosen_of(const char* text, int64_t every, int64_t end) {
  const auto choice = FrameChoice::parse(text, every);
  std::string frames;
  for (int64_t i = 0; choice && i < end; ++i) frames += choice->contains_any(i, i) ? 'x' : '.';
  return frames;
}

TEST(FrameChoice, holds_the_frames_of_all_ranges) {
  EXPECT_EQ(chosen_of("7", 1, 10), ".......x..");
  EXPECT_EQ(chosen_of("8-,2-3,5", 1, 10), "..xx.x..xx");
  EXPECT_EQ(chosen_of("2-6,4-8", 1, 10), "..xxxxxxx.");
  EXPECT_EQ(chosen_of("-1,9223372036854775807", 1, 4), "xx..");
}

TEST(FrameChoice, takes_every_nth_frame_from_the_begin_of_a_range) {
  EXPECT_EQ(chosen_of("0-", 3, 10), "x..x..x..x");
  EXPECT_EQ(chosen_of("1-3,5-", 3, 10), ".x...x..x.");
  EXPECT_EQ(chosen_of("2-5,4-9", 3, 12), "..x..x..x...") << "ranges that overlap are one";
}

TEST(FrameChoice, refuses_what_is_no_list_of_ranges) {
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1;2", "3-1", "1, 2", "x", "-"}) {
    EXPECT_FALSE(FrameChoice::parse(text).has_value()) << text;
  }
}

TEST(FrameChoice, knows_of_any_interval_whether_it_holds_a_chosen_frame) {
  for (const int64_t every : {1, 2, 5, 100}) {
    const auto choice = FrameChoice::parse("3-9,14,20-31,40-", every);
    ASSERT_TRUE(choice.has_value());
    for (int64_t first = 0; first < 60; ++first) {
      bool any = false;
      for (int64_t last = first; last < 60; ++last) {
        any = any || choice->contains_any(last, last);
        EXPECT_EQ(choice->contains_any(first, last), any) << first << "-" << last;
      }
    }
  }
}

TEST(FrameChoice, comes_from_settings_and_what_is_wrong_there_chooses_all) {
  const auto choice = [](const char* frames, const char* every) {
    return frame_choice(Settings::load("tally_x", {{"frames", frames}, {"every", every}}));
  };
  EXPECT_FALSE(choice("4-", "2")->contains_any(5, 5));
  EXPECT_TRUE(choice("4-", "2")->contains_any(6, 6));
  EXPECT_TRUE(choice("four", "1")->contains_any(5, 5));
  EXPECT_TRUE(choice("4-", "0")->contains_any(5, 5));
  EXPECT_FALSE(frame_choice(Settings::load("tally_x", {{"trigger", "1"}})).has_value());
}

TEST(Settings, file_lines_of_another_layer_are_ignored) {
  const auto values = parse_settings_file(
      "# a comment\n"
      "khronos_validation.log_file = other\n"
      "tally_counters.log_file = mine # not a comment\r\n"
      "  tally_counters.Path=\"with spaces \"\n"
      "tally_counters_x.log_file = foreign\n"
      "tally_counters. = nameless\n"
      "nonsense\n",
      "tally_counters");
  EXPECT_EQ(values.at("log_file"), "mine # not a comment");
  EXPECT_EQ(values.at("path"), "with spaces ");
  EXPECT_EQ(values.count("log_file_x"), 0u);
  EXPECT_EQ(values.size(), 2u);
}

TEST(Settings, values_that_do_not_parse_give_the_default) {
  const Settings settings = Settings::load(
      "tally_x", {{"flag", "perhaps"}, {"number", "12x"}, {"big", "70"}, {"yes", "ON"}});
  EXPECT_TRUE(settings.flag("flag", true));
  EXPECT_FALSE(settings.flag("flag", false));
  EXPECT_TRUE(settings.flag("yes", false));
  EXPECT_EQ(settings.number("number", 3, 0, 100), 3u);
  EXPECT_EQ(settings.number("big", 5, 0, 64), 5u);
  EXPECT_EQ(settings.number("big", 5, 0, 70), 70u);
}

TEST(Log, control_characters_of_settings_do_not_reach_the_terminal) {
  const Settings settings =
      Settings::load("tally_x", {{"n", "1\x1b[2J\nerror: \xc2\x9b\x7f\xc3\xa9"}});
  testing::internal::CaptureStderr();
  settings.number("n", 3, 0, 100);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("1\\x1b[2J\\x0aerror: \xc2\\x9b\\x7f\xc3\xa9"), text.npos) << text;
}

class SmallFile : public testing::Test {
 public:
  SmallFile()
      : folder_(*platform::make_unique_folder(platform::temporary_folder() + "/tally-files-")) {}
  ~SmallFile() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_;
};

TEST_F(SmallFile, is_read_completely_and_others_give_an_error) {
  const std::string a = file("a \xc3\xa4 \xe6\x97\xa5");
  std::ofstream(std::filesystem::path(a)) << "12345";
  EXPECT_EQ(*read_small_file(a, 5), "12345");
  EXPECT_EQ(read_small_file(a, 4).error().message, a + ": has more than 4 bytes");
  EXPECT_FALSE(read_small_file(folder_));
  EXPECT_EQ(read_small_file(file("missing")).error().message,
            file("missing") + ": No such file or directory");
}

TEST_F(SmallFile, of_the_log_holds_the_messages_of_its_level) {
  configure_log("unit", LogLevel::Warning, file("log"));
  log(LogLevel::Warning, "number {}", 7);
  log(LogLevel::Info, "too chatty");
  log_once(LogLevel::Error, "again");
  log_once(LogLevel::Error, "again");
  configure_log("unit", LogLevel::Warning, "");
  EXPECT_EQ(*read_small_file(file("log")), "unit: warning: number 7\nunit: error: again\n");
}

TEST_F(SmallFile, that_is_renamed_keeps_or_replaces_another) {
  using platform::Existing;
  const platform::Folder& current = platform::Folder::current();
  std::ofstream(file("a")) << "a";
  std::ofstream(file("b")) << "b";
  EXPECT_FALSE(current.rename_file(file("a"), file("b"), Existing::Keep));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(*read_small_file(file("b")), "b");
  EXPECT_TRUE(current.rename_file(file("a"), file("b"), Existing::Replace));
  EXPECT_EQ(*read_small_file(file("b")), "a");
  EXPECT_FALSE(read_small_file(file("a")));
}

TEST_F(SmallFile, in_a_locked_folder_tells_that_its_owner_runs) {
  std::optional<platform::FolderLock> lock = platform::FolderLock::take(folder_, true);
  EXPECT_TRUE(lock);
  EXPECT_FALSE(platform::FolderLock::take(folder_, true)) << "it is locked";
  lock.reset();
  EXPECT_TRUE(platform::FolderLock::take(folder_, true));
}

TEST(Hash, is_stable_across_machines_and_differs_for_similar_inputs) {
  const std::array<uint32_t, 3> words{1, 2, 3};
  EXPECT_EQ(hash_words(words), hash_bytes(std::as_bytes(std::span(words))));
  EXPECT_EQ(to_string(Hash128{0x1234, 0xabcdef}), "00000000000012340000000000abcdef");
  // The output of `xxh128sum` for these bytes.
  EXPECT_EQ(to_string(hash_words({})), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(to_string(hash_words(words)), "a76f94d1118f3bcfe6d1006dda205ce7");
  std::set<Hash128> seen{hash_words({})};
  std::vector<uint32_t> buffer(64, 0);
  for (size_t length = 1; length <= buffer.size(); ++length) {
    EXPECT_TRUE(seen.insert(hash_words(std::span(buffer).first(length))).second) << length;
  }
  for (size_t bit = 0; bit < 64 * 32; ++bit) {
    buffer[bit / 32] = 1u << (bit % 32);
    EXPECT_TRUE(seen.insert(hash_words(buffer)).second) << bit;
    buffer[bit / 32] = 0;
  }
}

}  // namespace
}  // namespace tally
