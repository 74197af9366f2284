// Settings, logs and files of a process that anyone may have started, in a system that has FIFOs
// and limits, and programs that close descriptors that are not theirs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/log.h"
#include "base/settings.h"
#include "platform/files.h"

namespace tally {
namespace {

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

// A temporary folder of the test; the settings file in it is the one that is read.
class UntrustedFile : public testing::Test {
 public:
  UntrustedFile() {
    char folder[] = "/tmp/tally-files-XXXXXX";
    folder_ = mkdtemp(folder);
    setenv("VK_LAYER_SETTINGS_PATH", folder_.c_str(), 1);
  }
  ~UntrustedFile() override {
    unsetenv("VK_LAYER_SETTINGS_PATH");
    std::filesystem::remove_all(folder_);
  }

 protected:
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

TEST_F(UntrustedFile, that_is_a_folder_is_no_file) {
  EXPECT_EQ(read_small_file(folder_).error().message, folder_ + ": not a regular file");
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

TEST_F(UntrustedFile, a_folder_is_not_made_through_a_link) {
  std::filesystem::create_directory(file("elsewhere"));
  std::filesystem::create_directory_symlink(file("elsewhere"), file("link"));
  const auto folder = platform::Folder::open(folder_);
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->make_folder("own"));
  EXPECT_FALSE(folder->make_folder("link"));
}

}  // namespace
}  // namespace tally
