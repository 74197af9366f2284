#include "analysis/dataset/make_dataset.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "analysis/dataset/capture_code.h"
#include "analysis/dataset/capture_events.h"
#include "analysis/dataset/capture_regions.h"
#include "analysis/dataset/match_captures.h"
#include "analysis/dataset/value_sets.h"
#include "analysis/diff/compare.h"
#include "analysis/diff/make_profile.h"

namespace tally::analysis {
namespace {

// The sizes that a page shows without a stutter.
constexpr size_t kMaxCommands = 200'000;
constexpr size_t kMaxCountRows = 6'000'000;

// The metrics that any block has values of which are not executions x cost.
Result<std::vector<bool>> counted_metrics(const Model& model) {
  std::vector<bool> counted(model.metrics.size());
  auto rows = model.reader.query("SELECT DISTINCT metric FROM batch_other");
  if (!rows) return rows.error();
  while (rows->step()) {
    const uint32_t metric = model.metric_index.find(rows->integer(0));
    if (metric != kNone) counted[metric] = true;
  }
  if (Status read = rows->status(); !read) return read.error();
  if (model.subgroup_executions != kNone) counted[model.subgroup_executions] = true;
  return counted;
}

class CaptureBuilder {
 public:
  CaptureBuilder(const Model& model, const SourceOptions& sources, DataStrings& strings)
      : model_(model),
        strings_(strings),
        codes_(model),
        sources_(model, codes_, sources),
        variants_(model, codes_),
        metrics_(describe_metrics(model)) {}

  Status add(const Progress& progress, DataCapture& capture) {
    capture.summary = summarize(model_);
    capture.metrics = metrics_;
    auto counted = counted_metrics(model_);
    if (!counted) return counted.error();
    counted_ = std::move(*counted);
    const uint32_t executions = executions_metric(metrics_);
    if (executions != kNone) counted_[executions] = false;
    for (uint32_t m = 0; m < metrics_.size(); ++m)
      if (counted_[m]) capture.counted.push_back(metrics_[m].id);
    if (model_.subgroup_lanes != kNone) {
      capture.simd_lanes = metrics_[model_.subgroup_lanes].id;
      capture.simd_executions = metrics_[model_.subgroup_executions].id;
    }
    auto costs = BlockCosts::load(model_, [&](store::RowId metric) {
      return model_.metric_index.find(metric) != kNone || model_.branch_metrics.contains(metric);
    });
    if (!costs) return costs.error();
    costs_.emplace(std::move(*costs));
    if (Status added = add_commands(progress, capture); !added) return added;
    return add_egl_frames(model_, capture);
  }

  const CaptureRows& rows() const { return rows_; }

 private:
  Status add_commands(const Progress& progress, DataCapture& capture) {
    const CaptureCode::Input input{model_,  codes_,   variants_, sources_,
                                   *costs_, metrics_, counted_,  strings_};
    CaptureCode code(input);
    const auto places = find_gpu_places(model_);
    if (!places) return places.error();
    CaptureEvents events(input, *places);
    std::vector<uint32_t> counted;
    for (uint32_t m = 0; m < counted_.size(); ++m)
      if (counted_[m]) counted.push_back(m);
    for (const Grouping grouping : {Grouping::Each, Grouping::SameCall, Grouping::SamePipeline}) {
      const CommandRows rows = group_rows(model_, grouping);
      const bool is_last = grouping == Grouping::SamePipeline;
      if (rows.first_of.size() > kMaxCommands && !is_last) continue;
      ValueSets sets(input, code, counted);
      const auto fits = sets.count(rows.row_of, rows.first_of.size(),
                                   is_last ? ~size_t{0} : kMaxCountRows, progress);
      if (!fits) return fits.error();
      if (!*fits) continue;
      note_grouping(rows, capture);
      events.add(code, rows, sets.set_of(), capture);
      const std::vector<std::string> reasons = not_counted(code, sets.measured());
      for (size_t row = 0; row < code.shader_count(); ++row)
        rows_.shaders.push_back(code.shader_of_row(row));
      rows_.lines = code.lines();
      rows_.pipelines = events.pipelines();
      if (rows.same_call) rows_.commands = rows.first_of;
      std::move(sets).finish(capture);
      std::move(code).finish(reasons, capture);
      break;
    }
    return add_regions(model_, events.merged().group_of_pass, capture);
  }

