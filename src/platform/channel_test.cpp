// Both ends of channels in one process.
#include "platform/channel.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>
#include <thread>

namespace tally::platform {
namespace {

using Incoming = ChannelServer::Incoming;
using std::chrono::milliseconds;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class Channel : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = ChannelServer::listen();
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
  }
  ChannelClient connect() const {
    auto client = ChannelClient::connect(server_->name());
    EXPECT_TRUE(client.ok()) << client.error().message;
    SharedMemory none;
    EXPECT_TRUE(client->send_first(bytes_of("hello"), none).ok());
    return std::move(*client);
  }
  std::unique_ptr<Incoming> accept() {
    std::unique_ptr<Incoming> incoming;
    for (int i = 0; i < 100 && !incoming; ++i) {
      (void)server_->wait({}, milliseconds(100));
      (void)server_->accept(incoming);
    }
    EXPECT_TRUE(incoming);
    return incoming;
  }
  std::unique_ptr<Incoming> accept_greeted() {
    std::unique_ptr<Incoming> incoming = accept();
    EXPECT_EQ(read(*incoming, 5), "hello");
    return incoming;
  }
  // Up to so many bytes, or to the end.
  std::string read(Incoming& incoming, size_t size) {
    std::string text;
    std::array<std::byte, 4096> buffer;
    Incoming* const one = &incoming;
    for (int i = 0; i < 200 && text.size() < size; ++i) {
      (void)server_->wait({&one, 1}, milliseconds(50));
      const auto got =
          incoming.read(std::span(buffer).first(std::min(size - text.size(), buffer.size())));
      if (!got) break;
      text.append(reinterpret_cast<const char*>(buffer.data()), *got);
    }
    return text;
  }
  Gathered gather(std::initializer_list<Incoming*> incoming) {
    return server_->gather(std::vector<Incoming*>(incoming));
  }

  std::unique_ptr<ChannelServer> server_;
};

void send(ChannelClient& client, std::string_view text) {
  while (!text.empty()) {
    const auto sent = client.send_some(bytes_of(text));
    ASSERT_TRUE(sent);
    text.remove_prefix(*sent);
    client.wait_for_room(milliseconds(10));
  }
}

TEST_F(Channel, carries_bytes_in_order_to_the_end) {
  ChannelClient client = connect();
  const auto incoming = accept_greeted();
  send(client, "one ");
  send(client, "two");
  EXPECT_EQ(read(*incoming, 7), "one two");
  std::array<std::byte, 8> room;
  EXPECT_EQ(incoming->read(room), 0u) << "nothing has come";
  EXPECT_FALSE(incoming->has_ended());
  send(client, "last");
  { const ChannelClient closed = std::move(client); }
  EXPECT_EQ(read(*incoming, 100), "last");
  EXPECT_TRUE(incoming->has_ended());
  EXPECT_EQ(incoming->read(room), std::nullopt);
}

TEST_F(Channel, gives_the_receiver_the_memory_of_the_sender) {
  SharedMemory ours = SharedMemory::make(64);
  ASSERT_TRUE(ours);
  ASSERT_GE(ours.size(), 64u);
  EXPECT_EQ(std::string(static_cast<const char*>(ours.get()), 64), std::string(64, '\0'));
  auto client = ChannelClient::connect(server_->name());
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->send_first(bytes_of("x"), ours).ok());
  const auto incoming = accept();
  EXPECT_EQ(read(*incoming, 1), "x");
  const SharedMemory theirs = incoming->take_memory();
  ASSERT_TRUE(theirs);
  ASSERT_GE(theirs.size(), 64u);
  EXPECT_FALSE(incoming->take_memory()) << "it comes once";
  std::strcpy(static_cast<char*>(ours.get()), "to the receiver");
  EXPECT_STREQ(static_cast<const char*>(theirs.get()), "to the receiver");
  std::strcpy(static_cast<char*>(theirs.get()), "back");
  EXPECT_STREQ(static_cast<const char*>(ours.get()), "back");
}

