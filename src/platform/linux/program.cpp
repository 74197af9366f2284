#include "platform/program.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace tally::platform {
namespace {

// SIGCHLD wakes us; the others are forwarded. A terminal sends SIGINT, SIGQUIT, SIGTSTP and
// SIGWINCH to the whole foreground process group, so the program already received those; see
// sent_by_process.
constexpr int kForwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                              SIGCONT, SIGTSTP, SIGWINCH, SIGTTIN, SIGTTOU, SIGCHLD};

sigset_t forwarded_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

sigset_t& original_mask() {
  static sigset_t mask = [] {
    sigset_t current;
    pthread_sigmask(SIG_SETMASK, nullptr, &current);
    return current;
  }();
  return mask;
}

// The dispositions that this process was given, of the signals for which it has others.
std::array<std::optional<struct sigaction>, NSIG>& given_dispositions() {
  static std::array<std::optional<struct sigaction>, NSIG> given;
  return given;
}

// As exec takes them: with a null pointer at the end. The strings must outlive it.
std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& s : strings) result.push_back(const_cast<char*>(s.c_str()));
  result.push_back(nullptr);
  return result;
}

bool sent_by_process(const siginfo_t& info) { return info.si_code <= 0; }

// In the child of fork(): calls nothing but what a signal handler may call, and execvpe().
[[noreturn]] void execute(char* const* arguments, char* const* environment, const Spawn& how,
                          int failed) {
  if (how.new_session) ::setsid();
  for (int stream = 0; stream < static_cast<int>(how.streams.size()); ++stream) {
    if (how.streams[stream] >= 0) ::dup2(how.streams[stream], stream);
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    if (const auto& given = given_dispositions()[signal]) ::sigaction(signal, &*given, nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &original_mask(), nullptr);
  ::execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t sent = ::write(failed, &error, sizeof error);
  ::_exit(127);
}

// Stops this process because the program has stopped. When we are continued, the program is
// continued, too.
void follow_stop(pid_t pid) {
  raise(SIGSTOP);
  kill(pid, SIGCONT);
}

// The entries of a list that colons separate.
std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  for (size_t start = 0; start <= list.size();) {
    const size_t colon = std::min(list.find(':', start), list.size());
    if (colon > start) entries.push_back(list.substr(start, colon - start));
    start = colon + 1;
  }
  return entries;
}

}  // namespace

