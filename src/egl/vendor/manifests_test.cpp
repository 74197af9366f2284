#include "egl/vendor/manifests.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tally::egl {
namespace {

namespace fs = std::filesystem;
using Libraries = std::vector<std::string>;

class Manifests : public testing::Test {
 protected:
  Manifests() {
    char folder[] = "/tmp/tally-manifests-XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~Manifests() override {
    for (const char* name :
         {"TALLY_EGL_VENDORS", "__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS"}) {
      unsetenv(name);
    }
    fs::remove_all(folder_);
  }

  std::string write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string manifest(const std::string& name, const std::string& library) {
    return write(
        name, R"({"file_format_version": "1.0.0", "ICD": {"library_path": ")" + library + "\"}}");
  }
  std::string folder(const std::string& name) { return folder_ / name; }

  fs::path folder_;
};

TEST_F(Manifests, the_library_is_read) {
  EXPECT_EQ(library_of_manifest(manifest("a.json", "libEGL_a.so.0")), "libEGL_a.so.0");
}

TEST_F(Manifests, what_is_no_manifest_gives_nothing) {
  EXPECT_EQ(library_of_manifest(folder("missing.json")), "");
  EXPECT_EQ(library_of_manifest("/tmp"), "");
  const char* const texts[] = {"",
                               "no json",
                               "[]",
                               "{}",
                               R"({"file_format_version": 1, "ICD": {"library_path": "a"}})",
                               R"({"file_format_version": "2.0.0", "ICD": {"library_path": "a"}})",
                               R"({"file_format_version": "1.0.0", "ICD": "a"})",
                               R"({"file_format_version": "1.0.0", "ICD": {"library_path": 7}})",
                               R"({"file_format_version": "1.0.0"})"};
  for (const char* text : texts) EXPECT_EQ(library_of_manifest(write("x.json", text)), "") << text;
}

TEST_F(Manifests, ours_are_left_out_wherever_they_lie) {
  const std::string list =
      manifest("1.json", "/opt/lib/libEGL_tally.so.0") + ":" + manifest("2.json", "libEGL_a.so") +
      ":" + manifest("3.json", "libEGL_tally_1.so.0") + "::" + manifest("4.json", "libEGL_a.so");
  setenv("TALLY_EGL_VENDORS", list.c_str(), 1);
  EXPECT_EQ(real_vendor_libraries(), Libraries{"libEGL_a.so"});
}

TEST_F(Manifests, the_first_place_that_names_any_wins) {
  const std::string ours = manifest("ours.json", "libEGL_tally.so.0");
  manifest("one/20_b.json", "libEGL_b.so");
  manifest("one/10_c.json", "libEGL_c.so");
  manifest("one/not_me.txt", "libEGL_d.so");
  manifest("two/10_e.json", "libEGL_e.so");
  setenv("__EGL_VENDOR_LIBRARY_DIRS",
         (folder("one") + ":" + folder("nowhere") + ":" + folder("two")).c_str(), 1);
  setenv("__EGL_VENDOR_LIBRARY_FILENAMES", ours.c_str(), 1);
  EXPECT_EQ(real_vendor_libraries(), (Libraries{"libEGL_c.so", "libEGL_b.so", "libEGL_e.so"}));

  setenv("__EGL_VENDOR_LIBRARY_FILENAMES", (ours + ":" + manifest("f.json", "libEGL_f.so")).c_str(),
         1);
  EXPECT_EQ(real_vendor_libraries(), Libraries{"libEGL_f.so"});

  setenv("TALLY_EGL_VENDORS", manifest("g.json", "libEGL_g.so").c_str(), 1);
  EXPECT_EQ(real_vendor_libraries(), Libraries{"libEGL_g.so"});
  setenv("TALLY_EGL_VENDORS", "/nowhere.json", 1);
  EXPECT_TRUE(real_vendor_libraries().empty());
}

TEST_F(Manifests, without_any_name_libglvnds_folders_are_read) {
  setenv("__EGL_VENDOR_LIBRARY_DIRS", folder("nowhere").c_str(), 1);
  const Libraries fallback = real_vendor_libraries();
  unsetenv("__EGL_VENDOR_LIBRARY_DIRS");
  EXPECT_EQ(real_vendor_libraries(), fallback);
}

}  // namespace
}  // namespace tally::egl
