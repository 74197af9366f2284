#include "store/write/collector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "store/stream/clock.h"
#include "store/stream/ledger.h"
#include "store/stream/stream_codec.h"
#include "store/write/ingest.h"

namespace tally::store {
namespace {

// As many processes may wait to be accepted as the system allows.
constexpr int kBacklog = SOMAXCONN;
constexpr size_t kMaxConnections = 256;
constexpr size_t kReadBytes = size_t{256} << 10;
constexpr int kPollMilliseconds = 100;
// Small packets gather for this long, or until a socket holds kLargeRead, which is checked at each
// step. A read of at least kLargeRead is followed by the next one at once.
constexpr int kGatherMilliseconds = 50;
constexpr int kGatherStepMilliseconds = 5;
constexpr size_t kLargeRead = size_t{32} << 10;
constexpr auto kCommitEvery = std::chrono::milliseconds(300);

struct Connection {
  UniqueFd socket;
  // In place of the socket after the process has closed it: the process, which may connect again.
  UniqueFd process;
  pid_t pid;
  stream::Bytes greeting;  // until it is complete
  bool greeted = false;
  uint64_t received = 0;  // bytes after the handshake
  Ingest ingest;
  stream::StreamDecoder decoder;
  stream::ReceivedLedger ledger;
  uint64_t requested = 0;  // frames, until there is a ledger

  Status status;  // an error: the stream is malformed

  Connection(UniqueFd accepted, pid_t sender, Writer& writer, SizeLimit& limit)
      : socket(std::move(accepted)), pid(sender), ingest(writer, limit) {}
  int polled() const { return socket ? socket.get() : process.get(); }
  bool dropped() const { return ingest.dropped() || ledger.frames_dropped() != 0; }
  uint64_t frames_dropped() const { return ingest.frames_dropped() + ledger.frames_dropped(); }
};

// The process at the other end, if it is this user's.
std::optional<pid_t> sender_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  if (peer.uid != ::geteuid()) return std::nullopt;
  return peer.pid;
}

bool is_readable(int file) {
  pollfd entry{file, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

// Becomes readable when the process ends. None: it has ended, or the kernel cannot tell.
UniqueFd watch(pid_t process) {
  UniqueFd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  return watched && !is_readable(watched.get()) ? std::move(watched) : UniqueFd();
}

// Reads from the socket, and keeps the ledger that arrives with the first byte. Closes any other
// descriptor.
ssize_t receive(Connection& connection, std::span<std::byte> buffer) {
  constexpr size_t kMaxDescriptors = 253;  // SCM_MAX_FD of the kernel
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control;
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(connection.socket.get(), &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return size;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(header) + i * sizeof file, sizeof file);
      UniqueFd received(file);
      if (!connection.ingest.has_process() && !connection.ledger.valid()) {
        connection.ledger = stream::ReceivedLedger(std::move(received));
      }
    }
  }
  return size;
}

std::string temporary_directory() {
  const char* chosen = secure_getenv("TMPDIR");
  return chosen && *chosen ? chosen : "/tmp";
}

}  // namespace

// Only the thread uses the writer and the connections, until it is joined.
Gathered gather(std::span<const int> urgent, std::span<const int> sockets) {
  std::vector<pollfd> polled;
  for (const int file : urgent) polled.push_back({file, POLLIN, 0});
  for (const int socket : sockets) polled.push_back({socket, POLLRDHUP, 0});
  for (int waited = 0; waited < kGatherMilliseconds; waited += kGatherStepMilliseconds) {
    if (::poll(polled.data(), polled.size(), kGatherStepMilliseconds) != 0) {
      const auto readable = [](const pollfd& entry) { return entry.revents != 0; };
      return std::any_of(polled.begin(), polled.begin() + std::ssize(urgent), readable)
                 ? Gathered::Urgent
                 : Gathered::Closed;
    }
    for (const int socket : sockets) {
      int bytes = 0;
      if (::ioctl(socket, FIONREAD, &bytes) != 0) return Gathered::Closed;
      if (static_cast<size_t>(bytes) >= kLargeRead) return Gathered::Enough;
    }
  }
  return Gathered::Late;
}

