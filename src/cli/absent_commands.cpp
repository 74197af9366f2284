// The commands that Tally does not have on Windows: those that start programs, capture, or ask the
// devices of the machine.
#include "cli/command.h"
#include "cli/export/data_set.h"
#include "cli/run/child.h"
#include "cli/run/environment.h"

namespace tally::cli {
namespace {

int fail_absent(const std::string& what) {
  return fail(
      {what + " does not exist on Windows yet; make captures on Linux, and read them here"});
}

void add_absent(CLI::App& app, Action& chosen, const std::string& name) {
  CLI::App* command = app.add_subcommand(name, "Not on Windows yet");
  command->prefix_command();  // takes any arguments
  command->callback([name, &chosen] { chosen = [name] { return fail_absent("tally " + name); }; });
}

}  // namespace

void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& /*after_dashes*/) {
  add_absent(app, chosen, "run");
}
void add_top(CLI::App& app, Action& chosen, const std::vector<std::string>& /*after_dashes*/) {
  add_absent(app, chosen, "top");
}
void add_trigger(CLI::App& app, Action& chosen) { add_absent(app, chosen, "trigger"); }
void add_calibrate(CLI::App& app, Action& chosen) { add_absent(app, chosen, "calibrate"); }
void add_list(CLI::App& app, Action& chosen) { add_absent(app, chosen, "list"); }
void add_doctor(CLI::App& app, Action& chosen) { add_absent(app, chosen, "doctor"); }
void add_vulkan_probe(CLI::App& /*app*/, Action& /*chosen*/) {}
void add_egl_probe(CLI::App& /*app*/, Action& /*chosen*/) {}

int export_to(const ExportToOptions& /*options*/) { return fail_absent("tally export --to"); }

// tally.exe is one file, without the documents.
std::string document(const std::string& page) { return "docs/" + page; }

// Streams and signals need no preparation: src/platform/windows/start.cpp.
void prepare_process() {}

}  // namespace tally::cli
