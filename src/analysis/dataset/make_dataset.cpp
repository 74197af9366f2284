#include "analysis/dataset/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/dataset/capture_code.h"
#include "analysis/dataset/capture_events.h"
#include "analysis/dataset/value_sets.h"
#include "analysis/diff/alignment.h"
#include "analysis/diff/difference.h"
#include "analysis/diff/make_profile.h"
#include "analysis/diff/profile.h"
#include "analysis/predict/prediction.h"
#include "analysis/tables/tables.h"

namespace tally::analysis {

namespace {

// The places in its model that the rows of a capture's tables stand for.
struct CaptureRows {
  std::vector<uint32_t> shaders;    // by row; kNone: not named
  std::vector<uint32_t> pipelines;  // by row
  // Indexed by row: its command. Empty where a row stands for commands that are not similar.
  std::vector<uint32_t> commands;
  std::vector<CaptureCode::Place> lines;
};

struct CaptureToMatch {
  DataCapture& capture;
  const CaptureRows& rows;
  const Profile& profile;
};

// Indexed by item: its number, which a matched item of the other profile has as well.
struct Numbers {
  std::vector<uint32_t> now, old;
};

Numbers number_items(const Matching& matching, size_t now, size_t old) {
  Numbers numbers{std::vector<uint32_t>(now, kNone), std::vector<uint32_t>(old, kNone)};
  uint32_t next = 0;
  for (const ItemMatch& pair : matching.pairs)
    numbers.old[pair.before] = numbers.now[pair.after] = next++;
  for (auto* list : {&numbers.now, &numbers.old}) {
    for (uint32_t& number : *list)
      if (number == kNone) number = next++;
  }
  return numbers;
}

void add_column(DataCapture& capture, std::string_view table, const std::vector<uint32_t>& match) {
  const auto found =
      std::ranges::find_if(capture.tables, [&](const DataTable& t) { return t.name() == table; });
  if (found == capture.tables.end()) return;
  DataColumn& column = found->add("match", DataColumn::Kind::Index);
  for (const uint32_t number : match) column.push_index(number);
}

// `row_items`: by row, its item.
std::vector<uint32_t> numbers_of_rows(const std::vector<uint32_t>& numbers,
                                      const std::vector<uint32_t>& row_items) {
  std::vector<uint32_t> result;
  for (const uint32_t item : row_items) result.push_back(item == kNone ? kNone : numbers[item]);
  return result;
}

std::vector<uint32_t> items_of(const std::vector<uint32_t>& rows,
                               const std::vector<uint32_t>& items) {
  std::vector<uint32_t> result;
  for (const uint32_t row : rows) result.push_back(row == kNone ? kNone : items[row]);
  return result;
}

class CodeMatch {
 public:
  CodeMatch(const CaptureToMatch& now, const CaptureToMatch& old) : now_(now), old_(old) {
    now_items_ = items_of(now.rows.shaders, now.profile.index.shaders);
    old_items_ = items_of(old.rows.shaders, old.profile.index.shaders);
  }

  void run() {
    const Matching matching = match_shaders(old_.profile.shaders, now_.profile.shaders);
    const Numbers numbers =
        number_items(matching, now_.profile.shaders.size(), old_.profile.shaders.size());
    now_numbers_ = numbers_of_rows(numbers.now, now_items_);
    old_numbers_ = numbers_of_rows(numbers.old, old_items_);
    add_column(now_.capture, "shaders", now_numbers_);
    add_column(old_.capture, "shaders", old_numbers_);
    for (const ItemMatch& pair : matching.pairs) {
      alignments_.emplace(pair.before, CodeAlignment(old_.profile.shaders[pair.before],
                                                     now_.profile.shaders[pair.after]));
    }
    match_lines();
    match_functions();
  }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, bool>;  // shader, file, line; only old

  // Lines have the place that they have in the new version.
  void match_lines() {
    std::map<Key, uint32_t> number_of;
    const auto number = [&](uint32_t shader, CodeAlignment::Place place, bool only_old) {
      if (shader == kNone) return kNone;
      return number_of
          .try_emplace({shader, place.first, place.second, only_old},
                       static_cast<uint32_t>(number_of.size()))
          .first->second;
    };
    std::vector<uint32_t> now, old;
    for (const CaptureCode::Place& line : now_.rows.lines)
      now.push_back(number(now_numbers_[line.shader], {line.file, line.line}, false));
    for (const CaptureCode::Place& line : old_.rows.lines) {
      const CodeAlignment::Place place{line.file, line.line};
      const auto alignment = alignments_.find(old_items_[line.shader]);
      const auto aligned =
          alignment == alignments_.end() ? std::nullopt : alignment->second.after_of(place);
      old.push_back(aligned ? number(old_numbers_[line.shader], aligned->after, false)
                            : number(old_numbers_[line.shader], place, true));
    }
    add_column(now_.capture, "lines", now);
    add_column(old_.capture, "lines", old);
  }

