// `tally run`: runs an application with the capture layer. From the outside it behaves like the
// application.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/summary.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/run/control.h"
#include "cli/run/egl_injection.h"
#include "cli/run/environment.h"
#include "cli/run/hints.h"
#include "cli/run/replace.h"
#include "cli/run/run_end.h"
#include "cli/run/run_options.h"
#include "platform/program.h"
#include "report/html/page.h"
#include "report/table/display_text.h"
#include "store/read/reader.h"
#include "store/write/collector.h"
#include "store/write/writer.h"

namespace tally::cli {
namespace {

// The time limit for data in transit. Processes that outlive the application were already waited
// for.
constexpr std::chrono::seconds kGrace{5};

Result<analysis::Model> model_of(const std::string& file) {
  auto reader = TALLY_TRY(store::Reader::open(file));
  // SQLite then does not look for changes at each read.
  TALLY_TRY(reader.hold());
  return analysis::load_model(std::move(reader), {}, analysis::Model::Detail::Batches);
}

// True if the capture has a value of the metric that is not 0.
bool has_values(const analysis::Model& model, store::RowId metric) {
  for (const char* table : {"block_cost", "batch_other"}) {
    auto rows = model.reader.query(
        fmt::format("SELECT 1 FROM {} WHERE metric = {} LIMIT 1", table, metric));
    if (rows && rows->step()) return true;
  }
  return false;
}

bool has_values(const analysis::Model& model, spirv::SiteSlot slot) {
  return std::ranges::any_of(model.site_metrics, [&](const auto& metric) {
    return metric.second == slot && has_values(model, metric.first);
  });
}

// Requested data that is not in the capture, and why.
std::vector<std::string> refusals(const analysis::Model& model, const RunOptions& options) {
  constexpr const char* kNative =
      "the driver implements VK_ARM_shader_instrumentation itself and does not count them";
  std::vector<std::string> lines;
  if (model.metrics.empty()) return lines;  // nothing was counted at all
  if (options.branches && model.branch_metrics.empty())
    lines.push_back(fmt::format("no branches: {}", kNative));
  const std::pair<bool, const char*> sites[] = {{options.loops, "loops"},
                                                {options.values, "values"},
                                                {!options.clocks.empty(), "cycles"},
                                                {!options.memory.empty(), "memory accesses"}};
  for (const auto& [wanted, what] : sites) {
    if (wanted && model.site_metrics.empty())
      lines.push_back(fmt::format("no {}: {}", what, kNative));
  }
  if (!options.memory.empty() && !model.site_metrics.empty() &&
      !has_values(model, spirv::SiteSlot::Subgroups)) {
    lines.emplace_back(
        "no sectors and bank conflicts: no accesses ran, or the driver has no subgroup "
        "operations in their stages, or cannot use them with --memory (tally doctor); "
        "--memory=32 needs none in compute");
  }
  if (!options.clocks.empty() && !model.site_metrics.empty() &&
      !has_values(model, spirv::SiteSlot::TimedInvocations)) {
    lines.emplace_back(
        "no cycles: no subgroup was chosen (--clocks=1 takes all), or the device has no "
        "shaderSubgroupClock");
  }
  if (!options.divergence) return lines;
  if (model.subgroup_lanes == analysis::kNone) {
    lines.push_back(fmt::format("no SIMD efficiency: {}", kNative));
  } else if (!has_values(model, model.metrics[model.subgroup_lanes].id)) {
    lines.emplace_back(
        options.loops || options.values || !options.memory.empty()
            ? "no SIMD efficiency: the driver has no subgroup operations in the stages that ran, "
              "or cannot count subgroups with --loops, --values or --memory (tally doctor)"
            : "no SIMD efficiency: the driver has no subgroup operations in the stages that ran "
              "(tally doctor)");
  }
  return lines;
}

// Those that send to this capture, as "app (process 12)".
std::vector<std::string> running_processes(const std::string& capture) {
  std::vector<std::string> names;
  const auto reader = store::Reader::open(capture);
  if (!reader) return names;
  const auto processes = reader->processes();
  if (!processes) return names;
  for (const store::ProcessRow& process : *processes) {
    if (process.end_ns || !platform::is_running(static_cast<pid_t>(process.pid))) continue;
    // Wine's programs have names of Windows.
    std::string name =
        process.command_line.empty() ? process.executable : process.command_line.front();
    name.erase(0, name.find_last_of("/\\") + 1);
    std::string text = fmt::format("{} (process {})", report::printable(name), process.pid);
    // A process has a row for its Vulkan and one for its GL.
    if (std::ranges::find(names, text) == names.end()) names.push_back(std::move(text));
  }
  return names;
}

// The application may have left other processes running that are being captured.
void wait_for_others(const store::Collector& collector, const std::string& capture, bool quiet) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
  const auto done = [&] { return collector.progress().connected == 0; };
  const auto tell = [&](const std::string& what) {
    if (!quiet) say(fmt::format("the application has ended; {}, press Ctrl-C to stop", what));
  };
  bool says_data = false;
  while (true) {
    const uint64_t received = collector.progress().bytes;
    const auto soon = Clock::now() + kBetweenLooks;
    if (!platform::Child::wait_until([&] { return done() || Clock::now() > soon; }) || done())
      return;
    std::vector<std::string> left = running_processes(capture);
    if (left.empty() && collector.progress().bytes == received)
      left.push_back(analysis::counted(collector.progress().connected, "process"));
    if (!left.empty()) {
      tell(fmt::format("still capturing {}", fmt::join(left, ", ")));
      break;
    }
    if (!std::exchange(says_data, true)) tell("still receiving its data");
  }
  platform::Child::wait_until(done);
}

void remove_file(const std::string& file) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

// A launcher may end before what it has started uses Vulkan. Where the system can tell that such
// processes are left, the first of them that is captured is waited for.
void wait_for_first(const platform::Child& child, const store::Collector& collector, bool quiet) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{10};
  const auto is_done = [&] { return collector.progress().processes != 0 || child.left() == 0; };
  if (is_done()) return;
  if (!quiet) {
    say("the application has ended; waiting for a process that it started to use Vulkan, press "
        "Ctrl-C to stop");
  }
  const auto end = Clock::now() + kPatience;
  platform::Child::wait_until([&] { return is_done() || Clock::now() > end; });
}

