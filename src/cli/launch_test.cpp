// `tally run` apart from the environment: the file's name, temporary folders, the program's
// process, and hints on how to capture it.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "cli/files.h"
#include "cli/run/hints.h"
#include "cli/testing/test_folder.h"
#include "platform/program.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFile : public Folder {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::current_path(path_);
  }
  void TearDown() override { fs::current_path(before_); }
  fs::path before_;
};

TEST_F(OutputFile, default_is_named_after_the_application_and_numbered) {
  EXPECT_EQ(*choose_output("", "/usr/bin/app", false), "app.tally");
  EXPECT_EQ(*choose_output("", "/usr/bin/app", false), "app-2.tally");
  write("app-3.tally", "");
  EXPECT_EQ(*choose_output("", "/usr/bin/app", false), "app-4.tally");
  EXPECT_EQ(*choose_output("", "/usr/bin/app", true), "app.tally");
}

TEST_F(OutputFile, no_name_is_used_twice) {
  EXPECT_EQ(*choose_output("mine", "app", false), "mine");
  EXPECT_FALSE(choose_output("mine", "app", false).ok());
}

TEST_F(OutputFile, existing_name_is_rejected_without_force) {
  write("x", "");
  EXPECT_FALSE(choose_output("x", "app", false).ok());
  EXPECT_EQ(*choose_output("x", "app", true), "x");
  fs::create_symlink("nowhere", path_ / "dangling");
  EXPECT_FALSE(choose_output("dangling", "app", false).ok());
}

TEST_F(Folder, program_with_elevated_rights_is_known_to_load_no_layers) {
  const auto program = write("program", "#!/bin/sh\n");
  EXPECT_FALSE(why_no_layer_was_loaded(program.string(), {}).has_value());
  std::string elf(64, '\0');
  elf.replace(0, 4,
              "\x7F"
              "ELF");
  elf[4] = 1;  // 32 bits
  const auto foreign = write("foreign", elf);
  EXPECT_THAT(why_no_layer_was_loaded(foreign.string(), {}).value_or(""), HasSubstr("word size"));
}

TEST(CapturedRun, keeps_both_streams_and_the_status) {
  const auto run = platform::run_captured({"sh", "-c", "echo out; echo err >&2; exit 3"},
                                          {"PATH=/bin:/usr/bin"}, std::chrono::seconds(10));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->standard_output, "out\n");
  EXPECT_EQ(run->standard_error, "err\n");
  EXPECT_EQ(run->end.shell_status(), 3);
}

TEST(CapturedRun, kills_a_program_that_exceeds_the_limit) {
  const auto run =
      platform::run_captured({"sleep", "100"}, {"PATH=/bin:/usr/bin"}, std::chrono::seconds(1));
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->timed_out);
}

class TemporaryFolders : public Folder {
 public:
  TemporaryFolders() { setenv("TMPDIR", path_.c_str(), 1); }
  ~TemporaryFolders() override { unsetenv("TMPDIR"); }
};

TEST_F(TemporaryFolders, are_removed_by_their_process_or_by_the_next) {
  auto alive = TemporaryFolder::make();
  ASSERT_TRUE(alive.ok()) << alive.error().message;
  std::ofstream(alive->path() / "file") << "here";
  const fs::path killed = path_ / "tally-run-abcdef";
  fs::create_directories(killed / "deeper");
  fs::permissions(killed, fs::perms::owner_all);
  fs::create_directories(path_ / "tally-run-of-somebody");
  fs::create_directories(path_ / "tally-run-public");
  fs::permissions(path_ / "tally-run-public", fs::perms::all);
  {
    const auto next = TemporaryFolder::make();
    ASSERT_TRUE(next.ok());
    EXPECT_NE(next->path(), alive->path());
    EXPECT_FALSE(fs::exists(killed));
    EXPECT_TRUE(fs::exists(alive->path() / "file"));
    EXPECT_TRUE(fs::exists(path_ / "tally-run-of-somebody"));
    EXPECT_TRUE(fs::exists(path_ / "tally-run-public"))
        << "others may enter it: it is none of ours";
  }
  const fs::path was = alive->path();
  std::optional<TemporaryFolder>(std::move(*alive)).reset();
  EXPECT_FALSE(fs::exists(was));
}

TEST_F(TemporaryFolders, stay_while_others_are_made_at_the_same_time) {
  std::atomic<int> lost = 0;
  const auto make_some = [&] {
    for (int i = 0; i < 500; ++i) {
      const auto folder = TemporaryFolder::make();
      if (!folder || !(std::ofstream(folder->path() / "file") << "here").flush()) ++lost;
    }
  };
  std::vector<std::jthread> makers;
  for (int i = 0; i < 4; ++i) makers.emplace_back(make_some);
  makers.clear();
  EXPECT_EQ(lost, 0);
}

TEST_F(Folder, the_program_is_named_instead_of_its_launcher) {
  const fs::path app = write("app", "#!/bin/sh\n");
  fs::permissions(app, fs::perms::owner_all);
  const std::string search = path_.string() + ":/usr/bin:/bin";
  using Words = std::vector<std::string>;
  EXPECT_EQ(program_of(Words{"app", "env"}, search), "app");
  EXPECT_EQ(program_of(Words{"env", "A=b", "-u", "C", "app", "sh"}, search), "app");
  EXPECT_EQ(program_of(Words{"xvfb-run", "-a", "-s", "-screen 0", "timeout", "5", "app"}, search),
            "app");
  EXPECT_EQ(program_of(Words{"/usr/bin/env", app.string()}, search), app.string());
  EXPECT_EQ(program_of(Words{"env"}, search), "env");
  EXPECT_EQ(program_of(Words{"env", "no-such-program"}, search), "env");
  EXPECT_EQ(program_of(Words{"sh", "-c", "app"}, search), "sh");
}

