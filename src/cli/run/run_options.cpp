#include "cli/run/run_options.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/frame_range.h"
#include "base/settings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/environment.h"
#include "cli/run/replace.h"
#include "store/stream/clock.h"

namespace tally::cli {
namespace {

constexpr uint64_t kMaxRequest = 1'000'000;  // frames
// Small enough for a picture that people can read: 2,040 regions of a pass of 480x270.
constexpr const char* kDefaultRegion = "8x8";
constexpr const char* kDefaultClocks = "64";
constexpr uint64_t kMaxClocks = 65536;
constexpr uint64_t kMinLanes = 4, kMaxLanes = 128;

// A pattern without wildcards matches anywhere in a name, as in `tally report`; the layer matches
// whole names.
std::string layer_pattern(const std::string& pattern) {
  return pattern.find_first_of("*?[") == std::string::npos ? "*" + pattern + "*" : pattern;
}

// A counter of subgroups on each block is not for every capture. Fragments of several draws with
// packed draw indices may share a subgroup, which then counts for one of them.
void set_subgroups(Environment& environment, bool divergence) {
  if (divergence) {
    environment["TALLY_COUNT_SUBGROUPS"] = "1";
    environment["TALLY_PACKED_DRAW_INDICES"] = "never";
  } else {
    environment.try_emplace("TALLY_COUNT_SUBGROUPS", "0");
  }
}

std::string frames_text(const RunOptions& options) {
  if (!options.trigger.empty()) return "on request";
  if (options.every == 1) return options.frames;
  return fmt::format("{}, every {}", options.frames.empty() ? "0-" : options.frames, options.every);
}

std::string limits_text(const RunOptions& options) {
  std::string text = frames_text(options);
  if (options.keep != 0) {
    text += fmt::format("{}the last {}", text.empty() ? "" : ", ", options.keep);
  }
  return text;
}

Status check_regions(const RunOptions& options) {
  const std::string& text = options.regions;
  if (options.region_draws && text.empty()) return Error{"--region-draws needs --regions"};
  if (text.empty() || text == "true") return {};
  if (const auto size = parse_size(text); size && is_region_size(*size)) return {};
  return Error{fmt::format("--regions={}: not WIDTHxHEIGHT in powers of two up to 4096", text)};
}

// A power of two: the layer chooses subgroups by bits of a clock.
Status check_clocks(const std::string& text) {
  if (text.empty() || text == "true") return {};
  const uint64_t number = parse_count(text);
  if (std::has_single_bit(number) && number <= kMaxClocks) return {};
  return Error{fmt::format("--clocks={}: not a power of two up to {}", text, kMaxClocks)};
}

Status check_memory(const std::string& text) {
  if (text.empty() || text == "true") return {};
  const uint64_t number = parse_count(text);
  if (std::has_single_bit(number) && number >= kMinLanes && number <= kMaxLanes) return {};
  return Error{
      fmt::format("--memory={}: not a power of two from {} to {}", text, kMinLanes, kMaxLanes)};
}

bool ends_at_labels(const RunOptions& options) { return !options.frame_label.empty(); }

Status check_frame_ends(const RunOptions& options) {
  if (!ends_at_labels(options)) return {};
  if (options.frame_per != "present" && options.frame_per != "label") {
    return Error{
        fmt::format("--frame-label and --frame-per {} exclude each other", options.frame_per)};
  }
  const auto pattern = platform::Regex::compile(options.frame_label);
  return pattern ? Status() : with_context(pattern.error(), "--frame-label");
}

Status check_frames(const RunOptions& options) {
  if (!options.frames.empty() && !FrameChoice::parse(options.frames)) {
    return Error{fmt::format(
        "'{}' is not a list of frames; write 7, 3-9, 3- or -9, or several: 3-9,100,200-",
        options.frames)};
  }
  if (options.trigger.empty()) return {};
  if (trigger_frames(options) == 0) {
    return Error{fmt::format("--trigger={}: not a number of frames", options.trigger)};
  }
  if (!options.frames.empty() || options.every != 1) {
    return Error{"--trigger excludes --frames and --every"};
  }
  return {};
}

// `tally run app x -- y`: the dashes belong to the application if they follow its name.
std::vector<std::string> application_of(std::vector<std::string> before,
                                        const std::vector<std::string>& after_dashes) {
  if (before.empty()) return after_dashes;
  if (!after_dashes.empty()) before.emplace_back("--");
  before.insert(before.end(), after_dashes.begin(), after_dashes.end());
  return before;
}

}  // namespace

uint64_t trigger_frames(const RunOptions& options) {
  if (options.trigger == "true") return 1;
  return parse_count(options.trigger);
}

uint64_t parse_count(std::string_view text) {
  uint64_t frames = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), frames);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return frames <= kMaxRequest ? frames : 0;
}

