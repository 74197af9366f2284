// `tally merge`: makes one capture of several, whose reports show their sums.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/files.h"
#include "store/write/merge.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  bool force = false;
};

struct MergeInput {
  std::string path;
  store::CaptureRow row;
};

// In the order of their starts.
Result<std::vector<MergeInput>> read_heads(const std::vector<std::string>& files) {
  std::vector<MergeInput> inputs;
  for (const std::string& path : files) {
    auto reader = TALLY_TRY(store::Reader::open(path));
    auto row = TALLY_TRY(with_context(reader.capture(), path));
    inputs.push_back({path, std::move(row)});
    for (size_t i = 0; i + 1 < inputs.size(); ++i) {
      std::error_code ignored;
      if (fs::equivalent(inputs[i].path, path, ignored)) return Error{path + ": given twice"};
    }
  }
  std::stable_sort(inputs.begin(), inputs.end(), [](const MergeInput& a, const MergeInput& b) {
    return a.row.start_unix_ns < b.row.start_unix_ns;
  });
  return inputs;
}

Status may_write(const std::string& path, bool force, const std::vector<MergeInput>& inputs) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return {};
  if (!force) return Error{path + ": exists; choose another name, or replace it with --force"};
  for (const MergeInput& input : inputs) {
    if (fs::equivalent(input.path, path, ignored))
      return Error{path + ": also one of the captures to merge"};
  }
  if (fs::is_regular_file(path, ignored) && store::Reader::open(path)) return {};
  return Error{path + ": exists and is not a capture; refusing to replace it"};
}

Status merge(const std::vector<MergeInput>& inputs, const std::string& path) {
  std::vector<store::CaptureRow> rows;
  for (const MergeInput& input : inputs) rows.push_back(input.row);
  auto merged = TALLY_TRY(store::CaptureMerge::create(path, rows));
  ProgressLine progress("merging");
  for (size_t i = 0; i < inputs.size(); ++i) {
    progress.update(static_cast<double>(i) / static_cast<double>(inputs.size()));
    auto reader = TALLY_TRY(store::Reader::open(inputs[i].path));
    TALLY_TRY(with_context(merged.add(reader), inputs[i].path));
  }
  return merged.finish();
}

Status write(const std::vector<MergeInput>& inputs, const std::string& path,
             platform::Existing existing) {
  const fs::path folder = fs::path(path).parent_path();
  const auto temporary =
      TALLY_TRY(TemporaryFolder::make_in(folder.empty() ? "." : folder, ".tally-merge-"));
  const fs::path partial = temporary.path() / "merged.tally";
  TALLY_TRY(merge(inputs, partial.string()));
  if (platform::Folder::current().rename_file(partial.string(), path, existing)) return {};
  return Error{path + ": " + std::strerror(errno)};
}

Result<int> run(const MergeOptions& options) {
  const auto inputs = TALLY_TRY(read_heads(options.files));
  Status done = may_write(options.output, options.force, inputs);
  if (done.ok())
    done = write(inputs, options.output,
                 options.force ? platform::Existing::Replace : platform::Existing::Keep);
  TALLY_TRY(done);
  say_written("capture", options.output);
  return kDone;
}

}  // namespace

void add_merge(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command =
      app.add_subcommand("merge", "Merge captures into one, with the sums of their counts");
  command->add_option("FILE", options->files, "Captures made by tally run")
      ->required()
      ->expected(2, CLI::detail::expected_max_vector_size);
  command->add_option("-o,--output", options->output, "Capture to write")
      ->required()
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Replace an existing capture");
  command->footer("Example: tally merge -o all.tally menu.tally race.tally");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tally::cli
