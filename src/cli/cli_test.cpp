#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vulkan/vulkan_core.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "cli/captured_run.h"
#include "cli/container.h"
#include "cli/drivers.h"
#include "cli/environment.h"
#include "cli/findings.h"
#include "cli/hints.h"
#include "cli/layers.h"
#include "cli/output_file.h"
#include "cli/temporary_folder.h"
#include "cli/vulkan_probe.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class Folder : public testing::Test {
 protected:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tally-cli-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() override { fs::remove_all(path_); }

  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

  fs::path path_;
};

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

// Of this machine's folders, only the one in /etc may exist.
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

TEST_F(Folder, program_with_elevated_rights_is_known_to_load_no_layers) {
  const auto program = write("program", "#!/bin/sh\n");
  EXPECT_FALSE(why_no_layer_was_loaded(program.string(), "").has_value());
  std::string elf(64, '\0');
  elf.replace(0, 4,
              "\x7F"
              "ELF");
  elf[4] = 1;  // 32 bits
  const auto foreign = write("foreign", elf);
  EXPECT_THAT(why_no_layer_was_loaded(foreign.string(), "").value_or(""), HasSubstr("word size"));
}

TEST(CapturedRun, keeps_both_streams_and_the_status) {
  const auto run = run_captured({"sh", "-c", "echo out; echo err >&2; exit 3"},
                                {"PATH=/bin:/usr/bin"}, std::chrono::seconds(10));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->standard_output, "out\n");
  EXPECT_EQ(run->standard_error, "err\n");
  EXPECT_EQ(run->end.shell_status(), 3);
}

TEST(CapturedRun, kills_a_program_that_exceeds_the_limit) {
  const auto run = run_captured({"sleep", "100"}, {"PATH=/bin:/usr/bin"}, std::chrono::seconds(1));
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->timed_out);
}

TEST(VulkanProbe, survives_a_json_round_trip) {
  VulkanProbe probe;
  probe.loader_version = "1.3.239";
  probe.devices.push_back({.name = "GPU \xFF", .features = {{"a", true}}, .metrics = {{"m", "d"}}});
  const auto back = probe_from_json(to_json(probe));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->loader_version, "1.3.239");
  EXPECT_TRUE(back->devices.at(0).features.at("a"));
  EXPECT_EQ(back->devices.at(0).metrics.at(0).first, "m");
}

TEST(VulkanProbe, foreign_text_is_an_error) {
  EXPECT_FALSE(probe_from_json("").ok());
  EXPECT_FALSE(probe_from_json("{}").ok());
  EXPECT_FALSE(probe_from_json(R"({"devices":3})").ok());
}

// A machine without problems.
DoctorFacts healthy() {
  DoctorFacts facts;
  facts.layers =
      LayerSet{{"/tally/lib"}, {{kCountersLayer, "/m", "/l"}, {kCaptureLayer, "/m", "/l"}}};
  facts.drivers = {{"/icd.json", "lib.so", "1.3.0", ""}};
  ProbedDevice device{.name = "GPU", .uuid = "1", .api_version = "1.3.230", .driver = "driver"};
  for (const char* name : {"bufferDeviceAddress", "vertexPipelineStoresAndAtomics",
                           "fragmentStoresAndAtomics", "shaderInt64", "shaderBufferInt64Atomics"}) {
    device.features[name] = true;
  }
  device.limits = {{"subgroupSupportedOperations", 0xFF},
                   {"subgroupSupportedStages", 0x3F},
                   {"timestampComputeAndGraphics", 1}};
  facts.native.loader_version = "1.3.239";
  facts.native.layers = {{"VK_LAYER_KHRONOS_validation", "1.3.239", 1}};
  facts.native.devices = {device};
  facts.with_tally = facts.native;
  facts.with_tally.layers.push_back({kCountersLayer, "1.3.0", 1});
  facts.with_tally.layers.push_back({kCaptureLayer, "1.3.0", 1});
  facts.with_tally.devices[0].extensions = {"VK_ARM_shader_instrumentation"};
  facts.egl_files = {{"/lib/egl_vendor.d/10_tally.json"}, "/lib/libEGL_tally_preload.so", ""};
  facts.egl_library = EglLibrary::Glvnd;
  facts.egl.has_extension = true;
  facts.egl.groups = {{"API", 1, {{"Draw calls", "calls", 1}}}};
  facts.temporary_folder = {"/tmp", true, true};
  return facts;
}

