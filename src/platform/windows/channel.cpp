// Named pipes, whose names nobody can guess and whose access list has this user alone. The memory
// has a name of the same kind, which comes before the first byte.
//
// All reads and writes are overlapped: each end has one that is not complete at most. A completion
// port wakes the receiver; and handles that belong to a port keep their writes when the thread that
// began them ends.
#include "platform/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include "platform/windows/system.h"

#include <ntsecapi.h>  // after windows.h

namespace tally::platform {

bool fill_random(void* bytes, size_t size) {
  return ::RtlGenRandom(bytes, static_cast<ULONG>(size)) != 0;
}

namespace {

constexpr DWORD kPipeBytes = 1 << 20;
constexpr size_t kMaxAtOnce = size_t{1} << 20;
constexpr DWORD kConnectMilliseconds = 5'000;
constexpr DWORD kBetweenConnectsMs = 5;
constexpr int kGatherMilliseconds = 50;
constexpr int kGatherStepMilliseconds = 5;

// Names the memory; zero: there is none.
using MemoryName = std::array<uint64_t, 2>;

std::string random_text() {
  MemoryName name{};
  return fill_random(name.data(), sizeof name) ? fmt::format("{:016x}{:016x}", name[0], name[1])
                                               : std::string{};
}

std::string name_of(const MemoryName& name) {
  return fmt::format("Local\\tally-{:016x}{:016x}", name[0], name[1]);
}

// Access for the user of this process alone.
class UserAlone {
 public:
  UserAlone() {
    Handle token;
    DWORD size = 0;
    if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, token.address()) == 0 ||
        ::GetTokenInformation(token.get(), TokenUser, user_.data(), user_.size(), &size) == 0)
      return;
    auto* const list = reinterpret_cast<ACL*>(list_.data());
    PSID const user = reinterpret_cast<const TOKEN_USER*>(user_.data())->User.Sid;
    is_complete_ =
        ::InitializeAcl(list, list_.size(), ACL_REVISION) != 0 &&
        ::AddAccessAllowedAce(list, ACL_REVISION, GENERIC_ALL, user) != 0 &&
        ::InitializeSecurityDescriptor(&descriptor_, SECURITY_DESCRIPTOR_REVISION) != 0 &&
        ::SetSecurityDescriptorDacl(&descriptor_, TRUE, list, FALSE) != 0;
  }
  UserAlone(const UserAlone&) = delete;
  UserAlone& operator=(const UserAlone&) = delete;

  // nullptr: Windows refuses it.
  SECURITY_ATTRIBUTES* get() { return is_complete_ ? &attributes_ : nullptr; }

 private:
  alignas(TOKEN_USER) std::array<std::byte, 256> user_;
  alignas(ACL) std::array<std::byte, 256> list_;
  SECURITY_DESCRIPTOR descriptor_{};
  SECURITY_ATTRIBUTES attributes_{sizeof(SECURITY_ATTRIBUTES), &descriptor_, FALSE};
  bool is_complete_ = false;
};

// A read, a write or a wait for a sender that is not complete. Completed ones wake the port unless
// they have an event.
struct Pending {
  OVERLAPPED overlapped{};
  bool is_under_way = false;

  // The result of the call that began it.
  bool begun(BOOL done) {
    is_under_way = done != 0 || ::GetLastError() == ERROR_IO_PENDING;
    return is_under_way;
  }
  bool is_complete() const { return HasOverlappedIoCompleted(&overlapped); }
  // Once it is complete. Nothing: it has failed, and GetLastError() says why.
  std::optional<DWORD> take(HANDLE pipe) {
    is_under_way = false;
    DWORD size = 0;
    if (::GetOverlappedResult(pipe, &overlapped, &size, FALSE) == 0) return std::nullopt;
    return size;
  }
  // The bytes that it has brought until now.
  std::optional<DWORD> cancel(HANDLE pipe) {
    if (!std::exchange(is_under_way, false)) return std::nullopt;
    DWORD size = 0;
    ::CancelIoEx(pipe, &overlapped);
    if (::GetOverlappedResult(pipe, &overlapped, &size, TRUE) == 0) return std::nullopt;
    return size;
  }
};

}  // namespace

struct SharedMemory::Held {
  Handle mapping;
  void* memory = nullptr;
  size_t size = 0;
  MemoryName name{};

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (memory != nullptr) ::UnmapViewOfFile(memory);
  }
  bool map() {
    memory = ::MapViewOfFile(mapping.get(), FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, 0);
    MEMORY_BASIC_INFORMATION info{};
    if (memory == nullptr || ::VirtualQuery(memory, &info, sizeof info) == 0) return false;
    size = info.RegionSize;
    return true;
  }
};

