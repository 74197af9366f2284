// `tally trigger`: asks a running `tally run --trigger` to capture frames.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/control.h"
#include "cli/options.h"

namespace tally::cli {
namespace {

struct TriggerOptions {
  std::string target;
  uint32_t frames = 0;
  bool quiet = false;
};

int run(const TriggerOptions& options) {
  const std::string request =
      options.frames == 0 ? "frames" : fmt::format("frames {}", options.frames);
  const auto answer = ask_run(options.target, request);
  if (!answer) return fail(answer.error());
  if (!options.quiet) say(*answer);
  return kDone;
}

}  // namespace

void add_trigger(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TriggerOptions>();
  CLI::App* command =
      app.add_subcommand("trigger", "Capture the next frames of a tally run --trigger");
  command
      ->add_option(
          "target", options->target,
          "Process id of tally run or of a process that it runs, or the capture that it writes")
      ->type_name("PID|CAPTURE")
      ->required();
  command
      ->add_option("--frames", options->frames,
                   "Number of frames (default: the number in --trigger)")
      ->check(whole_number())
      ->check(CLI::Range(1u, 1'000'000u).description(""))
      ->type_name("N");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing");
  command->footer("");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tally::cli