class Run {
 public:
  explicit Run(const RunOptions& options) : options_(options) {}

  Result<int> run() {
    TALLY_TRY(prepare());
    if (options_.egl != "off") egl_ = find_egl_files(own_executable(), folder_->path());
    const auto environment =
        application_environment(options_, *layers_, egl_, collector_->name(), replacements_);
    if (!environment) return give_up(environment.error(), kFailed);
    if (options_.verbose > 0) print_environment_changes(*environment);
    const platform::LayerFolders named_folders(layers_->all_folders());
    if (!named_folders.problem().empty()) say(named_folders.problem());
    if (options_.verbose > 0 && named_folders.are_in_registry()) {
      say("this process is elevated, so Vulkan ignores VK_ADD_LAYER_PATH: the layers' folders are "
          "in the registry until the end");
    }
    if (const auto left = platform::left_layer_folders(); !left.empty() && !options_.quiet) {
      say("a tally run that was killed left folders of layers in the registry: " +
          fmt::format("{}; tally doctor, run as administrator, removes them",
                      fmt::join(left, ", ")));
    }
    int exec_status = kFailed;
    auto child = platform::Child::start(options_.application, environment_strings(*environment),
                                        &exec_status);
    if (!child) return give_up(child.error(), exec_status);
    const platform::ChildEnd end = child->wait([this] {
      if (options_.trigger.empty()) return false;
      std::string answer = request_frames(trigger_frames(options_));
      if (answer.starts_with(kRefusal)) answer.erase(0, std::string_view(kRefusal).size());
      if (!options_.quiet) say(answer);
      return true;
    });
    wait_for_first(*child, *collector_, options_.quiet);
    wait_for_others(*collector_, file_, options_.quiet);
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
      return "capturing has stopped";
    }
    if (!request.starts_with(kFrames)) return std::string(kRefusal) + "unknown request";
    if (options_.trigger.empty())
      return std::string(kRefusal) + "`tally run` was started without --trigger";
    const bool says_how_many = request.size() > kFrames.size();
    const uint64_t frames = says_how_many
                                ? parse_count(std::string_view(request).substr(kFrames.size() + 1))
                                : trigger_frames(options_);
    if (frames == 0) return std::string(kRefusal) + "not a number of frames";
    return request_frames(frames);
  }

  // Warnings that are known before the application runs.
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
    const auto status = write_html_report({.file = options_.html,
                                           .capture = file_,
                                           .force = options_.force,
                                           .quiet = options_.quiet});
    if (!status) fail(status.error());
    return status && *status == kDone;
  }

  // The collector's thread must not receive the signals that are forwarded.
  Status prepare() {
    TALLY_TRY(check(options_));
    TALLY_TRY(check_html());
    if (!options_.sources.empty()) {
      auto folder = TALLY_TRY(analysis::SourceFolder::open(options_.sources));
      source_folder_.emplace(std::move(folder));
    }
    layers_ = TALLY_TRY(find_layers(own_executable()));
    TALLY_TRY(prepare_replaced());
    program_ = program_of(options_.application, value_of(current_environment(), "PATH"));
    file_ = TALLY_TRY(choose_output(options_.output, program_, options_.force));
    Status started = start_collector();
    if (!started && !options_.force) remove_file(file_);
    return started;
  }

  // A file that cannot be used is a failure with --strict alone: else the original runs.
  Status prepare_replaced() {
    auto folder = TALLY_TRY(TemporaryFolder::make());
    folder_.emplace(std::move(folder));
    auto prepared = TALLY_TRY(prepare_replacements(options_.replacements, folder_->path()));
    if (options_.strict && !prepared.problems.empty()) return Error{prepared.problems.front()};
    for (const std::string& problem : prepared.problems) say(problem);
    replacements_ = prepared.list;
    return {};
  }

  Status start_collector() {
    auto writer = TALLY_TRY(store::Writer::create(file_, capture_row(options_)));
    platform::block_forwarded_signals();
    collector_ = TALLY_TRY(
        store::Collector::start(std::move(writer), folder_->path().string(),
                                {.file_bytes = options_.max_bytes, .last_frames = options_.keep}));
    auto control =
        ControlServer::start(file_, [this](const std::string& request) { return answer(request); });
    if (!control && !options_.trigger.empty()) return control.error();
    if (control) control_ = std::move(*control);
    return {};
  }

  int give_up(const Error& error, int status) {
    control_.reset();
    (void)collector_->finish(std::nullopt, std::chrono::seconds(0));
    remove_capture();
    fail(error);
    return status;
  }

  // Finishes the capture. Returns whether it holds everything that was to be captured.
  bool finish(const platform::ChildEnd& application) {
    control_.reset();
    RunEnd end{.program = program_,
               .file = file_,
               .tally = own_command(value_of(current_environment(), "PATH")),
               .application = application};
    end.written = collector_->finish(application.shell_status(), kGrace);
    if (released_) {  // whoever watched has gone
      remove_file(file_);
      return false;
    }
    end.connected = collector_->progress().processes != 0;
    if (end.connected && source_folder_) add_sources();
    if (end.connected) read_capture(end);
    if (!end.connected || (!end.has_capture() && !end.written)) remove_capture();
    if (!end.connected) add_hints(end);
    for (const std::string& line : messages(end, options_.quiet)) say(line);
    return end.complete();
  }

  void read_capture(RunEnd& end) const {
    const auto model = model_of(file_);
    if (!model) {
      end.summary = model.error();
      return;
    }
    end.summary = analysis::summarize(*model);
    end.refusals = refusals(*model, options_);
  }

  void remove_capture() const {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) remove_file(file_ + suffix);
  }

  void add_hints(RunEnd& end) const {
    const Environment environment = current_environment();
    const auto container = container_advice(
        options_.application, value_of(environment, "PATH"),
        {own_executable().parent_path().parent_path(), folder_->path().parent_path()});
    if (auto reason = why_no_layer_was_loaded(program_, environment, options_.application))
      end.hints.push_back(std::move(*reason));
    if (!egl_.problem.empty())
      end.hints.push_back("EGL programs are not profiled: " + egl_.problem);
    if (container) end.hints.push_back(*container);
    end.hints.push_back(fmt::format("next: {} doctor{}", end.tally,
                                    container ? ", in place of the application" : ""));
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
  std::string replacements_;  // the list for the layer; empty: none
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
      app.add_subcommand("run", "Run an application and capture the work of its shaders");
  command->formatter(
      std::make_shared<UsageFormatter>("tally run [OPTIONS] [--] APPLICATION [ARGUMENTS...]"));
  command->prefix_command();
  declare_options(*command, *options);
  command->footer(
      "The exit status, input and output are the application's. Example: tally run -- vkcube "
      "--c 100");
  command->callback([options, command, &chosen, after_dashes] {
    set_application(*options, command->remaining(), after_dashes);
    chosen = [options] { return Run(*options).run(); };
  });
}

}  // namespace tally::cli
