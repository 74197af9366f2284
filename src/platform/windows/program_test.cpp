// The changes that `tally run` makes to the registry where Windows elevates it.
#include "platform/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <windows.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tally::platform {
namespace {

constexpr const wchar_t* kExplicitLayers = L"Software\\Khronos\\Vulkan\\ExplicitLayers";
constexpr const wchar_t* kAddedFolders = L"Software\\Tally added layer folders";
constexpr const wchar_t* kStandIn = L"Software\\tally-program-test";

// As Vulkan's loader decides whether it reads variables: wine is elevated, programs of a user are
// not.
bool is_elevated() {
  HANDLE token = nullptr;
  alignas(TOKEN_MANDATORY_LABEL) std::array<std::byte, 256> buffer{};
  DWORD size = 0;
  EXPECT_NE(::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &token), 0);
  EXPECT_NE(::GetTokenInformation(token, TokenIntegrityLevel, buffer.data(), buffer.size(), &size),
            0);
  ::CloseHandle(token);
  PSID const level = reinterpret_cast<const TOKEN_MANDATORY_LABEL*>(buffer.data())->Label.Sid;
  return *::GetSidSubAuthority(level, *::GetSidSubAuthorityCount(level) - DWORD{1}) >
         SECURITY_MANDATORY_MEDIUM_RID;
}

// This process takes a key of its own for HKEY_LOCAL_MACHINE. Without elevation the key stays as it
// is: the loader then reads the variable.
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

  const bool elevated_ = is_elevated();
  HKEY key_ = nullptr;
};

TEST_F(Registry, names_the_folders_of_layers_while_an_elevated_program_runs) {
  use_key(REG_OPTION_NON_VOLATILE);
  {
    const LayerFolders folders({"C:\\a folder", "C:\\Szene ä 日本"});
    EXPECT_EQ(folders.problem(), "");
    EXPECT_EQ(folders.are_in_registry(), elevated_);
    EXPECT_EQ(names(L"C:\\a folder"), elevated_);
    EXPECT_EQ(names(L"C:\\Szene ä 日本"), elevated_);
  }
  EXPECT_FALSE(names(L"C:\\a folder"));
  EXPECT_FALSE(names(L"C:\\Szene ä 日本"));
}

TEST_F(Registry, keeps_a_folder_that_the_user_has_named) {
  use_key(REG_OPTION_NON_VOLATILE);
  name(kExplicitLayers, L"C:\\layers");
  {
    const LayerFolders folders({"C:\\layers"});
    EXPECT_EQ(folders.are_in_registry(), elevated_);
    EXPECT_TRUE(names(L"C:\\layers"));
  }
  EXPECT_TRUE(names(L"C:\\layers"));
}

TEST_F(Registry, names_a_folder_until_the_last_of_several_runs_has_ended) {
  use_key(REG_OPTION_NON_VOLATILE);
  auto first = std::make_unique<LayerFolders>(std::vector<std::string>{"C:\\layers"});
  auto second = std::make_unique<LayerFolders>(std::vector<std::string>{"C:\\layers"});
  first.reset();
  EXPECT_EQ(names(L"C:\\layers"), elevated_);
  EXPECT_THAT(left_layer_folders(), testing::IsEmpty());
  second.reset();
  EXPECT_FALSE(names(L"C:\\layers"));
}

TEST_F(Registry, loses_what_a_run_left_that_was_ended_by_force) {
  use_key(REG_OPTION_NON_VOLATILE);
  for (const wchar_t* key : {kExplicitLayers, kAddedFolders}) name(key, L"C:\\left");
  name(kExplicitLayers, L"C:\\somebody else's");
  EXPECT_THAT(left_layer_folders(), testing::ElementsAre("C:\\left"));
  const LayerFolders folders({"C:\\layers"});
  EXPECT_EQ(names(L"C:\\left"), !elevated_);
  EXPECT_TRUE(names(L"C:\\somebody else's"));
  EXPECT_EQ(names(L"C:\\layers"), elevated_);
  EXPECT_EQ(left_layer_folders().size(), elevated_ ? 0 : 1);
}

TEST_F(Registry, has_nothing_left_and_no_other_key_without_a_run) {
  use_key(REG_OPTION_NON_VOLATILE);
  EXPECT_THAT(left_layer_folders(), testing::IsEmpty());
  HKEY added = nullptr;
  EXPECT_EQ(::RegOpenKeyExW(key_, kAddedFolders, 0, KEY_QUERY_VALUE, &added), ERROR_FILE_NOT_FOUND);
}

// Below a volatile key no other can be created.
TEST_F(Registry, that_refuses_the_folders_is_named_with_the_reason) {
  use_key(REG_OPTION_VOLATILE);
  const LayerFolders folders({"C:\\layers"});
  EXPECT_FALSE(folders.are_in_registry());
  EXPECT_THAT(folders.problem(),
              testing::MatchesRegex(
                  elevated_ ? "this process is elevated, so Vulkan ignores the variables that name "
                              "Tally's layers, and they cannot be named in the registry: .+"
                            : ""));
}

}  // namespace
}  // namespace tally::platform
