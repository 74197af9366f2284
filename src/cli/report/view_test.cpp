#include "cli/report/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/table/display_text.h"

namespace tally::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

analysis::Table sample() {
  analysis::Table table;
  table.id = "shader";
  table.title = "Shaders";
  table.columns = {
      {.id = "shader", .title = "shader", .role = analysis::ColumnRole::Key},
      {.id = "fma", .title = "fma", .unit = analysis::Unit::Count},
      {.id = "loads", .title = "loads", .unit = analysis::Unit::Count, .shown = false}};
  table.rows = {{std::string("blur"), uint64_t{5}, uint64_t{100}},
                {std::string("Light"), uint64_t{9}, uint64_t{10}},
                {std::string("shadow"), uint64_t{7}, uint64_t{1000}}};
  table.sorted_by = "fma";
  table.total_rows = 3;
  return table;
}

TopView view_of(analysis::Table table) {
  TopView view(analysis::By::Shader, "", "");
  view.set_table(std::move(table));
  return view;
}

// The text of all lines.
std::string screen(TopView& view, size_t width = 120, size_t height = 24) {
  const std::vector<TopLine> lines = view.lines(width, height);
  EXPECT_THAT(lines, SizeIs(height));
  std::string text;
  for (const TopLine& line : lines) {
    EXPECT_LE(report::display_width(line.text), width);
    EXPECT_TRUE(
        std::ranges::none_of(line.text, [](unsigned char c) { return c < 32 || c == 127; }));
    text += line.text + "\n";
  }
  return text;
}

std::vector<std::string> names(const TopView& view) {
  const analysis::Table table = view.chosen(0, 100);
  std::vector<std::string> names;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    names.push_back(std::get<std::string>(table.rows.cell(r, 0)));
  }
  return names;
}

void press(TopView& view, const std::string& keys) {
  for (const char key : keys) EXPECT_TRUE(view.press(key));
}

TEST(TopView, a_heading_names_the_column_to_sort_by) {
  analysis::Table table = sample();
  table.columns[2].title = "buffer loads";
  TopView view(analysis::By::Shader, "Buffer loads", "");
  view.set_table(std::move(table));
  EXPECT_THAT(names(view), ElementsAre("shadow", "blur", "Light"));
}

TEST(TopView, rows_are_sorted_by_any_column_in_either_direction) {
  TopView view = view_of(sample());
  EXPECT_THAT(names(view), ElementsAre("Light", "shadow", "blur"));
  press(view, ">");
  EXPECT_THAT(names(view), ElementsAre("shadow", "blur", "Light")) << "a column that was not shown";
  EXPECT_THAT(screen(view), HasSubstr("loads v"));
  press(view, "r");
  EXPECT_THAT(names(view), ElementsAre("Light", "blur", "shadow"));
  EXPECT_THAT(screen(view), HasSubstr("loads ^"));
  view.press(static_cast<int>(TopKey::Right));
  EXPECT_THAT(names(view), ElementsAre("Light", "blur", "shadow")) << "by name";
  press(view, "<<");
  EXPECT_THAT(names(view), ElementsAre("Light", "shadow", "blur"));
}

TEST(TopView, a_filter_keeps_the_rows_with_its_text_in_either_case) {
  TopView view = view_of(sample());
  press(view, "/liG");
  EXPECT_THAT(names(view), ElementsAre("Light"));
  EXPECT_THAT(screen(view), HasSubstr("1 of 3 rows, filter: liG_"));
  press(view, "\b\bx");
  EXPECT_THAT(names(view), IsEmpty());
  press(view, "q\n");
  EXPECT_THAT(screen(view), HasSubstr("filter: lxq")) << "keys are text while a filter is typed";
  press(view, "/\x1b");
  EXPECT_THAT(names(view), SizeIs(3));
}

TEST(TopView, keys_choose_what_a_row_is_pause_and_quit) {
  TopView view = view_of(sample());
  press(view, " ");
  EXPECT_TRUE(view.paused());
  EXPECT_THAT(screen(view), HasSubstr("paused"));
  press(view, "p3");
  EXPECT_FALSE(view.paused());
  EXPECT_EQ(view.by(), analysis::By::Line);
  EXPECT_THAT(screen(view), Not(HasSubstr("blur"))) << "not the table of shaders";
  EXPECT_FALSE(view.press('q'));
  EXPECT_FALSE(view.press(3));
}

TEST(TopView, many_rows_are_scrolled_to_the_end_and_no_further) {
  analysis::Table table = sample();
  for (uint64_t i = 0; i < 100; ++i) table.rows.push_back({"row" + std::to_string(i), i + 1000, i});
  TopView view = view_of(std::move(table));
  EXPECT_THAT(screen(view), HasSubstr("row99"));
  view.press(static_cast<int>(TopKey::End));
  EXPECT_THAT(screen(view), HasSubstr("blur"));
  for (int i = 0; i < 300; ++i) view.press(static_cast<int>(TopKey::Down));
  EXPECT_THAT(screen(view), HasSubstr("blur"));
  view.press(static_cast<int>(TopKey::PageUp));
  EXPECT_THAT(screen(view), Not(HasSubstr("blur")));
  view.press(static_cast<int>(TopKey::Home));
  EXPECT_THAT(screen(view), HasSubstr("row99"));
}

TEST(TopView, any_size_is_filled_and_never_exceeded) {
  TopView view = view_of(sample());
  for (const size_t width : {1u, 2u, 10u, 40u, 500u}) {
    for (const size_t height : {1u, 2u, 3u, 4u, 7u, 100u}) screen(view, width, height);
  }
  TopView empty(analysis::By::Draw, "fma", "x");
  EXPECT_THAT(screen(empty), HasSubstr("0 of 0 rows"));
  press(empty, "><r");
}

TEST(TopView, no_control_character_of_a_name_is_shown) {
  analysis::Table table = sample();
  table.title = "\x1b]0;title\x07";
  table.rows.push_back({std::string("\x1b[2J\nevil\xc2\x9b\xff\r"), uint64_t{1}, uint64_t{1}});
  TopView view = view_of(std::move(table));
  view.set_status("\x1b[31mstatus");
  press(view, "/evil");
  const std::string text = screen(view);
  EXPECT_THAT(text, HasSubstr("evil"));
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
}

}  // namespace
}  // namespace tally::cli
