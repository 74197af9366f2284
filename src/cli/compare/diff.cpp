// `tally diff`: what changed between two captures, or two folders of captures.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "analysis/diff/difference.h"
#include "analysis/diff/first_difference.h"
#include "analysis/diff/profile.h"
#include "analysis/model/model.h"
#include "cli/command.h"
#include "cli/options.h"
#include "report/table/display_text.h"
#include "report/table/reports.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;
using analysis::DiffBy;
using report::NamedDiff;

constexpr size_t kOverviewRows = 10;
constexpr size_t kDiffRows = 20;

struct DiffOptions {
  std::string before, after;
  std::string by;
  std::string sort;
  std::string format = "text";
  bool first = false;
  analysis::SourceChoice source = analysis::SourceChoice::Auto;
  std::optional<size_t> top;
  std::optional<size_t> width;
  std::shared_ptr<const analysis::DeviceCosts> device;

  bool json() const { return format == "json"; }
  size_t rows() const { return top.value_or(json() ? 0 : by.empty() ? kOverviewRows : kDiffRows); }
};

std::optional<DiffBy> by_of(const DiffOptions& options) {
  const auto found = std::ranges::find(analysis::kDiffByNames, options.by);
  if (found == std::end(analysis::kDiffByNames)) return std::nullopt;
  return static_cast<DiffBy>(found - std::begin(analysis::kDiffByNames));
}

// Two captures to compare; an empty name stands for a capture that only the other folder has.
struct DiffedPair {
  std::string before, after;
};

Result<std::set<std::string>> captures_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".tally") names.insert(entry->path().filename().string());
  }
  if (error) return Error{folder + ": " + error.message()};
  if (names.empty()) return Error{folder + ": has no captures (*.tally)"};
  return names;
}

Result<std::vector<DiffedPair>> diffed_pairs(const DiffOptions& options) {
  std::error_code ignored;
  const bool folder = fs::is_directory(options.before, ignored);
  if (folder != fs::is_directory(options.after, ignored))
    return Error{
        fmt::format("{} and {}: one is a folder, the other is not", options.before, options.after)};
  if (!folder) return std::vector<DiffedPair>{{options.before, options.after}};
  const auto before = TALLY_TRY(captures_in(options.before));
  const auto after = TALLY_TRY(captures_in(options.after));
  std::set<std::string> names = before;
  names.insert(after.begin(), after.end());
  std::vector<DiffedPair> pairs;
  for (const std::string& name : names) {
    const auto path = [&name](const auto& names_in, const std::string& in) {
      return names_in.contains(name) ? (fs::path(in) / name).string() : std::string();
    };
    pairs.push_back({path(before, options.before), path(after, options.after)});
  }
  return pairs;
}

// Adds the shaders that differ to those of which GLSL is wanted.
Result<analysis::CaptureDiff> diff_of(const DiffedPair& pair, const DiffOptions& options,
                                      analysis::ProfileOptions& wanted) {
  if (pair.before.empty() || pair.after.empty()) {
    analysis::CaptureDiff only;
    only.notes.push_back(pair.before.empty() ? pair.after + " is new" : pair.before + " is gone");
    return only;
  }
  const auto before = TALLY_TRY(load_profile(pair.before, wanted, options.device));
  const auto after = TALLY_TRY(load_profile(pair.after, wanted, options.device));
  if (wanted.commands == analysis::CommandDetail::Digests) {
    // Few of many commands differ, in general: only these get items.
    wanted.commands = analysis::CommandDetail::Items;
    wanted.chosen_commands =
        std::make_shared<const std::vector<Hash128>>(analysis::differing_commands(before, after));
    if (!wanted.chosen_commands->empty()) return diff_of(pair, options, wanted);
  }
  if (wanted.code && wanted.reconstructed.empty()) {
    wanted.reconstructed = glsl_candidates(before, after, wanted.source);
    if (!wanted.reconstructed.empty()) return diff_of(pair, options, wanted);
  }
  return compare(before, after, options.sort);
}