std::string problems(const DoctorFacts& facts) {
  std::string text;
  for (const Finding& finding : examine(facts)) {
    if (finding.level != Level::Problem) continue;
    EXPECT_NE(finding.remedy, "") << finding.text;
    text += finding.subject + ": " + finding.text + " -> " + finding.remedy + "\n";
  }
  return text;
}

std::string notes(const DoctorFacts& facts) {
  std::string text;
  for (const Finding& finding : examine(facts)) {
    if (finding.level == Level::Note) text += finding.text + "\n";
  }
  return text;
}

TEST(Doctor, finds_no_problem_on_a_healthy_machine) { EXPECT_EQ(problems(healthy()), ""); }

TEST(Doctor, says_what_egl_lacks) {
  DoctorFacts facts = healthy();
  facts.egl = {};
  facts.egl.display_error = "error 0x3001";
  EXPECT_THAT(notes(facts), HasSubstr("EGL has no display without a window: error 0x3001"));
  EXPECT_EQ(problems(facts), "");
  facts.egl.display_error.clear();
  EXPECT_THAT(problems(facts), HasSubstr("does not list EGL_BRCM_performance_counters"));
  facts.egl.died = "was terminated by SIGSEGV";
  EXPECT_THAT(problems(facts), HasSubstr("tally run --egl off"));
  facts.egl_library = EglLibrary::None;
  EXPECT_THAT(notes(facts), HasSubstr("there is no libEGL.so.1"));
  facts.egl_files = {};
  EXPECT_THAT(notes(facts), HasSubstr("EGL programs are not profiled"));
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

class TemporaryFolders : public Folder {
 protected:
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
  EXPECT_THAT(why_no_layer_was_loaded(script.string(), "").value_or(""),
              HasSubstr("MESA_LOADER_DRIVER_OVERRIDE=zink"));
  EXPECT_FALSE(why_no_layer_was_loaded(write("other", "#!/bin/sh\n").string(), ""));
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

TEST(Doctor, names_the_missing_feature) {
  DoctorFacts facts = healthy();
  facts.native.devices[0].features["fragmentStoresAndAtomics"] = false;
  facts.with_tally.devices[0].extensions.clear();
  EXPECT_THAT(problems(facts), HasSubstr("lacks fragmentStoresAndAtomics"));
}

TEST(Doctor, names_the_package_of_a_missing_loader) {
  DoctorFacts facts = healthy();
  facts.native = {};
  facts.native.loader_error = "libvulkan.so.1: cannot open shared object file";
  EXPECT_THAT(problems(facts), HasSubstr("apt-get install libvulkan1"));
}

TEST(Doctor, names_the_package_of_a_missing_driver) {
  DoctorFacts facts = healthy();
  facts.drivers.clear();
  facts.native.devices.clear();
  facts.native.instance_error = "VK_ERROR_INCOMPATIBLE_DRIVER";
  EXPECT_THAT(problems(facts), HasSubstr("apt-get install mesa-vulkan-drivers"));
}

TEST(Doctor, reports_how_a_driver_crashed) {
  DoctorFacts facts = healthy();
  facts.native.died = "was terminated by SIGSEGV";
  EXPECT_THAT(problems(facts), HasSubstr("was terminated by SIGSEGV"));
}

TEST(Doctor, reports_layers_that_cannot_be_loaded_or_found) {
  DoctorFacts facts = healthy();
  facts.layer_load_errors = {"undefined symbol: x"};
  EXPECT_THAT(problems(facts), HasSubstr("undefined symbol"));
  facts = healthy();
  facts.with_tally.layers.clear();
  EXPECT_THAT(problems(facts), HasSubstr("does not find VK_LAYER_TALLY_capture"));
  facts = healthy();
  facts.layers.reset();
  facts.layers_error = "not found";
  EXPECT_THAT(problems(facts), HasSubstr("not found"));
}

TEST(Doctor, reports_a_loader_that_is_too_old_unless_the_user_has_set_the_path) {
  DoctorFacts facts = healthy();
  facts.native.loader_version = "1.3.204";
  EXPECT_THAT(problems(facts), HasSubstr("VK_ADD_LAYER_PATH"));
  facts.environment["VK_LAYER_PATH"] = "/usr/share/vulkan/explicit_layer.d";
  EXPECT_EQ(problems(facts), "");
}

TEST(Doctor, reports_variables_that_disable_the_layers) {
  for (const char* value :
       {"~all~", "~explicit~", "*TALLY*", "VK_LAYER_TALLY_capture", "a,VK_LAYER_TALLY_capture"}) {
    DoctorFacts facts = healthy();
    facts.environment["VK_LOADER_LAYERS_DISABLE"] = value;
    EXPECT_THAT(problems(facts), HasSubstr("disables VK_LAYER_TALLY_capture")) << value;
  }
  DoctorFacts facts = healthy();
  facts.environment["VK_LOADER_LAYERS_DISABLE"] = "~implicit~";
  EXPECT_EQ(problems(facts), "");
}

TEST(Doctor, reports_devices_that_this_user_cannot_open) {
  DoctorFacts facts = healthy();
  facts.device_nodes = {{"/dev/dri/renderD128", true, false}};
  facts.temporary_folder.usable = false;
  EXPECT_THAT(problems(facts), HasSubstr("/dev/dri/renderD128"));
  EXPECT_THAT(problems(facts), HasSubstr("TMPDIR"));
}

TEST(Doctor, reports_limitations_without_calling_them_problems) {
  DoctorFacts facts = healthy();
  facts.native.devices[0].features["shaderInt64"] = false;
  facts.native.devices[0].limits["subgroupSupportedStages"] = 0x30;
  facts.native.devices[0].limits["driverID"] = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  facts.runtime_folder = PathFact{"/run/user/1", false, false};
  facts.native.layers.clear();
  EXPECT_EQ(problems(facts), "");
  EXPECT_THAT(notes(facts), HasSubstr("32 bits with carry"));
  EXPECT_THAT(notes(facts), HasSubstr("vertex shaders"));
  EXPECT_THAT(notes(facts), HasSubstr("discard in a loop"));
  EXPECT_THAT(notes(facts), HasSubstr("XDG_RUNTIME_DIR"));
  EXPECT_THAT(notes(facts), HasSubstr("validation layer is not installed"));
}

TEST(Doctor, lists_the_extensions_of_the_driver_that_are_hidden) {
  DoctorFacts facts = healthy();
  facts.native.devices[0].extensions.insert("VK_NV_ray_tracing");
  EXPECT_EQ(problems(facts), "");
  EXPECT_THAT(notes(facts), HasSubstr("VK_NV_ray_tracing is hidden from a captured application"));
}

TEST(DeviceSupport, distinguishes_native_and_added_interfaces) {
  DoctorFacts facts = healthy();
  const auto devices = compare_devices(facts.native, facts.with_tally);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_TRUE(devices[0].can_capture());
  EXPECT_FALSE(devices[0].interfaces[0].native);
  EXPECT_TRUE(devices[0].interfaces[0].with_tally);
}

TEST(DeviceSupport, environment_without_tally_keeps_other_layers) {
  const Environment environment = {
      {"VK_INSTANCE_LAYERS", "a:VK_LAYER_TALLY_capture:b:VK_LAYER_TALLY_counters"}};
  EXPECT_EQ(without_tally_layers(environment).at("VK_INSTANCE_LAYERS"), "a:b");
}

TEST(Containers, the_advice_names_what_the_launcher_has_to_share) {
  const NeededFolders folders{"/opt/tally", "/tmp"};
  EXPECT_FALSE(container_advice({"env", "A=b", "game"}, folders));
  const auto bwrap = container_advice({"nice", "/usr/bin/bwrap", "--dev", "/dev", "game"}, folders);
  ASSERT_TRUE(bwrap);
  EXPECT_THAT(*bwrap, HasSubstr("--bind /tmp /tmp --ro-bind /opt/tally /opt/tally"));
  EXPECT_THAT(
      *container_advice({"podman", "run", "image"}, folders),
      HasSubstr("--volume /tmp:/tmp --volume /opt/tally:/opt/tally:ro --env VK_INSTANCE_LAYERS"));
  EXPECT_THAT(*container_advice({"flatpak", "run", "org.Game"}, {"/usr", "/tmp"}),
              ::testing::AllOf(HasSubstr("--env= for VK_ADD_LAYER_PATH"),
                               HasSubstr("use Tally's tarball")));
}

TEST(Containers, doctor_below_run_names_what_is_not_visible) {
  DoctorFacts facts;
  facts.capture_socket = PathFact{"/tmp/tally-run-x/socket"};
  facts.layer_folders = {{"/opt/tally/layers"}, {"/usr", true, true}};
  std::string text;
  for (const Finding& finding : examine(facts)) {
    if (finding.subject == "capture") text += finding.text + "\n";
  }
  EXPECT_EQ(text,
            "/tmp/tally-run-x/socket, the socket of tally run, is not visible\n"
            "/opt/tally/layers, a folder of layers, is not visible\n");
}

}  // namespace
}  // namespace tally::cli
