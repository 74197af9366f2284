// The command `tally`: parses the arguments and runs the chosen one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "platform/program.h"

namespace {

std::string unknown_command(CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* command : tally::cli::visible_commands(app))
    known.push_back(command->get_name());
  const std::string similar = tally::similar_name(name, known);
  return fmt::format("unknown command or option '{}'{} (see tally --help)", name,
                     similar.empty() ? "" : fmt::format("; did you mean {}?", similar));
}

// The first line of CLI11's message, and a pointer to the help.
std::string one_line(const CLI::ParseError& error, CLI::App& app) {
  std::vector<std::string> left_over = app.remaining();
  if (app.get_subcommands().empty() && !left_over.empty())
    return unknown_command(app, left_over.front());
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  std::string help = "tally";
  for (CLI::App* command : app.get_subcommands()) {
    help += " " + command->get_name();
    left_over = command->remaining();
    if (!left_over.empty()) text += tally::cli::similar_option(*command, left_over.front());
  }
  return text + " (see " + help + " --help)";
}

// The arguments after the first "--" belong to the application; the parser does not see them.
struct Arguments {
  std::vector<std::string> own;  // in reverse, as CLI11 takes them
  std::vector<std::string> after_dashes;
};

Arguments split_arguments(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> all(argv + 1, argv + argc);
  // `tally help run` as `tally run --help`, `tally version` as `tally --version`.
  if (!all.empty() && all[0] == "version") all[0] = "--version";
  if (all.empty() || all == std::vector<std::string>{"help"}) all = {"--help"};
  if (all.size() == 2 && all[0] == "help") all = {all[1], "--help"};
  const auto dashes = std::find(all.begin(), all.end(), "--");
  arguments.own.assign(std::make_reverse_iterator(dashes), all.rend());
  if (dashes != all.end()) arguments.after_dashes.assign(dashes + 1, all.end());
  return arguments;
}

int parse_and_run(int argc, char** argv) {
  Arguments arguments = split_arguments(argc, argv);
  CLI::App app;
  tally::cli::Action chosen;
  tally::cli::add_commands(app, chosen, arguments.after_dashes);
  // CLI11 would show the help of the whole program.
  const std::string first = arguments.own.empty() ? "" : arguments.own.back();
  const bool names_command = !first.empty() && !first.starts_with('-');
  const auto is_first = [&](const CLI::App* command) { return command->get_name() == first; };
  if (names_command && app.get_subcommands(is_first).empty())
    return tally::cli::fail({unknown_command(app, first)});
  try {
    app.parse(arguments.own);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      return tally::cli::print(tally::cli::wrapped_help(text.str(), tally::cli::terminal_width()));
    }
    return tally::cli::fail({one_line(error, app)});
  }
  if (!chosen) return tally::cli::fail({"name a command first (see tally --help)"});
  const auto status = chosen();
  return status ? *status : tally::cli::fail(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  tally::platform::prepare_process();
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    return tally::cli::fail({error.what()});
  }
}
