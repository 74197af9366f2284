// `tally snapshot`: writes the counts of a capture as a text file that is committed.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "analysis/check/check.h"
#include "analysis/check/snapshot.h"
#include "analysis/diff/alignment.h"
#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/predict/prediction.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "report/table/display_text.h"
#include "report/table/reports.h"

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

Result<int> run(const SnapshotOptions& options) {
  const auto profile = TALLY_TRY(load_profile(options.capture, {}));
  if (!profile.summary.complete())
    return Error{options.capture + ": capture is incomplete; tally report says what is missing"};
  const std::string text = snapshot_text(make_snapshot(profile, TALLY_VERSION));
  if (options.output.empty()) return print(text);
  Status written = may_write(options.output);
  if (written.ok()) written = replace_file(options.output, text);
  TALLY_TRY(written);
  say_written("snapshot", options.output);
  return kDone;
}

}  // namespace

void add_snapshot(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<SnapshotOptions>();
  CLI::App* command = app.add_subcommand(
      "snapshot", "Write the counts of a capture as a text file for tally check");
  command->add_option("CAPTURE", options->capture,
                      "Capture made by tally run (default: the newest in this folder)");
  command
      ->add_option("-o,--output", options->output,
                   "Snapshot to write, replacing an existing one (default: standard output)")
      ->type_name("FILE");
  command->callback([options, &chosen] {
    chosen = [options]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->capture));
      return run(*options);
    };
  });
}

// `tally check`: compares captures with committed snapshots.