class Collector::Loop {
 public:
  Loop(Writer writer, std::string directory, CollectorLimits limits, UniqueFd listener,
       UniqueFd wake)
      : writer_(std::move(writer)),
        limit_(limits.file_bytes),
        last_frames_(limits.last_frames),
        directory_(std::move(directory)),
        path_(directory_ + "/capture"),
        listener_(std::move(listener)),
        wake_(std::move(wake)) {}

  ~Loop() {
    stop();
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }

  Status listen_at(const sockaddr_un& address) const {
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(listener_.get(), generic, sizeof address) == 0 &&
        ::listen(listener_.get(), kBacklog) == 0 && wake_) {
      return {};
    }
    return Error{fmt::format("{}: {}", path_, std::strerror(errno))};
  }
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  const std::string& path() const { return path_; }

  Progress progress() const {
    return {processes_.load(), connected(),   accept_rounds_.load(), frames_.load(),
            commands_.load(),  bytes_.load(), frames_dropped_.load()};
  }
  void stop_capturing() {
    stopped_ = true;
    signal();
  }
  uint64_t request_frames(uint64_t frames) {
    const uint64_t processes = connected();
    if (processes == 0) return 0;
    requested_ += frames;
    signal();
    return processes;
  }

  void begin_ending(std::chrono::milliseconds grace) {
    deadline_ns_ = monotonic_ns() + std::chrono::nanoseconds(grace).count();
    signal();
  }
  void stop() {
    if (!thread_.joinable()) return;
    if (deadline_ns_ == kNever) deadline_ns_ = 0;
    signal();
    thread_.join();
  }
  Writer& writer() { return writer_; }
  // After the end of all connections.
  void remove_frames() {
    if (last_frames_ == 0) return;
    writer_.keep_last_frames(last_frames_);
    writer_.remove_unused({});
  }

 private:
  static constexpr int64_t kNever = INT64_MAX;

  void signal() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }
  void run();
  void let_gather() const;
  bool done();
  bool waits_to_be_accepted() const;
  uint64_t connected() const;
  bool accept_one();
  void accept_all();
  bool any_has_ended() const;
  enum class Read { Some, Nothing, End };
  Read read_once(Connection& connection);
  void greet(Connection& connection);
  bool goes_on(Connection& connection);
  bool has_connected_again(Connection& connection);
  bool read_some(Connection& connection);
  void resume(Connection& fresh);
  void report_dropped(const Connection& connection, int64_t now);
  void report_refused();
  void drop(Connection& connection);
  void commit_when_due(bool idle);
  void remove_unused();
  void give_orders();
  void count(const Connection& connection, uint64_t commands_before, uint64_t frames_before);

  Writer writer_;
  SizeLimit limit_;
  const uint64_t last_frames_;
  uint64_t frames_at_removal_ = 0;
  std::atomic<bool> stopped_ = false;
  std::string directory_;
  std::string path_;
  UniqueFd listener_;
  UniqueFd wake_;
  std::thread thread_;
  std::list<Connection> connections_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kReadBytes);
  std::chrono::steady_clock::time_point committed_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> deadline_ns_ = kNever;
  bool cut_off_ = false;
  bool gathers_ = false;  // before the next read
  uint64_t refused_ = 0;  // processes beyond kMaxConnections
  std::atomic<uint64_t> accept_rounds_ = 0;
  std::atomic<uint64_t> processes_ = 0;
  std::atomic<uint64_t> connected_ = 0;
  std::atomic<uint64_t> frames_ = 0;
  std::atomic<uint64_t> commands_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> requested_ = 0;       // frames, not asked for yet
  std::atomic<uint64_t> frames_dropped_ = 0;  // of all connections
  uint64_t frames_dropped_before_ = 0;        // of those that have ended
};

