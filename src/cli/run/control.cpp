#include "cli/run/control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/options.h"

namespace tally::cli {
namespace {

constexpr size_t kMaxPacket = 8192;  // an answer may hold a path
constexpr int kMaxAncestors = 100;
constexpr timeval kPatience{5, 0};

struct Address {
  sockaddr_un address{};
  socklen_t size = 0;

  explicit Address(const std::string& text) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(text.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, text.data(), length);  // after a 0: abstract
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// The prefix of the addresses of a run. A random part follows.
std::string prefix_of(pid_t pid) { return fmt::format("tally-run/{}/pid/{}/", ::geteuid(), pid); }
std::string prefix_of(const struct stat& file) {
  return fmt::format("tally-run/{}/file/{}:{}/", ::geteuid(), file.st_dev, file.st_ino);
}

Result<std::string> random_part() {
  std::array<uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != sizeof random)
    return Error{std::string("getrandom: ") + std::strerror(errno)};
  return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

// The abstract addresses of this network namespace that begin so. Anybody may have bound them.
Result<std::vector<std::string>> addresses_with(const std::string& prefix) {
  constexpr const char* kList = "/proc/net/unix";
  std::ifstream file(kList);
  if (!file) return Error{fmt::format("{}: {}", kList, std::strerror(errno))};
  std::vector<std::string> found;
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(" @" + prefix);  // after the columns of numbers
    if (at != std::string::npos) found.push_back(line.substr(at + 2));
  }
  return found;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

void set_patience(int socket) {
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
}

UniqueFd packet_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

std::optional<std::string> receive(int socket) {
  std::array<char, kMaxPacket> packet;
  const ssize_t size = ::recv(socket, packet.data(), packet.size(), 0);
  if (size <= 0) return std::nullopt;
  return std::string(packet.data(), static_cast<size_t>(size));
}

bool send(int socket, const std::string& text) {
  const ssize_t sent = ::send(socket, text.data(), std::min(text.size(), kMaxPacket), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(text.size());
}

// A socket that is connected to a run of this user; none: nobody of this user has such an address.
Result<UniqueFd> connect_to(const std::string& prefix) {
  const auto addresses = TALLY_TRY(addresses_with(prefix));
  for (const std::string& text : addresses) {
    const Address address(text);
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // Waits for nobody: it may be another user.
    if (!socket || ::connect(socket.get(), address.get(), address.size) != 0) continue;
    if (!same_user(socket.get())) continue;
    ::fcntl(socket.get(), F_SETFL, 0);
    set_patience(socket.get());
    return socket;
  }
  return UniqueFd();
}

// 0: not known.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // the name may hold anything
  int parent = 0;
  if (name_end == std::string::npos || line.size() < name_end + 4) return 0;
  std::from_chars(line.data() + name_end + 4, line.data() + line.size(), parent);
  return parent;
}

Result<UniqueFd> connect_to_process(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid <= 0) {
    return Error{fmt::format("{} is not a process id", text)};
  }
  if (::kill(pid, 0) != 0) {
    return Error{errno == EPERM ? fmt::format("process {} belongs to another user", pid)
                                : fmt::format("there is no process {}", pid)};
  }
  pid_t one = pid;
  for (int i = 0; i < kMaxAncestors && one > 1; ++i, one = parent_of(one)) {
    auto socket = connect_to(prefix_of(one));
    if (!socket || *socket) return socket;
  }
  return Error{
      fmt::format("process {} is not a `tally run` of yours, nor was it started by one", pid)};
}

Result<UniqueFd> connect_to_writer(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) {
    return Error{fmt::format("{}: {}", path, std::strerror(errno))};
  }
  auto socket = connect_to(prefix_of(file));
  if (!socket || *socket) return socket;
  return Error{fmt::format("{}: no running `tally run` of yours writes this file", path)};
}

}  // namespace

ControlServer::ControlServer(std::vector<UniqueFd> listeners, UniqueFd wake, Handler handler)
    : listeners_(std::move(listeners)),
      wake_(std::move(wake)),
      handler_(std::move(handler)),
      thread_([this] { run(); }) {}

ControlServer::~ControlServer() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

Result<std::unique_ptr<ControlServer>> ControlServer::start(const std::string& file,
                                                            Handler handler) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) {
    return Error{fmt::format("{}: {}", file, std::strerror(errno))};
  }
  std::vector<UniqueFd> listeners;
  const auto random = TALLY_TRY(random_part());
  for (const std::string& prefix : {prefix_of(::getpid()), prefix_of(info)}) {
    const Address address(prefix + random);
    UniqueFd listener = packet_socket();
    if (!listener || ::bind(listener.get(), address.get(), address.size) != 0 ||
        ::listen(listener.get(), 8) != 0) {
      return Error{fmt::format("cannot listen for other commands: {}", std::strerror(errno))};
    }
    listeners.push_back(std::move(listener));
  }
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake) return Error{std::string("eventfd: ") + std::strerror(errno)};
  return std::unique_ptr<ControlServer>(
      new ControlServer(std::move(listeners), std::move(wake), std::move(handler)));
}

void ControlServer::run() {
  std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
  for (const UniqueFd& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
  while (true) {
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0) serve(polled[i].fd);
    }
  }
}

void ControlServer::serve(int listener) {
  const UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket || !same_user(socket.get())) return;
  set_patience(socket.get());
  if (const auto request = receive(socket.get())) send(socket.get(), handler_(*request));
}

Result<std::string> ask_run(const std::string& target, const std::string& request) {
  const bool is_number = !target.empty() && std::ranges::all_of(target, [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  auto socket = TALLY_TRY(is_number ? connect_to_process(target) : connect_to_writer(target));
  std::optional<std::string> answer;
  if (send(socket.get(), request)) answer = receive(socket.get());
  if (!answer) return Error{fmt::format("{}: `tally run` does not answer", target)};
  if (answer->starts_with(kRefusal)) {
    return Error{fmt::format("{}: {}", target, answer->substr(std::strlen(kRefusal)))};
  }
  return *answer;
}

// `tally trigger`: asks a running `tally run --trigger` to capture frames.

namespace {

struct TriggerOptions {
  std::string target;
  uint32_t frames = 0;
  bool quiet = false;
};

Result<int> run(const TriggerOptions& options) {
  const std::string request =
      options.frames == 0 ? "frames" : fmt::format("frames {}", options.frames);
  const auto answer = TALLY_TRY(ask_run(options.target, request));
  if (!options.quiet) say(answer);
  return kDone;
}

}  // namespace

void add_trigger(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TriggerOptions>();
  CLI::App* command =
      app.add_subcommand("trigger", "Capture the next frames of a tally run --trigger");
  command
      ->add_option(
          "target", options->target,
          "Process id of tally run or of a process that it runs, or the capture that it writes")
      ->type_name("PID|CAPTURE")
      ->required();
  command
      ->add_option("--frames", options->frames,
                   "Number of frames (default: the number in --trigger)")
      ->check(whole_number())
      ->check(CLI::Range(1u, 1'000'000u).description(""))
      ->type_name("N");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing");
  command->footer("");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tally::cli