TEST_F(Channel, takes_only_what_it_holds_and_loses_nothing) {
  ChannelClient client = connect();
  const auto incoming = accept_greeted();
  std::string all;
  for (int i = 0; all.size() < size_t{6} << 20; ++i) all += std::to_string(i) + " ";
  size_t taken = 0;
  bool was_full = false;
  for (int idle = 0; idle < 3 && taken < all.size();) {
    const auto sent = client.send_some(bytes_of(std::string_view(all).substr(taken)));
    ASSERT_TRUE(sent);
    taken += *sent;
    idle = *sent == 0 ? idle + 1 : 0;
    was_full = was_full || *sent == 0;
    if (*sent == 0) client.wait_for_room(milliseconds(20));
  }
  EXPECT_TRUE(was_full);
  std::thread sender([&] {
    send(client, std::string_view(all).substr(taken));
    EXPECT_TRUE(client.flush(std::chrono::seconds(30)));
    const ChannelClient closed = std::move(client);
  });
  std::string text;
  while (text.size() < all.size()) {
    const std::string more = read(*incoming, 4096);
    if (more.empty()) break;
    text += more;
  }
  sender.join();
  EXPECT_TRUE(text == all);
}

TEST_F(Channel, shows_that_a_process_waits_and_accepts_each_once) {
  EXPECT_FALSE(server_->is_asked());
  std::unique_ptr<Incoming> none;
  EXPECT_FALSE(server_->accept(none));
  std::vector<std::unique_ptr<Incoming>> accepted;
  std::atomic<int> left = 20;
  std::vector<std::thread> senders(4);
  for (std::thread& sender : senders) {
    sender = std::thread([&] {
      while (left-- > 0) send(*std::make_unique<ChannelClient>(connect()), "!");
    });
  }
  while (accepted.size() < 20) accepted.push_back(accept());
  for (std::thread& sender : senders) sender.join();
  for (const auto& incoming : accepted) EXPECT_EQ(read(*incoming, 100), "hello!");
  EXPECT_FALSE(server_->accept(none));
}

TEST_F(Channel, waits_until_something_comes_or_it_is_woken) {
  ChannelClient client = connect();
  const auto incoming = accept_greeted();
  Incoming* const one = incoming.get();
  EXPECT_FALSE(server_->wait({&one, 1}, milliseconds(1)).incoming.at(0));
  send(client, "x");
  EXPECT_TRUE(server_->wait({&one, 1}, std::chrono::seconds(60)).incoming.at(0));
  EXPECT_EQ(read(*incoming, 1), "x");
  const auto begin = std::chrono::steady_clock::now();
  server_->wake();
  for (int i = 0; i < 3; ++i) (void)server_->wait({&one, 1}, milliseconds(i == 0 ? 60'000 : 1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(Channel, that_may_send_no_more_is_read_to_its_end) {
  ChannelClient client = connect();
  const auto incoming = accept_greeted();
  send(client, "rest");
  ASSERT_TRUE(client.flush(std::chrono::seconds(10)));
  incoming->end_sending();
  EXPECT_EQ(read(*incoming, 100), "rest");
  std::array<std::byte, 8> room;
  EXPECT_EQ(incoming->read(room), std::nullopt);
}

TEST_F(Channel, without_a_receiver_there_is_none) {
  const std::string name = server_->name();
  server_.reset();
  const auto client = ChannelClient::connect(name);
  ASSERT_FALSE(client.ok());
  EXPECT_NE(client.error().message.find(name), std::string::npos);
}

TEST_F(Channel, has_a_name_that_differs_each_time) {
  const auto other = ChannelServer::listen();
  ASSERT_TRUE(other.ok());
  EXPECT_NE(server_->name(), (*other)->name());
  std::array<uint64_t, 2> numbers{};
  EXPECT_TRUE(fill_random(numbers.data(), sizeof numbers));
  EXPECT_NE(numbers[0], numbers[1]);
}

TEST_F(Channel, gathering_ends_when_a_sender_closes_it_even_if_data_is_left) {
  ChannelClient open = connect();
  const auto first = accept_greeted();
  ChannelClient closed = connect();
  const auto second = accept_greeted();
  EXPECT_EQ(gather({first.get(), second.get()}), Gathered::Late);
  send(closed, "last");
  { const ChannelClient now = std::move(closed); }
  EXPECT_EQ(gather({first.get(), second.get()}), Gathered::Closed);
}

TEST_F(Channel, gathering_ends_when_something_is_urgent_or_a_connection_holds_enough) {
  ChannelClient client = connect();
  const auto incoming = accept_greeted();
  send(client, "few");
  EXPECT_EQ(gather({incoming.get()}), Gathered::Late);
  send(client, std::string(size_t{64} << 10, 'x'));
  EXPECT_EQ(gather({incoming.get()}), Gathered::Enough);
  server_->wake();
  EXPECT_EQ(gather({incoming.get()}), Gathered::Urgent);
  (void)server_->wait({}, milliseconds(1));
  const ChannelClient asks = connect();
  EXPECT_EQ(gather({}), Gathered::Urgent);
}

}  // namespace
}  // namespace tally::platform