void Collector::Loop::run() {
  std::vector<pollfd> polled;
  while (!done()) {
    if (std::exchange(gathers_, false)) let_gather();
    polled.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const Connection& connection : connections_) {
      polled.push_back({connection.polled(), POLLIN, 0});
    }
    const int ready = ::poll(polled.data(), polled.size(), kPollMilliseconds);
    commit_when_due(ready == 0);
    give_orders();
    if (ready <= 0) continue;
    if (polled[0].revents) {
      uint64_t woken = 0;
      [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &woken, sizeof woken);
    }
    auto connection = connections_.begin();
    for (size_t i = 2; i < polled.size(); ++i) {
      const auto current = connection++;
      if (polled[i].revents && !read_some(*current)) connections_.erase(current);
    }
    // Resumptions whose socket another connection has now.
    std::erase_if(connections_, [](const Connection& c) { return !c.socket && !c.process; });
    if (polled[1].revents) accept_all();
    connected_ = connections_.size();
  }
  report_refused();
}

void Collector::Loop::report_refused() {
  if (refused_ == 0) return;
  writer_.add(MessageRow{
      .time_ns = monotonic_ns(),
      .severity = Severity::Warning,
      .text = fmt::format("processes that were not captured, because {} others were connected: {}",
                          kMaxConnections, refused_)});
}

void Collector::Loop::let_gather() const {
  std::vector<int> sockets;
  for (const Connection& connection : connections_)
    if (connection.socket) sockets.push_back(connection.socket.get());
  (void)gather(std::array{wake_.get(), listener_.get()}, sockets);
}

// Once the application has ended: no process is connected, and none waits to be accepted. After the
// grace, processes that are still connected can send nothing more; the loop reads what their
// sockets hold.
bool Collector::Loop::done() {
  if (deadline_ns_ == kNever) return false;
  if (!cut_off_ && monotonic_ns() >= deadline_ns_) {
    cut_off_ = true;
    std::erase_if(connections_, [this](Connection& connection) {
      if (!connection.socket) drop(connection);
      if (connection.socket) ::shutdown(connection.socket.get(), SHUT_RD);
      return !connection.socket;
    });
  }
  return connections_.empty() && (cut_off_ || !waits_to_be_accepted());
}

bool Collector::Loop::waits_to_be_accepted() const { return is_readable(listener_.get()); }

// Any thread. Never 0 once a process has connected: accept_one() raises connected_ before it
// accepts.
uint64_t Collector::Loop::connected() const {
  const uint64_t waiting = waits_to_be_accepted() ? 1 : 0;
  return std::max(waiting, connected_.load());
}

// False: none waits.
bool Collector::Loop::accept_one() {
  connected_ = connections_.size() + 1;
  UniqueFd accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const bool waited = static_cast<bool>(accepted);
  const auto sender = waited && !cut_off_ ? sender_of(accepted.get()) : std::nullopt;
  if (sender && connections_.size() < kMaxConnections) {
    connections_.emplace_back(std::move(accepted), *sender, writer_, limit_);
    ++processes_;
  } else if (sender) {
    ++refused_;
  }
  connected_ = connections_.size();
  return waited;
}

// Beyond the limit, processes wait while one that has ended is read to its end, and are refused if
// there is none.
void Collector::Loop::accept_all() {
  bool any = false;
  while ((connections_.size() < kMaxConnections || !any_has_ended()) && accept_one()) {
    if (!any) ++accept_rounds_;
    any = true;
  }
}

bool Collector::Loop::any_has_ended() const {
  return std::ranges::any_of(connections_, [](const Connection& connection) {
    if (!connection.socket) return is_readable(connection.process.get());
    pollfd entry{connection.socket.get(), POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) > 0;
  });
}

