// docs/reference/capture-format.md follows from the definitions of the rows.
#include "store/format/schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace tally::store {
namespace {

std::string page() {
  std::ifstream file(STORE_TEST_PAGE);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Document, the_page_is_up_to_date) {
  EXPECT_EQ(page(), document_tables(page())) << "build the target capture_format_page";
}

TEST(Document, the_page_has_every_table_and_column) {
  const std::string text = page();
  for (const TableText& table : schema_tables()) {
    const size_t row = text.find(std::string("\n| `") + table.name + "` | ");
    ASSERT_NE(row, text.npos) << table.name;
    const std::string line = text.substr(row + 1, text.find('\n', row + 1) - row);
    for (const ColumnText& column : table.columns) {
      if (column.is_id) continue;
      EXPECT_NE(line.find(std::string("`") + column.name + "`"), line.npos)
          << table.name << "." << column.name;
    }
  }
}

TEST(Document, the_page_says_how_often_the_writer_commits) {
  EXPECT_NE(page().find(fmt::format("(every {} s)", kCommitSeconds)), std::string::npos);
}

TEST(Document, a_stale_table_is_replaced) {
  const std::string stale =
      "before\n<!-- tables: regions -->\n| stale |\n<!-- end of tables -->\nafter\n";
  const std::string made = document_tables(stale);
  EXPECT_EQ(made.find("stale"), made.npos);
  EXPECT_NE(made.find("| `pass_picture` | "), made.npos);
  EXPECT_TRUE(made.starts_with("before\n"));
  EXPECT_TRUE(made.ends_with("after\n"));
}

}  // namespace
}  // namespace tally::store
