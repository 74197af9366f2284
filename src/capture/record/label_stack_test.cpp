#include "capture/record/recording.h"

#include <gtest/gtest.h>

namespace tally::capture {
namespace {

// Numbers its labels from the outermost one.
LabelRef next(const LabelRef& parent) {
  return std::make_shared<const Label>(parent ? parent->id + 1 : 1, parent, "");
}
Id number(const LabelStack& labels) { return labels.innermost() ? labels.innermost()->id : 0; }

TEST(LabelStack, ends_what_was_begun_last) {
  LabelStack labels;
  EXPECT_EQ(labels.innermost(), nullptr);
  labels.end();
  labels.begin(next);
  labels.begin(next);
  EXPECT_EQ(number(labels), 2u);
  labels.end();
  EXPECT_EQ(number(labels), 1u);
}

TEST(LabelStack, that_is_never_ended_makes_no_more_labels_than_it_keeps) {
  LabelStack labels;
  size_t made = 0;
  for (int i = 0; i < 1'000'000; ++i)
    labels.begin([&](const LabelRef& parent) { return ++made, next(parent); });
  EXPECT_EQ(made, LabelStack::kMaxOpen);
  EXPECT_EQ(number(labels), LabelStack::kMaxOpen);
}

TEST(LabelStack, deeper_labels_are_ended_before_those_that_are_kept) {
  LabelStack labels;
  for (size_t i = 0; i < LabelStack::kMaxOpen + 10; ++i) labels.begin(next);
  for (size_t i = 0; i < 10; ++i) labels.end();
  EXPECT_EQ(number(labels), LabelStack::kMaxOpen);
  labels.end();
  EXPECT_EQ(number(labels), LabelStack::kMaxOpen - 1);
  labels.begin(next);
  labels.begin(next);
  labels.clear();
  labels.end();
  EXPECT_EQ(labels.innermost(), nullptr);
}

TEST(FrameLabels, end_a_frame_if_no_such_label_is_around_them) {
  FrameLabels labels;
  EXPECT_FALSE(labels.end()) << "there is no open label";
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
