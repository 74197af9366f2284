// The capture stream: bytes of this version, round trips, and everything that is refused.
#include "store/stream/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/text.h"
#include "store/testing/test_messages.h"

namespace tally::store::stream {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<uint8_t> octets(const Bytes& bytes) {
  std::vector<uint8_t> result;
  for (const std::byte byte : bytes) result.push_back(static_cast<uint8_t>(byte));
  return result;
}

Bytes encoded(const AnyMessage& message) {
  Bytes bytes;
  append_message(bytes, message);
  return bytes;
}

Bytes from(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(StreamCodec, every_kind_of_message_comes_back_as_it_was_sent) {
  const auto messages = one_message_of_each_kind();
  ASSERT_EQ(messages.size(), std::variant_size_v<AnyMessage>);
  for (const AnyMessage& message : messages) {
    const Bytes bytes = encoded(message);
    const Result<AnyMessage> decoded = decode_message(std::span(bytes).subspan(4));
    ASSERT_TRUE(decoded.ok()) << message.index() << ": " << decoded.error().message;
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(octets(encoded(*decoded)), octets(bytes)) << message.index();
  }
}

TEST(StreamCodec, fields_survive_the_round_trip) {
  const Bytes bytes = encoded(one_message_of_each_kind()[15]);
  const Result<AnyMessage> decoded = decode_message(std::span(bytes).subspan(4));
  ASSERT_TRUE(decoded.ok());
  const CommandBatch& batch = std::get<CommandBatch>(*decoded);
  EXPECT_EQ(batch.function, Function::DrawIndexed);
  EXPECT_EQ(batch.size, 2u);
  EXPECT_EQ(batch.positions.at(1), 302);
  EXPECT_EQ(batch.parameters.at(0).at(1), 72);
  EXPECT_EQ(batch.parameters.at(3).at(1), -5);
  EXPECT_EQ(batch.gpu_begin_ns.at(0), -1);
  EXPECT_EQ(batch.gpu_time_ns.at(1), Column::kNull);
}

// These bytes are version 17. Whoever changes them changes kStreamVersion.
TEST(StreamCodec, version_17_has_these_bytes) {
  Bytes bytes;
  append_handshake(bytes);
  append_message(bytes,
                 Queue{.id = 2, .device = 1, .position = 300, .flags = 7, .timestamp_bits = 64});
  append_message(bytes, Message{.time_ns = 7, .severity = Severity::Error, .text = "x"});
  append_message(bytes, Label{1, 0, "Sky"});
  append_message(bytes, CommandBatch{.function = Function::Dispatch,
                                     .pipeline = 3,
                                     .counted = true,
                                     .repeats = true,
                                     .time_sample = 9,
                                     .topology = 4,
                                     .primitive_restart = true,
                                     .patch_control_points = 300,
                                     .size = 2,
                                     .positions = {{1, 300}},
                                     .parameters = {{{4}}, {{1}}, {{1}}}});
  append_message(bytes, BatchValues{{{0, 32, 1, {{9, 8}}}}, {{0, 32, 1, 2, {{7}}}}});
  append_message(bytes, FrameValues{1, 2, {{3, 300}}});
  append_message(bytes, PassRegions{1, 2, 0, 1, -4, 8, 300, 50, 64, 32});
  append_message(bytes, RegionValues{5, {1, 0x10002}});
  append_message(bytes, PassPicture{1, 2, 0, 1, 2, 3});
  append_message(bytes, PictureRows{{0xff0102ff}});
  append_message(bytes, Gone{{6, 300}, {7}});
  append_message(bytes, Replacement{.pattern = "p",
                                    .file = "f",
                                    .shader = "s",
                                    .stage = 16,
                                    .entry_point = "m",
                                    .hash = "h",
                                    .new_hash = "n"});
  append_message(bytes, RegionDraw{5, 300, {7}, {300}});
  EXPECT_EQ(kStreamVersion, 17u);
  EXPECT_THAT(
      octets(bytes),
      ElementsAreArray<int>(
          {'T',  'A',  'L', 'L', 'Y', 'C',  'A',  'P',  17,   0,    0,   0,   //
           8,    0,    0,   0,   3,   2,    1,    0,    0xac, 0x02, 7,   64,  //
           6,    0,    0,   0,   19,  14,   2,    1,    'x',  2,              //
           7,    0,    0,   0,   9,   1,    0,    3,    'S',  'k',  'y',      //
           30,   0,    0,   0,   15,  15,   3,    0,    0,    0,    1,   1,    9, 1,   4,    1,
           0xac, 0x02, 2,   2,   2,   0xd6, 4,    0,    3,    1,    8,   1,    2, 1,   2,    0,
           0,
           0,  //
           15,   0,    0,   0,   16,  1,    0,    32,   1,    2,    18,  1,    1, 0,   32,   1,
           2,    1,    14,                                                                        //
           7,    0,    0,   0,   22,  1,    4,    1,    3,    0xac, 2,                            //
           12,   0,    0,   0,   23,  2,    2,    0,    1,    7,    16,  0xac, 2, 50,  64,   32,  //
           11,   0,    0,   0,   24,  5,    2,    1,    0,    0,    0,   2,    0, 1,   0,         //
           7,    0,    0,   0,   25,  2,    2,    0,    1,    2,    3,                            //
           6,    0,    0,   0,   26,  1,    0xff, 2,    1,    0xff,                               //
           7,    0,    0,   0,   28,  2,    6,    0xac, 2,    1,    7,                            //
           15,   0,    0,   0,   30,  1,    'p',  1,    'f',  1,    's', 16,   1, 'm', 1,    'h',
           1,    'n',  0,  //
           14,   0,    0,   0,   32,  5,    0xd8, 4,    1,    7,    0,   0,    0, 1,   0x2c, 1,
           0,    0}));
}

TEST(StreamCodec, every_truncated_message_is_refused) {
  for (const AnyMessage& message : one_message_of_each_kind()) {
    const Bytes bytes = encoded(message);
    for (size_t length = 4; length < bytes.size(); ++length) {
      const auto part = std::span(bytes).subspan(4, length - 4);
      EXPECT_FALSE(decode_message(part).ok()) << message.index() << " cut at " << length;
    }
  }
}

TEST(StreamCodec, bytes_after_the_end_are_refused) {
  for (const AnyMessage& message : one_message_of_each_kind()) {
    Bytes bytes = encoded(message);
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode_message(std::span(bytes).subspan(4)).ok()) << message.index();
  }
}

TEST(StreamCodec, what_no_field_may_hold_is_refused) {
  EXPECT_FALSE(decode_message({}).ok());
  EXPECT_FALSE(decode_message(from({200})).ok()) << "no such message";
  EXPECT_FALSE(decode_message(from({8, 9, 1, 0})).ok()) << "no such enumerator";
  EXPECT_FALSE(decode_message(from({11, 1, 2, 2, 7})).ok()) << "no such end of a frame";
  EXPECT_TRUE(decode_message(from({13, 0, 0, 0, 1, 0, 2, 1})).ok());
  EXPECT_FALSE(decode_message(from({13, 0, 0, 0, 1, 0, 2, 2})).ok()) << "a bool of 2";
  EXPECT_FALSE(
      decode_message(from({9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0})).ok())
      << "a number of more than 64 bits";
  EXPECT_FALSE(decode_message(from({3, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0})).ok())
      << "a number of more than 32 bits";
}

TEST(StreamCodec, a_count_cannot_ask_for_more_than_the_message_holds) {
  EXPECT_FALSE(decode_message(from({15, 0xff, 0xff, 0xff, 0xff, 0x0f})).ok());
  EXPECT_FALSE(
      decode_message(from({4, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f})).ok());
}

TEST(StreamCodec, texts_become_clean_utf8) {
  const Bytes bytes = encoded(Label{1, 0, std::string("a\0b\xff\xc3\xa9", 6)});
  const Result<AnyMessage> decoded = decode_message(std::span(bytes).subspan(4));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Label>(*decoded).name,
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd"
            "\xc3\xa9");
}