namespace {

namespace fs = std::filesystem;
using analysis::Snapshot;
using report::SceneCheck;

constexpr size_t kCheckRows = 20;
constexpr size_t kCauses = 10;

struct CheckOptions {
  std::vector<std::string> files;
  bool update = false;
  bool any_driver = false;
  std::vector<std::string> devices;
  std::string markdown, junit, openmetrics, sarif;
  std::optional<size_t> top;
};

// A snapshot and the capture of the same scene.
struct CheckedPair {
  std::string snapshot, capture;
};

bool is_capture(const std::string& path) {
  std::array<char, 16> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  return std::string_view(head.data(), head.size() - 1) == "SQLite format 3";
}

std::string stem_of(const std::string& path) { return fs::path(path).stem().string(); }

// Pairs them by name, unless there is one of each.
Result<std::vector<CheckedPair>> checked_pairs(const std::vector<std::string>& files) {
  std::vector<std::string> snapshots, captures;
  for (const std::string& file : files) (is_capture(file) ? captures : snapshots).push_back(file);
  if (snapshots.empty()) return Error{"there is no snapshot among the files"};
  if (captures.empty() && snapshots.size() == 1) {
    TALLY_TRY(default_to_newest(captures.emplace_back()));
  }
  if (captures.empty()) return Error{"there is no capture among the files: " + files.back()};
  if (snapshots.size() == 1 && captures.size() == 1)
    return std::vector<CheckedPair>{{snapshots.front(), captures.front()}};
  std::map<std::string, std::string> by_stem;
  for (const std::string& capture : captures) {
    if (!by_stem.emplace(stem_of(capture), capture).second)
      return Error{capture + ": another capture has the same name"};
  }
  std::vector<CheckedPair> pairs;
  for (const std::string& snapshot : snapshots) {
    const auto found = by_stem.find(stem_of(snapshot));
    if (found == by_stem.end())
      return Error{
          fmt::format("{}: there is no capture {}.tally for it", snapshot, stem_of(snapshot))};
    pairs.push_back({snapshot, found->second});
    by_stem.erase(found);
  }
  if (!by_stem.empty())
    return Error{fmt::format("{}: there is no snapshot {}.snapshot for it", by_stem.begin()->second,
                             by_stem.begin()->first)};
  return pairs;
}

Result<std::string> read_text(const std::string& path) {
  return read_small_file(path, analysis::kMaxSnapshotBytes);
}

// The limits of the snapshot: the file of the same name with the ending .limits.
Result<std::optional<analysis::Limits>> limits_of(const std::string& snapshot) {
  const std::string path = fs::path(snapshot).replace_extension(".limits").string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::optional<analysis::Limits>();
  const auto text = TALLY_TRY(read_text(path));
  auto limits = TALLY_TRY(analysis::parse_limits(path, text));
  return std::optional(std::move(limits));
}

Status comparable(const CheckedPair& pair, const Snapshot& snapshot,
                  const analysis::CheckResult& result, const CheckOptions& options) {
  const Snapshot& now = result.updated;
  if (!snapshot.knows(result.driver) && !result.same_program && !options.any_driver) {
    return Error{fmt::format(
        "{}: counted on driver \"{}\", but {} on \"{}\" (--any-driver compares them anyway)",
        pair.snapshot, snapshot.driver, pair.capture, result.driver)};
  }
  if (snapshot.frames != now.frames && !options.update) {
    return Error{fmt::format("{}: {} frame(s), but {} has {}", pair.snapshot, snapshot.frames,
                             pair.capture, now.frames)};
  }
  return {};
}

struct Checked {
  SceneCheck check;
  std::string old_text;  // of the snapshot
};

// The driver's statistics, and predicted times: snapshots do not hold them.
Result<analysis::CappedCounts> capped_counts(const std::string& file, const CheckOptions& options) {
  analysis::CappedCounts counts;
  const auto capture = TALLY_TRY(store::Reader::open(file));
  TALLY_TRY(add_statistics(capture, counts));
  if (options.devices.empty()) return counts;
  const auto model = TALLY_TRY(analysis::open_model(file));
  for (const std::string& name : options.devices) {
    auto device = TALLY_TRY(analysis::DeviceModel::load(name));
    const auto prediction = TALLY_TRY(with_context(
        analysis::predict(model, std::make_shared<const analysis::DeviceModel>(std::move(device))),
        file));
    add_times(prediction, counts);
  }
  return counts;
}

// The error is one of the user's input, which `status` says: kFailed, or kNo if the capture is
// incomplete.
Result<Checked> check_pair(const CheckedPair& pair, const CheckOptions& options, int& status) {
  status = kFailed;
  const auto text = TALLY_TRY(read_text(pair.snapshot));
  const auto snapshot = TALLY_TRY(analysis::parse_snapshot(pair.snapshot, text));
  const auto limits = TALLY_TRY(limits_of(pair.snapshot));
  const auto profile = TALLY_TRY(load_profile(pair.capture, {}));
  if (!profile.summary.complete()) {
    status = kNo;
    return Error{pair.capture + ": capture is incomplete; tally report says what is missing"};
  }
  const auto capped = TALLY_TRY(capped_counts(pair.capture, options));
  auto result = TALLY_TRY(check(snapshot, limits, profile, capped, TALLY_VERSION));
  TALLY_TRY(comparable(pair, snapshot, result, options));
  return Checked{
      {stem_of(pair.snapshot), pair.snapshot, pair.capture, snapshot.driver, std::move(result)},
      text};
}

// Prints the change as a patch. Returns false after a failure.
bool update(const Checked& checked) {
  const std::string text = snapshot_text(checked.check.result.updated);
  const std::string patch =
      analysis::unified_patch(checked.check.snapshot, analysis::lines_of_text(checked.old_text),
                              analysis::lines_of_text(text));
  if (patch.empty()) return true;
  if (Status written = replace_file(checked.check.snapshot, text); !written) {
    say(written.error().message);
    return false;
  }
  return print(patch) == kDone;
}

int write_files(const std::vector<SceneCheck>& checks, const CheckOptions& options) {
  struct File {
    const char* what;
    const std::string& path;
    std::function<std::string()> make;
  };
  const File files[] = {
      {"Markdown", options.markdown, [&] { return check_markdown(checks); }},
      {"JUnit", options.junit, [&] { return check_junit(checks); }},
      {"OpenMetrics", options.openmetrics, [&] { return check_openmetrics(checks); }},
      {"SARIF", options.sarif, [&] { return check_sarif(checks, TALLY_VERSION); }}};
  for (const auto& [what, path, make] : files) {
    if (path.empty()) continue;
    if (Status written = replace_file(path, make()); !written) {
      say(written.error().message);
      return kNo;
    }
    say_written(what, path);
  }
  return kDone;
}

int print_checks(const std::vector<SceneCheck>& checks, const CheckOptions& options) {
  return write_out([&](const report::Output& out) {
    for (const SceneCheck& check : checks) {
      const auto table = report::check_table(check, options.top.value_or(kCheckRows));
      if (check.result.findings.empty()) {
        out(report::printable(table.title) + "\n");
        continue;
      }
      for (const std::string& line : driver_lines(check)) out(report::printable(line) + "\n");
      if (!check.result.by_driver)
        report::write_causes(check.result.causes, kCauses, terminal_width(), out);
      report::write_text_table(
          table, {.width = terminal_width(), .remedy = "the terminal is too narrow"}, out);
      out("\n");
      for (const std::string& way : how_to_accept(check)) out("To accept: " + way + "\n");
    }
  });
}

Result<int> run(const CheckOptions& options) {
  const auto pairs = TALLY_TRY(checked_pairs(options.files));
  // Everything is read before anything is written.
  std::vector<Checked> all;
  for (const CheckedPair& pair : pairs) {
    int status = kFailed;
    auto checked = check_pair(pair, options, status);
    if (!checked) return say(checked.error().message), status;
    all.push_back(std::move(*checked));
  }
  std::vector<SceneCheck> checks;
  bool updated = true;
  for (Checked& checked : all) {
    if (options.update) {
      updated = update(checked) && updated;
      checked.check.result.findings = checked.check.result.remaining();
    }
    checks.push_back(std::move(checked.check));
  }
  if (!updated || write_files(checks, options) != kDone) return kNo;
  const bool failed = std::ranges::any_of(
      checks, [](const SceneCheck& check) { return !check.result.findings.empty(); });
  if ((failed || !options.update) && print_checks(checks, options) != kDone) return kNo;
  return failed ? kRegression : kDone;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Compare captures with snapshots, and fail if counts differ");
  command
      ->add_option("FILE", options->files,
                   "Snapshots and captures, matched by name (one of each may have any name); "
                   "a single snapshot is compared with the newest capture in this folder")
      ->required()
      ->expected(1, -1);
  command->add_flag("--update", options->update,
                    "Write the counts of the captures into the snapshots, and print a patch");
  command->add_flag("--any-driver", options->any_driver,
                    "Also compare with a snapshot of another driver or driver version");
  command
      ->add_option("--device", options->devices,
                   "Predict times on this device for the limits of kind time: a file made by tally "
                   "calibrate (may be repeated)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  const auto output = [&](const char* name, std::string& file, const char* what) {
    command->add_option(name, file, what)->type_name("FILE");
  };
  output("--markdown", options->markdown, "Also write the result as Markdown");
  output("--junit", options->junit, "Also write the result as JUnit XML");
  output("--openmetrics", options->openmetrics, "Also write the counts as OpenMetrics");
  output("--sarif", options->sarif, "Also write edited lines and violations as SARIF");
  command->add_option("--top", options->top, "Rows of each table, 0 for all (20)")
      ->check(whole_number())
      ->type_name("N");
  command->footer(
      "Exit status: 0 if all counts are within their limits, 3 if one is not, 2 if an input is "
      "wrong, 1 if the check could not run.");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tally::cli
