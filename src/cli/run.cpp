// `tally run`: runs an application with the capture layer. From the outside it behaves like the
// application.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/model/load_model.h"
#include "analysis/model/selection.h"
#include "analysis/source/missing_texts.h"
#include "analysis/tables/empty_result.h"
#include "analysis/tables/summary.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/drivers.h"
#include "cli/egl_injection.h"
#include "cli/environment.h"
#include "cli/hints.h"
#include "cli/html.h"
#include "cli/layers.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/temporary_folder.h"
#include "report/header.h"
#include "report/html/page.h"
#include "report/values.h"
#include "store/clock.h"
#include "store/collector.h"
#include "store/source_texts.h"
#include "store/writer.h"

namespace tally::cli {
namespace {

constexpr size_t kMaxReasons = 5;
// The time limit for data in transit. Processes that outlive the application were already waited
// for.
constexpr std::chrono::seconds kGrace{5};

struct Options {
  std::string output;
  std::string frames;
  std::string shader;
  std::string driver;
  std::string egl = "auto";
  std::string sources;
  std::string html;     // empty: no HTML report
  std::string regions;  // "": off; "true": the layer chooses the size; else "16x16"
  bool branches = false;
  bool divergence = false;
  bool force = false;
  bool strict = false;
  bool quiet = false;
  int verbose = 0;
  std::vector<std::string> application;
};

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

Result<Environment> application_environment(const Options& options, const LayerSet& layers,
                                            const EglFiles& egl, const std::string& socket) {
  Environment environment = current_environment();
  add_layer_folders(environment, layers.folders);
  add_layer_folders(environment, {layers.run_folder});
  add_instance_layers(environment, {kRunLayer});
  environment["TALLY_CAPTURE_SOCKET"] = socket;
  if (!options.frames.empty()) environment["TALLY_FRAMES"] = options.frames;
  if (!options.shader.empty()) environment["TALLY_SHADER"] = layer_pattern(options.shader);
  if (!options.regions.empty()) environment["TALLY_REGIONS"] = "1";
  environment.try_emplace("TALLY_STATIC_COSTS", "0");  // the capture layer adds them
  if (options.regions.find('x') != std::string::npos) {
    environment["TALLY_REGION_SIZE"] = options.regions;
  }
  if (options.branches) environment["TALLY_COUNT_BRANCHES"] = "1";
  set_subgroups(environment, options.divergence);
  if (options.quiet) environment["TALLY_LOG_LEVEL"] = "error";
  if (options.verbose > 0) environment["TALLY_LOG_LEVEL"] = options.verbose > 1 ? "debug" : "info";
  add_egl(environment, egl, parse_egl_mode(options.egl));
  if (!options.driver.empty()) {
    const auto drivers = find_drivers(environment, options.driver);
    if (!drivers) return drivers.error();
    set_drivers(environment, *drivers);
  }
  return environment;
}

store::CaptureRow capture_row(const Options& options) {
  std::error_code ignored;
  store::CaptureRow row;
  row.tool_version = TALLY_VERSION;
  row.command_line = options.application;
  row.working_directory = std::filesystem::current_path(ignored).string();
  row.start_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  row.start_monotonic_ns = store::monotonic_ns();
  row.frame_range = options.frames;
  row.shader_pattern = options.shader;
  return row;
}

// The command as a user would type it.
std::string report_command(const std::string& file) {
  return fmt::format("tally report {}",
                     file.find_first_of(" '\"$`\\&|;<>()*?[#~") == std::string::npos
                         ? file
                         : fmt::format("'{}'", file));
}

void print_environment_changes(const Environment& environment) {
  for (const char* name :
       {"VK_ADD_LAYER_PATH", "VK_LAYER_PATH", "VK_INSTANCE_LAYERS", "VK_DRIVER_FILES",
        "__EGL_VENDOR_LIBRARY_FILENAMES", "TALLY_EGL_VENDORS", "LD_PRELOAD", "TALLY_CAPTURE_SOCKET",
        "TALLY_FRAMES", "TALLY_SHADER", "TALLY_REGIONS", "TALLY_REGION_SIZE", "TALLY_STATIC_COSTS",
        "TALLY_COUNT_BRANCHES", "TALLY_COUNT_SUBGROUPS", "TALLY_PACKED_DRAW_INDICES",
        "TALLY_LOG_LEVEL"}) {
    const std::string value = value_of(environment, name);
    if (!value.empty()) say(fmt::format("{}={}", name, value));
  }
}

void print_exit_signal(const ChildEnd& end) {
  if (!end.by_signal) return;
  say(fmt::format("the application was terminated by {}{}; exit status {}", signal_name(end.number),
                  end.core_dumped ? " (core dumped)" : "", end.shell_status()));
}

void print_nothing_captured(const std::string& program, const std::string& egl_problem) {
  say(fmt::format("{} created no Vulkan device and no EGL context for GL, so nothing was captured",
                  program));
  if (const auto reason = why_no_layer_was_loaded(program, value_of(current_environment(), "PATH")))
    say(*reason);
  if (!egl_problem.empty()) say("EGL programs are not profiled: " + egl_problem);
  say("next: tally doctor");
}

Result<analysis::Model> model_of(const std::string& file) {
  auto reader = store::Reader::open(file);
  if (!reader) return reader.error();
  return analysis::load_model(std::move(*reader), {}, analysis::Model::Detail::Batches);
}

void print_missing(const analysis::Summary& summary) {
  for (const std::string& line : report::missing_lines(summary)) say("missing: " + line);
}

void print_summary(const analysis::Model& model, const analysis::Summary& summary,
                   const std::string& file) {
  const std::string nothing = analysis::why_selection_is_empty(model);
  if (!nothing.empty()) say(nothing);
  std::string device = summary.devices.empty() ? "no device" : summary.devices.front().name;
  if (summary.devices.size() > 1) device += fmt::format(" and {} more", summary.devices.size() - 1);
  if (nothing.empty()) say(fmt::format("{} on {}", report::amounts(summary), device));
  if (const std::string shaders = report::shaders_line(summary); !shaders.empty()) say(shaders);
  for (const std::string& line : report::uncounted_lines(summary, kMaxReasons))
    say("  not counted: " + line);
  for (const store::MessageRow& message : summary.messages) {
    if (message.severity != store::Severity::Info) say("  " + message.text);
  }
  std::error_code ignored;
  const auto size = std::filesystem::file_size(file, ignored);
  say(fmt::format("capture: {} ({})", file, report::bytes_text(static_cast<double>(size))));
  say("next: " + report_command(file));
}

// Whether the capture has a value of the metric that is not 0.
bool has_values(const analysis::Model& model, store::RowId metric) {
  for (const char* table : {"block_cost", "batch_other"}) {
    auto rows = model.reader.query(
        fmt::format("SELECT 1 FROM {} WHERE metric = {} LIMIT 1", table, metric));
    if (rows && rows->step()) return true;
  }
  return false;
}

// What was asked for and is not in the capture, and why.
void print_refusals(const analysis::Model& model, const Options& options) {
  constexpr const char* kNative =
      "the driver implements VK_ARM_shader_instrumentation itself and does not count them";
  if (model.metrics.empty()) return;  // nothing was counted at all
  if (options.branches && model.branch_metrics.empty())
    say(fmt::format("no branches: {}", kNative));
  if (!options.divergence) return;
  if (model.subgroup_lanes == analysis::kNone) {
    say(fmt::format("no SIMD efficiency: {}", kNative));
  } else if (!has_values(model, model.metrics[model.subgroup_lanes].id)) {
    say("no SIMD efficiency: the driver has no subgroup operations in the stages that ran "
        "(tally doctor)");
  }
}

// The application may have left other processes running that are being captured. Data that was sent
// but is not in the file yet does not show whether they still run, so it is received first.
void wait_for_others(const store::Collector& collector, bool quiet) {
  using Clock = std::chrono::steady_clock;
  const auto done = [&] { return collector.progress().connected == 0; };
  bool reported = false;
  while (true) {
    const uint64_t received = collector.progress().bytes;
    const auto soon = Clock::now() + std::chrono::milliseconds(500);
    if (!Child::wait_until([&] { return done() || Clock::now() > soon; }) || done()) return;
    if (collector.progress().bytes == received) break;
    if (!quiet && !std::exchange(reported, true))
      say("the application has ended; receiving the remaining data until its end or Ctrl-C");
  }
  const uint64_t left = collector.progress().connected;
  if (!quiet && left != 0) {
    say(fmt::format(
        "the application has ended; capturing {} that it started until their end or Ctrl-C",
        left == 1 ? "a process" : fmt::format("{} processes", left)));
  }
  Child::wait_until(done);
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int run() {
    if (Status ready = prepare(); !ready) return fail(ready.error());
    if (options_.egl != "off") egl_ = find_egl_files(own_executable(), folder_->path());
    const auto environment =
        application_environment(options_, *layers_, egl_, collector_->socket_path());
    if (!environment) return give_up(environment.error(), kFailed);
    if (options_.verbose > 0) print_environment_changes(*environment);
    int exec_status = kFailed;
    auto child =
        Child::start(options_.application, environment_strings(*environment), &exec_status);
    if (!child) return give_up(child.error(), exec_status);
    const ChildEnd end = child->wait();
    wait_for_others(*collector_, options_.quiet);
    const bool complete = finish(end);
    const bool has_html = write_html();
    if (options_.strict && !complete) return kIncomplete;
    return has_html || end.shell_status() != kDone ? end.shell_status() : kFailed;
  }

 private:
  Status check_regions() const {
    unsigned width = 0, height = 0;
    int end = -1;
    const auto fits = [](unsigned side) {
      return std::has_single_bit(side) && side >= 4 && side <= 4096;
    };
    const std::string& text = options_.regions;
    if (text.empty() || text == "true") return {};
    if (std::sscanf(text.c_str(), "%ux%u%n", &width, &height, &end) == 2 &&
        end == static_cast<int>(text.size()) && fits(width) && fits(height)) {
      return {};
    }
    return Error{
        fmt::format("--regions={}: not WIDTHxHEIGHT in powers of two from 4 to 4096", text)};
  }

  // What can be known before the application runs.
  Status check_html() const {
    if (options_.html.empty()) return {};
    if (const auto reason = report::why_no_html(); !reason.empty())
      return Error{std::string(reason)};
    std::error_code ignored;
    if (!options_.force && std::filesystem::exists(options_.html, ignored))
      return Error{options_.html + " exists; choose another name, or replace it with --force"};
    return {};
  }

  // Returns whether there is nothing to write, or it is written.
  bool write_html() const {
    std::error_code ignored;
    if (options_.html.empty() || !std::filesystem::exists(file_, ignored)) return true;
    const int status =
        write_html_report({.file = options_.html, .capture = file_, .force = options_.force});
    if (status == kDone && !options_.quiet) say("page: " + options_.html);
    return status == kDone;
  }

  // The collector's thread must not receive the signals that are forwarded.
  Status prepare() {
    if (!options_.frames.empty()) {
      if (const auto range = analysis::parse_frame_range(options_.frames); !range)
        return range.error();
    }
    if (Status regions = check_regions(); !regions) return regions.error();
    if (Status html = check_html(); !html) return html.error();
    if (!options_.sources.empty()) {
      auto folder = analysis::SourceFolder::open(options_.sources);
      if (!folder) return folder.error();
      source_folder_.emplace(std::move(*folder));
    }
    auto layers = find_layers(own_executable());
    if (!layers) return layers.error();
    layers_ = std::move(*layers);
    program_ = program_of(options_.application, value_of(current_environment(), "PATH"));
    auto file = choose_output(options_.output, program_, options_.force);
    if (!file) return file.error();
    file_ = std::move(*file);
    const Status started = start_collector();
    if (!started && !options_.force) ::unlink(file_.c_str());
    return started;
  }

  Status start_collector() {
    auto folder = TemporaryFolder::make();
    if (!folder) return folder.error();
    folder_.emplace(std::move(*folder));
    auto writer = store::Writer::create(file_, capture_row(options_));
    if (!writer) return writer.error();
    block_forwarded_signals();
    auto collector = store::Collector::start(std::move(*writer), folder_->path());
    if (!collector) return collector.error();
    collector_ = std::move(*collector);
    return {};
  }

  int give_up(const Error& error, int status) {
    (void)collector_->finish(std::nullopt, std::chrono::seconds(0));
    ::unlink(file_.c_str());
    fail(error);
    return status;
  }

  // Finishes the capture. Returns whether it holds everything that was to be captured.
  bool finish(const ChildEnd& end) {
    const Status written = collector_->finish(end.shell_status(), kGrace);
    const bool anything = collector_->progress().processes != 0;
    if (!options_.quiet) print_exit_signal(end);
    if (!written) say("the capture is incomplete: " + written.error().message);
    if (anything && source_folder_) add_sources();
    if (!anything) {
      ::unlink(file_.c_str());
      if (!options_.quiet) print_nothing_captured(program_, egl_.problem);
      return false;
    }
    const auto model = model_of(file_);
    if (!model) {
      say(model.error().message);
      return false;
    }
    const analysis::Summary summary = analysis::summarize(*model);
    if (!options_.quiet) print_summary(*model, summary, file_);
    if (!options_.quiet) print_refusals(*model, options_);
    print_missing(summary);
    return written.ok() && summary.complete();
  }

  // Stores the texts of source files that the shaders only name.
  void add_sources() {
    analysis::FoundTexts found;
    if (const auto model = model_of(file_)) found = find_texts(*model, *source_folder_);
    if (!found.texts.empty()) {
      if (Status added = store::add_source_texts(file_, found.texts); !added)
        say(added.error().message);
    }
    for (const auto& [names, problem] : {std::pair(&found.missing, "not found"),
                                         std::pair(&found.ambiguous, "several files match")}) {
      if (names->empty()) continue;
      say(fmt::format("{}: {} for {} source file(s), for example {}", options_.sources, problem,
                      names->size(), names->front()));
    }
  }

  const Options& options_;
  std::string program_;
  std::optional<analysis::SourceFolder> source_folder_;
  std::optional<LayerSet> layers_;
  std::optional<TemporaryFolder> folder_;
  EglFiles egl_;
  std::string file_;
  std::unique_ptr<store::Collector> collector_;
};

// `tally run app x -- y`: the dashes belong to the application if they follow its name.
std::vector<std::string> application_of(std::vector<std::string> before,
                                        const std::vector<std::string>& after_dashes) {
  if (before.empty()) return after_dashes;
  if (!after_dashes.empty()) before.emplace_back("--");
  before.insert(before.end(), after_dashes.begin(), after_dashes.end());
  return before;
}

// Detects "--regions 16x16", which would run a program of that name.
bool is_size(const std::string& text) {
  unsigned width = 0, height = 0;
  int end = -1;
  return std::sscanf(text.c_str(), "%ux%u%n", &width, &height, &end) == 2 &&
         end == static_cast<int>(text.size());
}

}  // namespace

void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "Run an application and capture what its shaders do");
  command->formatter(
      std::make_shared<UsageFormatter>("tally run [OPTIONS] [--] APPLICATION [ARGUMENTS...]"));
  command->prefix_command();
  command
      ->add_option("-o,--output", options->output,
                   "Capture to write (default: APPLICATION.tally, numbered if that exists)")
      ->type_name("FILE");
  command->add_flag("--force", options->force,
                    "Replace the capture, and the HTML file, if they exist");
  command
      ->add_option("--html", options->html,
                   "Also write the capture as one HTML file (see tally report --html)")
      ->type_name("FILE.html");
  command
      ->add_option("--frames", options->frames,
                   "Capture only these frames, counted from 0: 7, 3-9, 3- or -9")
      ->type_name("A-B");
  command
      ->add_option(
          "--shader", options->shader,
          "Count only pipelines with a shader whose name or hash matches (* and ? allowed)")
      ->type_name("PATTERN");
  command
      ->add_flag("--regions", options->regions,
                 "Also count every render pass by region of the framebuffer; --regions=WxH sets "
                 "the size of a region")
      ->type_name("[=WxH]");
  command->add_flag("--branches", options->branches,
                    "Also count how often each branch and switch went to each of its targets");
  command->add_flag("--divergence", options->divergence,
                    "Also count the subgroups that execute each block: reports show the SIMD "
                    "efficiency");
  command
      ->add_option("--driver", options->driver,
                   "Use this driver: its manifest, or a part of the manifest's name")
      ->type_name("DRIVER");
  command
      ->add_option("--egl", options->egl,
                   "How an EGL program is profiled: auto, vendor (libglvnd), preload or off")
      ->check(CLI::IsMember({"auto", "vendor", "preload", "off"}).description(""))
      ->type_name("MODE");
  command
      ->add_option("--sources", options->sources,
                   "Store source files that debug information only names, as found in this folder")
      ->type_name("FOLDER");
  command->add_flag("--strict", options->strict, "Exit with status 4 if the capture is incomplete");
  command->add_flag("-q,--quiet", options->quiet, "Print no summary");
  command->add_flag("-v,--verbose", options->verbose,
                    "Print the changes to the environment; twice: also the layers' log");
  command->footer(
      "Its exit status, input and output are the application's own. Example: tally run -- vkcube "
      "--c 100");
  command->callback([options, command, &chosen, after_dashes] {
    const std::vector<std::string> before = command->remaining();
    if (!before.empty() && before.front().starts_with('-')) {
      throw CLI::ParseError("unknown option " + before.front(), kFailed);
    }
    if (options->regions == "true" && !before.empty() && is_size(before.front())) {
      throw CLI::ParseError("the size follows an equals sign: --regions=" + before.front(),
                            kFailed);
    }
    options->application = application_of(before, after_dashes);
    if (options->application.empty()) throw CLI::RequiredError("APPLICATION");
    chosen = [options] { return Run(*options).run(); };
  });
}

}  // namespace tally::cli
