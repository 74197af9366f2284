// `tally doctor`: what it finds on a machine, and its messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>

#include "cli/doctor/device_support.h"
#include "cli/doctor/findings.h"
#include "cli/doctor/probe.h"
#include "cli/run/environment.h"

namespace tally::cli {
namespace {

using testing::HasSubstr;

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
  facts.drivers = {{"/icd.json", "lib.so", ""}};
  ProbedDevice device{.name = "GPU", .uuid = "1", .api_version = "1.3.230", .driver = "driver"};
  for (const char* name :
       {"bufferDeviceAddress", "timelineSemaphore", "vertexPipelineStoresAndAtomics",
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

TEST(Doctor, names_the_layers_that_a_killed_run_left_in_the_registry) {
  DoctorFacts facts = healthy();
  facts.left_layer_folders = {"C:\\tally\\lib", "D:\\old"};
  EXPECT_EQ(problems(facts), "");
  const auto findings = examine(facts);
  const auto found =
      std::ranges::find_if(findings, [](const Finding& one) { return one.level == Level::Note; });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->text,
            "a tally run that was killed left these folders of layers in the registry: "
            "C:\\tally\\lib, D:\\old");
  EXPECT_EQ(found->remedy, "run tally doctor as administrator, which removes them");
}

TEST(Doctor, says_what_a_container_of_steam_needs) {
  const auto remedy = [](const char* tally, bool has_steam) {
    DoctorFacts facts = healthy();
    facts.tally = tally;
    facts.has_steam = has_steam;
    EXPECT_EQ(problems(facts), "");
    const auto findings = examine(facts);
    const auto found =
        std::ranges::find_if(findings, [](const Finding& one) { return one.subject == "Steam"; });
    return found != findings.end() ? found->remedy : "";
  };
  EXPECT_EQ(remedy("/opt/a tally/bin/tally", false), "");
  EXPECT_EQ(remedy("/opt/my-tally/bin/tally", true),
            "set the launch options of a game to PRESSURE_VESSEL_FILESYSTEMS_RW=/tmp "
            "PRESSURE_VESSEL_FILESYSTEMS_RO=/opt/my-tally /opt/my-tally/bin/tally run -o "
            "/tmp/game.tally -- %command%");
  EXPECT_THAT(remedy("/home/me/Ann's tools/bin/tally", true),
              HasSubstr("PRESSURE_VESSEL_FILESYSTEMS_RO='/home/me/Ann'\\''s tools' "
                        "'/home/me/Ann'\\''s tools'/bin/tally run"));
  EXPECT_THAT(remedy("/usr/bin/tally", true), HasSubstr("PRESSURE_VESSEL_FILESYSTEMS_RO=/opt/tally "
                                                        "/opt/tally/bin/tally run"));
}

TEST(Doctor, reports_a_loader_that_is_too_old_unless_the_user_has_set_the_path) {
  DoctorFacts facts = healthy();
  facts.native.loader_version = "1.3.204";
  EXPECT_THAT(problems(facts), HasSubstr("VK_ADD_LAYER_PATH"));
  facts.environment["VK_LAYER_PATH"] = "/usr/share/vulkan/explicit_layer.d";
  EXPECT_EQ(problems(facts), "");
  facts.environment.erase("VK_LAYER_PATH");
  facts.layers_in_registry = true;
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
