// Files that another program has open, as virus scanners do, and names that Windows keeps in
// UTF-16.
#include "platform/files.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <windows.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace tally::platform {
namespace {

class LockedFile : public testing::Test {
 protected:
  LockedFile() : folder_(*make_unique_folder(temporary_folder() + "/tally-locked-")) {
    std::ofstream(path_of("new")) << "new";
    std::ofstream(path_of("old")) << "old";
  }
  ~LockedFile() override { std::filesystem::remove_all(folder_); }

  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path_of(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Open so that nobody may rename, remove or write it.
  HANDLE lock(const std::string& name) const {
    return ::CreateFileA(path_of(name).c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr,
                         OPEN_EXISTING, 0, nullptr);
  }
  bool replace() const {
    return Folder::current().rename_file(path_of("new"), path_of("old"), Existing::Replace);
  }

  const std::string folder_;
};

TEST_F(LockedFile, is_replaced_when_it_is_free_again) {
  const HANDLE file = lock("old");
  ASSERT_NE(file, INVALID_HANDLE_VALUE);
  std::thread scanner([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::CloseHandle(file);
  });
  EXPECT_TRUE(replace());
  scanner.join();
  EXPECT_EQ(text_of("old"), "new");
}

TEST_F(LockedFile, is_removed_when_it_is_free_again) {
  const HANDLE file = lock("old");
  ASSERT_NE(file, INVALID_HANDLE_VALUE);
  std::thread scanner([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::CloseHandle(file);
  });
  EXPECT_TRUE(Folder::current().remove_file(path_of("old")));
  scanner.join();
  EXPECT_FALSE(std::filesystem::exists(path_of("old")));
}

TEST_F(LockedFile, gives_up_its_name_at_once_if_it_may_be_removed) {
  const HANDLE file = ::CreateFileA(path_of("old").c_str(), GENERIC_READ,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, 0, nullptr);
  ASSERT_NE(file, INVALID_HANDLE_VALUE);
  EXPECT_TRUE(Folder::current().remove_file(path_of("old")));
  std::ofstream(path_of("old")) << "newer";
  ::CloseHandle(file);
  EXPECT_EQ(text_of("old"), "newer");
  using Entry = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(Entry(folder_), Entry()), 2);
}

TEST_F(LockedFile, of_read_only_content_keeps_its_name) {
  ASSERT_NE(::SetFileAttributesA(path_of("old").c_str(), FILE_ATTRIBUTE_READONLY), 0);
  EXPECT_FALSE(Folder::current().remove_file(path_of("old")));
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(text_of("old"), "old");
  ::SetFileAttributesA(path_of("old").c_str(), FILE_ATTRIBUTE_NORMAL);
}

TEST_F(LockedFile, that_stays_locked_is_kept_and_so_is_the_new_one) {
  const HANDLE file = lock("old");
  ASSERT_NE(file, INVALID_HANDLE_VALUE);
  EXPECT_FALSE(replace());
  EXPECT_EQ(errno, EACCES);
  errno = 0;
  EXPECT_FALSE(Folder::current().remove_file(path_of("old")));
  EXPECT_EQ(errno, EACCES);
  ::CloseHandle(file);
  EXPECT_EQ(text_of("old"), "old");
  EXPECT_EQ(text_of("new"), "new");
}

TEST(FileName, of_several_scripts_is_the_same_in_all_functions) {
  const std::string folder = *make_unique_folder(temporary_folder() + "/tally-ü-日-");
  const std::string name = "ж é 😀.txt";
  const int file = Folder::open(folder)->create_file(name, 0644);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(write_all(file, "text"));
  ::close(file);
  EXPECT_NE(::GetFileAttributesW(std::filesystem::path(folder + "/" + name).c_str()),
            INVALID_FILE_ATTRIBUTES);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_EQ(entry.path().filename().string(), name);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tally::platform