TEST_F(Folder, a_program_that_uses_glx_gets_a_hint_how_to_capture_it) {
  const fs::path script = write("script", "#!/bin/sh glXMakeCurrent\n");
  EXPECT_THAT(why_no_layer_was_loaded(script.string(), {}).value_or(""),
              HasSubstr("MESA_LOADER_DRIVER_OVERRIDE=zink"));
  EXPECT_FALSE(why_no_layer_was_loaded(write("other", "#!/bin/sh\n").string(), {}));
}

TEST_F(Folder, a_program_that_cannot_load_libraries_gets_the_reason) {
  Elf64_Ehdr header{};
  std::ifstream("/proc/self/exe", std::ios::binary)
      .read(reinterpret_cast<char*>(&header), sizeof header);
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  const auto program = [&](const std::string& name) {
    return write(name, std::string(reinterpret_cast<const char*>(&header), sizeof header) +
                           std::string(reinterpret_cast<const char*>(&segment), sizeof segment));
  };
  segment.p_type = PT_LOAD;
  EXPECT_THAT(why_no_layer_was_loaded(program("static").string(), {}).value_or(""),
              HasSubstr("statically linked"));
  segment.p_type = PT_INTERP;
  EXPECT_FALSE(why_no_layer_was_loaded(program("dynamic").string(), {}));
}

TEST_F(Folder, wine_gets_a_hint_until_it_uses_vulkan) {
  const std::string wine = write("wine", "#!/bin/sh\n").string();
  EXPECT_THAT(why_no_layer_was_loaded(wine, {}).value_or(""),
              HasSubstr("WINE_D3D_CONFIG=renderer=vulkan tally run"));
  EXPECT_FALSE(why_no_layer_was_loaded(wine, {{"WINE_D3D_CONFIG", "csmt=0,renderer=vulkan"}}));
  EXPECT_THAT(why_no_layer_was_loaded(write("game.exe", "MZ\x90").string(), {}).value_or(""),
              HasSubstr("WINE_D3D_CONFIG=renderer=vulkan tally run"));
}

TEST_F(Folder, a_start_of_wine_that_does_not_wait_is_named) {
  const std::string wine = write("wine", "#!/bin/sh\n").string();
  const auto hint = [&](const std::vector<std::string>& words) {
    return why_no_layer_was_loaded(wine, {}, words).value_or("");
  };
  for (const auto& words : std::vector<std::vector<std::string>>{
           {wine, "start", "a.exe"}, {wine, "cmd", "/c", "START /b a.exe"}}) {
    EXPECT_THAT(hint(words), HasSubstr("start /wait waits for the program"));
  }
  for (const auto& words : std::vector<std::vector<std::string>>{
           {wine, "start", "/wait", "a.exe"}, {wine, "start-menu.exe"}, {wine, "a.exe"}}) {
    EXPECT_THAT(hint(words), HasSubstr("WINE_D3D_CONFIG"));
  }
}

TEST_F(Folder, tally_inside_of_tally_is_named) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  EXPECT_THAT(why_no_layer_was_loaded(self.string(), {}).value_or(""), HasSubstr("Tally itself"));
}

TEST_F(Folder, a_script_that_runs_a_container_gets_the_containers_advice) {
  const NeededFolders folders{"/opt/tally", "/tmp"};
  const auto advice = [&](const std::string& text) {
    fs::remove(path_ / "script");
    const fs::path script = write("script", text);
    fs::permissions(script, fs::perms::owner_all);
    return container_advice({"script", "game"}, path_.string(), folders).value_or("");
  };
  EXPECT_EQ(advice("#!/bin/sh\n# exec bwrap\necho bwrap\n"), "");
  EXPECT_EQ(advice("exec bwrap\n"), "") << "not a script";
  const std::string text =
      advice("#!/bin/sh\nif true; then exec /usr/bin/bwrap --dev /dev \"$@\"; fi\n");
  EXPECT_THAT(text, HasSubstr("script runs the application in a container with bwrap"));
  EXPECT_THAT(text, HasSubstr("--bind /tmp /tmp --ro-bind /opt/tally /opt/tally"));
  fs::permissions(write("inner", "#!/bin/bash\nFOO=1 nice bwrap game\n"), fs::perms::owner_all);
  EXPECT_THAT(advice("#!/bin/sh\nexec inner \"$@\"\n"),
              HasSubstr("inner runs the application in a container with bwrap"));
  EXPECT_EQ(advice("#!/bin/sh\nexec script\n"), "") << "it runs itself";
}

TEST(Containers, the_advice_names_what_the_launcher_has_to_share) {
  const NeededFolders folders{"/opt/tally", "/tmp"};
  EXPECT_FALSE(container_advice({"env", "A=b", "game"}, "", folders));
  const auto bwrap =
      container_advice({"nice", "/usr/bin/bwrap", "--dev", "/dev", "game"}, "", folders);
  ASSERT_TRUE(bwrap);
  EXPECT_THAT(*bwrap, HasSubstr("--bind /tmp /tmp --ro-bind /opt/tally /opt/tally"));
  EXPECT_THAT(
      *container_advice({"podman", "run", "image"}, "", folders),
      HasSubstr("--volume /tmp:/tmp --volume /opt/tally:/opt/tally:ro --env VK_INSTANCE_LAYERS"));
  EXPECT_THAT(*container_advice({"flatpak", "run", "org.Game"}, "", {"/usr", "/tmp"}),
              ::testing::AllOf(HasSubstr("--env= for VK_ADD_LAYER_PATH"),
                               HasSubstr("use Tally's tarball")));
}

}  // namespace
}  // namespace tally::cli
