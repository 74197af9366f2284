#include "store/format/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Column of(std::vector<int64_t> values) {
  Column column;
  for (size_t i = 0; i < values.size(); ++i) column.append(i, values[i]);
  return column;
}

TEST(Column, equal_values_are_held_once) {
  EXPECT_THAT(of({5, 5, 5}).values, ElementsAre(5));
  EXPECT_EQ(of({5, 5, 5}).at(2), 5);
  EXPECT_THAT(of({5, 5, 7, 5}).values, ElementsAre(5, 5, 7, 5));
}

TEST(Column, several_values_are_appended_as_one_by_one) {
  const std::vector<std::vector<int64_t>> parts{
      {5}, {5, 5}, {7}, {7, 7, 7}, {Column::kNull, Column::kNull}, {5, 7, 7}};
  for (const std::vector<int64_t>& first : parts) {
    for (const std::vector<int64_t>& second : parts) {
      std::vector<int64_t> all = first;
      all.insert(all.end(), second.begin(), second.end());
      Column each;
      each.append_each(0, first.size(), [&](size_t i) { return first[i]; });
      each.append_each(first.size(), second.size(), [&](size_t i) { return second[i]; });
      EXPECT_EQ(each, of(all));
      Column same = of(first);
      same.append_same(first.size(), 3, second[0]);
      same.append_same(first.size() + 3, 0, 9);
      all = first;
      all.insert(all.end(), 3, second[0]);
      EXPECT_EQ(same, of(all));
    }
  }
}

TEST(Column, a_column_without_values_is_null_everywhere) {
  EXPECT_EQ(Column{}.at(3), Column::kNull);
  EXPECT_EQ(to_json({}), "null");
  EXPECT_THAT(column_from_json("null", 3)->values, IsEmpty());
}

TEST(Column, json_and_back_is_the_same) {
  for (const Column& column :
       {of({0}), of({-1, 2}), of({kMax, Column::kNull, -kMax}), of({Column::kNull, 1, 1})}) {
    const std::string json = to_json(column);
    const auto read = column_from_json(json, std::max<size_t>(column.values.size(), 1));
    ASSERT_TRUE(read) << json;
    EXPECT_EQ(*read, column) << json;
  }
  EXPECT_EQ(to_json(of({1, Column::kNull, 3})), "[1,null,3]");
}

TEST(Column, what_is_no_column_of_this_size_is_refused) {
  for (const char* json :
       {"", "[", "[]", "[1", "[1,2]", "[1,2,3,4]", "[1,,3]", "[1,2,3]x", "1x", "[1,2,3", "[1,2,a]",
        "nul", "\"1\"", "1.5", "[1,2,99999999999999999999]", " 1", "-9223372036854775808", "{}"}) {
    EXPECT_FALSE(column_from_json(json, 3)) << json;
  }
  EXPECT_TRUE(column_from_json("[1,2,3]", 3));
  EXPECT_TRUE(column_from_json("7", 3)) << "one for all";
}

TEST(Column, counts_beyond_the_largest_number_are_the_largest_number) {
  EXPECT_EQ(stored(UINT64_MAX), kMax);
  EXPECT_EQ(stored(7), 7);
}

}  // namespace
}  // namespace tally::store