Status check(const RunOptions& options) {
  TALLY_TRY(check_frames(options));
  TALLY_TRY(check_frame_ends(options));
  TALLY_TRY(check_replacements(options.replacements));
  TALLY_TRY(check_clocks(options.clocks));
  TALLY_TRY(check_memory(options.memory));
  return check_regions(options);
}

Result<Environment> application_environment(const RunOptions& options, const LayerSet& layers,
                                            const EglFiles& egl, const std::string& socket,
                                            const std::string& replacements) {
  Environment environment = current_environment();
  add_layer_folders(environment, layers.folders);
  add_layer_folders(environment, {layers.run_folder});
  add_instance_layers(environment, {kRunLayer});
  environment["TALLY_CAPTURE_SOCKET"] = socket;
  if (!options.frames.empty()) environment["TALLY_FRAMES"] = options.frames;
  if (options.every != 1) environment["TALLY_EVERY"] = std::to_string(options.every);
  if (options.frame_per != "present") environment["TALLY_FRAME_PER"] = options.frame_per;
  if (ends_at_labels(options)) environment["TALLY_FRAME_LABEL"] = options.frame_label;
  if (!options.trigger.empty()) environment["TALLY_TRIGGER"] = "1";
  if (!options.shader.empty()) environment["TALLY_SHADER"] = layer_pattern(options.shader);
  if (!replacements.empty()) environment["TALLY_REPLACE"] = replacements;
  if (!options.regions.empty()) environment["TALLY_REGIONS"] = "1";
  environment.try_emplace("TALLY_STATIC_COSTS", "0");  // the capture layer adds them
  if (options.regions.find('x') != std::string::npos) {
    environment["TALLY_REGION_SIZE"] = options.regions;
  } else if (!options.regions.empty()) {
    environment.try_emplace("TALLY_REGION_SIZE", kDefaultRegion);
  }
  if (options.region_draws) environment["TALLY_REGION_DRAWS"] = "1";
  if (options.times != "passes") environment["TALLY_TIMES"] = options.times;
  if (options.statistics) environment["TALLY_STATISTICS"] = "1";
  if (options.branches) environment["TALLY_COUNT_BRANCHES"] = "1";
  if (options.loops) environment["TALLY_COUNT_LOOPS"] = "1";
  if (options.values) environment["TALLY_COUNT_VALUES"] = "1";
  if (!options.clocks.empty())
    environment["TALLY_CLOCKS"] = options.clocks == "true" ? kDefaultClocks : options.clocks;
  if (!options.memory.empty()) environment["TALLY_COUNT_MEMORY"] = "1";
  if (!options.memory.empty() && options.memory != "true")
    environment["TALLY_MEMORY_LANES"] = options.memory;
  set_subgroups(environment, options.divergence);
  if (options.all_extensions) environment["TALLY_HIDE_EXTENSIONS"] = "0";
  if (options.quiet) environment["TALLY_LOG_LEVEL"] = "error";
  if (options.verbose > 0) environment["TALLY_LOG_LEVEL"] = options.verbose > 1 ? "debug" : "info";
  add_egl(environment, egl, parse_egl_mode(options.egl));
  if (!options.driver.empty()) {
    const auto drivers = TALLY_TRY(find_drivers(environment, options.driver));
    set_drivers(environment, drivers);
  }
  return environment;
}

