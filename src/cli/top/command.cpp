// `tally top`: a live table of what an application's frames cost.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/child.h"
#include "cli/command.h"
#include "cli/control.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/temporary_folder.h"
#include "cli/top/application.h"
#include "cli/top/screen.h"
#include "cli/top/source.h"
#include "cli/top/view.h"
#include "report/display_text.h"
#include "report/text_table.h"

namespace tally::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;  // between looks for keys and for new frames
constexpr size_t kPlainRows = 20;
constexpr std::string_view kByChoices[] = {"pass", "shader", "line", "pipeline", "draw", "counter"};

struct TopOptions {
  std::string target;
  std::string by = "pass";
  std::string sort;
  std::string filter;
  std::string log;
  std::string driver;
  std::string shader;
  double interval = 1;  // seconds
  uint64_t count = 0;   // frames to print; 0: no end
  std::vector<std::string> application;
};

volatile sig_atomic_t asked_to_end = 0;

void end_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    set_disposition(signal, [](int) { asked_to_end = 1; });
}

class Top {
 public:
  explicit Top(const TopOptions& options)
      : options_(options),
        view_(*analysis::by_from_name(options.by), options.sort, options.filter) {}

  int run() {
    end_on_signals();
    if (Status ready = options_.application.empty() ? attach() : start(); !ready)
      return fail(ready.error());
    const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
    const int status = terminal && options_.count == 0 ? show() : print_frames();
    leave();
    return status;
  }

 private:
  Status attach() {
    std::string file = options_.target;
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) {
      const auto found = ask_run(options_.target, kFileRequest);
      if (!found) return found.error();
      file = *found;
    }
    source_.emplace(file);
    const auto loaded = source_->refresh();
    if (!loaded) return loaded.error();
    has_news_ = *loaded;
    return {};
  }

  Status start() {
    auto folder = TemporaryFolder::make();
    if (!folder) return folder.error();
    folder_.emplace(std::move(*folder));
    log_ = options_.log;
    if (log_.empty()) {
      log_ = (std::filesystem::temp_directory_path() / fmt::format("tally-top-{}.log", ::getpid()))
                 .string();
    }
    std::vector<std::string> options;
    if (!options_.driver.empty()) options.insert(options.end(), {"--driver", options_.driver});
    if (!options_.shader.empty()) options.insert(options.end(), {"--shader", options_.shader});
    const std::string file = (folder_->path() / "top.tally").string();
    auto application = TopApplication::start(options, options_.application, file, log_);
    if (!application) return application.error();
    application_.emplace(*application);
    source_.emplace(file);
    return {};
  }

  // Asks for a frame where the application is ours, and loads what is new. True: something is.
  bool update() {
    if (view_.paused()) return false;
    if (std::exchange(has_news_, false)) return true;
    if (application_ && !application_->ended() && Clock::now() >= next_request_) {
      next_request_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(options_.interval));
      // Refused as long as the application uses no GPU.
      (void)ask_run(std::to_string(application_->run()), "frames 1");
    }
    const auto loaded = source_->refresh();
    problem_ = loaded ? "" : loaded.error().message;
    return loaded && *loaded;
  }

  std::string status() {
    if (application_ && application_->ended()) {
      return fmt::format("the application has ended with status {}; its output: {}",
                         *application_->ended(), log_);
    }
    if (source_->frame())
      return fmt::format("frame {}: {}", *source_->frame(), source_->description());
    return application_ || problem_.empty() ? "waits for the first frame" : problem_;
  }

  void load_table() {
    auto table = source_->table(view_.by());
    if (table) {
      view_.set_table(std::move(*table));
    } else {
      problem_ = table.error().message;
    }
  }

  int show() {
    auto screen = Screen::open();
    if (!screen) return fail({"the terminal's type is not known; set TERM, or use --count"});
    auto next = Clock::now();
    while (asked_to_end == 0) {
      bool fresh = false;
      if (Clock::now() >= next) {
        fresh = update();
        next = Clock::now() + std::chrono::milliseconds(kPollMilliseconds);
      }
      if (fresh) load_table();
      view_.set_status(status());
      screen->draw(view_.lines(screen->width(), screen->height()));
      const auto key = screen->key(kPollMilliseconds);
      if (!key) continue;
      const analysis::By by = view_.by();
      if (!view_.press(*key)) break;
      if (view_.by() != by) load_table();
    }
    return kDone;
  }

  // Where there is no terminal: a table for each frame.
  int print_frames() {
    bool over = false;
    for (uint64_t printed = 0;
         asked_to_end == 0 && (options_.count == 0 || printed < options_.count);) {
      if (!update()) {
        if (over) break;
        over = application_ ? application_->ended().has_value() : !is_written();
        if (over) continue;  // to what was written last
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
        continue;
      }
      load_table();
      const std::string text =
          report::text_table(view_.chosen(0, kPlainRows), {.width = terminal_width()});
      if (print(fmt::format("{}\n{}\n", report::printable(status()), text)) != kDone)
        return kFailed;
      ++printed;
    }
    return kDone;
  }

  bool is_written() const { return ask_run(source_->file(), kFileRequest).ok(); }

  // The application goes on alone.
  void leave() {
    if (!application_) return;
    if (application_->ended())
      return say(fmt::format("the application has ended; its output: {}", log_));
    (void)ask_run(std::to_string(application_->run()), kReleaseRequest);
    say(fmt::format("the application goes on, uncounted; its output: {}", log_));
  }

  const TopOptions& options_;
  TopView view_;
  std::optional<TemporaryFolder> folder_;
  std::optional<TopApplication> application_;
  std::optional<TopSource> source_;
  std::string log_;
  std::string problem_;
  bool has_news_ = false;  // a frame was loaded and not shown yet
  Clock::time_point next_request_;
};

}  // namespace

void add_top(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command =
      app.add_subcommand("top", "Watch the cost of each frame of an application, live");
  command->formatter(std::make_shared<UsageFormatter>(
      "tally top [OPTIONS] PID|CAPTURE\n       tally top [OPTIONS] -- APPLICATION [ARGUMENTS...]"));
  command
      ->add_option("target", options->target,
                   "A tally run, or a process below it, or the capture that it writes")
      ->type_name("PID|CAPTURE");
  command->add_option("--by", options->by, "The rows: pass, shader, line, pipeline, draw, counter")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kByChoices), std::end(kByChoices)))
                  .description(""))
      ->type_name("KIND");
  command->add_option("--sort", options->sort, "The id of the column to sort by")
      ->type_name("COLUMN");
  command->add_option("--filter", options->filter, "Show only rows with this text")
      ->type_name("TEXT");
  command->add_option("--interval", options->interval, "Seconds between frames that are counted")
      ->check(CLI::Range(0.05, 3600.0).description(""))
      ->type_name("SECONDS");
  command
      ->add_option("--count", options->count,
                   "Print this many frames instead of using the terminal")
      ->check(whole_number())
      ->type_name("N");
  command->add_option("--log", options->log, "A new file for the application's output")
      ->type_name("FILE");
  command->add_option("--driver", options->driver, "As in tally run")->type_name("DRIVER");
  command->add_option("--shader", options->shader, "As in tally run")->type_name("PATTERN");
  command->footer(
      "Quitting leaves the application running. Example: tally top --by shader -- vkcube");
  command->callback([options, &chosen, after_dashes] {
    options->application = after_dashes;
    if (options->target.empty() == options->application.empty()) {
      throw CLI::ParseError("either a process id or a capture, or -- and an application", kFailed);
    }
    chosen = [options] { return Top(*options).run(); };
  });
}

}  // namespace tally::cli