std::string find_program(const std::string& program, const std::string& search_path) {
  if (program.find('/') != std::string::npos) return program;
  for (const std::string& folder : entries_of(search_path)) {
    std::string candidate = folder + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

bool is_executable(const std::string& file) { return ::access(file.c_str(), X_OK) == 0; }

bool runs_with_elevated_rights(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return false;
  const bool other_owner = (info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid();
  const bool other_group = (info.st_mode & S_ISGID) != 0 && info.st_gid != getegid();
  return other_owner || other_group ||
         getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

bool has_other_architecture(const std::string& file) {
  const auto header_of = [](const std::string& path) {
    std::array<char, sizeof(Elf64_Ehdr)> header{};
    std::ifstream(path, std::ios::binary).read(header.data(), header.size());
    return header;
  };
  const auto theirs = header_of(file), ours = header_of("/proc/self/exe");
  const bool is_elf = std::string_view(theirs.data(), SELFMAG) == ELFMAG;
  constexpr size_t kMachine = offsetof(Elf64_Ehdr, e_machine);
  return is_elf && (theirs[EI_CLASS] != ours[EI_CLASS] || theirs[kMachine] != ours[kMachine]);
}

// No loader is named that could load the Vulkan loader and layers.
bool is_statically_linked(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
  if (!in || header.e_ident[EI_CLASS] != ELFCLASS64 || !is_program ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    in.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (!in || segment.p_type == PT_INTERP) return false;
  }
  return header.e_phnum != 0;
}

// binfmt_misc starts a program for Windows with Wine.
bool runs_wine(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  std::array<char, 2> begin{};
  std::ifstream(file, std::ios::binary).read(begin.data(), begin.size());
  return name == "wine" || name == "wine64" || name.starts_with("wine-") ||
         std::string_view(begin.data(), begin.size()) == "MZ";
}

Result<Library> Library::open(const std::string& file) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Error{::dlerror()};
  return Library(handle);
}

void* Library::find(const char* symbol) const { return ::dlsym(handle_, symbol); }

std::string Library::path() const {
  const link_map* map = nullptr;
  return ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map->l_name ? map->l_name : "";
}

std::string vulkan_loader() { return "libvulkan.so.1"; }
bool loader_reads_folders() { return true; }

std::string name_for_loader(const std::string& folder) { return folder; }

struct LayerFolders::Held {};
LayerFolders::LayerFolders(const std::vector<std::string>& /*folders*/) {}
LayerFolders::~LayerFolders() = default;
bool LayerFolders::are_in_registry() const { return false; }
std::vector<std::string> left_layer_folders() { return {}; }

void prepare_process() {
  original_mask();
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/", O_PATH | O_CLOEXEC);  // the lowest free number
  }
  set_disposition(SIGXFSZ, SIG_IGN);
}

void set_disposition(int signal, void (*handler)(int)) {
  struct sigaction action {
  }, given{};
  action.sa_handler = handler;
  if (::sigaction(signal, &action, &given) != 0) return;
  auto& kept = given_dispositions().at(static_cast<size_t>(signal));
  if (!kept) kept = given;
}

int spawn_program(pid_t* pid, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment, const Spawn& how) {
  original_mask();
  const std::vector<char*> words = c_strings(arguments), variables = c_strings(environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  UniqueFd succeeded(ends[0]), failed(ends[1]);
  // posix_spawn() cannot give a program an ignored signal that we do not ignore.
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) execute(words.data(), variables.data(), how, failed.get());
  failed = {};
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(succeeded.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  *pid = child;
  if (got != sizeof error) return 0;
  ::waitpid(child, nullptr, 0);
  return error;
}

bool is_running(pid_t process) { return ::kill(process, 0) == 0; }

void block_forwarded_signals() {
  original_mask();
  // Our parent may have set SIGCHLD to be ignored; then we would never learn that the program
  // ended.
  set_disposition(SIGCHLD, SIG_DFL);
  const sigset_t set = forwarded_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

struct Child::Held {
  pid_t pid;

  // False while the program runs. Follows its stops.
  bool reap(ChildEnd* end) const;
};

Child::Child(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Child::Child(Child&& other) noexcept = default;
Child::~Child() = default;
size_t Child::left() const { return 0; }

Result<Child> Child::start(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int* exec_status) {
  block_forwarded_signals();
  pid_t pid = -1;
  const int error = spawn_program(&pid, arguments, environment);
  if (error != 0) {
    *exec_status = error == ENOENT ? 127 : 126;
    return Error{fmt::format("cannot run '{}': {}", arguments[0], std::strerror(error))};
  }
  return Child(std::make_unique<Held>(Held{pid}));
}

bool Child::Held::reap(ChildEnd* end) const {
  int status = 0;
  while (true) {
    const pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);
    if (got != pid) return false;
    if (!WIFSTOPPED(status)) break;
    follow_stop(pid);
  }
  end->by_signal = WIFSIGNALED(status);
  end->number = end->by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  end->core_dumped = end->by_signal && WCOREDUMP(status);
  return true;
}

ChildEnd Child::wait(const std::function<bool()>& on_request) {
  const sigset_t set = forwarded_set();
  ChildEnd end;
  while (!held_->reap(&end)) {
    siginfo_t info;
    const int signal = sigwaitinfo(&set, &info);
    if (signal <= 0 || signal == SIGCHLD || !sent_by_process(info)) continue;
    if (signal == SIGUSR1 && on_request && on_request()) continue;
    kill(held_->pid, signal);
  }
  return end;
}

bool Child::wait_until(const std::function<bool()>& done) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP}) sigaddset(&ends, signal);
  for (timespec pause{0, 1'000'000}; !done();
       pause.tv_nsec = std::min(pause.tv_nsec * 5 / 4, 100'000'000L)) {
    const int signal = sigtimedwait(&ends, nullptr, &pause);
    if (signal == SIGTSTP) raise(SIGSTOP);
    if (signal > 0 && signal != SIGTSTP) return false;
  }
  return true;
}

int ChildEnd::shell_status() const { return by_signal ? 128 + number : number; }

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxBytes = size_t{16} << 20;

struct Pipe {
  std::array<int, 2> ends{-1, -1};

  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

// Returns false at the end of the stream.
bool read_some(int file, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(file, buffer.data(), buffer.size());
  if (got <= 0) return false;
  if (text.size() < kMaxBytes) text.append(buffer.data(), static_cast<size_t>(got));
  return true;
}

// Reads both streams until both end. Returns false if the time limit expires first.
bool read_both(Pipe& out, Pipe& err, CapturedRun& run, Clock::time_point end) {
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> files = {pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || poll(files.data(), files.size(), static_cast<int>(left)) == 0) return false;
    if (files[0].revents != 0 && !read_some(out.ends[0], run.standard_output)) out.close_end(0);
    if (files[1].revents != 0 && !read_some(err.ends[0], run.standard_error)) err.close_end(0);
  }
  return true;
}

}  // namespace

Result<CapturedRun> run_captured(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 std::chrono::seconds limit) {
  Pipe out, err;
  pid_t pid = -1;
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Spawn streams{.streams = {nothing.get(), out.ends[1], err.ends[1]}};
  if (const int error = spawn_program(&pid, arguments, environment, streams); error != 0) {
    return Error{fmt::format("cannot run '{}': {}", arguments[0], std::strerror(error))};
  }
  out.close_end(1);
  err.close_end(1);
  CapturedRun run;
  if (!read_both(out, err, run, Clock::now() + limit)) {
    run.timed_out = true;
    kill(pid, SIGKILL);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  run.end.by_signal = WIFSIGNALED(status);
  run.end.number = run.end.by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  return run;
}

}  // namespace tally::platform
