#include "cli/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/command.h"
#include "cli/options.h"

namespace tally::cli {
namespace {

constexpr const char* kHead = "made by: cmake --build BUILD --target command_documents\n";

bool starts_program(const CLI::App& command) { return command.get_name() == "run"; }

// True if a value follows as a word of its own. "[=WxH]" does not.
bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0 && !option.get_type_name().starts_with('[');
}

bool names_file(const CLI::Option& option) {
  return option.get_type_name().starts_with("FILE") || option.get_type_name() == "FOLDER";
}

bool has_files(CLI::App& command) {
  const auto options = command.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

// "-o", "--output"
std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// A text within single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

// A description within a specification of zsh's _arguments, itself in single quotes.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    c == '\'' ? out += "'\\''" : out += c;
  }
  return out;
}

std::string bash_case(CLI::App& command) {
  std::string names, values, with_value;
  for (CLI::Option* option : options_of(command)) {
    const std::vector<std::string> spelled = spellings(*option);
    names += fmt::format("{} ", fmt::join(spelled, " "));
    if (!takes_value(*option)) continue;
    with_value += fmt::format("{} ", fmt::join(spelled, " "));
    const std::vector<std::string> words = words_of(*option);
    values += fmt::format("        {}) ", fmt::join(spelled, " | "));
    if (names_file(*option)) {
      values += "_tally_files ;;\n";
    } else if (words.empty()) {
      values += ";;\n";
    } else {
      values += fmt::format("_tally_words '{}' ;;\n", fmt::join(words, " "));
    }
  }
  std::string other = has_files(command) ? "_tally_files" : ":";
  if (starts_program(command)) other = fmt::format("_tally_program ' {}'", with_value);
  return fmt::format(
      "    {})\n      case $before in\n{}        *) _tally_options '{}' || {} ;;\n      esac\n"
      "      ;;\n",
      command.get_name(), values, names.substr(0, names.size() - 1), other);
}

std::string zsh_option(CLI::Option& option) {
  const std::vector<std::string> spelled = spellings(option);
  std::string value;
  if (takes_value(option)) {
    const std::vector<std::string> words = words_of(option);
    value = fmt::format(":{}:{}", zsh_text(option.get_type_name()),
                        option.get_type_name() == "FOLDER" ? "_files -/"
                        : names_file(option)               ? "_files"
                        : words.empty()                    ? " "
                                        : fmt::format("({})", fmt::join(words, " ")));
  }
  std::string text;
  for (const std::string& name : spelled) {
    const std::string others =
        spelled.size() > 1 ? fmt::format("({})", fmt::join(spelled, " ")) : std::string();
    text += fmt::format("        '{}{}[{}]{}' \\\n", others, name,
                        zsh_text(option.get_description()), value);
  }
  return text;
}

std::string zsh_case(CLI::App& command) {
  std::string options;
  for (CLI::Option* option : options_of(command)) options += zsh_option(*option);
  const char* const rest = starts_program(command) ? "'*::application: _normal'"
                           : has_files(command)    ? "'*:file:_files'"
                                                   : "&& return";
  return fmt::format("    {})\n      _arguments -s -S \\\n{}        {}\n      ;;\n",
                     command.get_name(), options, rest);
}

std::string fish_option(const CLI::App& command, CLI::Option& option) {
  std::string text =
      fmt::format("complete -c tally -n '__fish_seen_subcommand_from {}'", command.get_name());
  for (const std::string& name : option.get_snames()) text += " -s " + name;
  for (const std::string& name : option.get_lnames()) text += " -l " + name;
  const std::vector<std::string> words = words_of(option);
  if (takes_value(option)) text += names_file(option) ? " -r -F" : " -x";
  if (!words.empty()) text += fmt::format(" -a '{}'", fmt::join(words, " "));
  return text + " -d " + shell_quoted(option.get_description()) + "\n";
}

}  // namespace

std::string bash_completion(CLI::App& app) {
  std::string names, cases;
  for (CLI::App* command : visible_commands(app)) {
    names += command->get_name() + " ";
    cases += bash_case(*command);
  }
  return fmt::format(R"(# bash completion of tally, {0}
_tally_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }}
_tally_files() {{ compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word"); }}
_tally_options() {{ [[ $word == -* ]] && _tally_words "$1"; }}
# The first word that is no option, nor the value of one of $1, is the application.
_tally_program() {{
  local i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      i=$((i + 1))
      break
    fi
    [[ ${{COMP_WORDS[i]}} == -* ]] || break
    [[ $1 == *" ${{COMP_WORDS[i]}} "* ]] && i=$((i + 1))
  done
  if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
    _command_offset "$i"
  elif ((i < COMP_CWORD)); then
    _tally_files
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  fi
}}
_tally() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _tally_words '{1}help version --help --version'
    return
  fi
  case ${{COMP_WORDS[1]}} in
{2}  esac
}}
complete -F _tally tally
)",
                     kHead, names, cases);
}

std::string zsh_completion(CLI::App& app) {
  std::string names, cases;
  for (CLI::App* command : visible_commands(app)) {
    names +=
        fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
    cases += zsh_case(*command);
  }
  return fmt::format(R"(#compdef tally
# zsh completion of tally, {0}
_tally() {{
  local curcontext=$curcontext state line
  local -a commands=(
{1}  )
  _arguments -C '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe command commands; _arguments '--help[help]' '--version[version]'; return ;;
  esac
  case $words[1] in
{2}  esac
}}
_tally "$@"
)",
                     kHead, names, cases);
}

std::string fish_completion(CLI::App& app) {
  std::string text = fmt::format("# fish completion of tally, {}", kHead);
  text += "complete -c tally -n __fish_use_subcommand -f\n";
  for (CLI::App* command : visible_commands(app)) {
    text += fmt::format("complete -c tally -n __fish_use_subcommand -a {} -d {}\n",
                        command->get_name(), shell_quoted(command->get_description()));
    if (starts_program(*command)) {
      text +=
          "complete -c tally -n '__fish_seen_subcommand_from run' "
          "-x -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
    } else if (!has_files(*command)) {
      text += fmt::format("complete -c tally -n '__fish_seen_subcommand_from {}' -f\n",
                          command->get_name());
    }
    for (CLI::Option* option : options_of(*command)) text += fish_option(*command, *option);
  }
  return text;
}

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
    const std::string name_of_files =
        option->get_name() + (option->get_expected_max() > 1 ? "..." : "");
    text += option->get_required() ? " " + name_of_files : fmt::format(" [{}]", name_of_files);
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

namespace {

std::string present_text(const std::filesystem::path& file) {
  const auto text = read_small_file(file.string());
  return text ? *text : std::string();
}

}  // namespace

std::map<std::filesystem::path, std::string> command_documents(
    const std::filesystem::path& manual, const std::filesystem::path& completions) {
  CLI::App app;
  Action chosen;
  add_commands(app, chosen, {});
  std::map<std::filesystem::path, std::string> files;
  const auto add_page = [&](CLI::App& command, const std::string& name) {
    const std::filesystem::path file = manual / name;
    files[file] = manual_page(command, present_text(file));
  };
  add_page(app, "tally.1");
  for (CLI::App* command : visible_commands(app))
    add_page(*command, fmt::format("tally-{}.1", command->get_name()));
  files[completions / "tally.bash"] = bash_completion(app);
  files[completions / "_tally"] = zsh_completion(app);
  files[completions / "tally.fish"] = fish_completion(app);
  return files;
}

}  // namespace tally::cli