SharedMemory::SharedMemory() = default;
SharedMemory::SharedMemory(std::unique_ptr<Held> held) : held_(std::move(held)) {}
SharedMemory::SharedMemory(SharedMemory&& other) noexcept = default;
SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept = default;
SharedMemory::~SharedMemory() = default;

// Its size cannot change. The receiver opens it while it reads the first bytes: of a process that
// ends before that, no memory is left.
SharedMemory SharedMemory::make(size_t size) {
  auto held = std::make_unique<Held>();
  UserAlone access;
  if (access.get() == nullptr || !fill_random(held->name.data(), sizeof held->name)) return {};
  held->mapping =
      Handle(::CreateFileMappingA(INVALID_HANDLE_VALUE, access.get(), PAGE_READWRITE, 0,
                                  static_cast<DWORD>(size), name_of(held->name).c_str()));
  if (!held->mapping || ::GetLastError() == ERROR_ALREADY_EXISTS || !held->map()) return {};
  return SharedMemory(std::move(held));
}

void* SharedMemory::get() const { return held_ ? held_->memory : nullptr; }
size_t SharedMemory::size() const { return held_ ? held_->size : 0; }

namespace {

SharedMemory opened_memory(const MemoryName& name) {
  auto held = std::make_unique<SharedMemory::Held>();
  held->mapping =
      Handle(::OpenFileMappingA(FILE_MAP_READ | FILE_MAP_WRITE, FALSE, name_of(name).c_str()));
  return held->mapping && held->map() ? SharedMemory(std::move(held)) : SharedMemory();
}

}  // namespace

// The sender. A write that has begun counts as taken.

struct ChannelClient::Held {
  Handle pipe;
  Handle port;   // nobody waits at it
  Handle event;  // set when no write is under way
  Pending writing;
  std::vector<std::byte> buffer;
  bool is_lost = false;

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { writing.cancel(pipe.get()); }

  // False: the last write is still under way, or the connection is lost.
  bool is_idle() {
    if (is_lost) return false;
    if (!writing.is_under_way) return true;
    if (!writing.is_complete()) return false;
    const auto size = writing.take(pipe.get());
    is_lost = !size || *size != buffer.size();
    return !is_lost;
  }
  bool write(std::span<const std::byte> bytes) {
    buffer.assign(bytes.begin(), bytes.end());
    writing.overlapped = {};
    // With the lowest bit set, the port gets nothing.
    writing.overlapped.hEvent =
        reinterpret_cast<HANDLE>(reinterpret_cast<uintptr_t>(event.get()) | 1);
    is_lost =
        !writing.begun(::WriteFile(pipe.get(), buffer.data(), static_cast<DWORD>(buffer.size()),
                                   nullptr, &writing.overlapped));
    return !is_lost;
  }
  void wait(std::chrono::milliseconds limit) const {
    if (!writing.is_under_way) return;
    constexpr std::chrono::milliseconds kLongest{INT_MAX};
    ::WaitForSingleObject(event.get(), static_cast<DWORD>(std::min(limit, kLongest).count()));
  }
};

ChannelClient::ChannelClient(std::unique_ptr<Held> held) : held_(std::move(held)) {}
ChannelClient::ChannelClient(ChannelClient&& other) noexcept = default;
ChannelClient& ChannelClient::operator=(ChannelClient&& other) noexcept = default;
ChannelClient::~ChannelClient() = default;

Result<ChannelClient> ChannelClient::connect(const std::string& name) {
  auto held = std::make_unique<Held>();
  const DWORD begin = ::GetTickCount();
  while (true) {
    // The receiver may know who we are, but not act for us.
    held->pipe = Handle(::CreateFileA(
        name.c_str(), GENERIC_WRITE, 0, nullptr, OPEN_EXISTING,
        FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, nullptr));
    if (held->pipe) break;
    const DWORD error = ::GetLastError();
    if (error != ERROR_PIPE_BUSY || ::GetTickCount() - begin > kConnectMilliseconds)
      return Error{fmt::format("{}: {}", name, text_of_error(error))};
    if (::WaitNamedPipeA(name.c_str(), kConnectMilliseconds) == 0) ::Sleep(kBetweenConnectsMs);
  }
  held->event = Handle(::CreateEventA(nullptr, TRUE, TRUE, nullptr));
  held->port = Handle(::CreateIoCompletionPort(held->pipe.get(), nullptr, 0, 1));
  if (!held->event || !held->port) return Error{fmt::format("{}: {}", name, text_of_error())};
  return ChannelClient(std::move(held));
}

// Programs on Windows do not close what is not their own: they would have to know its handle.
bool ChannelClient::is_open() const { return true; }

