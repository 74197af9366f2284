// `tally run`: runs an application with the capture layer. From the outside it behaves like the
// application.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/model/load_model.h"
#include "analysis/source/missing_texts.h"
#include "analysis/tables/empty_result.h"
#include "analysis/tables/summary.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/container.h"
#include "cli/control.h"
#include "cli/egl_injection.h"
#include "cli/environment.h"
#include "cli/hints.h"
#include "cli/html.h"
#include "cli/layers.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/temporary_folder.h"
#include "report/header.h"
#include "report/html/page.h"
#include "report/values.h"
#include "store/collector.h"
#include "store/source_texts.h"
#include "store/writer.h"

namespace tally::cli {
namespace {

constexpr size_t kMaxReasons = 5;
// The time limit for data in transit. Processes that outlive the application were already waited
// for.
constexpr std::chrono::seconds kGrace{5};

// The command as a user would type it.
std::string report_command(const std::string& file) {
  return fmt::format("tally report {}",
                     file.find_first_of(" '\"$`\\&|;<>()*?[#~") == std::string::npos
                         ? file
                         : fmt::format("'{}'", file));
}

void print_exit_signal(const ChildEnd& end) {
  if (!end.by_signal) return;
  say(fmt::format("the application was terminated by {}{}; exit status {}", signal_name(end.number),
                  end.core_dumped ? " (core dumped)" : "", end.shell_status()));
}

void print_nothing_captured(const std::string& program, const std::string& egl_problem,
                            const std::optional<std::string>& container) {
  say(fmt::format("{} created no Vulkan device and no EGL context for GL, so nothing was captured",
                  program));
  if (const auto reason = why_no_layer_was_loaded(program, value_of(current_environment(), "PATH")))
    say(*reason);
  if (!egl_problem.empty()) say("EGL programs are not profiled: " + egl_problem);
  if (container) say(*container);
  say(container ? "next: tally doctor, in place of the application" : "next: tally doctor");
}

Result<analysis::Model> model_of(const std::string& file) {
  auto reader = store::Reader::open(file);
  if (!reader) return reader.error();
  // SQLite then does not look for changes at each read.
  if (Status held = reader->hold(); !held) return held.error();
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
void print_refusals(const analysis::Model& model, const RunOptions& options) {
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
  explicit Run(const RunOptions& options) : options_(options) {}

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
    const ChildEnd end = child->wait([this](int signal) {
      if (signal != SIGUSR1 || options_.trigger.empty()) return false;
      std::string answer = request_frames(trigger_frames(options_));
      if (answer.starts_with(kRefusal)) answer.erase(0, std::string_view(kRefusal).size());
      if (!options_.quiet) say(answer);
      return true;
    });
    wait_for_others(*collector_, options_.quiet);
    const bool complete = finish(end);
    const bool has_html = write_html();
    if (options_.strict && !complete) return kIncomplete;
    return has_html || end.shell_status() != kDone ? end.shell_status() : kFailed;
  }

 private:
  std::string request_frames(uint64_t frames) const {
    if (collector_->request_frames(frames) == 0)
      return std::string(kRefusal) + "the application uses neither Vulkan nor GL yet";
    return frames == 1 ? "captures the next frame" : fmt::format("captures {} frames", frames);
  }

  // Called on the server's thread.
  std::string answer(const std::string& request) {
    constexpr std::string_view kFrames = "frames";
    if (request == kFileRequest) {
      std::error_code unknown;
      return std::filesystem::absolute(file_, unknown).string();
    }
    if (request == kReleaseRequest) {
      released_ = true;
      collector_->stop_capturing();
      return "captures nothing more";
    }
    if (!request.starts_with(kFrames))
      return std::string(kRefusal) + "it does not know the request";
    if (options_.trigger.empty()) return std::string(kRefusal) + "it was started without --trigger";
    const bool says_how_many = request.size() > kFrames.size();
    const uint64_t frames =
        says_how_many ? parse_frame_count(std::string_view(request).substr(kFrames.size() + 1))
                      : trigger_frames(options_);
    if (frames == 0) return std::string(kRefusal) + "not a number of frames";
    return request_frames(frames);
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
    if (Status checked = check(options_); !checked) return checked.error();
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
    Status started = start_collector();
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
    auto collector =
        store::Collector::start(std::move(*writer), folder_->path(),
                                {.file_bytes = options_.max_bytes, .last_frames = options_.keep});
    if (!collector) return collector.error();
    collector_ = std::move(*collector);
    auto control =
        ControlServer::start(file_, [this](const std::string& request) { return answer(request); });
    if (!control && !options_.trigger.empty()) return control.error();
    if (control) control_ = std::move(*control);
    return {};
  }

  int give_up(const Error& error, int status) {
    control_.reset();
    (void)collector_->finish(std::nullopt, std::chrono::seconds(0));
    ::unlink(file_.c_str());
    fail(error);
    return status;
  }

  // Finishes the capture. Returns whether it holds everything that was to be captured.
  bool finish(const ChildEnd& end) {
    control_.reset();
    const Status written = collector_->finish(end.shell_status(), kGrace);
    if (released_) {  // whoever watched has gone
      ::unlink(file_.c_str());
      return false;
    }
    const bool anything = collector_->progress().processes != 0;
    if (!options_.quiet) print_exit_signal(end);
    if (!written) say("the capture is incomplete: " + written.error().message);
    if (anything && source_folder_) add_sources();
    if (!anything) {
      ::unlink(file_.c_str());
      if (!options_.quiet) {
        print_nothing_captured(
            program_, egl_.problem,
            container_advice(options_.application, {own_executable().parent_path().parent_path(),
                                                    folder_->path().parent_path()}));
      }
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

  const RunOptions& options_;
  std::string program_;
  std::optional<analysis::SourceFolder> source_folder_;
  std::optional<LayerSet> layers_;
  std::optional<TemporaryFolder> folder_;
  EglFiles egl_;
  std::string file_;
  std::unique_ptr<store::Collector> collector_;
  std::unique_ptr<ControlServer> control_;
  std::atomic<bool> released_ = false;
};

}  // namespace

void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run an application and capture what its shaders do");
  command->formatter(
      std::make_shared<UsageFormatter>("tally run [OPTIONS] [--] APPLICATION [ARGUMENTS...]"));
  command->prefix_command();
  declare_options(*command, *options);
  command->footer(
      "Its exit status, input and output are the application's own. Example: tally run -- vkcube "
      "--c 100");
  command->callback([options, command, &chosen, after_dashes] {
    set_application(*options, command->remaining(), after_dashes);
    chosen = [options] { return Run(*options).run(); };
  });
}

}  // namespace tally::cli