void print_environment_changes(const Environment& environment) {
  for (const char* name : {"VK_ADD_LAYER_PATH",
                           "VK_LAYER_PATH",
                           "VK_INSTANCE_LAYERS",
                           "VK_DRIVER_FILES",
                           "__EGL_VENDOR_LIBRARY_FILENAMES",
                           "TALLY_EGL_VENDORS",
                           "LD_PRELOAD",
                           "TALLY_CAPTURE_SOCKET",
                           "TALLY_FRAMES",
                           "TALLY_EVERY",
                           "TALLY_TRIGGER",
                           "TALLY_FRAME_PER",
                           "TALLY_FRAME_LABEL",
                           "TALLY_SHADER",
                           "TALLY_REPLACE",
                           "TALLY_REGIONS",
                           "TALLY_REGION_SIZE",
                           "TALLY_REGION_DRAWS",
                           "TALLY_TIMES",
                           "TALLY_STATISTICS",
                           "TALLY_STATIC_COSTS",
                           "TALLY_COUNT_BRANCHES",
                           "TALLY_COUNT_LOOPS",
                           "TALLY_COUNT_VALUES",
                           "TALLY_CLOCKS",
                           "TALLY_COUNT_SUBGROUPS",
                           "TALLY_PACKED_DRAW_INDICES",
                           "TALLY_LOG_LEVEL"}) {
    const std::string value = value_of(environment, name);
    if (!value.empty()) say(fmt::format("{}={}", name, value));
  }
}

store::CaptureRow capture_row(const RunOptions& options) {
  std::error_code ignored;
  store::CaptureRow row;
  row.tool_version = TALLY_VERSION;
  row.command_line = options.application;
  row.working_directory = std::filesystem::current_path(ignored).string();
  row.start_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  row.start_monotonic_ns = store::monotonic_ns();
  row.frame_range = limits_text(options);
  row.shader_pattern = options.shader;
  if (options.frame_per != "present") row.frame_per = options.frame_per;
  if (ends_at_labels(options)) row.frame_per = "label";
  row.frame_label = options.frame_label;
  row.replacements = options.replacements;
  return row;
}