Status ChannelClient::send_first(std::span<const std::byte> bytes, SharedMemory& memory) {
  const MemoryName name = memory ? memory.held_->name : MemoryName{};
  std::vector<std::byte> all(sizeof name + bytes.size());
  std::memcpy(all.data(), name.data(), sizeof name);
  std::copy(bytes.begin(), bytes.end(), all.begin() + sizeof name);
  if (held_->write(all)) return {};
  return Error{text_of_error()};
}

std::optional<size_t> ChannelClient::send_some(std::span<const std::byte> bytes) {
  if (!held_->is_idle()) return held_->is_lost ? std::nullopt : std::optional<size_t>(0);
  const auto part = bytes.first(std::min(bytes.size(), kMaxAtOnce));
  if (part.empty()) return 0;
  return held_->write(part) ? std::optional(part.size()) : std::nullopt;
}

void ChannelClient::wait_for_room(std::chrono::milliseconds limit) { held_->wait(limit); }

bool ChannelClient::flush(std::chrono::milliseconds limit) {
  if (!held_->is_idle()) held_->wait(limit);
  return held_->is_idle();
}

void ChannelClient::shut_down() {
  held_->writing.cancel(held_->pipe.get());
  held_->is_lost = true;
  held_->pipe.close();
}

// The receiver.

using Incoming = ChannelServer::Incoming;

struct Incoming::Held {
  Handle pipe;
  Pending reading;
  std::vector<std::byte> buffer = std::vector<std::byte>(size_t{64} << 10);
  size_t begin = 0, end = 0;    // of what was read and not taken
  std::vector<std::byte> name;  // of the memory, until it is complete
  SharedMemory memory;
  bool has_name = false;
  bool is_cut_off = false;  // it has no more to say than what has arrived
  bool has_ended = false;

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { reading.cancel(pipe.get()); }

  void begin_read() {
    reading.overlapped = {};
    begin = end = 0;
    has_ended =
        !reading.begun(::ReadFile(pipe.get(), buffer.data(), static_cast<DWORD>(buffer.size()),
                                  nullptr, &reading.overlapped));
  }
  // Takes what a read has brought, and begins the next one where there is none.
  void update() {
    while (!has_ended && begin == end) {
      if (!reading.is_under_way) begin_read();
      if (has_ended) return;
      const bool is_complete = reading.is_complete();
      if (!is_complete && !is_cut_off) return;
      const auto size = is_complete ? reading.take(pipe.get()) : reading.cancel(pipe.get());
      has_ended = !size;
      end = size.value_or(0);
      if (!has_name) take_name();
    }
  }
  void take_name() {
    const size_t part = std::min(sizeof(MemoryName) - name.size(), end - begin);
    name.insert(name.end(), buffer.begin() + static_cast<ptrdiff_t>(begin),
                buffer.begin() + static_cast<ptrdiff_t>(begin + part));
    begin += part;
    if (name.size() < sizeof(MemoryName)) return;
    has_name = true;
    MemoryName numbers{};
    std::memcpy(numbers.data(), name.data(), sizeof numbers);
    if (numbers != MemoryName{}) memory = opened_memory(numbers);
  }
  bool is_ready() {
    update();
    return has_ended || begin != end;
  }
  size_t waiting() const {
    DWORD more = 0;
    ::PeekNamedPipe(pipe.get(), nullptr, 0, nullptr, &more, nullptr);
    return end - begin + more;
  }
};

