#include "cli/export_to.h"

#include <filesystem>
#include <set>
#include <utility>

#include "analysis/coverage/coverage.h"
#include "analysis/diff/make_profile.h"
#include "analysis/fleet/fleet_rows.h"
#include "analysis/model/load_model.h"
#include "analysis/tables/empty_result.h"
#include "cli/command.h"
#include "cli/commit.h"
#include "cli/data_set.h"

namespace tally::cli {
namespace {

std::string device_of(const analysis::Summary& summary) {
  std::set<std::string> names;
  for (const analysis::DeviceSummary& device : summary.devices) {
    if (device.api == "Vulkan" && device.not_captured.empty()) names.insert(device.name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " + ") + name;
  return partition_value(text);
}

// The program's name.
std::string scene_of(const analysis::Summary& summary) {
  if (summary.command_line.empty()) return "unknown";
  return partition_value(std::filesystem::path(summary.command_line.front()).filename().string());
}

struct Loaded {
  analysis::Summary summary;
  analysis::FleetRows rows;
};

Result<Loaded> load(const std::string& file) {
  auto reader = store::Reader::open(file);
  if (!reader) return reader.error();
  const auto model = analysis::load_model(std::move(*reader), {});
  if (!model) return with_context(model.error(), file);
  if (model->commands.empty())
    return Error{file + ": " + why_no_rows(*model, analysis::By::Draw, {})};
  const analysis::Progress none = [](double) {};
  const auto profile = analysis::make_profile(*model, {.code = false}, none);
  if (!profile) return with_context(profile.error(), file);
  if (!profile->summary.complete())
    return Error{file + ": capture is incomplete; tally report says what is missing"};
  analysis::CoverageBuilder coverage;
  if (Status added = coverage.add(*model, none); !added) return with_context(added.error(), file);
  return Loaded{profile->summary, make_fleet_rows(*profile, std::move(coverage).finish(),
                                                  model->capture.working_directory)};
}

Result<std::filesystem::path> add(DataSet& data_set, const std::string& file, const Commit& commit,
                                  const std::string& scene) {
  const auto loaded = load(file);
  if (!loaded) return loaded.error();
  const analysis::Summary& summary = loaded->summary;
  const report::DataSetPlace place{
      .commit = commit.name,
      .commit_time = commit.time.value_or(summary.start_unix_ns / 1'000'000'000),
      .device = device_of(summary),
      .scene = scene.empty() ? scene_of(summary) : scene};
  return data_set.add(place, report::data_set_capture(place, summary, loaded->rows));
}

Status check_names(const Commit& commit, const ExportToOptions& options) {
  if (const std::string why = why_no_partition(commit.name); !why.empty())
    return Error{"--commit " + why};
  const std::string why = options.scene.empty() ? "" : why_no_partition(options.scene);
  return why.empty() ? Status() : Error{"--scene " + why};
}

}  // namespace

int export_to(const ExportToOptions& options) {
  const auto commit = find_commit(options.commit, current_environment());
  if (!commit) return fail(commit.error());
  if (Status checked = check_names(*commit, options); !checked) return fail(checked.error());
  auto data_set = DataSet::open(options.folder);
  if (!data_set) return fail(data_set.error());
  if (!data_set->why_no_parquet().empty())
    say("no Parquet files, JSON lines only: " + data_set->why_no_parquet());
  int status = kDone;
  for (const std::string& file : options.files) {
    const auto folder = add(*data_set, file, *commit, options.scene);
    if (!folder) {
      status = fail(folder.error());
    } else if (print(folder->string() + "\n") != kDone) {
      return kFailed;
    }
  }
  return status;
}

}  // namespace tally::cli