  // Matches items by their names.
  void match_functions() {
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> number_of;  // by shader and name
    for (const auto& [side, numbers] :
         {std::pair(&now_, &now_numbers_), std::pair(&old_, &old_numbers_)}) {
      std::vector<uint32_t> match;
      const DataTable& functions = *side->capture.find("functions");
      const DataColumn& shader = *functions.find("shader");
      const DataColumn& name = *functions.find("name");
      for (size_t row = 0; row < functions.rows(); ++row) {
        const uint32_t of = (*numbers)[shader.at(row)];
        const auto next = static_cast<uint32_t>(number_of.size());
        match.push_back(
            of == kNone ? kNone : number_of.try_emplace({of, name.at(row)}, next).first->second);
      }
      add_column(side->capture, "functions", match);
    }
  }

  const CaptureToMatch& now_;
  const CaptureToMatch& old_;
  std::vector<uint32_t> now_items_, old_items_;      // by row of a shader
  std::vector<uint32_t> now_numbers_, old_numbers_;  // by row of a shader
  std::map<uint32_t, CodeAlignment> alignments_;     // by item of the old profile
};

void match_list(std::string_view table, const std::vector<Item>& now, const std::vector<Item>& old,
                const std::vector<uint32_t>& now_items, const std::vector<uint32_t>& old_items,
                DataCapture& now_capture, DataCapture& old_capture) {
  const Numbers numbers = number_items(match_items(old, now), now.size(), old.size());
  add_column(now_capture, table, numbers_of_rows(numbers.now, now_items));
  add_column(old_capture, table, numbers_of_rows(numbers.old, old_items));
}

// In both captures or in none: only then are equal numbers the same thing.
void match_commands(const CaptureToMatch& now, const CaptureToMatch& old) {
  if (now.rows.commands.empty() || old.rows.commands.empty()) return;
  match_list("commands", now.profile.commands, old.profile.commands,
             items_of(now.rows.commands, now.profile.index.commands),
             items_of(old.rows.commands, old.profile.index.commands), now.capture, old.capture);
}

// Adds to the data of two captures what `tally diff` matches: the columns "match".
void match_captures(const CaptureToMatch& now, const CaptureToMatch& old) {
  CodeMatch(now, old).run();
  match_list("pipelines", now.profile.pipelines, old.profile.pipelines,
             items_of(now.rows.pipelines, now.profile.index.pipelines),
             items_of(old.rows.pipelines, old.profile.index.pipelines), now.capture, old.capture);
  match_list("merged_passes", now.profile.passes, old.profile.passes, now.profile.index.passes,
             old.profile.index.passes, now.capture, old.capture);
  match_commands(now, old);
}

// `pass`: of the capture in each difference.
void match_pictures(const PictureDifferences& pictures, uint32_t PictureDifference::*pass,
                    DataCapture& capture) {
  const auto found = std::ranges::find_if(
      capture.tables, [](const DataTable& table) { return table.name() == "pictures"; });
  if (found == capture.tables.end()) return;
  const DataColumn &passes = *found->find("pass"), &layers = *found->find("layer");
  DataColumn& match = found->add("match", DataColumn::Kind::Index);
  DataColumn& pixels = found->add("pixels", DataColumn::Kind::Number);
  DataColumn& most = found->add("max", DataColumn::Kind::Number);
  for (size_t row = 0; row < passes.size(); ++row) {
    const auto one = std::ranges::find_if(pictures.list, [&](const PictureDifference& of) {
      return of.*pass == passes.at(row) && of.layer == layers.at(row);
    });
    const bool is_compared = one != pictures.list.end();
    match.push_index(is_compared ? static_cast<uint32_t>(one - pictures.list.begin()) : kNone);
    pixels.push(is_compared ? one->pixels : 0);
    most.push(is_compared ? one->most : 0);
  }
}

// The sizes that a page shows without a stutter.
constexpr size_t kMaxCommands = 200'000;
constexpr size_t kMaxCountRows = 6'000'000;
constexpr size_t kMaxPredicted = 50;
constexpr size_t kMaxTimed = 50;  // functions and loops

// The metrics that any block has values of which are not executions x cost.
Result<std::vector<bool>> counted_metrics(const Model& model) {
  std::vector<bool> counted(model.metrics.size());
  auto rows = TALLY_TRY(model.reader.query("SELECT DISTINCT metric FROM batch_other"));
  while (rows.step()) {
    const uint32_t metric = model.metric_index.find(rows.integer(0));
    if (metric != kNone) counted[metric] = true;
  }
  TALLY_TRY(rows.status());
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
    auto counted = TALLY_TRY(counted_metrics(model_));
    counted_ = std::move(counted);
    const uint32_t executions = executions_metric(metrics_);
    if (executions != kNone) counted_[executions] = false;
    for (uint32_t m = 0; m < metrics_.size(); ++m)
      if (counted_[m]) capture.counted.push_back(metrics_[m].id);
    if (model_.subgroup_lanes != kNone) {
      capture.simd_lanes = metrics_[model_.subgroup_lanes].id;
      capture.simd_executions = metrics_[model_.subgroup_executions].id;
    }
    auto costs = TALLY_TRY(BlockCosts::load(model_, [&](store::RowId metric) {
      return model_.metric_index.find(metric) != kNone || model_.branch_metrics.contains(metric);
    }));
    costs_.emplace(std::move(costs));
    TALLY_TRY(add_prediction(capture));
    TALLY_TRY(add_commands(progress, capture));
    return add_egl_frames(model_, capture);
  }