  void note_grouping(const CommandRows& rows, DataCapture& capture) const {
    if (!rows.grouped) return;
    capture.left_out.push_back(fmt::format(
        "{} draws and dispatches are shown as {} groups: those of a pass with the same pipeline{} "
        "and label are one. A page holds {} rows and {} counts of blocks. All sums are exact.",
        model_.commands.size(), rows.first_of.size(), rows.same_call ? ", call" : "", kMaxCommands,
        kMaxCountRows));
  }

  // Indexed by row of a shader.
  std::vector<std::string> not_counted(const CaptureCode& code,
                                       const std::vector<bool>& measured) const {
    std::vector<std::string> reasons(code.shader_count());
    for (uint32_t row = 0; row < reasons.size(); ++row) {
      if (code.shader_of_row(row) != kNone)
        reasons[row] = model_.shaders[code.shader_of_row(row)].not_instrumented;
    }
    for (const Command& command : model_.commands) {
      if (command.pipeline == kNone) continue;
      const store::PipelineRow& pipeline = model_.pipelines[command.pipeline];
      if (pipeline.not_instrumented.empty()) continue;
      for (const store::RowId id : pipeline.shaders) {
        const uint32_t shader = model_.shader_index.find(id);
        const uint32_t row = shader == kNone ? kNone : code.shader_row(command.pipeline, shader);
        if (row == kNone || (row < measured.size() && measured[row])) continue;
        if (reasons[row].empty()) reasons[row] = pipeline.not_instrumented;
      }
    }
    return reasons;
  }

  const Model& model_;
  DataStrings& strings_;
  ShaderCodes codes_;
  ShaderSources sources_;
  const Variants variants_;
  const std::vector<Metric> metrics_;
  std::vector<bool> counted_;  // by metric
  std::optional<BlockCosts> costs_;
  CaptureRows rows_;
};

Status compare_captures(const Model& model, const Model& old, const CaptureRows& rows,
                        const CaptureRows& old_rows, const SourceOptions& sources,
                        const Progress& progress, Dataset& dataset) {
  const ProfileOptions options{.commands = CommandDetail::Items,
                               .chosen_commands = {},
                               .source = sources.choice,
                               .reconstruct_all = true,
                               .folder = sources.folder};
  const auto profile = make_profile(model, options, progress);
  if (!profile) return profile.error();
  const auto old_profile = make_profile(old, options, progress);
  if (!old_profile) return old_profile.error();
  match_captures({dataset.captures[0], rows, *profile},
                 {dataset.captures[1], old_rows, *old_profile});
  dataset.notes = compare(*old_profile, *profile).notes;
  return {};
}

}  // namespace

Result<Dataset> make_dataset(const Model& model, const Model* old, const SourceOptions& sources,
                             const Progress& progress) {
  Dataset dataset;
  const std::vector<Metric> metrics = describe_metrics(model);
  if (!metrics.empty()) dataset.default_metric = metrics[default_metric(metrics)].id;
  std::vector<CaptureRows> rows;
  for (const Model* of : {&model, old}) {
    if (!of) continue;
    CaptureBuilder builder(*of, sources, dataset.strings);
    Status added = builder.add(progress, dataset.captures.emplace_back());
    if (!added) return added.error();
    rows.push_back(builder.rows());
  }
  if (old) {
    Status compared = compare_captures(model, *old, rows[0], rows[1], sources, progress, dataset);
    if (!compared) return compared.error();
  }
  return dataset;
}

}  // namespace tally::analysis
