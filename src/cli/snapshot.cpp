// `tally snapshot`: writes the counts of a capture as a text file that is committed.
#include <filesystem>
#include <memory>

#include "analysis/check/snapshot.h"
#include "base/small_file.h"
#include "cli/command.h"
#include "cli/profiles.h"
#include "cli/text_file.h"

namespace tally::cli {
namespace {

struct SnapshotOptions {
  std::string capture;
  std::string output;
};

// Refuses to overwrite a file that is not a snapshot.
Status may_write(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const auto text = read_small_file(path, analysis::kMaxSnapshotBytes);
  if (text && (text->empty() || analysis::is_snapshot(*text))) return {};
  return Error{path + ": exists and is not a snapshot; refusing to replace it"};
}

int run(const SnapshotOptions& options) {
  const auto profile = load_profile(options.capture, {.code = false});
  if (!profile) return fail(profile.error());
  if (!profile->summary.complete())
    return fail({options.capture + ": capture is incomplete; tally report says what is missing"});
  const std::string text = snapshot_text(make_snapshot(*profile, TALLY_VERSION));
  if (options.output.empty()) return print(text);
  Status written = may_write(options.output);
  if (written.ok()) written = replace_file(options.output, text);
  return written.ok() ? kDone : fail(written.error());
}

}  // namespace

void add_snapshot(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<SnapshotOptions>();
  CLI::App* command = app.add_subcommand(
      "snapshot", "Write the counts of a capture as a text file for tally check");
  command->add_option("CAPTURE", options->capture, "Capture made by tally run")->required();
  command
      ->add_option("-o,--output", options->output,
                   "The snapshot to write (default: standard output); a snapshot is replaced")
      ->type_name("FILE");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tally::cli