Collector::Loop::Read Collector::Loop::read_once(Connection& connection) {
  std::span<std::byte> room = buffer_;
  if (!connection.greeted) {
    const bool resumes = connection.greeting.size() >= stream::kHandshakeBytes;
    room = room.first((resumes ? stream::Resumption::kBytes : stream::kHandshakeBytes) -
                      connection.greeting.size());
  }
  const ssize_t size = receive(connection, room);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Read::Nothing;
  if (size <= 0) return Read::End;
  const auto bytes = room.first(static_cast<size_t>(size));
  bytes_ += bytes.size();
  if (!connection.greeted) {
    connection.greeting.insert(connection.greeting.end(), bytes.begin(), bytes.end());
    greet(connection);
    return connection.status.ok() ? Read::Some : Read::End;
  }
  connection.received += bytes.size();
  gathers_ = bytes.size() < kLargeRead;
  const Ingest& ingest = connection.ingest;
  const uint64_t commands = ingest.commands(), frames = ingest.frames();
  connection.status = connection.decoder.feed(
      bytes, [&](stream::AnyMessage& message) { return connection.ingest.take(message); });
  count(connection, commands, frames);
  return connection.status.ok() ? Read::Some : Read::End;
}

void Collector::Loop::greet(Connection& connection) {
  const stream::Bytes& greeting = connection.greeting;
  if (greeting.size() < stream::kHandshakeBytes) return;
  if (stream::Resumption::begins(greeting)) {
    if (greeting.size() == stream::Resumption::kBytes) resume(connection);
    return;
  }
  connection.greeted = true;
  connection.status = connection.decoder.feed(greeting, {});
}

// Gives the socket to the connection whose stream goes on.
void Collector::Loop::resume(Connection& fresh) {
  --processes_;  // it was counted when it first connected
  const auto resumption = stream::Resumption::read(fresh.greeting);
  const auto found = std::ranges::find_if(connections_, [&](const Connection& old) {
    return old.pid == fresh.pid && old.greeted && old.ledger.token() == resumption.token;
  });
  UniqueFd socket = std::move(fresh.socket);
  if (found == connections_.end()) return;
  while (found->socket && read_once(*found) == Read::Some) {
  }
  if (!found->status || found->received != resumption.position) return;
  found->socket = std::move(socket);
  found->process = UniqueFd();
}

// True if the stream of a connection without its socket goes on: the process has connected again,
// or it may as long as it lives.
bool Collector::Loop::goes_on(Connection& connection) {
  if (cut_off_ || !connection.greeted || !connection.status) return false;
  if (connection.ingest.ended() || !connection.ledger.valid()) return false;
  connection.socket = UniqueFd();
  connection.process = connection.ledger.goes_on() ? watch(connection.pid) : UniqueFd();
  return connection.process || has_connected_again(connection);
}

// Looks at the connections that have not said yet what they are.
bool Collector::Loop::has_connected_again(Connection& connection) {
  accept_all();
  for (Connection& fresh : connections_) {
    while (!connection.socket && fresh.socket && !fresh.greeted && fresh.status.ok() &&
           fresh.pid == connection.pid && read_once(fresh) == Read::Some) {
    }
  }
  return static_cast<bool>(connection.socket);
}

// False: the connection has ended.
bool Collector::Loop::read_some(Connection& connection) {
  if (connection.socket && read_once(connection) != Read::End) {
    return connection.socket || connection.process;  // neither: it was a resumption
  }
  if (goes_on(connection)) return true;
  drop(connection);
  return false;
}

void Collector::Loop::count(const Connection& connection, uint64_t commands_before,
                            uint64_t frames_before) {
  commands_ += connection.ingest.commands() - commands_before;
  frames_ += connection.ingest.frames() - frames_before;
}

