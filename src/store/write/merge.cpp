#include "store/write/merge.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "store/read/reader.h"
#include "store/write/writer.h"

namespace tally::store {
namespace {

// The text of a row's identity: its fields, in order.
class Identity {
 public:
  Identity& operator<<(const std::string& text) {
    key_ += std::to_string(text.size()) + ':' + text;
    return *this;
  }
  Identity& operator<<(int64_t number) { return *this << std::to_string(number); }
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

// Times and numbers of a file may be anything.
int64_t sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// The new ids of one table's rows. An id that is not there means that the capture is damaged.
class NewIds {
 public:
  void add(RowId old, RowId id) { ids_[old] = id; }
  RowId of(RowId old) {
    const auto found = ids_.find(old);
    if (found != ids_.end()) return found->second;
    is_damaged_ = true;
    return 0;
  }
  std::optional<RowId> of(const std::optional<RowId>& old) {
    return old ? std::optional(of(*old)) : std::nullopt;
  }
  bool is_damaged() const { return is_damaged_; }

 private:
  std::unordered_map<RowId, RowId> ids_;
  bool is_damaged_ = false;
};

// The numbers that a merged device has used so far.
struct Numbers {
  int64_t frame = 0, submission = 0, recording = 0;
};

using SharedRows = std::map<std::string, RowId>;  // by identity

// Rows that captures share, and the numbers from which their own go on.
struct Merged {
  Writer writer;
  SharedRows devices, shaders, pipelines, counters;
  std::set<std::string> modules;               // hashes
  std::unordered_map<RowId, Numbers> numbers;  // by device
  std::string first_metric;                    // the identity of the one that counts executions

  // The row of this identity, or what `add` returns.
  template <typename Add>
  static RowId share(SharedRows& rows, const Identity& identity, Add add) {
    const auto found = rows.find(identity.key());
    if (found != rows.end()) return found->second;
    return rows.emplace(identity.key(), add()).first->second;
  }
};

Identity identity_of(const DeviceRow& row) {
  Identity identity;
  identity << row.name << row.type << row.vendor_id << row.device_id << row.api_version
           << row.driver_name << row.driver_info << row.driver_version << row.uuid
           << std::to_string(row.timestamp_period_ns) << row.per_block << row.not_captured;
  return identity;
}

// Copies one capture.
class Copy {
 public:
  Copy(const Reader& capture, int64_t time_shift, Merged& merged)
      : capture_(capture), shift_(time_shift), merged_(merged), writer_(merged.writer) {}

  Status run() {
    const auto copies = {&Copy::processes,   &Copy::devices,      &Copy::queues,  &Copy::modules,
                         &Copy::shaders,     &Copy::objects,      &Copy::labels,  &Copy::pipelines,
                         &Copy::statistics,  &Copy::functions,    &Copy::frames,  &Copy::counters,
                         &Copy::submissions, &Copy::executions,   &Copy::passes,  &Copy::batches,
                         &Copy::costs,       &Copy::frame_values, &Copy::regions, &Copy::messages,
                         &Copy::replacements};
    for (const auto copy : copies) {
      TALLY_TRY((this->*copy)());
      TALLY_TRY(writer_.status());
    }
    for (const NewIds* ids : {&process_, &device_, &queue_, &metric_, &module_, &shader_, &object_,
                              &label_, &pipeline_, &function_, &frame_, &counter_, &submission_,
                              &execution_, &pass_, &batch_, &region_counter_}) {
      if (ids->is_damaged()) return Error{"a row refers to one that is not there"};
    }
    return {};
  }

 private:
  template <typename Row, typename Visit>
  static Status each(const Result<std::vector<Row>>& rows, Visit visit) {
    if (!rows) return rows.error();
    for (const Row& row : *rows) visit(row);
    return {};
  }
  std::optional<int64_t> shifted(std::optional<int64_t> time) const {
    return time ? std::optional(sum(*time, shift_)) : time;
  }

  Status processes() {
    return each(capture_.processes(), [this](ProcessRow row) {
      row.start_ns = sum(row.start_ns, shift_), row.end_ns = shifted(row.end_ns);
      process_.add(row.id, writer_.add(row));
    });
  }

  // Equal devices of one capture stay several.
  Status devices() {
    std::map<std::string, int64_t> seen;
    const auto rows = TALLY_TRY(capture_.devices());
    for (DeviceRow row : rows) {
      const auto metrics = TALLY_TRY(capture_.device_metrics(row.id));
      if (!metrics.empty() && !is_first_metric(metrics.front()))
        return Error{"its devices have other metrics than those of the earlier captures"};
      Identity identity = identity_of(row);
      for (const MetricRow& metric : metrics) identity << metric.name << metric.description;
      identity << seen[identity.key()]++;
      const RowId old = row.id;
      row.process = process_.of(row.process);
      device_.add(old, Merged::share(merged_.devices, identity, [&] {
                    const RowId id = writer_.add(row);
                    add_metrics(id, metrics);
                    return id;
                  }));
    }
    return each(capture_.metrics(),
                [this](const MetricRow& row) { metric_.add(row.id, writer_.add(row)); });
  }

