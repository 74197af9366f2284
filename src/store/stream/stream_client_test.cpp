// The sender alone, in front of receivers that read slowly, not at all, or do not exist.
#include "store/stream/stream_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "store/stream/ledger.h"
#include "store/testing/test_capture.h"

namespace tally::store::stream {
namespace {

// A socket that accepts, and reads only on request, apart from the handshake.
class DeafReceiver {
 public:
  explicit DeafReceiver(const std::string& path)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
  }
  // Accepts the sender that waits, and receives its ledger.
  ReceivedLedger receive_ledger() {
    silent_ = UniqueFd(::accept(listener_.get(), nullptr, nullptr));
    std::array<char, kHandshakeBytes> handshake;
    iovec part{handshake.data(), handshake.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(silent_.get(), &message, MSG_CMSG_CLOEXEC) < 0 || !CMSG_FIRSTHDR(&message))
      return {};
    int file = -1;
    std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return ReceivedLedger(UniqueFd(file));
  }
  // Reads one connection to its end, with pauses; how many bytes came.
  size_t read_slowly() {
    const UniqueFd socket(::accept(listener_.get(), nullptr, nullptr));
    std::vector<std::byte> buffer(size_t{1} << 20);
    size_t total = 0;
    for (ssize_t size = 1; size > 0;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      size = ::read(socket.get(), buffer.data(), buffer.size());
      total += size > 0 ? static_cast<size_t>(size) : 0;
    }
    return total;
  }

 private:
  UniqueFd listener_;
  UniqueFd silent_;
};

// It has a socket's buffer and the limit for itself; who pushes more waits until it is given up.
TEST(StreamClient, a_receiver_that_takes_nothing_is_waited_for_and_then_given_up) {
  const TestDirectory directory;
  DeafReceiver deaf(directory.file("deaf"));
  constexpr auto kPatience = std::chrono::milliseconds(300);
  auto client = StreamClient::connect(directory.file("deaf"), kPatience);
  ASSERT_TRUE(client.ok());
  const ReceivedLedger shared = deaf.receive_ledger();
  (*client)->ledger().add_submitted(1);
  EXPECT_EQ(shared.submitted(), 1u);
  constexpr size_t kLimit = 4 << 20;
  const auto begin = std::chrono::steady_clock::now();
  size_t taken = 0;
  while (taken < 100 && (*client)->push(Bytes(1 << 20), kLimit)) ++taken;
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kPatience);
  EXPECT_GE(taken, 4u);
  EXPECT_LE(taken, 7u) << "the limit, and what the socket holds";
  EXPECT_TRUE((*client)->receiver_gone());
  EXPECT_FALSE((*client)->flush());
  EXPECT_EQ(shared.submitted(), std::nullopt) << "how many commands are missing is not known";
}

TEST(StreamClient, a_slow_receiver_gets_everything) {
  const TestDirectory directory;
  DeafReceiver slow(directory.file("slow"));
  auto client = StreamClient::connect(directory.file("slow"), std::chrono::seconds(60));
  ASSERT_TRUE(client.ok());
  constexpr size_t kBytes = 8 << 20;
  std::thread sender([&] {
    for (size_t sent = 0; sent < kBytes; sent += 1 << 20) (*client)->push(Bytes(1 << 20), 1 << 20);
    client->reset();
  });
  EXPECT_EQ(slow.read_slowly(), kHandshakeBytes + kBytes);
  sender.join();
}

TEST(StreamClient, without_a_receiver_there_is_an_error) {
  const auto client = StreamClient::connect("/nowhere/at/all");
  ASSERT_FALSE(client.ok());
  EXPECT_THAT(client.error().message, testing::HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace tally::store::stream