void declare_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("-o,--output", options.output,
                  "Capture to write (default: APPLICATION.tally, numbered if that exists)")
      ->type_name("FILE");
  command.add_flag("--force", options.force,
                   "Replace the capture, and the HTML file, if they exist");
  command
      .add_option("--html", options.html,
                  "Also write the capture as one HTML file (see tally report --html)")
      ->type_name("FILE.html");
  command
      .add_option("--frames", options.frames,
                  "Capture only these frames, counted from 0: 7, 3-9, 3- or -9, or several: "
                  "3-9,100,200-")
      ->type_name("A-B,...");
  command
      .add_option("--every", options.every,
                  "Capture only every Nth frame; with --frames, every Nth of each range")
      ->check(whole_number())
      ->check(CLI::Range(int64_t{1}, FrameChoice::kMaxEvery).description(""))
      ->type_name("N");
  command
      .add_option("--frame-per", options.frame_per,
                  "The end of a frame: present (or a frame boundary), submit, label, fence or "
                  "queue-idle")
      ->check(one_of({"present", "submit", "label", "fence", "queue-idle"}))
      ->type_name("UNIT");
  command
      .add_option("--frame-label", options.frame_label,
                  "End a frame with each debug label that matches this regular expression")
      ->type_name("REGEX");
  command
      .add_flag("--trigger", options.trigger,
                "Capture nothing until tally trigger or SIGUSR1 asks for the next frame, or with "
                "--trigger=N for the next N")
      ->type_name("[=N]");
  command
      .add_option("--keep", options.keep,
                  "Keep only the last N captured frames of each device in the capture")
      ->check(whole_number())
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}).description(""))
      ->type_name("N");
  command
      .add_option("--max-size", options.max_bytes,
                  "End the capture before its file exceeds this size: 500M, 2G; at least 1M")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(CLI::Range(uint64_t{1} << 20, uint64_t{1} << 50).description(""))
      ->type_name("SIZE");
  command
      .add_option("--shader", options.shader,
                  "Only count pipelines whose name or hash matches, or that have a matching shader "
                  "(* and ? allowed)")
      ->type_name("PATTERN");
  command
      .add_option("--replace", options.replacements,
                  "Run the code of a file (GLSL, HLSL or SPIR-V) in place of a shader; SHADER is a "
                  "name, hash or entry point (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("SHADER=FILE");
  command
      .add_flag("--regions", options.regions,
                "Also count every render pass by region of the framebuffer, 8x8 pixels or WxH")
      ->type_name("[=WxH]");
  command.add_flag("--region-draws", options.region_draws,
                   "With --regions, also count each draw of a render pass by region");
  command
      .add_option("--times", options.times,
                  "Work to time on the GPU: passes (and dispatches, a part of those that repeat "
                  "often), draws (also each dispatch, and each draw in a pass, which slows passes "
                  "down), plain (as passes, without counting) or off")
      ->check(one_of({"off", "passes", "draws", "plain"}))
      ->type_name("WHAT");
  command.add_flag(
      "--statistics", options.statistics,
      "Also keep the driver compiler's statistics of each pipeline: registers, spills, code size");
  command.add_flag("--branches", options.branches,
                   "Also count how often each branch and switch target is taken");
  command.add_flag("--loops", options.loops,
                   "Also count the iterations of each loop, its runs and their lengths");
  command.add_flag("--values", options.values,
                   "Also count NaNs, infinities, denormals, divisions by zero, roots of negatives "
                   "and indices out of range, by line");
  command
      .add_flag("--clocks", options.clocks,
                "Also count the cycles of shaders, their loops and their calls, in one of 64 "
                "subgroups or one of N")
      ->type_name("[=N]");
  command
      .add_flag(
          "--memory", options.memory,
          "Also count the bytes, sectors and lines that each buffer access touches, and bank "
          "conflicts of workgroup memory; with --memory=N as if compute subgroups had N lanes")
      ->type_name("[=N]");
  command.add_flag(
      "--divergence", options.divergence,
      "Also count the subgroups that execute each block, for SIMD efficiency in reports");
  command.add_flag("--all-extensions", options.all_extensions,
                   "Do not hide extensions whose shaders cannot be counted; a message names "
                   "those that the application enables");
  command
      .add_option("--driver", options.driver,
                  "Use the driver whose manifest is this file or matches this name")
      ->type_name("DRIVER");
  command
      .add_option("--egl", options.egl,
                  "How to profile EGL programs: auto, vendor (libglvnd), preload or off")
      ->check(one_of({"auto", "vendor", "preload", "off"}))
      ->type_name("MODE");
  command
      .add_option("--sources", options.sources,
                  "Store the source files in this folder that debug information names")
      ->type_name("FOLDER");
  command.add_flag("--strict", options.strict,
                   "Exit with status 4 if the capture is incomplete or a shader is not replaced");
  command.add_flag("-q,--quiet", options.quiet, "Print no summary");
  command.add_flag("-v,--verbose", options.verbose,
                   "Print the changes to the environment; twice: also the layers' log");
}

void set_application(RunOptions& options, const std::vector<std::string>& before,
                     const std::vector<std::string>& after_dashes) {
  if (!before.empty() && before.front().starts_with('-')) {
    throw CLI::ParseError("unknown option " + before.front(), kFailed);
  }
  if (options.regions == "true" && !before.empty() && parse_size(before.front())) {
    throw CLI::ParseError("the size follows an equals sign: --regions=" + before.front(), kFailed);
  }
  options.application = application_of(before, after_dashes);
  if (options.application.empty()) throw CLI::RequiredError("APPLICATION");
}

}  // namespace tally::cli