Incoming::Incoming(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Incoming::~Incoming() = default;

pid_t Incoming::sender() const { return 0; }
bool Incoming::is_open() const { return static_cast<bool>(held_->pipe); }
bool Incoming::is_watched() const { return false; }

std::optional<size_t> Incoming::read(std::span<std::byte> room) {
  held_->update();
  const size_t size = std::min(room.size(), held_->end - held_->begin);
  if (size == 0) return held_->has_ended ? std::nullopt : std::optional<size_t>(0);
  std::copy_n(held_->buffer.begin() + static_cast<ptrdiff_t>(held_->begin), size, room.begin());
  held_->begin += size;
  return size;
}

SharedMemory Incoming::take_memory() { return std::exchange(held_->memory, {}); }

bool Incoming::watch_process() {
  close();
  return false;
}

void Incoming::close() {
  held_->reading.cancel(held_->pipe.get());
  held_->has_ended = true;
  held_->pipe.close();
}

void Incoming::take_over(Incoming& /*other*/) {}
void Incoming::end_sending() { held_->is_cut_off = true; }

// More may have arrived than was read.
bool Incoming::has_ended() const {
  held_->update();
  DWORD more = 0;
  return held_->has_ended ||
         (::PeekNamedPipe(held_->pipe.get(), nullptr, 0, nullptr, &more, nullptr) == 0 &&
          ::GetLastError() == ERROR_BROKEN_PIPE);
}

struct ChannelServer::Held {
  std::string name;
  UserAlone access;
  Handle port;
  Handle next;  // the pipe that the next sender connects to
  Pending connecting;
  std::atomic<bool> is_connected = false;
  std::atomic<bool> is_woken = false;
  Ready ready;

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { connecting.cancel(next.get()); }

  // A name that another process has already is not taken.
  bool offer(bool is_first) {
    connecting = {};
    is_connected = false;
    next = Handle(::CreateNamedPipeA(
        name.c_str(),
        PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED |
            (is_first ? DWORD{FILE_FLAG_FIRST_PIPE_INSTANCE} : DWORD{0}),
        PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
        PIPE_UNLIMITED_INSTANCES, 0, kPipeBytes, 0, access.get()));
    if (!next || ::CreateIoCompletionPort(next.get(), port.get(), 0, 1) == nullptr) return false;
    const BOOL done = ::ConnectNamedPipe(next.get(), &connecting.overlapped);
    // A sender may have come before the call, and may be gone again.
    if (done == 0 &&
        (::GetLastError() == ERROR_PIPE_CONNECTED || ::GetLastError() == ERROR_NO_DATA)) {
      is_connected = true;
      wake();
      return true;
    }
    return connecting.begun(done);
  }
  bool is_asked() const {
    return is_connected || (connecting.is_under_way && connecting.is_complete());
  }
  void wake() const { ::PostQueuedCompletionStatus(port.get(), 0, 0, nullptr); }
  void wait(DWORD milliseconds) const {
    std::array<OVERLAPPED_ENTRY, 64> entries;
    ULONG count = 0;
    ::GetQueuedCompletionStatusEx(port.get(), entries.data(), entries.size(), &count, milliseconds,
                                  FALSE);
  }
};

ChannelServer::ChannelServer(std::unique_ptr<Held> held) : held_(std::move(held)) {}
ChannelServer::~ChannelServer() = default;

Result<std::unique_ptr<ChannelServer>> ChannelServer::listen(const std::string& /*directory*/) {
  auto held = std::make_unique<Held>();
  const std::string random = random_text();
  held->name = "\\\\.\\pipe\\tally-" + random;
  held->port = Handle(::CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 1));
  if (random.empty() || held->access.get() == nullptr || !held->port || !held->offer(true))
    return Error{fmt::format("{}: {}", held->name, text_of_error())};
  return std::unique_ptr<ChannelServer>(new ChannelServer(std::move(held)));
}

const std::string& ChannelServer::name() const { return held_->name; }

void ChannelServer::wake() {
  held_->is_woken = true;
  held_->wake();
}

bool ChannelServer::is_asked() const { return held_->is_asked(); }

// A sender that finds no pipe to connect to waits for the next one.
bool ChannelServer::accept(std::unique_ptr<Incoming>& accepted) {
  if (!held_->is_asked()) return false;
  if (held_->connecting.is_under_way) (void)held_->connecting.take(held_->next.get());
  auto incoming = std::make_unique<Incoming::Held>();
  incoming->pipe = std::move(held_->next);
  (void)held_->offer(false);
  accepted = std::make_unique<Incoming>(std::move(incoming));
  accepted->held().update();
  return true;
}

const ChannelServer::Ready& ChannelServer::wait(std::span<Incoming* const> incoming,
                                                std::chrono::milliseconds limit) {
  Ready& ready = held_->ready;
  const auto look = [&] {
    ready.is_asked = held_->is_asked();
    ready.any = held_->is_woken.exchange(false) || ready.is_asked;
    ready.incoming.assign(incoming.size(), false);
    for (size_t i = 0; i < incoming.size(); ++i) {
      ready.incoming[i] = incoming[i]->held().is_ready();
      ready.any = ready.any || ready.incoming[i];
    }
    return ready.any;
  };
  if (!held_->next) (void)held_->offer(false);  // it was refused before
  // Completions from before are of no use any more.
  held_->wait(look() ? 0 : static_cast<DWORD>(limit.count()));
  if (!ready.any) look();
  return ready;
}

Gathered ChannelServer::gather(std::span<Incoming* const> incoming) {
  for (int waited = 0; waited < kGatherMilliseconds; waited += kGatherStepMilliseconds) {
    held_->wait(kGatherStepMilliseconds);
    if (held_->is_woken || held_->is_asked()) return Gathered::Urgent;
    for (Incoming* const one : incoming) {
      if (one->has_ended()) return Gathered::Closed;
      if (one->held().waiting() >= kLargeRead) return Gathered::Enough;
    }
  }
  return Gathered::Late;
}

}  // namespace tally::platform
