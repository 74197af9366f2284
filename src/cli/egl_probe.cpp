#include "cli/egl_probe.h"

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/probe_process.h"

namespace tally::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedCounter, name, unit, denominator)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedGroup, name, max_active, counters)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EglProbe, library_error, display_error, version, vendor,
                                   has_extension, groups, died)

size_t EglProbe::counter_count() const {
  size_t count = 0;
  for (const ProbedGroup& group : groups) count += group.counters.size();
  return count;
}

std::string EglProbe::why_nothing() const {
  if (!died.empty()) return "the EGL probe " + died;
  if (!library_error.empty()) return "there is no EGL: " + library_error;
  if (!display_error.empty()) return "no EGL display without a window: " + display_error;
  return has_extension ? "" : "EGL does not list EGL_BRCM_performance_counters";
}

EglProbe probe_egl(const Environment& environment) {
  EglProbe probe;
  const auto answer = ask_own_process("probe-egl", environment);
  if (!answer) {
    probe.died = answer.error().message;
    return probe;
  }
  // The library reports a wrong shape by an exception, which ends here.
  try {
    return nlohmann::json::parse(*answer).get<EglProbe>();
  } catch (const nlohmann::json::exception& error) {
    probe.died = std::string("gave an answer that cannot be read: ") + error.what();
    return probe;
  }
}

void add_egl_probe(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("probe-egl", "Internal: what list and doctor ask EGL");
  command->group("");  // not shown in --help
  command->callback([&chosen] {
    chosen = [] {
      const nlohmann::json json = probe_egl_here();
      return print("\n" + json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                   "\n");
    };
  });
}

}  // namespace tally::cli
