// The application of `tally top -- APPLICATION`, below a `tally run` of its own that captures a
// frame whenever it is asked to. Both run in a session of their own: nothing that happens to the
// terminal reaches them, and they go on when `tally top` ends.

#include <curses.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "analysis/tables/summary.h"
#include "base/file.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/report/top_view.h"
#include "cli/run/control.h"
#include "cli/run/environment.h"
#include "platform/program.h"
#include "report/table/display_text.h"
#include "report/table/header.h"
#include "store/read/reader.h"

namespace tally::cli {

class TopApplication {
 public:
  // `options` of `tally run` precede the application. Its output goes to the new file `log`.
  static Result<TopApplication> start(const std::vector<std::string>& options,
                                      const std::vector<std::string>& application,
                                      const std::string& capture, const std::string& log);

  pid_t run() const { return run_; }
  // The exit status of `tally run`, once it has ended.
  std::optional<int> ended();

 private:
  explicit TopApplication(pid_t run) : run_(run) {}

  pid_t run_;
  std::optional<int> status_;
};

namespace {

// The last ones are enough for what is shown, and keep the capture small.
constexpr const char* kFramesKept = "4";

}  // namespace

Result<TopApplication> TopApplication::start(const std::vector<std::string>& options,
                                             const std::vector<std::string>& application,
                                             const std::string& capture, const std::string& log) {
  const UniqueFd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return Error{fmt::format("{}: {}", log, std::strerror(errno))};
  const std::string program = own_executable().string();
  std::vector<std::string> words = {program, "run",       "-q",     "-o",
                                    capture, "--trigger", "--keep", kFramesKept};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), application.begin(), application.end());
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  pid_t pid = -1;
  const int error = platform::spawn_program(
      &pid, words, environment_strings(current_environment()),
      {.streams = {nothing.get(), file.get(), file.get()}, .new_session = true});
  if (error != 0) return Error{fmt::format("{}: {}", program, std::strerror(error))};
  return TopApplication(pid);
}

std::optional<int> TopApplication::ended() {
  int status = 0;
  if (!status_ && ::waitpid(run_, &status, WNOHANG) == run_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

// The terminal as `tally top` uses it: full screen, keys one by one. The previous contents are
// there again when it ends.

class Screen {
 public:
  // Standard input and output must be a terminal. None: its type is not known.
  static std::optional<Screen> open();
  Screen(Screen&& other) noexcept : open_(std::exchange(other.open_, false)) {}
  Screen& operator=(Screen&&) = delete;
  ~Screen();

  size_t width() const;
  size_t height() const;
  void draw(const std::vector<TopLine>& lines);
  // The next key; none after `milliseconds`, or where the size has changed.
  std::optional<int> key(int milliseconds);

 private:
  Screen() = default;
  bool open_ = true;
};

std::optional<Screen> Screen::open() {
  std::setlocale(LC_CTYPE, "");  // else names beyond ASCII would be shown as escapes
  if (!newterm(nullptr, stdout, stdin)) return std::nullopt;
  raw();  // Ctrl-C is a key
  noecho();
  keypad(stdscr, TRUE);
  set_escdelay(50);
  curs_set(0);
  return Screen();
}

Screen::~Screen() {
  if (open_) endwin();
}

size_t Screen::width() const { return static_cast<size_t>(std::max(getmaxx(stdscr), 1)); }
size_t Screen::height() const { return static_cast<size_t>(std::max(getmaxy(stdscr), 1)); }

void Screen::draw(const std::vector<TopLine>& lines) {
  erase();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].marked) attron(A_REVERSE);
    mvaddstr(static_cast<int>(i), 0, lines[i].text.c_str());
    if (lines[i].marked) attroff(A_REVERSE);
  }
  refresh();
}

std::optional<int> Screen::key(int milliseconds) {
  timeout(milliseconds);
  const int key = getch();
  switch (key) {
    case ERR:
    case KEY_RESIZE:
      return std::nullopt;
    case KEY_UP:
      return static_cast<int>(TopKey::Up);
    case KEY_DOWN:
      return static_cast<int>(TopKey::Down);
    case KEY_LEFT:
      return static_cast<int>(TopKey::Left);
    case KEY_RIGHT:
      return static_cast<int>(TopKey::Right);
    case KEY_PPAGE:
      return static_cast<int>(TopKey::PageUp);
    case KEY_NPAGE:
      return static_cast<int>(TopKey::PageDown);
    case KEY_HOME:
      return static_cast<int>(TopKey::Home);
    case KEY_END:
      return static_cast<int>(TopKey::End);
    case KEY_BACKSPACE:
      return '\b';
    case KEY_ENTER:
      return '\n';
    default:
      return key;
  }
}

// The newest complete frame of a capture that may still be written.

