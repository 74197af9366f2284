// The environment that makes a program load layers, drivers and EGL vendors.
#include "cli/run/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run/egl_injection.h"
#include "cli/testing/test_folder.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(EnvironmentLayers, are_added_below_those_of_the_user) {
  Environment environment = {{"VK_INSTANCE_LAYERS", "mine:other"}};
  add_instance_layers(environment, {"a", "b"});
  EXPECT_EQ(environment["VK_INSTANCE_LAYERS"], "mine:other:a:b");
}

TEST(EnvironmentLayers, keep_the_position_that_the_user_chose) {
  Environment environment = {{"VK_INSTANCE_LAYERS", "a:b:validation"}};
  add_instance_layers(environment, {"a", "b"});
  EXPECT_EQ(environment["VK_INSTANCE_LAYERS"], "a:b:validation");
}

// A home folder without the loader's folders, and a system folder with one.
Environment with_system_layers(const fs::path& system) {
  fs::create_directories(system / "vulkan/explicit_layer.d");
  return {{"XDG_CONFIG_DIRS", "/nowhere"}, {"XDG_DATA_DIRS", system.string()}};
}

class EnvironmentFolders : public Folder {};

// On this machine, only the folder in /etc may exist.
TEST_F(EnvironmentFolders, come_after_those_that_the_loader_searches) {
  const std::string system = (path_ / "vulkan/explicit_layer.d").string();
  Environment plain = with_system_layers(path_);
  plain["VK_ADD_LAYER_PATH"] = "/theirs";
  add_layer_folders(plain, {"/ours", "/last"});
  EXPECT_THAT(plain["VK_ADD_LAYER_PATH"], testing::StartsWith("/theirs:"));
  EXPECT_THAT(plain["VK_ADD_LAYER_PATH"], testing::EndsWith(system + ":/ours:/last"));
  const Environment once = plain;
  add_layer_folders(plain, {"/ours"});
  EXPECT_EQ(plain, once);
}

TEST_F(EnvironmentFolders, extend_the_variable_that_the_loader_will_read) {
  Environment with_path = with_system_layers(path_);
  with_path["VK_LAYER_PATH"] = "/theirs";
  with_path["VK_ADD_LAYER_PATH"] = "/ignored";
  add_layer_folders(with_path, {"/ours"});
  EXPECT_EQ(with_path["VK_LAYER_PATH"], "/theirs:/ours");
  EXPECT_EQ(with_path["VK_ADD_LAYER_PATH"], "/ignored");
}

TEST(EnvironmentLists, empty_entries_are_dropped) {
  EXPECT_THAT(split_list(":a::b:"), ElementsAre("a", "b"));
  EXPECT_TRUE(split_list("").empty());
}

std::string manifest(const std::string& name, const std::string& library) {
  return R"({"file_format_version":"1.2.0","layer":{"name":")" + name + R"(","library_path":")" +
         library + R"("}})";
}

TEST_F(Folder, layers_are_found_beside_the_program_in_a_build_tree) {
  write("lib/one.json", manifest(kCountersLayer, "./libone.so"));
  write("lib/two.json", manifest(kCaptureLayer, "./libtwo.so"));
  write("lib/broken.json", "{");
  EXPECT_THAT(find_layers(path_ / "bin/tally").error().message,
              HasSubstr("VkLayer_tally_run.json"));
  write("lib/run/VkLayer_tally_run.json", "{}");
  const auto layers = find_layers(path_ / "bin/tally");
  ASSERT_TRUE(layers.ok()) << layers.error().message;
  EXPECT_THAT(layers->folders, ElementsAre(path_ / "lib"));
  EXPECT_EQ(layers->run_folder, path_ / "lib/run");
  EXPECT_EQ(layers->layers.at(0).library, path_ / "lib/libone.so");
}

