#include "cli/manual.h"

#include <fmt/format.h>

#include <cctype>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"

namespace tally::cli {
namespace {

// Text for roff: minus signs that can be copied, no line that looks like a request. A
// hyphen between letters is one.
std::string roff(std::string_view text) {
  std::string out;
  char before = '\n';
  for (const char c : text) {
    if ((c == '.' || c == '\'') && before == '\n') out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-' && std::isalnum(static_cast<unsigned char>(before)) == 0) {
      out += "\\-";
    } else {
      out += c;
    }
    before = c;
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// "tally" or, with the separator '-', "tally-run".
std::string full_name(const CLI::App& command, char separator) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name()
                           : parent->get_name() + separator + command.get_name();
}

// As the help has it: "tally report [OPTIONS] FILE".
std::string usage(CLI::App& command) {
  const std::string name = full_name(command, ' ');
  if (command.get_parent() == nullptr) return name + " COMMAND [OPTIONS] ...";
  const auto formatter = std::dynamic_pointer_cast<UsageFormatter>(command.get_formatter());
  if (formatter) return formatter->usage();
  std::string text = name + " [OPTIONS]";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    text += option->get_expected_max() > 1 ? fmt::format(" {}...", option->get_name())
                                           : " " + option->get_name();
  }
  return text;
}

std::string option_entry(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames())
    names += fmt::format("{}\\fB\\-{}\\fR", names.empty() ? "" : ", ", name);
  for (const std::string& name : option.get_lnames())
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff("--" + name));
  const std::string value = option.get_type_name();
  if (!value.empty()) {
    const bool joined = value.front() == '[';  // [=WxH]
    names += fmt::format("{}\\fI{}\\fR", joined ? "" : " ", roff(value));
  }
  return fmt::format(".TP\n{}\n{}.\n", names, roff(option.get_description()));
}

std::string footer_text(const std::string& footer) {
  if (footer.empty()) return {};
  if (footer.find('\n') == footer.npos) return fmt::format(".PP\n{}\n", roff(footer));
  return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
}

std::string commands_section(CLI::App& app) {
  std::string text = ".SH COMMANDS\n";
  for (CLI::App* command : visible_commands(app)) {
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}.\n", roff(full_name(*command, '-')),
                        roff(command->get_description()));
  }
  return text;
}

std::string generated_part(CLI::App& command) {
  const std::string name = full_name(command, '-');
  std::string summary = command.get_description();
  if (summary.ends_with('.')) summary.pop_back();
  std::string text = fmt::format(".TH {} 1 \"\" \"Tally\" \"User Commands\"\n", upper(roff(name)));
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(summary));
  text += fmt::format(".SH SYNOPSIS\n{}\n", roff(usage(command)));
  if (command.get_parent() == nullptr) text += commands_section(command);
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : options_of(command)) text += option_entry(*option);
  text += footer_text(command.get_footer());
  return text;
}

}  // namespace

std::string manual_page(CLI::App& command, const std::string& page) {
  const size_t mark = page.find(kManualMark);
  const std::string by_hand =
      mark == page.npos ? std::string() : page.substr(mark + std::string_view(kManualMark).size());
  return generated_part(command) + kManualMark + by_hand;
}

}  // namespace tally::cli