TEST(CleanUtf8, overlong_forms_surrogates_and_cut_sequences_are_replaced) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(clean_utf8("\xc0\x80"), bad + bad);
  EXPECT_EQ(clean_utf8("\xed\xa0\x80"), bad + bad + bad);
  EXPECT_EQ(clean_utf8("\xf0\x9f\x98"), bad + bad + bad);
  EXPECT_EQ(clean_utf8("\xf4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(clean_utf8("\xf0\x9f\x98\x80 ok"), "\xf0\x9f\x98\x80 ok");
}

// All messages as one stream.
Bytes whole_stream() {
  Bytes bytes;
  append_handshake(bytes);
  for (const AnyMessage& message : one_message_of_each_kind()) append_message(bytes, message);
  return bytes;
}

TEST(StreamDecoder, the_stream_may_arrive_in_any_pieces) {
  const Bytes bytes = whole_stream();
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{64}, bytes.size()}) {
    StreamDecoder decoder;
    std::vector<size_t> kinds;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const Status status =
          decoder.feed(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)),
                       [&](AnyMessage& message) {
                         kinds.push_back(message.index());
                         return Status{};
                       });
      ASSERT_TRUE(status.ok()) << status.error().message;
    }
    EXPECT_EQ(kinds.size(), std::variant_size_v<AnyMessage>);
  }
}

std::string why_refused(const Bytes& bytes) {
  StreamDecoder decoder;
  const Status status = decoder.feed(bytes, [](AnyMessage&) { return Status{}; });
  return status ? "accepted" : status.error().message;
}

TEST(StreamDecoder, foreign_peers_and_other_versions_are_refused) {
  EXPECT_THAT(why_refused(from({'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P', '/', '1'})),
              HasSubstr("other than a capture stream"));
  Bytes bytes;
  append_handshake(bytes);
  bytes[8] = std::byte{99};
  EXPECT_THAT(why_refused(bytes), HasSubstr("version 99"));
}

TEST(StreamDecoder, oversized_messages_are_refused_before_they_arrive) {
  Bytes bytes;
  append_handshake(bytes);
  const auto more = from({0xff, 0xff, 0xff, 0x7f, 9});
  bytes.insert(bytes.end(), more.begin(), more.end());
  EXPECT_THAT(why_refused(bytes), HasSubstr("bytes, which is not allowed"));
}

TEST(StreamDecoder, an_error_is_final) {
  StreamDecoder decoder;
  const auto sink = [](AnyMessage&) { return Status{}; };
  EXPECT_FALSE(
      decoder.feed(from({'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x'}), sink).ok());
  Bytes good;
  append_handshake(good);
  EXPECT_FALSE(decoder.feed(good, sink).ok());
}

// Mutated streams must be refused or decoded, never crash; the sanitizer builds look closer.
TEST(StreamDecoder, damaged_streams_do_no_harm) {
  const Bytes bytes = whole_stream();
  std::mt19937 random(12345);
  for (int round = 0; round < 20'000; ++round) {
    Bytes damaged = bytes;
    for (unsigned hits = random() % 4 + 1; hits > 0; --hits) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    StreamDecoder decoder;
    (void)decoder.feed(damaged, [](AnyMessage&) { return Status{}; });
  }
}

}  // namespace
}  // namespace tally::store::stream
