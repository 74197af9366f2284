#include "cli/documents.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/small_file.h"
#include "cli/commands.h"
#include "cli/completions.h"
#include "cli/manual.h"

namespace tally::cli {
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