class TopSource {
 public:
  explicit TopSource(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  // Loads the newest frame that has ended. False: it is loaded already, or there is none.
  Result<bool> refresh();
  // The frame's number; none: none was loaded.
  std::optional<int64_t> frame() const { return frame_; }
  // The captured frame in short: the device and the frame's contents.
  const std::string& description() const { return description_; }
  // A table of the frame. Without columns: no frame.
  Result<analysis::Table> table(analysis::By by);

 private:
  const std::string file_;
  store::RowId row_ = 0;
  std::optional<int64_t> frame_;
  std::string description_;
  std::unique_ptr<analysis::Analyzer> analyzer_;
};

// One transaction: what the writer adds meanwhile is not seen.
Result<bool> TopSource::refresh() {
  auto reader = TALLY_TRY(store::Reader::open(file_));
  TALLY_TRY(reader.hold());
  const auto frames = TALLY_TRY(reader.frames());
  const store::FrameRow* newest = nullptr;
  for (const store::FrameRow& frame : frames) {
    const bool ended = frame.ended_by != store::FrameEnd::Open;
    if (ended && (!newest || frame.id > newest->id)) newest = &frame;
  }
  if (!newest || newest->id == row_) return false;
  analysis::Selection selection;
  selection.frames = FrameRange{newest->number, newest->number};
  auto model = TALLY_TRY(analysis::load_model(std::move(reader), selection));
  const analysis::Summary summary = analysis::summarize(model);
  description_ = report::amounts(summary);
  if (!summary.devices.empty()) description_ += " on " + summary.devices.front().name;
  if (summary.commands_missing != 0) {
    description_ += fmt::format("; {} missing", summary.commands_missing);
  }
  analyzer_ = std::make_unique<analysis::Analyzer>(std::move(model), [](double) {});
  row_ = newest->id;
  frame_ = newest->number;
  return true;
}

Result<analysis::Table> TopSource::table(analysis::By by) {
  if (!analyzer_) return analysis::Table{};
  return analyzer_->table(by, {});
}

// `tally top`: a live table of what an application's frames cost.

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
    platform::set_disposition(signal, [](int) { asked_to_end = 1; });
}

class Top {
 public:
  explicit Top(const TopOptions& options)
      : options_(options),
        view_(*analysis::by_from_name(options.by), options.sort, options.filter) {}

  Result<int> run() {
    end_on_signals();
    TALLY_TRY(options_.application.empty() ? attach() : start());
    const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
    const auto status = terminal && options_.count == 0 ? show() : print_frames();
    leave();
    return status;
  }

 private:
  Status attach() {
    std::string file = options_.target;
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) {
      file = TALLY_TRY(ask_run(options_.target, kFileRequest));
    }
    source_.emplace(file);
    has_news_ = TALLY_TRY(source_->refresh());
    return {};
  }

  Status start() {
    auto folder = TALLY_TRY(TemporaryFolder::make());
    folder_.emplace(std::move(folder));
    log_ = options_.log;
    if (log_.empty()) {
      log_ = (std::filesystem::temp_directory_path() / fmt::format("tally-top-{}.log", ::getpid()))
                 .string();
    }
    std::vector<std::string> options;
    if (!options_.driver.empty()) options.insert(options.end(), {"--driver", options_.driver});
    if (!options_.shader.empty()) options.insert(options.end(), {"--shader", options_.shader});
    const std::string file = (folder_->path() / "top.tally").string();
    auto application = TALLY_TRY(TopApplication::start(options, options_.application, file, log_));
    application_.emplace(application);
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
    return application_ || problem_.empty() ? "waiting for the first frame" : problem_;
  }

  void load_table() {
    auto table = source_->table(view_.by());
    if (table) {
      view_.set_table(std::move(*table));
    } else {
      problem_ = table.error().message;
    }
  }

  Result<int> show() {
    auto screen = Screen::open();
    if (!screen) return Error{"the terminal's type is not known; set TERM, or use --count"};
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
  Result<int> print_frames() {
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
    say(fmt::format("the application keeps running, uncounted; its output: {}", log_));
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
      ->add_option(
          "target", options->target,
          "Process id of tally run or of a process that it runs, or the capture that it writes")
      ->type_name("PID|CAPTURE");
  command->add_option("--by", options->by, "Rows: pass, shader, line, pipeline, draw, counter")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kByChoices), std::end(kByChoices)))
                  .description(""))
      ->type_name("KIND");
  command->add_option("--sort", options->sort, "Column to sort by, an id or a heading")
      ->type_name("COLUMN");
  command->add_option("--filter", options->filter, "Show only rows with this text")
      ->type_name("TEXT");
  command->add_option("--interval", options->interval, "Seconds between counted frames")
      ->check(CLI::Range(0.05, 3600.0).description(""))
      ->type_name("SECONDS");
  command
      ->add_option("--count", options->count,
                   "Print N frames as text instead of using the terminal")
      ->check(whole_number())
      ->type_name("N");
  command->add_option("--log", options->log, "New file for the application's output")
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
