#include "cli/commands.h"

#include <algorithm>

#include "cli/version.h"

namespace tally::cli {

void add_commands(CLI::App& app, Action& chosen, const std::vector<std::string>& after_dashes) {
  app.name("tally");
  app.description(
      "Exact counts of what shaders execute, for Vulkan and EGL applications on any driver.");
  app.set_version_flag("--version", version_text(),
                       "Print the version, and the sources and libraries of this build");
  app.require_subcommand(1);
  app.footer("Start with: tally run -- APPLICATION; tally doctor says what may be missing.");
  add_run(app, chosen, after_dashes);
  add_report(app, chosen);
  add_diff(app, chosen);
  add_snapshot(app, chosen);
  add_check(app, chosen);
  add_coverage(app, chosen);
  add_export(app, chosen);
  add_merge(app, chosen);
  add_top(app, chosen, after_dashes);
  add_trigger(app, chosen);
  add_list(app, chosen);
  add_doctor(app, chosen);
  add_vulkan_probe(app, chosen);
  add_egl_probe(app, chosen);
}

std::vector<CLI::App*> visible_commands(CLI::App& app) {
  // Without a group a command is not shown.
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<CLI::Option*> options_of(CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return !option->get_lnames().empty() || !option->get_snames().empty();
  });
}

}  // namespace tally::cli
