// What Tally does not have on Windows: commands that reach a running `tally run`, and EGL.
#include "cli/command.h"
#include "cli/doctor/probe.h"
#include "cli/export/data_set.h"
#include "cli/run/control.h"
#include "cli/run/egl_injection.h"

namespace tally::cli {
namespace {

Error absent(const std::string& what) { return {what + " does not exist on Windows yet"}; }

void add_absent(CLI::App& app, Action& chosen, const std::string& name) {
  CLI::App* command = app.add_subcommand(name, "Not on Windows yet");
  command->prefix_command();  // takes any arguments
  command->callback([name, &chosen] { chosen = [name] { return absent("tally " + name); }; });
}

}  // namespace

void add_top(CLI::App& app, Action& chosen, const std::vector<std::string>& /*after_dashes*/) {
  add_absent(app, chosen, "top");
}
void add_trigger(CLI::App& app, Action& chosen) { add_absent(app, chosen, "trigger"); }
void add_calibrate(CLI::App& app, Action& chosen) { add_absent(app, chosen, "calibrate"); }
void add_egl_probe(CLI::App& /*app*/, Action& /*chosen*/) {}

Result<int> export_to(const ExportToOptions& /*options*/) { return absent("tally export --to"); }

// `tally run --trigger` fails with it.
Result<std::unique_ptr<ControlServer>> ControlServer::start(const std::string& /*file*/,
                                                            Handler /*handler*/) {
  return absent("tally run --trigger");
}
ControlServer::~ControlServer() = default;

EglFiles find_egl_files(const std::filesystem::path& /*executable*/,
                        const std::filesystem::path& /*folder*/) {
  return {.problem = absent("Tally's EGL library").message};
}
EglLibrary detect_egl_library() { return EglLibrary::None; }
EglMode parse_egl_mode(const std::string& /*word*/) { return EglMode::Off; }
Environment with_tally_egl(Environment environment, const EglFiles& /*files*/) {
  return environment;
}
void add_egl(Environment& /*environment*/, const EglFiles& /*files*/, EglMode /*mode*/) {}

EglProbe probe_egl(const Environment& /*environment*/) {
  EglProbe probe;
  probe.library_error = absent("Tally's EGL library").message;
  return probe;
}

}  // namespace tally::cli
