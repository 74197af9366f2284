// The sender alone, in front of receivers that read slowly, not at all, or do not exist.
#include "store/stream/stream_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "platform/channel.h"
#include "store/stream/ledger.h"
#include "store/testing/test_capture.h"

namespace tally::store::stream {
namespace {

// Accepts, and reads only on request, apart from the handshake.
class DeafReceiver {
 public:
  explicit DeafReceiver(const std::string& directory) {
    auto server = platform::ChannelServer::listen(directory);
    EXPECT_TRUE(server.ok());
    server_ = std::move(*server);
  }
  const std::string& name() const { return server_->name(); }
  // Accepts the sender that waits, and receives its ledger.
  ReceivedLedger receive_ledger() {
    silent_ = accept();
    std::array<std::byte, kHandshakeBytes> handshake;
    size_t size = 0;
    while (size == 0) size = read(*silent_, handshake).value_or(1);
    return ReceivedLedger(silent_->take_memory());
  }
  // Reads one connection to its end, with pauses; how many bytes came.
  size_t read_slowly() {
    const auto incoming = accept();
    std::vector<std::byte> buffer(size_t{1} << 20);
    size_t total = 0;
    while (const auto size = read(*incoming, buffer)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      total += *size;
    }
    return total;
  }

 private:
  std::unique_ptr<platform::ChannelServer::Incoming> accept() {
    std::unique_ptr<platform::ChannelServer::Incoming> incoming;
    while (!server_->accept(incoming)) (void)server_->wait({}, std::chrono::milliseconds(100));
    return incoming;
  }
  std::optional<size_t> read(platform::ChannelServer::Incoming& incoming,
                             std::span<std::byte> room) {
    platform::ChannelServer::Incoming* const one = &incoming;
    (void)server_->wait({&one, 1}, std::chrono::milliseconds(100));
    return incoming.read(room);
  }

  std::unique_ptr<platform::ChannelServer> server_;
  std::unique_ptr<platform::ChannelServer::Incoming> silent_;
};

// It has a connection's buffer and the limit for itself; who pushes more waits until it is given
// up.
TEST(StreamClient, a_receiver_that_takes_nothing_is_waited_for_and_then_given_up) {
  const TestDirectory directory;
  DeafReceiver deaf(directory.path());
  constexpr auto kPatience = std::chrono::milliseconds(300);
  auto client = StreamClient::connect(deaf.name(), kPatience);
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
  EXPECT_LE(taken, 7u) << "the limit, and what the connection holds";
  EXPECT_TRUE((*client)->receiver_gone());
  EXPECT_FALSE((*client)->flush());
  EXPECT_EQ(shared.submitted(), std::nullopt) << "how many commands are missing is not known";
}

TEST(StreamClient, a_slow_receiver_gets_everything) {
  const TestDirectory directory;
  DeafReceiver slow(directory.path());
  auto client = StreamClient::connect(slow.name(), std::chrono::seconds(60));
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
