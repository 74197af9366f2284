// The changes that `tally run` makes to the registry where Windows elevates it.
#include "platform/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <windows.h>

#include <memory>
#include <string>
#include <vector>

namespace tally::platform {
namespace {

constexpr const wchar_t* kExplicitLayers = L"Software\\Khronos\\Vulkan\\ExplicitLayers";
constexpr const wchar_t* kAddedFolders = L"Software\\Tally added layer folders";
constexpr const wchar_t* kStandIn = L"Software\\tally-program-test";

// This process takes a key of its own for HKEY_LOCAL_MACHINE.
class Registry : public testing::Test {
 protected:
  void use_key(DWORD kind) {
    ::RegDeleteTreeW(HKEY_CURRENT_USER, kStandIn);
    ASSERT_EQ(::RegCreateKeyExW(HKEY_CURRENT_USER, kStandIn, 0, nullptr, kind, KEY_ALL_ACCESS,
                                nullptr, &key_, nullptr),
              ERROR_SUCCESS);
    ASSERT_EQ(::RegOverridePredefKey(HKEY_LOCAL_MACHINE, key_), ERROR_SUCCESS);
  }
  ~Registry() override {
    ::RegOverridePredefKey(HKEY_LOCAL_MACHINE, nullptr);
    ::RegCloseKey(key_);
    ::RegDeleteTreeW(HKEY_CURRENT_USER, kStandIn);
  }

  bool names(const wchar_t* folder) const {
    return ::RegGetValueW(key_, kExplicitLayers, folder, RRF_RT_REG_DWORD, nullptr, nullptr,
                          nullptr) == ERROR_SUCCESS;
  }
  void name(const wchar_t* key, const wchar_t* folder) {
    const DWORD zero = 0;
    ASSERT_EQ(::RegSetKeyValueW(key_, key, folder, REG_DWORD, &zero, sizeof zero), ERROR_SUCCESS);
  }
  // False where this process is not elevated: the loader then reads the variable.
  bool is_changed() {
    const LayerFolders folders({"C:\\probe"});
    return names(L"C:\\probe") || !folders.problem().empty();
  }

  HKEY key_ = nullptr;
};

TEST_F(Registry, names_the_folders_of_layers_while_an_elevated_program_runs) {
  use_key(REG_OPTION_NON_VOLATILE);
  if (!is_changed()) GTEST_SKIP() << "this process is not elevated";
  {
    const LayerFolders folders({"C:\\a folder", "C:\\Szene ä 日本"});
    EXPECT_EQ(folders.problem(), "");
    EXPECT_TRUE(names(L"C:\\a folder"));
    EXPECT_TRUE(names(L"C:\\Szene ä 日本"));
  }
  EXPECT_FALSE(names(L"C:\\a folder"));
  EXPECT_FALSE(names(L"C:\\Szene ä 日本"));
}

TEST_F(Registry, keeps_a_folder_that_the_user_has_named) {
  use_key(REG_OPTION_NON_VOLATILE);
  if (!is_changed()) GTEST_SKIP() << "this process is not elevated";
  name(kExplicitLayers, L"C:\\layers");
  {
    const LayerFolders folders({"C:\\layers"});
    EXPECT_TRUE(names(L"C:\\layers"));
  }
  EXPECT_TRUE(names(L"C:\\layers"));
}

TEST_F(Registry, names_a_folder_until_the_last_of_several_runs_has_ended) {
  use_key(REG_OPTION_NON_VOLATILE);
  if (!is_changed()) GTEST_SKIP() << "this process is not elevated";
  auto first = std::make_unique<LayerFolders>(std::vector<std::string>{"C:\\layers"});
  auto second = std::make_unique<LayerFolders>(std::vector<std::string>{"C:\\layers"});
  first.reset();
  EXPECT_TRUE(names(L"C:\\layers"));
  second.reset();
  EXPECT_FALSE(names(L"C:\\layers"));
}

TEST_F(Registry, loses_what_a_run_left_that_was_ended_by_force) {
  use_key(REG_OPTION_NON_VOLATILE);
  if (!is_changed()) GTEST_SKIP() << "this process is not elevated";
  for (const wchar_t* key : {kExplicitLayers, kAddedFolders}) name(key, L"C:\\left");
  name(kExplicitLayers, L"C:\\somebody else's");
  const LayerFolders folders({"C:\\layers"});
  EXPECT_FALSE(names(L"C:\\left"));
  EXPECT_TRUE(names(L"C:\\somebody else's"));
  EXPECT_TRUE(names(L"C:\\layers"));
}

// Below a volatile key no other can be created.
TEST_F(Registry, that_refuses_the_folders_is_named_with_the_reason) {
  use_key(REG_OPTION_VOLATILE);
  if (!is_changed()) GTEST_SKIP() << "this process is not elevated";
  const LayerFolders folders({"C:\\layers"});
  EXPECT_THAT(folders.problem(),
              testing::MatchesRegex("this process is elevated, so Vulkan ignores the variables "
                                    "that name Tally's layers, and they cannot be named in the "
                                    "registry: .+"));
}

}  // namespace
}  // namespace tally::platform
