#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/bytes.h"
#include "base/file.h"
#include "base/frame_range.h"
#include "base/hash.h"
#include "base/kept_fd.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/user_names.h"

namespace tally {
namespace {

const std::vector<KnownName> kColumns = {
    {"gpu_time", "GPU time"}, {"fma", "multiply-adds"}, {"fma_share", ""}, {"time", "gpu_time"}};

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
  for (int64_t i = 0; choice && i < end; ++i) frames += choice->contains(i) ? 'x' : '.';
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
        any = any || choice->contains(last);
        EXPECT_EQ(choice->contains_any(first, last), any) << first << "-" << last;
      }
    }
  }
}

TEST(FrameChoice, comes_from_settings_and_what_is_wrong_there_chooses_all) {
  const auto choice = [](const char* frames, const char* every) {
    return frame_choice(Settings::load("tally_x", {{"frames", frames}, {"every", every}}));
  };
  EXPECT_FALSE(choice("4-", "2")->contains(5));
  EXPECT_TRUE(choice("4-", "2")->contains(6));
  EXPECT_TRUE(choice("four", "1")->contains(5));
  EXPECT_TRUE(choice("4-", "0")->contains(5));
  EXPECT_FALSE(frame_choice(Settings::load("tally_x", {{"trigger", "1"}})).has_value());
}

TEST(LabelPattern, is_found_anywhere_in_a_name) {
  const auto pattern = LabelPattern::compile("^token [0-9]+$|batch");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->matches("token 12"));
  EXPECT_TRUE(pattern->matches("the batch"));
  EXPECT_FALSE(pattern->matches("token 12 of 13"));
}

TEST(LabelPattern, that_is_wrong_is_refused_with_its_place) {
  const std::pair<const char*, const char*> wrong[] = {
      {"a(b[c]", "at character 2"},  {"(a)(b", "at character 4"}, {"(a[b)c", "at character 3"},
      {"a[z-b]c", "at character 5"}, {"ab\\", "at character 3"},  {"a{2,1}", "at character 6"},
  };
  for (const auto& [text, place] : wrong) {
    const auto pattern = LabelPattern::compile(text);
    ASSERT_FALSE(pattern.ok()) << text;
    EXPECT_TRUE(pattern.error().message.ends_with(place)) << pattern.error().message;
  }
}

TEST(FrameEnds, come_from_settings_and_what_is_wrong_there_changes_nothing) {
  const auto ends = [](const char* per, const char* label) {
    return FrameEnds::from(Settings::load("tally_x", {{"frame_per", per}, {"frame_label", label}}));
  };
  EXPECT_EQ(ends("queue-idle", "").unit, FrameUnit::QueueIdle);
  EXPECT_EQ(ends("vsync", "").unit, FrameUnit::Present);
  EXPECT_EQ(ends("present", "a").unit, FrameUnit::Label) << "a pattern implies the unit";
  EXPECT_FALSE(ends("label", "(").label.has_value());
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

TEST(Settings, environment_wins_over_program_and_program_over_file) {
  char folder[] = "/tmp/tally-settings-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/vk_layer_settings.txt";
  std::ofstream(path) << "tally_x.a = file\ntally_x.b = file\ntally_x.c = file\n";
  setenv("VK_LAYER_SETTINGS_PATH", folder, 1);
  setenv("TALLY_A", "environment", 1);
  const Settings settings = Settings::load("tally_x", {{"a", "program"}, {"b", "program"}});
  unsetenv("TALLY_A");
  unsetenv("VK_LAYER_SETTINGS_PATH");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(settings.text("a", ""), "environment");
  EXPECT_EQ(settings.text("b", ""), "program");
  EXPECT_EQ(settings.text("c", ""), "file");
  EXPECT_EQ(settings.text("d", "default"), "default");
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

// A temporary folder of the test; the settings file in it is the one that is read.
class UntrustedFile : public testing::Test {
 protected:
  UntrustedFile() {
    char folder[] = "/tmp/tally-files-XXXXXX";
    folder_ = mkdtemp(folder);
    setenv("VK_LAYER_SETTINGS_PATH", folder_.c_str(), 1);
  }
  ~UntrustedFile() override {
    unsetenv("VK_LAYER_SETTINGS_PATH");
    std::filesystem::remove_all(folder_);
  }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  const std::string settings_file_ = "vk_layer_settings.txt";
  std::string folder_;
};

TEST_F(UntrustedFile, a_settings_file_of_40_gigabytes_is_not_read) {
  std::ofstream(file(settings_file_)) << "tally_x.a = file\n";
  EXPECT_EQ(Settings::load("tally_x", {}).text("a", "default"), "file");
  std::filesystem::resize_file(file(settings_file_), uintmax_t{40} << 30);
  EXPECT_EQ(Settings::load("tally_x", {}).text("a", "default"), "default");
}

TEST_F(UntrustedFile, a_log_file_that_the_application_closed_is_opened_again) {
  const int number = KeptFd(::dup(STDERR_FILENO)).get();
  configure_log("unit", LogLevel::Warning, file("log"));
  log(LogLevel::Warning, "before");
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_NONBLOCK), 0);
  ASSERT_EQ(::dup2(pipe_ends[1], number), number);
  log(LogLevel::Warning, "after");
  configure_log("unit", LogLevel::Warning, "");
  char byte = 0;
  EXPECT_EQ(::read(pipe_ends[0], &byte, 1), -1) << "a pipe of the application got the line";
  for (const int opened : {number, pipe_ends[0], pipe_ends[1]}) ::close(opened);
  EXPECT_EQ(*read_small_file(file("log")), "unit: warning: before\nunit: warning: after\n");
}

