// The manual pages and completions follow from the declarations of the commands.
#include "cli/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "cli/command.h"

namespace tally::cli {
namespace {

using testing::HasSubstr;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(CommandDocuments, are_up_to_date) {
  for (const auto& [file, text] : command_documents(CLI_TEST_MANUAL, CLI_TEST_COMPLETIONS))
    EXPECT_EQ(text_of(file), text) << file << ": build the target command_documents";
}

// No page of a command that does not exist any more.
TEST(CommandDocuments, there_are_no_others) {
  const auto wanted = command_documents(CLI_TEST_MANUAL, CLI_TEST_COMPLETIONS);
  for (const auto& entry : std::filesystem::directory_iterator(CLI_TEST_MANUAL)) {
    if (entry.path().extension() != ".1") continue;
    EXPECT_TRUE(wanted.contains(entry.path())) << entry;
  }
}

class Declared : public testing::Test {
 protected:
  Declared() {
    add_commands(app_, chosen_, {});
    command_ = app_.add_subcommand("paint", "Paint it's walls");
    command_->add_option("-c,--colour", colour_, "Which: [one] of two")->type_name("NAME");
    command_->footer(".dots first");
  }

  CLI::App app_;
  Action chosen_;
  CLI::App* command_ = nullptr;
  std::string colour_;
};

TEST_F(Declared, a_page_has_every_option_and_keeps_what_is_written_by_hand) {
  const std::string page =
      manual_page(*command_, std::string("stale\n") + kManualMark + ".SH NOTES\nby hand\n");
  EXPECT_THAT(page, testing::StartsWith(".TH TALLY-PAINT 1"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-c\\fR, \\fB\\-\\-colour\\fR \\fINAME\\fR\nWhich: [one]"));
  EXPECT_THAT(page, HasSubstr("\n\\&.dots first\n"));
  EXPECT_THAT(page, testing::EndsWith(".SH NOTES\nby hand\n"));
  EXPECT_THAT(page, testing::Not(HasSubstr("stale")));
}

TEST_F(Declared, completions_name_it_and_quote_its_text) {
  EXPECT_THAT(bash_completion(app_), HasSubstr("-c --colour"));
  EXPECT_THAT(zsh_completion(app_), HasSubstr("--colour[Which\\: \\[one\\] of two]:NAME: "));
  EXPECT_THAT(zsh_completion(app_), HasSubstr("'paint:Paint it'\\''s walls'"));
  EXPECT_THAT(fish_completion(app_), HasSubstr("-a paint -d 'Paint it'\\''s walls'"));
  EXPECT_THAT(fish_completion(app_), HasSubstr("-s c -l colour -x"));
}

TEST_F(Declared, internal_commands_are_in_none) {
  for (const std::string& text :
       {bash_completion(app_), zsh_completion(app_), fish_completion(app_), manual_page(app_, "")})
    EXPECT_THAT(text, testing::Not(HasSubstr("probe-")));
}

}  // namespace
}  // namespace tally::cli
