// The frames that the receiver keeps with --keep.
#include <gtest/gtest.h>

#include "store/testing/collector_fixture.h"

namespace tally::store {
namespace {

using namespace stream;

// With --keep.
class KeepingCollector : public CollectorTest {
 protected:
  void SetUp() override {
    auto started = Collector::start(std::move(*Writer::create(path_, test_capture_row())),
                                    directory_.path(), {.last_frames = 3});
    ASSERT_TRUE(started.ok()) << started.error().message;
    collector_ = std::move(*started);
  }

  // The rows of dropped frames are removed each time the collector is idle, if it has got at least
  // three new ones.
  bool has_kept_frames_until(int64_t last) {
    return number("SELECT max(number) FROM frame") == last &&
           number("SELECT count(*) FROM frame") < 3 + 3;
  }

  // A frame of the small capture's device with a command buffer, labels and passes of its own,
  // which are gone after it. The ids are not used again.
  static void append_frame(Bytes& bytes, int64_t number, bool again) {
    const Id first = 1'000 + static_cast<Id>(number) * 10;
    const Id object = again ? 6 : first;
    const std::string name = std::to_string(number);
    append_message(bytes, Object{.id = first, .device = 1, .type = "VkCommandBuffer"});
    append_message(bytes, Object{.id = first + 1, .device = 1, .type = "VkFramebuffer"});
    append_message(bytes, Name{Named::Object, first, "commands " + name});
    append_message(bytes, Label{first + 2, 7, "frame " + name});
    append_message(bytes, Label{first + 3, first + 2, "draw " + name});
    append_message(bytes, Label{first + 4, 0, "submission " + name});
    append_message(bytes, Label{first + 5, first + 2, "pass " + name});
    append_message(bytes, Frame{1, number, 10});
    append_message(bytes, Submission{2, number, number, 11, first + 4});
    append_message(bytes, Execution{.command_buffer = object, .recording = 1});
    append_message(bytes, stream::Pass{.framebuffer = first + 1,
                                       .width = 1,
                                       .height = 1,
                                       .attachments = "[]",
                                       .label = first + 5});
    append_message(bytes, stream::CommandBatch{.function = Function::Dispatch,
                                               .pipeline = 5,
                                               .size = 2,
                                               .positions = {{0, 1}},
                                               .labels = {{static_cast<int64_t>(first + 3), 8}},
                                               .parameters = {{{4}}, {{1}}, {{1}}}});
    append_message(bytes, FrameEnded{1, number, 20, FrameEnd::Present});
    append_message(bytes, Gone{{first, first + 1}, {first + 2, first + 3, first + 4, first + 5}});
  }
};

TEST_F(KeepingCollector, objects_and_labels_are_kept_with_the_frames_that_use_them) {
  auto client = connect();
  ASSERT_TRUE(client->push(small_capture(3), 1 << 20));
  constexpr int64_t kFrames = 3'000;
  for (int64_t i = 1; i <= kFrames; ++i) {
    Bytes bytes;
    append_frame(bytes, i, i == kFrames);  // the last one uses what the first one used
    ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
    if (i % 1'000 != 0) continue;
    ASSERT_TRUE(wait_for([&] { return has_kept_frames_until(i); }));
  }
  const int64_t labels = number("SELECT count(*) FROM label");
  EXPECT_GE(labels, 3 * 4 + 2);
  EXPECT_LT(labels, 4 * kFrames / 2);
  EXPECT_LT(number("SELECT count(*) FROM object"), 2 * kFrames / 2);
  Bytes bytes;
  append_message(bytes, End{30});
  ASSERT_TRUE(client->push(std::move(bytes), 1 << 20));
  client.reset();
  finish();
  EXPECT_EQ(text("SELECT group_concat(number) FROM (SELECT number FROM frame ORDER BY number)"),
            "2998,2999,3000");
  EXPECT_EQ(text("SELECT group_concat(object.name, ';') FROM execution JOIN object ON object.id = "
                 "command_buffer"),
            "commands 2998;commands 2999;");  // the third one's has no name
  EXPECT_EQ(text("SELECT group_concat(path, ';') FROM (SELECT path FROM command JOIN label_path ON "
                 "label_path.id = command.label ORDER BY command.id)"),
            "Outer / frame 2998 / draw 2998;Outer / Inner;Outer / frame 2999 / draw 2999;Outer / "
            "Inner;Outer / frame 3000 / draw 3000;Outer / Inner");
  EXPECT_EQ(text("SELECT group_concat(path, ';') FROM (SELECT path FROM submission JOIN label_path "
                 "ON label_path.id = label ORDER BY number)"),
            "submission 2998;submission 2999;submission 3000");
  EXPECT_EQ(number("SELECT count(*) FROM pass JOIN object ON object.id = framebuffer JOIN label ON "
                   "label.id = pass.label"),
            3);
  EXPECT_EQ(number("SELECT count(*) FROM object"), 3 + 3);
  EXPECT_EQ(number("SELECT count(*) FROM label"), 3 * 4 + 2);
}

}  // namespace
}  // namespace tally::store
