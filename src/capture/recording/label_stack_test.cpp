#include "capture/recording/label_stack.h"

#include <gtest/gtest.h>

namespace tally::capture {
namespace {

TEST(LabelStack, ends_what_was_begun_last) {
  LabelStack labels;
  EXPECT_EQ(labels.innermost(), 0u);
  labels.end();
  labels.begin([](auto parent) { return parent + 7; });
  labels.begin([](auto parent) { return parent + 1; });
  EXPECT_EQ(labels.innermost(), 8u);
  labels.end();
  EXPECT_EQ(labels.innermost(), 7u);
}

TEST(LabelStack, that_is_never_ended_makes_no_more_labels_than_it_keeps) {
  LabelStack labels;
  size_t made = 0;
  for (int i = 0; i < 1'000'000; ++i) labels.begin([&](auto parent) { return ++made, parent + 1; });
  EXPECT_EQ(made, LabelStack::kMaxOpen);
  EXPECT_EQ(labels.innermost(), LabelStack::kMaxOpen);
}

TEST(LabelStack, deeper_labels_are_ended_before_those_that_are_kept) {
  LabelStack labels;
  const auto begin = [&] { labels.begin([](auto parent) { return parent + 1; }); };
  for (size_t i = 0; i < LabelStack::kMaxOpen + 10; ++i) begin();
  for (size_t i = 0; i < 10; ++i) labels.end();
  EXPECT_EQ(labels.innermost(), LabelStack::kMaxOpen);
  labels.end();
  EXPECT_EQ(labels.innermost(), LabelStack::kMaxOpen - 1);
  begin();
  begin();
  labels.clear();
  labels.end();
  EXPECT_EQ(labels.innermost(), 0u);
}

TEST(FrameLabels, end_a_frame_if_no_such_label_is_around_them) {
  FrameLabels labels;
  EXPECT_FALSE(labels.end()) << "none is open";
  labels.begin(false);
  labels.begin(true);
  labels.begin(true);
  EXPECT_FALSE(labels.end()) << "the label around it ends the frame";
  EXPECT_TRUE(labels.end());
  EXPECT_FALSE(labels.inside());
  EXPECT_FALSE(labels.end()) << "it does not match";
}

TEST(FrameLabels, that_are_too_deep_end_none) {
  FrameLabels labels;
  for (size_t i = 0; i < LabelStack::kMaxOpen; ++i) labels.begin(false);
  labels.begin(true);
  EXPECT_FALSE(labels.end());
  EXPECT_FALSE(labels.end());
  labels.begin(true);
  EXPECT_TRUE(labels.end());
}

}  // namespace
}  // namespace tally::capture