TEST_F(UntrustedFile, opening_a_fifo_as_settings_file_does_not_block) {
  ASSERT_EQ(mkfifo(file(settings_file_).c_str(), 0600), 0);
  setenv("VK_LAYER_SETTINGS_PATH", file(settings_file_).c_str(), 1);
  EXPECT_EQ(Settings::load("tally_x", {}).text("a", "default"), "default");
}

TEST_F(UntrustedFile, small_files_are_read_completely_and_others_give_an_error) {
  std::ofstream(file("a")) << "12345";
  EXPECT_EQ(*read_small_file(file("a"), 5), "12345");
  EXPECT_EQ(read_small_file(file("a"), 4).error().message, file("a") + ": has more than 4 bytes");
  EXPECT_EQ(read_small_file(folder_).error().message, folder_ + ": not a regular file");
  EXPECT_FALSE(read_small_file(file("missing")));
}

TEST_F(UntrustedFile, opening_a_fifo_as_log_file_does_not_block) {
  ASSERT_EQ(mkfifo(file("fifo").c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  configure_log("unit", LogLevel::Warning, file("fifo"));
  log(LogLevel::Warning, "here");
  const int reader = open(file("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  configure_log("unit", LogLevel::Warning, file("fifo"));
  close(reader);
  configure_log("unit", LogLevel::Warning, "");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("fifo: No such device or address\nunit: warning: here\n"), text.npos) << text;
  EXPECT_NE(text.find("fifo: it is not a regular file\n"), text.npos) << text;
}

TEST(Log, control_characters_of_settings_do_not_reach_the_terminal) {
  const Settings settings =
      Settings::load("tally_x", {{"n", "1\x1b[2J\nerror: \xc2\x9b\x7f\xc3\xa9"}});
  testing::internal::CaptureStderr();
  settings.number("n", 3, 0, 100);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("1\\x1b[2J\\x0aerror: \xc2\\x9b\\x7f\xc3\xa9"), text.npos) << text;
}

// The process has a limit for the size of files, and would be ended by the signal.
TEST_F(UntrustedFile, a_log_file_beyond_the_limit_of_the_process_does_not_end_it) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    configure_log("unit", LogLevel::Warning, file("log"));
    for (int i = 0; i < 100; ++i) log(LogLevel::Warning, "a line of about 40 characters: {}", i);
    sigset_t pending, blocked;
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    ::_exit(sigismember(&pending, SIGXFSZ) + sigismember(&blocked, SIGXFSZ));
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "ended by a signal, or the signal is left pending or blocked";
  EXPECT_EQ(std::filesystem::file_size(file("log")), 1000u);
}

TEST(Log, is_written_to_the_named_file_at_its_level) {
  char path[] = "/tmp/tally-log-XXXXXX";
  const int descriptor = mkstemp(path);
  ASSERT_GE(descriptor, 0);
  close(descriptor);
  configure_log("unit", LogLevel::Warning, path);
  log(LogLevel::Warning, "number {}", 7);
  log(LogLevel::Info, "too chatty");
  log_once(LogLevel::Error, "again");
  log_once(LogLevel::Error, "again");
  configure_log("unit", LogLevel::Warning, "");
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "unit: warning: number 7\nunit: error: again\n");
  std::filesystem::remove(path);
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

TEST(Bytes, a_read_past_the_end_fails_and_stays_failed) {
  ByteWriter writer;
  writer.put(uint32_t{7});
  writer.put(uint32_t{3});
  writer.put_bytes("abc", 3);
  ByteReader good(writer.bytes());
  EXPECT_EQ(good.get<uint32_t>(), 7u);
  EXPECT_EQ(good.get<uint32_t>(), 3u);
  EXPECT_EQ(std::memcmp(good.get_bytes(3).data(), "abc", 3), 0);
  EXPECT_FALSE(good.failed());
  EXPECT_EQ(good.remaining(), 0u);
  EXPECT_EQ(good.get<uint8_t>(), 0u);
  EXPECT_TRUE(good.failed());

  ByteReader cut(writer.bytes().first(9));
  EXPECT_EQ(cut.get<uint32_t>(), 7u);
  EXPECT_EQ(cut.get<uint32_t>(), 3u);
  EXPECT_TRUE(cut.get_bytes(3).empty());
  EXPECT_TRUE(cut.failed());
  EXPECT_EQ(cut.get<uint8_t>(), 0u);
}

}  // namespace
}  // namespace tally