// Where the code is the same, the commands are the cause: they are compared, too.
Result<analysis::CaptureDiff> counts_of(const DiffedPair& pair, const DiffOptions& options) {
  const bool commands = by_of(options) == DiffBy::Command;
  analysis::ProfileOptions wanted{
      .code = !commands,
      .commands = commands ? analysis::CommandDetail::Digests : analysis::CommandDetail::None,
      .chosen_commands = {},
      .source = options.source,
      .reconstructed = {}};
  auto diff = diff_of(pair, options, wanted);
  if (!diff || !options.by.empty() || diff->empty() || !diff->same_code) return diff;
  wanted.commands = analysis::CommandDetail::Digests;
  return diff_of(pair, options, wanted);
}

Result<analysis::CaptureDiff> diff_of(const DiffedPair& pair, const DiffOptions& options) {
  auto diff = counts_of(pair, options);
  if (!diff || pair.before.empty() || pair.after.empty()) return diff;
  diff->pictures = TALLY_TRY(analysis::compare_pictures(pair.before, pair.after));
  return diff;
}

std::vector<DiffBy> tables_of(const DiffOptions& options) {
  if (const auto by = by_of(options)) return {*by};
  std::vector<DiffBy> all;
  for (size_t i = 0; i < analysis::kDiffByCount; ++i) all.push_back(static_cast<DiffBy>(i));
  return all;
}

bool differs(const NamedDiff& named) {
  return named.before.empty() || named.after.empty() || !named.diff.empty();
}

Result<std::vector<analysis::Table>> tables_of(const NamedDiff& named, const DiffOptions& options) {
  std::vector<analysis::Table> tables;
  if (named.diff.metrics.empty()) return tables;  // only one folder has the capture
  const auto metric = TALLY_TRY(report::diff_metric(named.diff, options.sort));
  for (const DiffBy by : tables_of(options)) {
    if (named.diff.of(by).empty()) continue;
    tables.push_back(report::diff_table(named.diff, by, metric, options.rows()));
  }
  if (options.by.empty() && named.diff.pictures.pixels() != 0)
    tables.push_back(report::picture_table(named.diff.pictures, options.rows()));
  return tables;
}

// Tells that no picture differs where counts do.
std::string same_pictures(const NamedDiff& named, const DiffOptions& options) {
  const analysis::PictureDifferences& pictures = named.diff.pictures;
  const bool any = !pictures.list.empty() || pictures.only_before + pictures.only_after != 0;
  if (!options.by.empty() || !any || !differs(named) || pictures.pixels() != 0) return {};
  return "Pictures at the end of passes: " + report::pictures_text(pictures);
}

// With --by there is that table alone.
bool shows_causes(const NamedDiff& named, const DiffOptions& options) {
  return options.by.empty() && differs(named);
}

std::string title_of(const NamedDiff& named) {
  if (named.before.empty() || named.after.empty()) return named.before + named.after;
  return named.before + " -> " + named.after;
}

std::string no_difference(const NamedDiff& named) {
  const size_t pictures = named.diff.pictures.list.size();
  return fmt::format(
      "No difference: every count is the same ({}){}.",
      report::counted(named.diff.after.frames, "frame"),
      pictures == 0 ? ""
                    : fmt::format(", and every pixel of {}", report::counted(pictures, "picture")));
}

void write_text(const NamedDiff& named, const std::vector<analysis::Table>& tables,
                const DiffOptions& options, const report::Output& out) {
  const size_t width = options.width.value_or(terminal_width());
  out(report::printable(title_of(named)) + "\n\n");
  for (const std::string& note : named.diff.notes)
    out(report::wrapped(report::printable(note), width));
  if (!named.diff.notes.empty()) out("\n");
  if (!differs(named)) out("  " + no_difference(named) + "\n");
  if (shows_causes(named, options))
    report::write_causes(named.diff.causes, options.rows(), width, out);
  for (const analysis::Table& table : tables) {
    report::write_text_table(table, {.width = width, .remedy = "see --width"}, out);
    out("\n");
  }
  if (const std::string same = same_pictures(named, options); !same.empty()) out(same + "\n");
}

void write_markdown(const NamedDiff& named, const std::vector<analysis::Table>& tables,
                    const DiffOptions& options, report::MarkdownDocument& document) {
  document.add("## " + report::markdown_text(title_of(named)));
  for (const std::string& note : named.diff.notes) document.add(report::markdown_text(note));
  if (!differs(named)) document.add(no_difference(named));
  if (shows_causes(named, options)) add_causes(named.diff.causes, options.rows(), document);
  for (const analysis::Table& table : tables) document.add(table);
  if (const std::string same = same_pictures(named, options); !same.empty()) document.add(same);
}