TEST_F(Folder, layers_are_found_in_an_installation_that_was_moved) {
  write("share/vulkan/explicit_layer.d/one.json",
        manifest(kCountersLayer, "../../../lib/libone.so"));
  write("share/vulkan/explicit_layer.d/two.json", manifest(kCaptureLayer, "libtwo.so"));
  write("lib/libtwo.so", "");
  write("share/tally/explicit_layer.d/VkLayer_tally_run.json", "{}");
  const auto layers = find_layers(path_ / "bin/tally");
  ASSERT_TRUE(layers.ok()) << layers.error().message;
  EXPECT_EQ(layers->layers.at(0).library, path_ / "lib/libone.so");
  EXPECT_EQ(layers->layers.at(1).library, path_ / "lib/libtwo.so");
}

TEST_F(Folder, driver_is_found_by_a_part_of_its_manifests_name) {
  const auto one = write("vulkan/icd.d/lvp_icd.json",
                         R"({"ICD":{"library_path":"lib.so","api_version":"1.3.0"}})");
  write("vulkan/icd.d/other_icd.json", "{}");
  const Environment environment = {{"XDG_DATA_DIRS", path_.string()}, {"XDG_CONFIG_DIRS", "/none"}};
  const auto found = find_drivers(environment, "lavapipe");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(*found, Contains(one));
  EXPECT_FALSE(find_drivers(environment, "nothing-like-it").ok());
}

TEST_F(Folder, invalid_driver_manifest_differs_from_one_whose_library_is_missing) {
  EXPECT_EQ(read_driver_manifest(path_ / "missing.json").problem, "cannot be read");
  EXPECT_EQ(read_driver_manifest(write("a.json", "[]")).problem, "is not a driver manifest");
  EXPECT_THAT(
      read_driver_manifest(write("b.json", R"({"ICD":{"library_path":"./gone.so"}})")).problem,
      HasSubstr("gone.so"));
  EXPECT_EQ(
      read_driver_manifest(write("c.json", R"({"ICD":{"library_path":"searched.so"}})")).problem,
      "");
}

TEST_F(Folder, a_vendor_library_that_cannot_be_loaded_is_not_used) {
  const auto search = [this] { return find_egl_files(path_ / "bin/tally", path_); };
  EXPECT_THAT(search().problem, HasSubstr("no EGL vendor manifests"));
  write("lib/egl_vendor.d/10_tally.json",
        R"({"file_format_version":"1.0.0","ICD":{"library_path":"/nowhere/libEGL_tally.so.0"}})");
  EXPECT_THAT(search().problem, HasSubstr("/nowhere/libEGL_tally.so.0"));
  write("lib/libEGL_tally.so.0", "no library");
  const EglFiles files = search();
  EXPECT_THAT(files.problem, HasSubstr((path_ / "lib/libEGL_tally.so.0").string()));
  EXPECT_TRUE(files.manifests.empty());
}

TEST(EglInjection, vendors_that_the_user_selected_stay_behind_tally) {
  const EglFiles files{{"/t/10.json", "/t/11.json"}, "/t/preload.so", ""};
  Environment environment = {{"__EGL_VENDOR_LIBRARY_FILENAMES", "/user.json"}};
  add_egl(environment, files, EglMode::Vendor);
  EXPECT_EQ(environment["__EGL_VENDOR_LIBRARY_FILENAMES"], "/t/10.json:/t/11.json");
  EXPECT_EQ(environment["TALLY_EGL_VENDORS"], "/user.json");
  const Environment once = environment;
  add_egl(environment, files, EglMode::Vendor);
  EXPECT_EQ(environment, once);
  environment = {{"LD_PRELOAD", "other.so"}};
  add_egl(environment, files, EglMode::Preload);
  add_egl(environment, files, EglMode::Preload);
  EXPECT_EQ(environment["LD_PRELOAD"], "/t/preload.so:other.so");
  environment.clear();
  add_egl(environment, files, EglMode::Off);
  EXPECT_TRUE(environment.empty());
}

}  // namespace
}  // namespace tally::cli
