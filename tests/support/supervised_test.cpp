#include "support/supervised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Supervised, an_item_that_dies_hangs_or_is_slow_costs_itself_alone) {
  std::map<size_t, std::string> said, deaths;
  std::vector<size_t> slow;
  supervise({.count = 7,
             .limit = std::chrono::seconds(1),
             .idle_limit = std::chrono::seconds(2),
             .begin =
                 [] {
                   return [](size_t item, const SendLine& send_line) {
                     send_line("before " + std::to_string(item));
                     if (item == 1) std::abort();
                     if (item == 3) ::pause();
                     if (item == 4) ::_exit(7);
                     for (volatile uint64_t turns = 0; item == 6;) turns = turns + 1;
                     send_line("after");
                   };
                 },
             .on_line = [&](size_t item, std::string_view line) { said[item] += line; },
             .on_death =
                 [&](size_t item, const Death& death) {
                   deaths[item] = death.how;
                   if (death.slow) slow.push_back(item);
                 }});
  EXPECT_THAT(said, ElementsAre(Pair(0, "before 0after"), Pair(1, "before 1"),
                                Pair(2, "before 2after"), Pair(3, "before 3"), Pair(4, "before 4"),
                                Pair(5, "before 5after"), Pair(6, "before 6")));
  EXPECT_THAT(deaths, ElementsAre(Pair(1, "Aborted"), Pair(3, "did nothing for 2 s"),
                                  Pair(4, "exit status 7"),
                                  Pair(6, "used more than 1 s of processor time")));
  EXPECT_THAT(slow, ElementsAre(6));
}

TEST(Supervised, work_that_cannot_begin_is_an_error) {
  const Supervision supervision = {
      .count = 1, .begin = []() -> Work { throw std::runtime_error("no device"); }};
  EXPECT_THROW(supervise(supervision), std::runtime_error);
}

}  // namespace
}  // namespace tally::test
