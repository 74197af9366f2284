#include "spirv/analysis/source_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace tally::spirv {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The texts after numbering. `code`: file and line.
std::vector<std::string> numbered(std::vector<SourceFile> files,
                                  const std::vector<std::pair<uint32_t, uint32_t>>& code = {}) {
  std::vector<SourceLocation> locations;
  for (const auto& [file, line] : code) locations.push_back({file, line, 0, line});
  number_lines(files, locations);
  std::vector<std::string> texts;
  for (SourceFile& file : files) texts.push_back(std::move(file.text));
  return texts;
}

TEST(line_directives, a_text_without_them_is_as_it_was) {
  EXPECT_THAT(numbered({{"a", "one\r\n#define line\ntwo"}, {"b", ""}}, {{0, 3}, {1, 7}}),
              ElementsAre("one\r\n#define line\ntwo", ""));
}

TEST(line_directives, give_lines_to_the_file_and_number_that_they_name) {
  EXPECT_THAT(numbered({{"a", "a1\n#line 3 \"b\"\nb3\nb4\n#line 5 \"a\"\na5\n"}, {"b", ""}}),
              ElementsAre("a1\n#line 3 \"b\"\n\n\na5\n", "\n\nb3\nb4\n"));
}

TEST(line_directives, without_a_name_stay_in_the_file) {
  EXPECT_THAT(numbered({{"a", "a1\n#line 4\na4\n  #  line 7 2 \na7\n"}}),
              ElementsAre("a1\n#line 4\n\na4\n  #  line 7 2 \n\na7\n"));
}

TEST(line_directives, of_preprocessors_have_no_word) {
  EXPECT_THAT(numbered({{"a", "# 1 \"./b\" 2\nb1\n"}, {"b", ""}}),
              ElementsAre("# 1 \"./b\" 2\n", "b1\n"));
}

TEST(line_directives, in_comments_are_none) {
  EXPECT_THAT(numbered({{"a", "/*\n#line 9\n*/\na4 // /*\n#line 6\na6\n"}}),
              ElementsAre("/*\n#line 9\n*/\na4 // /*\n#line 6\na6\n"));
}

TEST(line_directives, a_file_may_be_named_with_escapes) {
  EXPECT_THAT(numbered({{"a", "#line 1 \"d:\\\\b\"\nb1\n"}, {"d:\\b", ""}}),
              ElementsAre("#line 1 \"d:\\\\b\"\n", "b1\n"));
}

TEST(line_directives, code_without_a_line_is_not_available) {
  EXPECT_THAT(numbered({{"a", "one\n"}}, {{0, 3}}), ElementsAre("one\n\n(not available)\n"));
  EXPECT_THAT(numbered({{"a", "#line 3\na3\n"}}, {{0, 2}, {0, 3}, {0, 5}}),
              ElementsAre("#line 3\n(not available)\na3\n\n(not available)\n"));
}

TEST(line_directives, code_of_a_number_with_two_lines_is_not_available) {
  const std::string text = "one\n#line 1\ntwo\n";
  EXPECT_THAT(numbered({{"a", text}}, {{0, 1}}), ElementsAre("(not available)\n#line 1\n"));
  EXPECT_THAT(numbered({{"a", text}}), ElementsAre("\n#line 1\n"));
}

TEST(line_directives, equal_lines_and_those_without_code_are_no_second_line) {
  EXPECT_THAT(
      numbered({{"a", "#version 450\n#line 1\none\ntwo\n#line 2\ntwo\n"}}, {{0, 1}, {0, 2}}),
      ElementsAre("one\ntwo\n#line 2\n"));
}

// Either branch may have been compiled.
TEST(line_directives, in_conditions_leave_both_numbers_possible) {
  EXPECT_THAT(numbered({{"a", "#if X\n#line 8 \"b\"\n#endif\na4\n"}, {"b", ""}}, {{0, 4}, {1, 9}}),
              ElementsAre("#if X\n#line 8 \"b\"\n#endif\na4\n", "\n\n\n\n\n\n\n#endif\na4\n"));
}

TEST(line_directives, that_cannot_be_read_leave_the_text_out) {
  EXPECT_THAT(numbered({{"a", "one\n#line NUMBER\ntwo\n"}}, {{0, 1}}), ElementsAre(IsEmpty()));
}

TEST(line_directives, do_not_make_texts_long) {
  const auto texts =
      numbered({{"a", "a1\n#line 4000000000 \"b\"\nb\n#line 18446744073709551615\nc\n"}, {"b", ""}},
               {{0, 1}, {1, 4'000'000'000}});
  EXPECT_THAT(texts, ElementsAre("a1\n#line 4000000000 \"b\"\n", IsEmpty()));
  std::vector<SourceFile> files;
  std::string all;
  for (int i = 0; i < 500; ++i) {
    files.push_back({std::to_string(i), ""});
    all += "#line 90000 \"" + std::to_string(i) + "\"\nx\n";
  }
  files.push_back({"all", all});
  size_t bytes = 0;
  for (const std::string& text : numbered(std::move(files))) bytes += text.size();
  EXPECT_LT(bytes, 300'000u);
}

}  // namespace
}  // namespace tally::spirv