void Collector::Loop::drop(Connection& connection) {
  const int64_t now = monotonic_ns();
  report_dropped(connection, now);
  connection.ingest.end(now, !connection.status, connection.ledger.submitted(),
                        connection.dropped());
  if (connection.status.ok()) return;
  writer_.add(
      MessageRow{.time_ns = now,
                 .severity = Severity::Error,
                 .text = fmt::format("the capture of process {} was ended: {}",
                                     connection.ingest.pid(), connection.status.error().message)});
}

void Collector::Loop::report_dropped(const Connection& connection, int64_t now) {
  const uint64_t dropped = connection.frames_dropped();
  frames_dropped_before_ += dropped;
  if (!connection.dropped()) return;
  writer_.add(MessageRow{
      .process = connection.ingest.process(),
      .time_ns = now,
      .severity = Severity::Warning,
      .text = fmt::format("the capture reached its limit of {:.1f} MiB: {} later frames of process "
                          "{} are not in it",
                          static_cast<double>(limit_.bytes()) / (1 << 20), dropped,
                          connection.ingest.pid())});
}

void Collector::Loop::give_orders() {
  const uint64_t frames = requested_.exchange(0);
  // The request is also for the processes that had connected when it was made.
  if (frames != 0) accept_all();
  uint64_t dropped = frames_dropped_before_;
  for (Connection& connection : connections_) {
    connection.requested += frames;
    if (connection.requested != 0 && connection.ledger.valid()) {
      connection.ledger.request_frames(std::exchange(connection.requested, 0));
    }
    if (limit_.full() || stopped_) connection.ledger.stop();
    dropped += connection.frames_dropped();
  }
  frames_dropped_ = dropped;
}

void Collector::Loop::commit_when_due(bool idle) {
  const auto now = std::chrono::steady_clock::now();
  if (!idle && now - committed_ < kCommitEvery) return;
  // Not at each frame: it reads all that is kept.
  if (last_frames_ != 0 && frames_ >= frames_at_removal_ + last_frames_) {
    frames_at_removal_ = frames_;
    writer_.keep_last_frames(last_frames_);
    if (writer_.has_many_new()) remove_unused();
  }
  writer_.commit();
  committed_ = now;
}

void Collector::Loop::remove_unused() {
  Writer::HeldRows held;
  for (const Connection& connection : connections_) connection.ingest.add_held(held);
  writer_.remove_unused(std::move(held));
}

Collector::Collector(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Collector::~Collector() = default;

Result<std::unique_ptr<Collector>> Collector::start(Writer writer, std::string directory,
                                                    CollectorLimits limits) {
  if (directory.empty()) directory = temporary_directory();
  std::string place = directory + "/tally-XXXXXX";
  if (!::mkdtemp(place.data())) {
    return Error{fmt::format("{}: {}", place, std::strerror(errno))};
  }
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto loop = std::make_unique<Loop>(std::move(writer), place, limits, std::move(listener),
                                     std::move(wake));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (loop->path().size() >= sizeof address.sun_path) {
    return Error{
        fmt::format("{}: too long for a socket; set TMPDIR to a shorter path", loop->path())};
  }
  std::memcpy(address.sun_path, loop->path().c_str(), loop->path().size());
  if (Status listening = loop->listen_at(address); !listening) return listening.error();
  loop->start();
  return std::unique_ptr<Collector>(new Collector(std::move(loop)));
}

void Collector::stop_capturing() { loop_->stop_capturing(); }
uint64_t Collector::request_frames(uint64_t frames) { return loop_->request_frames(frames); }

const std::string& Collector::socket_path() const { return loop_->path(); }
Collector::Progress Collector::progress() const { return loop_->progress(); }

Status Collector::finish(std::optional<int64_t> exit_status, std::chrono::milliseconds grace) {
  loop_->begin_ending(grace);
  loop_->stop();
  loop_->remove_frames();
  return loop_->writer().finish(monotonic_ns(), exit_status);
}

}  // namespace tally::store