  Status add_findings(const Progress& progress, DataCapture& capture) {
    capture.findings = TALLY_TRY(find_findings(model_, codes_, sources_, variants_, progress));
    return add_cycles(progress, capture);
  }

  const CaptureRows& rows() const { return rows_; }

 private:
  Status add_prediction(DataCapture& capture) {
    auto prediction = TALLY_TRY(predict_selected(model_));
    prediction_ = std::move(prediction);
    if (prediction_ && prediction_->works.counts)
      capture.prediction = {make_prediction_table(*prediction_, kMaxPredicted),
                            make_predicted_line_table(*prediction_, kMaxPredicted)};
    return {};
  }

  Status add_cycles(const Progress& progress, DataCapture& capture) {
    const bool are_timed = std::ranges::any_of(model_.site_metrics, [](const auto& metric) {
      return spirv::kind_of(metric.second) == spirv::SiteKind::Clock;
    });
    if (!are_timed) return {};
    const TableOptions options{
        .columns = {"location", "function", "part", "share", "self_cycles", "self_cost",
                    "cycles_per_cost", "cycles", "timed_runs", "cycles_per_run", "text"},
        .top = kMaxTimed};
    const auto totals = TALLY_TRY(BlockTotals::count(model_, codes_, variants_, progress));
    auto table =
        TALLY_TRY(make_clock_table(model_, codes_, sources_, variants_, totals, options, progress));
    if (!table.rows.empty()) capture.cycles.push_back(std::move(table));
    return {};
  }

  Status add_commands(const Progress& progress, DataCapture& capture) {
    const CaptureCode::Input input{model_,   codes_,   variants_,
                                   sources_, *costs_,  metrics_,
                                   counted_, strings_, prediction_ ? &*prediction_ : nullptr};
    CaptureCode code(input);
    const auto places = TALLY_TRY(find_gpu_places(model_));
    CaptureEvents events(input, places);
    std::vector<uint32_t> counted;
    for (uint32_t m = 0; m < counted_.size(); ++m)
      if (counted_[m]) counted.push_back(m);
    std::vector<uint32_t> row_of;
    for (const Grouping grouping : {Grouping::Each, Grouping::SameCall, Grouping::SamePipeline}) {
      const CommandRows rows = group_rows(model_, grouping);
      const bool is_last = grouping == Grouping::SamePipeline;
      if (rows.first_of.size() > kMaxCommands && !is_last) continue;
      ValueSets sets(input, code, counted);
      const auto fits = TALLY_TRY(sets.count(rows.row_of, rows.first_of.size(),
                                             is_last ? ~size_t{0} : kMaxCountRows, progress));
      if (!fits) continue;
      note_grouping(rows, capture);
      TALLY_TRY(events.add(code, rows, sets.set_of(), progress, capture));
      const std::vector<std::string> reasons = not_counted(code, sets.measured());
      for (size_t row = 0; row < code.shader_count(); ++row)
        rows_.shaders.push_back(code.shader_of_row(row));
      rows_.lines = code.lines();
      rows_.pipelines = events.pipelines();
      if (rows.same_call) rows_.commands = rows.first_of;
      row_of = rows.row_of;
      std::move(sets).finish(capture);
      std::move(code).finish(reasons, capture);
      break;
    }
    return add_regions(model_, events.merged().group_of_pass, row_of, capture);
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
  std::optional<Prediction> prediction_;
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
  const auto profile = TALLY_TRY(make_profile(model, options, progress));
  const auto old_profile = TALLY_TRY(make_profile(old, options, progress));
  match_captures({dataset.captures[0], rows, profile},
                 {dataset.captures[1], old_rows, old_profile});
  const auto pictures = TALLY_TRY(compare_pictures(old, model));
  match_pictures(pictures, &PictureDifference::pass_after, dataset.captures[0]);
  match_pictures(pictures, &PictureDifference::pass_before, dataset.captures[1]);
  CaptureDiff diff = compare(old_profile, profile);
  dataset.notes = std::move(diff.notes);
  dataset.causes = std::move(diff.causes);
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
    if (added && of == &model) added = builder.add_findings(progress, dataset.captures.back());
    TALLY_TRY(added);
    rows.push_back(builder.rows());
  }
  if (old) {
    TALLY_TRY(compare_captures(model, *old, rows[0], rows[1], sources, progress, dataset));
  }
  return dataset;
}

}  // namespace tally::analysis
