#include "support/supervised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Supervised, an_item_that_dies_or_hangs_costs_itself_alone) {
  std::map<size_t, std::string> said, deaths;
  supervise({.count = 6,
             .limit = std::chrono::seconds(1),
             .begin =
                 [] {
                   return [](size_t item, const SendLine& send_line) {
                     send_line("before " + std::to_string(item));
                     if (item == 1) std::abort();
                     if (item == 3) ::pause();
                     if (item == 4) ::_exit(7);
                     send_line("after");
                   };
                 },
             .on_line = [&](size_t item, std::string_view line) { said[item] += line; },
             .on_death = [&](size_t item, const std::string& how) { deaths[item] = how; }});
  EXPECT_THAT(said,
              ElementsAre(Pair(0, "before 0after"), Pair(1, "before 1"), Pair(2, "before 2after"),
                          Pair(3, "before 3"), Pair(4, "before 4"), Pair(5, "before 5after")));
  EXPECT_THAT(deaths, ElementsAre(Pair(1, "Aborted"), Pair(3, "took more than 1 s"),
                                  Pair(4, "exit status 7")));
}

TEST(Supervised, work_that_cannot_begin_is_an_error) {
  const Supervision supervision = {
      .count = 1, .begin = []() -> Work { throw std::runtime_error("no device"); }};
  EXPECT_THROW(supervise(supervision), std::runtime_error);
}

}  // namespace
}  // namespace tally::test