Result<int> show(const std::vector<NamedDiff>& diffs, const DiffOptions& options) {
  std::vector<std::vector<analysis::Table>> tables;
  for (const NamedDiff& named : diffs) {
    auto made = TALLY_TRY(tables_of(named, options));
    tables.push_back(std::move(made));
  }
  const int status = write_out([&](const report::Output& out) {
    if (options.json())
      return write_diff_json(diffs, {tables_of(options), options.sort, options.rows()}, out);
    report::MarkdownDocument document;
    for (size_t i = 0; i < diffs.size(); ++i) {
      if (options.format == "markdown") {
        write_markdown(diffs[i], tables[i], options, document);
      } else {
        write_text(diffs[i], tables[i], options, out);
      }
    }
    out(document.take());
  });
  if (status != kDone) return status;
  return std::ranges::any_of(diffs, differs) ? kNo : kDone;
}

// Shows the first draw or dispatch that differs.
Result<int> run_first(const std::vector<DiffedPair>& pairs, const DiffOptions& options) {
  std::vector<report::NamedFirst> firsts;
  for (const DiffedPair& pair : pairs) {
    report::NamedFirst& named = firsts.emplace_back();
    named.before = pair.before, named.after = pair.after;
    if (pair.before.empty() || pair.after.empty()) continue;
    const auto before = TALLY_TRY(analysis::open_model(pair.before));
    const auto after = TALLY_TRY(analysis::open_model(pair.after));
    ProgressLine progress("comparing");
    named.first =
        TALLY_TRY(first_difference(before, after, [&](double part) { progress.update(part); }));
  }
  const int status = write_out([&](const report::Output& out) {
    if (options.json()) return write_first_json(firsts, out);
    for (const report::NamedFirst& named : firsts) write_first(named, out);
  });
  if (status != kDone) return status;
  return std::ranges::any_of(firsts, &report::NamedFirst::differs) ? kNo : kDone;
}

Result<int> run(const DiffOptions& options) {
  const auto pairs = TALLY_TRY(diffed_pairs(options));
  if (options.first) return run_first(pairs, options);
  std::vector<NamedDiff> diffs;
  for (const DiffedPair& pair : pairs) {
    auto diff = TALLY_TRY(diff_of(pair, options));
    diffs.push_back({pair.before, pair.after, std::move(diff)});
  }
  return show(diffs, options);
}

}  // namespace

void add_diff(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command =
      app.add_subcommand("diff", "Show what changed between two captures, or folders of captures");
  command->add_option("OLD", options->before,
                      "Capture, or folder of captures (default: the second newest in this folder)");
  command->add_option("NEW", options->after,
                      "Capture, or folder of captures of the same names (default: the newest in "
                      "this folder)");
  const std::vector<std::string> by(std::begin(analysis::kDiffByNames),
                                    std::end(analysis::kDiffByNames));
  CLI::Option* first = command->add_flag(
      "--first", options->first,
      "Show only the first draw or dispatch that differs, and its first differing line");
  command
      ->add_option("--by", options->by,
                   "pass, pipeline, shader, function, line or draw; default: all of them")
      ->check(one_of(by))
      ->excludes(first)
      ->type_name("WHAT");
  command
      ->add_option("--top", options->top,
                   "Rows of a table, 0 for all (text: 20, overview: 10, JSON: all)")
      ->check(whole_number())
      ->type_name("N");
  command
      ->add_option("--sort", options->sort,
                   "Sort by the change of this metric, e.g. texture_samples or draws")
      ->type_name("METRIC");
  add_source_option(*command, options->source);
  add_device_option(*command, options->device);
  command->add_option("--format", options->format, "text, markdown or json")
      ->check(one_of({"text", "markdown", "json"}))
      ->type_name("FORMAT");
  command->add_option("--width", options->width, "Characters in a line of text")
      ->check(whole_number())
      ->type_name("N");
  command->formatter(std::make_shared<UsageFormatter>("tally diff [OPTIONS] [OLD [NEW]]"));
  command->footer("Exit status: 0 without a difference, 1 with one, 2 on failure.");
  command->callback([options, &chosen] {
    chosen = [options]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->before, options->after));
      return run(*options);
    };
  });
}

}  // namespace tally::cli