  // Readers take the first metric of a capture for the executions of a block.
  bool is_first_metric(const MetricRow& metric) {
    Identity identity;
    identity << metric.name << metric.description;
    if (merged_.first_metric.empty()) merged_.first_metric = identity.key();
    return merged_.first_metric == identity.key();
  }

  void add_metrics(RowId device, const std::vector<MetricRow>& metrics) {
    uint32_t position = 0;
    for (const MetricRow& metric : metrics) {
      writer_.add(
          DeviceMetricRow{.device = device, .position = position++, .metric = writer_.add(metric)});
    }
  }

  Status queues() {
    return each(capture_.queues(), [this](QueueRow row) {
      row.device = device_.of(row.device);
      queue_.add(row.id, writer_.add(row));
    });
  }

  Status modules() {
    const auto rows = TALLY_TRY(capture_.modules());
    for (ModuleRow row : rows) {
      if (merged_.modules.insert(row.hash).second) {
        row.spirv = TALLY_TRY(capture_.spirv(row.id));
      }
      module_.add(row.id, writer_.add(row));
    }
    return {};
  }

  Status shaders() {
    return each(capture_.shaders(), [this](ShaderRow row) {
      const RowId old = row.id;
      row.device = device_.of(row.device), row.module = module_.of(row.module);
      Identity identity;
      identity << row.device << row.module.value_or(0) << row.stage << row.entry_point
               << row.not_instrumented;
      for (const SpecializationConstant& one : row.constants) {
        identity << one.id << one.size << std::to_string(one.bits);
      }
      const auto add = [&] { return writer_.add(row); };
      shader_.add(old, row.module ? Merged::share(merged_.shaders, identity, add) : add());
    });
  }

  Status objects() {
    return each(capture_.objects(), [this](ObjectRow row) {
      row.device = device_.of(row.device);
      object_.add(row.id, writer_.add(row));
    });
  }

  Status labels() {
    return each(capture_.labels(), [this](LabelRow row) {
      row.parent = label_.of(row.parent);
      label_.add(row.id, writer_.add(row));
    });
  }

  Status pipelines() {
    return each(capture_.pipelines(), [this](PipelineRow row) {
      const RowId old = row.id;
      row.device = device_.of(row.device);
      Identity identity;
      identity << row.device << row.hash << row.bind_point << row.name << row.not_instrumented;
      for (RowId& shader : row.shaders) {
        shader = shader_.of(shader);
        identity << shader;
      }
      const RowId merged =
          Merged::share(merged_.pipelines, identity, [&] { return writer_.add(row); });
      if (row.bound) writer_.set_pipeline_bound(merged);
      pipeline_.add(old, merged);
    });
  }

  // A pipeline that captures share keeps the statistics of the first one that has some.
  Status statistics() {
    return each(capture_.pipeline_statistics(), [this](PipelineStatisticRow row) {
      row.pipeline = pipeline_.of(row.pipeline);
      writer_.add(row);
    });
  }

  Status functions() {
    return each(capture_.functions(),
                [this](const FunctionRow& row) { function_.add(row.id, writer_.add(row)); });
  }

  Numbers& numbers_of(RowId device) { return merged_.numbers[device]; }

  Status frames() {
    std::unordered_map<RowId, int64_t> ends;
    Status done = each(capture_.frames(), [&](FrameRow row) {
      row.device = device_.of(row.device);
      row.number = sum(row.number, numbers_of(row.device).frame);
      row.begin_ns = sum(row.begin_ns, shift_), row.end_ns = shifted(row.end_ns);
      ends[row.device] = std::max(ends[row.device], sum(row.number, 1));
      const RowId id = writer_.add(row);
      frame_.add(row.id, id), device_of_frame_[id] = row.device;
    });
    for (const auto& [device, end] : ends) numbers_of(device).frame = end;
    return done;
  }

  Status counters() {
    return each(capture_.frame_counters(), [this](FrameCounterRow row) {
      const RowId old = row.id;
      row.device = device_.of(row.device);
      Identity identity;
      identity << row.device << row.group << row.name << row.unit << std::to_string(row.denominator)
               << row.is_level;
      counter_.add(old,
                   Merged::share(merged_.counters, identity, [&] { return writer_.add(row); }));
    });
  }

