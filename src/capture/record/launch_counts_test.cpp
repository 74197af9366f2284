#include "capture/record/launch_counts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace tally::capture {
namespace {

constexpr size_t kBlockWords = 3;
using Words = std::vector<uint64_t>;

PushConstants pushed(std::initializer_list<uint32_t> words, uint32_t offset = 0) {
  PushConstants constants;
  constants.push(offset, std::as_bytes(std::span(words.begin(), words.size())));
  return constants;
}

TEST(Launches, equal_parameters_and_used_push_constants_are_one_launch) {
  Launches launches({.push_constants = {{0, 4}, {8, 12}}});
  Launch* const first = launches.find({4, 1, 1}, pushed({1, 2, 3}));
  EXPECT_EQ(launches.find({4, 1, 1}, pushed({1, 7, 3})), first);
  EXPECT_NE(launches.find({5, 1, 1}, pushed({1, 2, 3})), first);
  EXPECT_NE(launches.find({4, 1, 1}, pushed({1, 2, 4})), first);
  EXPECT_NE(launches.find({4, 1, 1}, pushed({0, 2, 3})), first);
  EXPECT_NE(launches.find({4, 1, 1, 0, 0, 1}, pushed({1, 2, 3})), first);
}

TEST(Launches, equal_sizes_are_one_launch_and_without_them_there_is_none) {
  Launches launches({.push_constants = {{0, 4}}, .sizes = {{0, 1}}});
  const auto find = [&](std::initializer_list<uint64_t> sizes, uint32_t number = 1) {
    return launches.find({4, 1, 1}, pushed({number}), std::span(sizes.begin(), sizes.size()));
  };
  Launch* const first = find({1, 640});
  EXPECT_EQ(find({1, 640}), first);
  EXPECT_NE(find({1, 641}), first);
  EXPECT_NE(find({1, 640}, 2), first);
  EXPECT_NE(find({2, 640, 640}), first);
  EXPECT_EQ(find({}), nullptr);
  Launches plain({});
  const uint64_t none[] = {0};
  EXPECT_EQ(plain.find({4, 1, 1}, {}, none), nullptr);
}

TEST(Launches, push_constants_of_several_calls_add_up) {
  Launches launches({.push_constants = {{0, spirv::LaunchInputs::kToEnd}}});
  PushConstants constants = pushed({1, 2, 3});
  const uint32_t four = 4;
  constants.push(4, std::as_bytes(std::span(&four, 1)));
  EXPECT_EQ(launches.find({1, 1, 1}, constants), launches.find({1, 1, 1}, pushed({1, 4, 3})));
}

TEST(Launches, push_constants_beyond_those_that_are_kept_share_nothing) {
  Launches all({.push_constants = {{0, spirv::LaunchInputs::kToEnd}}});
  Launches first({.push_constants = {{0, 4}}});
  const auto beyond = pushed({1}, PushConstants::kMaxBytes);
  EXPECT_EQ(all.find({1, 1, 1}, beyond), nullptr);
  EXPECT_NE(first.find({1, 1, 1}, beyond), nullptr);
  EXPECT_EQ(Launches({.push_constants = {{PushConstants::kMaxBytes, 260}}}).find({1}, pushed({1})),
            nullptr);
}

TEST(Launches, push_constants_that_another_stage_overwrote_are_not_known_until_pushed_again) {
  const auto words_after = [](uint32_t offset, uint32_t size) {
    PushConstants constants = pushed({1, 2, 3, 4});
    constants.push_unknown(offset, size);
    std::string known;
    for (uint32_t word = 0; word < PushConstants::kMaxBytes / 4; ++word)
      known += constants.bytes({4 * word, 4 * word + 4}).empty() ? '-' : '+';
    return known.substr(0, 5) + known.back();
  };
  EXPECT_EQ(words_after(4, 8), "+--+++");
  EXPECT_EQ(words_after(0, 0), "++++++");
  EXPECT_EQ(words_after(12, PushConstants::kMaxBytes), "+++---");
  EXPECT_EQ(words_after(PushConstants::kMaxBytes - 4, 4), "+++++-");
  EXPECT_EQ(words_after(PushConstants::kMaxBytes, 4), "++++++");
  PushConstants last = pushed({1});
  last.push_unknown(PushConstants::kMaxBytes - 4, 8);
  const std::byte bytes[4] = {};
  last.push(PushConstants::kMaxBytes - 4, bytes);
  EXPECT_TRUE(last.bytes({0, spirv::LaunchInputs::kToEnd}).empty());
  EXPECT_FALSE(last.bytes({0, PushConstants::kMaxBytes}).empty());
  Launches launches({.push_constants = {{0, 8}}});
  PushConstants constants = pushed({1, 2, 3});
  Launch* const known = launches.find({1, 1, 1}, constants);
  constants.push_unknown(8, 4);
  EXPECT_EQ(launches.find({1, 1, 1}, constants), known);
  constants.push_unknown(0, 8);
  const uint32_t words[] = {1, 2};
  constants.push(0, std::as_bytes(std::span(words, 1)));
  EXPECT_EQ(launches.find({1, 1, 1}, constants), nullptr);
  constants.push(0, std::as_bytes(std::span(words)));
  EXPECT_EQ(launches.find({1, 1, 1}, constants), known);
}

TEST(Launches, a_launch_is_known_once_it_was_counted_but_some_repetitions_are_counted_again) {
  Launches launches({});
  Launch* const launch = launches.find({1, 1, 1}, {});
  EXPECT_TRUE(launch->next(false).counted);
  EXPECT_TRUE(launch->counts().empty());
  ASSERT_TRUE(launch->learn(Words{0, 0, 12}, kBlockWords));
  int known = 0;
  for (int i = 0; i < 4096; ++i) known += !launch->next(false).counted;
  EXPECT_EQ(known, 4096 - 7 - 3) << "not 16, 32 ... 1024, 2048, 3072 and 4096";
  EXPECT_EQ(launch->counts()[2], 12u);
}

TEST(Launches, dispatches_are_counted_until_a_plain_pipeline_pays) {
  constexpr size_t kWords = 320;  // as much as 10 small dispatches, or as 5 of twice the price
  for (const auto& [executions, expected] : {std::pair(12u, 10), {1u << 18, 5}}) {
    Launches launches({}, kWords);
    Launch* const launch = launches.find({1, 1, 1}, {});
    EXPECT_TRUE(launches.next(*launch, false, true).counted) << "the first one";
    ASSERT_TRUE(launch->learn(Words{0, 0, executions}, kBlockWords));
    for (int i = 0; i < expected; ++i) EXPECT_TRUE(launches.next(*launch, false, true).counted);
    EXPECT_FALSE(launches.next(*launch, false, true).counted);
  }
  Launches elsewhere({}, kWords);
  Launch* const launch = elsewhere.find({1, 1, 1}, {});
  ASSERT_TRUE(launch->learn(Words{0, 0, 12}, kBlockWords));
  EXPECT_FALSE(elsewhere.next(*launch, false, false).counted);
}

TEST(Launches, frequent_repetitions_are_timed_where_their_command_buffer_is_chosen) {
  Launches launches({});
  Launch* const launch = launches.find({1, 1, 1}, {});
  EXPECT_NE(launch->number(), launches.find({2, 1, 1}, {})->number());
  launch->learn(Words{0, 0, 12}, kBlockWords);
  int timed_for_others = 0, not_timed = 0;
  for (int i = 1; i <= 200; ++i) {
    const bool chosen = i > 100 && i % 10 == 0;
    const Launch::Turn turn = launch->next(chosen);
    if (i == 16 || i == 32 || i == 64 || i == 128) {
      EXPECT_TRUE(turn.counted && turn.timed && !turn.sampled) << "a counted one takes longer";
      continue;
    }
    EXPECT_EQ(turn.sampled, i > 32) << i;
    EXPECT_EQ(turn.timed, i <= 64 || chosen) << i;
    timed_for_others += turn.sampled && turn.timed;
    not_timed += !turn.timed;
  }
  EXPECT_EQ(timed_for_others, 31 + 10);
  EXPECT_EQ(not_timed, 136 - 1 - 10);
}

TEST(Launches, counts_that_differ_are_told_and_end_the_sharing) {
  Launches launches({});
  Launch* const launch = launches.find({1, 1, 1}, {});
  ASSERT_TRUE(launch->learn(Words{0, 0, 12, 0, 1, 5}, kBlockWords));
  // The first half of a block's first word is its result index.
  EXPECT_TRUE(launch->learn(Words{7, 0, 12, 7, 1, 5}, kBlockWords));
  EXPECT_FALSE(launch->learn(Words{0, 0, 12, 0, 1, 6}, kBlockWords));
  EXPECT_FALSE(launch->learn(Words{0, 0, 12}, kBlockWords));
  launches.distrust();
  EXPECT_EQ(launches.find({1, 1, 1}, {}), nullptr);
}

TEST(Launches, further_launches_than_are_kept_are_counted_each_time) {
  Launches launches({});
  Launch* const first = launches.find({0}, {});
  for (int64_t i = 1; i < 5000; ++i) launches.find({i}, {});
  EXPECT_EQ(launches.find({0}, {}), first);
  EXPECT_EQ(launches.find({4999}, {}), nullptr);
}

}  // namespace
}  // namespace tally::capture
