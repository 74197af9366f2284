// A stream of bytes from each captured process to its receiver, `tally run`, and memory that each
// of these processes shares with the receiver. Both belong to the same user; other users can reach
// neither.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::platform {

// Numbers that nobody can guess. False: the system has none yet.
bool fill_random(void* bytes, size_t size);

// Memory of two processes: the one that makes it, and the one that receives it over a channel.
// Neither can take it away from the other.
class SharedMemory {
 public:
  struct Held;

  SharedMemory();  // none
  explicit SharedMemory(std::unique_ptr<Held> held);
  // Zeros; none if the system refuses it.
  static SharedMemory make(size_t size);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  void* get() const;
  size_t size() const;  // at least what was asked for
  explicit operator bool() const { return get() != nullptr; }

 private:
  friend class ChannelClient;

  std::unique_ptr<Held> held_;
};

// The sender's end. One thread at a time uses it.
//
// Programs that become daemons close descriptors that are not their own. So is_open() looks each
// time whether the connection is still the sender's.
class ChannelClient {
 public:
  // `name`: ChannelServer::name(). Waits some seconds for a receiver that is busy.
  static Result<ChannelClient> connect(const std::string& name);
  ChannelClient(ChannelClient&& other) noexcept;
  ChannelClient& operator=(ChannelClient&& other) noexcept;
  ~ChannelClient();

  bool is_open() const;
  // The first bytes of the stream, and with them the memory, if there is any. Once the receiver has
  // it, it needs nothing of this process.
  Status send_first(std::span<const std::byte> bytes, SharedMemory& memory);
  // Takes as many of the bytes as it can without waiting, which may be none. Nothing: the
  // connection is lost.
  std::optional<size_t> send_some(std::span<const std::byte> bytes);
  void wait_for_room(std::chrono::milliseconds limit);
  // Waits until the system has what was taken, and keeps it beyond the end of this process.
  bool flush(std::chrono::milliseconds limit);
  void shut_down();

 private:
  struct Held;
  explicit ChannelClient(std::unique_ptr<Held> held);

  std::unique_ptr<Held> held_;
};

// After a read, small packets gather in the connections: waking for each one, and inserting its few
// rows with cold caches, takes longer than reading it. Why the wait ended:
enum class Gathered {
  Urgent,  // the server was woken, or a process waits to be accepted
  Closed,  // a sender has closed its connection: nothing more gathers there
  Enough,  // a connection holds so much that a read is worth it
  Late,    // none of these in 50 ms
};

// A read of at least so many bytes is worth it. A socket of Linux is full at 210 KB, where each
// packet takes 800 bytes, however small it is.
inline constexpr size_t kLargeRead = size_t{16} << 10;

// The receiver's ends.
class ChannelServer {
 public:
  // One connection.
  class Incoming {
   public:
    struct Held;

    explicit Incoming(std::unique_ptr<Held> held);
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;
    ~Incoming();

    pid_t sender() const;
    bool is_open() const;
    // In place of the connection after the process has closed it: the process is watched, which may
    // connect again.
    bool is_watched() const;
    // 0: nothing has come. Nothing: the stream has ended.
    std::optional<size_t> read(std::span<std::byte> room);
    // The memory that came with the bytes, once.
    SharedMemory take_memory();
    // Closes the connection. False: the process has ended, or it will not connect again.
    bool watch_process();
    void close();
    // Goes on with the connection of another one.
    void take_over(Incoming& other);
    // Bytes that have arrived can still be read.
    void end_sending();
    // There may be something left to read.
    bool has_ended() const;

    Held& held() { return *held_; }

   private:
    std::unique_ptr<Held> held_;
  };

  // Listens under a new name. Where names are files, it is one in a new folder, accessible to this
  // user alone, below `directory`; without one below the folder for temporary files.
  static Result<std::unique_ptr<ChannelServer>> listen(const std::string& directory = {});
  ChannelServer(const ChannelServer&) = delete;
  ChannelServer& operator=(const ChannelServer&) = delete;
  ~ChannelServer();

  const std::string& name() const;
  // Ends wait(). Any thread.
  void wake();
  // A process waits to be accepted. Any thread.
  bool is_asked() const;
  // False: none waits. `accepted` is null if the process is not of this user.
  bool accept(std::unique_ptr<Incoming>& accepted);

  struct Ready {
    bool is_asked = false;
    bool any = false;
    std::vector<bool> incoming;  // something to read, the end of the stream or of the process
  };
  // Waits until wake() or until something is ready.
  const Ready& wait(std::span<Incoming* const> incoming, std::chrono::milliseconds limit);
  Gathered gather(std::span<Incoming* const> incoming);

 private:
  struct Held;
  explicit ChannelServer(std::unique_ptr<Held> held);

  std::unique_ptr<Held> held_;
};

}  // namespace tally::platform