  Status submissions() {
    std::unordered_map<RowId, int64_t> ends;
    Status done = capture_.for_each_submission([&](SubmissionRow row) {
      const RowId old = row.id;
      row.frame = frame_.of(row.frame), row.queue = queue_.of(row.queue);
      const RowId device = device_of_frame_[row.frame];
      row.number = sum(row.number, numbers_of(device).submission);
      row.time_ns = sum(row.time_ns, shift_), row.label = label_.of(row.label);
      ends[device] = std::max(ends[device], sum(row.number, 1));
      const RowId id = writer_.add(row);
      submission_.add(old, id), device_of_submission_[id] = device;
      return true;
    });
    for (const auto& [device, end] : ends) numbers_of(device).submission = end;
    return done;
  }

  Status executions() {
    std::unordered_map<RowId, int64_t> ends;
    Status done = capture_.for_each_execution([&](ExecutionRow row) {
      const RowId old = row.id;
      row.submission = submission_.of(row.submission), row.parent = execution_.of(row.parent);
      row.command_buffer = object_.of(row.command_buffer);
      const RowId device = device_of_submission_[row.submission];
      row.recording = sum(row.recording, numbers_of(device).recording);
      ends[device] = std::max(ends[device], sum(row.recording, 1));
      execution_.add(old, writer_.add(row));
      return true;
    });
    for (const auto& [device, end] : ends) numbers_of(device).recording = end;
    return done;
  }

  Status passes() {
    return capture_.for_each_pass([&](PassRow row) {
      row.execution = execution_.of(row.execution);
      row.render_pass = object_.of(row.render_pass), row.framebuffer = object_.of(row.framebuffer);
      row.label = label_.of(row.label);
      row.time_sample = time_sample_of(row.time_sample);
      pass_.add(row.id, writer_.add(row));
      return true;
    });
  }

  std::optional<RowId> time_sample_of(std::optional<RowId> old) {
    if (!old) return std::nullopt;
    RowId& sample = time_samples_[*old];
    if (sample == 0) sample = writer_.add_time_sample();
    return sample;
  }

  Status batches() {
    auto values = TALLY_TRY(capture_.batch_values());
    Status copied;
    const Status visited = capture_.for_each_batch([&](CommandBatchRow row) {
      const RowId old = row.id;
      row.execution = execution_.of(row.execution), row.function = function_.of(row.function);
      row.pipeline = pipeline_.of(row.pipeline), row.pass = pass_.of(row.pass);
      for (int64_t& label : row.labels.values) {
        if (label != Column::kNull) label = label_.of(label);
      }
      const std::optional<RowId> old_set = row.value_set;
      const bool known = old_set && value_sets_.contains(*old_set);
      if (old_set && !known) {
        value_sets_[*old_set] = writer_.begin_value_set();
        writer_.end_value_set(value_sets_[*old_set]);
      }
      if (old_set) row.value_set = value_sets_[*old_set];
      row.time_sample = time_sample_of(row.time_sample);
      const RowId id = writer_.add(row);
      batch_.add(old, id);
      if (known) return true;
      copied = copy_values(values, old_set.value_or(old), row.size, row.value_set.value_or(id));
      return copied.ok();
    });
    return visited.ok() ? copied : visited;
  }

  Status copy_values(BatchValuesReader& reader, RowId old, size_t commands, RowId batch) {
    BatchValues values;
    TALLY_TRY(reader.read(old, commands, values));
    for (BlockCountRow& row : values.counts) {
      row.batch = batch;
      writer_.add(row);
    }
    for (BlockOtherRow& row : values.others) {
      row.batch = batch, row.metric = metric_.of(row.metric);
      writer_.add(row);
    }
    return {};
  }

  Status costs() {
    return capture_.for_each_block_cost([&](BlockCostRow row) {
      row.shader = shader_.of(row.shader), row.metric = metric_.of(row.metric);
      writer_.add(row);
      return true;
    });
  }

  Status frame_values() {
    std::vector<FrameValue> of_frame;
    const auto add = [&] {
      std::ranges::sort(of_frame, {}, &FrameValue::counter);
      writer_.add_frame_values(of_frame);
      of_frame.clear();
    };
    Status visited = capture_.for_each_frame_value([&](const FrameValue& old) {
      const FrameValue value{frame_.of(old.frame), counter_.of(old.counter), old.value};
      if (!of_frame.empty() && of_frame.back().frame != value.frame) add();
      of_frame.push_back(value);
      return true;
    });
    add();
    return visited;
  }

  Status regions() {
    TALLY_TRY(each(capture_.region_counters(), [this](const RegionCounterRow& row) {
      region_counter_.add(row.id, writer_.add(row));
    }));
    Status copied;
    const Status visited = capture_.for_each_pass_regions([&](const PassRegionsRow& row) {
      copied = copy_regions(row);
      return copied.ok();
    });
    return visited.ok() ? copied : visited;
  }

