// The command `tally`: parses the arguments and runs the chosen one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/run/child.h"

namespace {

// The first line of CLI11's message, and a pointer to the help.
std::string one_line(const CLI::ParseError& error, const CLI::App& app) {
  const std::vector<std::string> left_over = app.remaining();
  if (app.get_subcommands().empty() && !left_over.empty()) {
    return "unknown command or option '" + left_over.front() + "' (see tally --help)";
  }
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  std::string help = "tally";
  for (const CLI::App* command : app.get_subcommands()) help += " " + command->get_name();
  return text + " (see " + help + " --help)";
}

// The arguments after the first "--" belong to the application; the parser does not see them.
struct Arguments {
  std::vector<std::string> own;  // in reverse, as CLI11 takes them
  std::vector<std::string> after_dashes;
};

Arguments split_arguments(int argc, char** argv) {
  Arguments arguments;
  const std::vector<std::string> all(argv + 1, argv + argc);
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
  try {
    app.parse(arguments.own);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      return tally::cli::print(text.str());
    }
    return tally::cli::fail({one_line(error, app)});
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  tally::cli::prepare_process();
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    return tally::cli::fail({error.what()});
  }
}