  Status copy_regions(const PassRegionsRow& old) {
    PassRegionsRow row = old;
    row.pass = pass_.of(row.pass);
    const RowId regions = writer_.add(row);
    Status copied = capture_.for_each_region_values(old, [&](RegionValuesRow values) {
      values.regions = regions, values.counter = region_counter_.of(values.counter);
      writer_.add(values);
      return true;
    });
    if (copied.ok()) {
      copied = capture_.for_each_region_draw(old, [&](RegionDrawRow draw) {
        draw.regions = regions, draw.counter = region_counter_.of(draw.counter);
        writer_.add(draw);
        return true;
      });
    }
    TALLY_TRY(copied);
    auto picture = TALLY_TRY(capture_.pass_picture(old.pass, old.layer));
    if (picture) {
      picture->pass = row.pass;
      writer_.add(*picture);
    }
    return {};
  }

  Status messages() {
    return each(capture_.messages(), [this](MessageRow row) {
      row.process = process_.of(row.process), row.time_ns = sum(row.time_ns, shift_);
      writer_.add(row);
    });
  }

  Status replacements() {
    return each(capture_.replacements(), [this](ReplacementRow row) {
      row.process = process_.of(row.process);
      writer_.add(row);
    });
  }

  const Reader& capture_;
  const int64_t shift_;  // of host times
  Merged& merged_;
  Writer& writer_;
  NewIds process_, device_, queue_, metric_, module_, shader_, object_, label_, pipeline_,
      function_, frame_, counter_, submission_, execution_, pass_, batch_, region_counter_;
  std::unordered_map<RowId, RowId> value_sets_;
  std::unordered_map<RowId, RowId> time_samples_;
  std::unordered_map<RowId, RowId> device_of_frame_, device_of_submission_;  // by new ids
};

// Contents that all captures have in common.
CaptureRow merged_row(const std::vector<CaptureRow>& captures) {
  CaptureRow row = captures.front();
  row.start_monotonic_ns = 0;
  row.end_monotonic_ns = std::nullopt;
  for (const CaptureRow& other : captures) {
    if (other.command_line != row.command_line) row.command_line = {"tally", "merge"};
    if (other.working_directory != row.working_directory) row.working_directory.clear();
    if (other.frame_range != row.frame_range) row.frame_range.clear();
    if (other.shader_pattern != row.shader_pattern) row.shader_pattern.clear();
    if (other.frame_per != row.frame_per) row.frame_per.clear();
    if (other.frame_label != row.frame_label) row.frame_label.clear();
    if (other.replacements != row.replacements) row.replacements.clear();
    if (row.exit_status.value_or(0) == 0) row.exit_status = other.exit_status;
  }
  return row;
}

}  // namespace

struct CaptureMerge::State {
  std::string path;
  CaptureRow row;
  Merged merged;
  std::vector<SourceText> texts = {};
  int64_t end_ns = 0;
};

CaptureMerge::CaptureMerge(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureMerge::CaptureMerge(CaptureMerge&&) noexcept = default;
CaptureMerge& CaptureMerge::operator=(CaptureMerge&&) noexcept = default;
CaptureMerge::~CaptureMerge() = default;

Result<CaptureMerge> CaptureMerge::create(const std::string& path,
                                          const std::vector<CaptureRow>& captures) {
  const CaptureRow row = merged_row(captures);
  auto writer = TALLY_TRY(Writer::create(path, row));
  return CaptureMerge(std::make_unique<State>(State{path, row, Merged{std::move(writer)}}));
}

Status CaptureMerge::add(const Reader& capture) {
  const auto row = TALLY_TRY(capture.capture());
  if (!row.end_monotonic_ns) return Error{"capture is incomplete: its writer died"};
  if (row.tool_version != state_->row.tool_version) {
    return Error{"written by tally " + row.tool_version + ", the earlier captures by tally " +
                 state_->row.tool_version};
  }
  const int64_t start = difference(row.start_unix_ns, state_->row.start_unix_ns);
  const int64_t shift = difference(start, row.start_monotonic_ns);
  state_->end_ns = std::max(state_->end_ns, sum(*row.end_monotonic_ns, shift));
  TALLY_TRY(Copy(capture, shift, state_->merged).run());
  auto texts = TALLY_TRY(source_texts(capture));
  state_->texts.insert(state_->texts.end(), texts.begin(), texts.end());
  return {};
}

Status CaptureMerge::finish() {
  Status done = state_->merged.writer.finish(state_->end_ns, state_->row.exit_status);
  if (done.ok() && !state_->texts.empty()) done = add_source_texts(state_->path, state_->texts);
  return done;
}

}  // namespace tally::store
