#include "analysis/dataset/gpu_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tally::analysis {
namespace {

class PlaceFinder {
 public:
  explicit PlaceFinder(const Model& model) : model_(model) {}

  Result<GpuPlaces> run() {
    Status status = find_queues();
    if (status.ok()) status = find_executions();
    if (status.ok()) status = place_commands();
    if (!status.ok()) return status.error();
    for (const Pass& pass : model_.passes) places_.passes.push_back(place_of(pass.row.execution));
    auto spans = gpu_timeline(model_);
    if (!spans) return spans.error();
    places_.spans = std::move(*spans);
    set_times();
    return std::move(places_);
  }

 private:
  struct Execution {
    store::RowId command_buffer;
    std::optional<store::RowId> parent;
    uint32_t queue;
    uint32_t number = kNone;  // into GpuPlaces::command_buffers
  };

  Status find_queues() {
    const auto queues = model_.reader.queues();
    if (!queues) return queues.error();
    for (const store::QueueRow& queue : *queues) {
      queue_index_.add(queue.id, static_cast<uint32_t>(places_.queues.size()));
      places_.queues.push_back(queue.name.empty()
                                   ? fmt::format("queue {}.{}", queue.family, queue.position)
                                   : queue.name);
    }
    return {};
  }

  Status find_executions() {
    const auto objects = model_.reader.objects();
    if (!objects) return objects.error();
    for (const store::ObjectRow& object : *objects) object_names_[object.id] = object.name;
    std::unordered_map<store::RowId, uint32_t> queues;  // by submission
    Status status = model_.reader.for_each_submission([&](const store::SubmissionRow& row) {
      queues[row.id] = queue_index_.find(row.queue);
      return true;
    });
    if (!status.ok()) return status;
    return model_.reader.for_each_execution([&](const store::ExecutionRow& row) {
      const auto queue = queues.find(row.submission);
      executions_[row.id] = {row.command_buffer, row.parent,
                             queue == queues.end() ? kNone : queue->second};
      return true;
    });
  }

  // A secondary command buffer is older than what executes it, or its parents form a circle.
  GpuPlace place_of(store::RowId execution) {
    auto found = executions_.find(execution);
    if (found == executions_.end()) return {};
    for (size_t depth = 0; found->second.parent && depth < kMaxDepth; ++depth) {
      const auto parent = executions_.find(*found->second.parent);
      if (parent == executions_.end()) break;
      found = parent;
    }
    Execution& primary = found->second;
    if (primary.number == kNone) {
      primary.number = static_cast<uint32_t>(places_.command_buffers.size());
      const std::string& name = object_names_[primary.command_buffer];
      places_.command_buffers.push_back(name.empty() ? "command buffer" : name);
    }
    GpuPlace place;
    place.queue = primary.queue;
    place.command_buffer = primary.number;
    return place;
  }

  Status place_commands() {
    auto rows = model_.reader.query("SELECT id, execution FROM command_batch WHERE pass IS NULL");
    if (!rows) return rows.error();
    std::unordered_map<store::RowId, store::RowId> execution_of;
    while (rows->step()) execution_of[rows->integer(0)] = rows->integer(1);
    if (Status read = rows->status(); !read) return read;
    for (const Batch& batch : model_.batches) {
      const auto execution = execution_of.find(batch.id);
      if (execution == execution_of.end()) continue;
      const GpuPlace place = place_of(execution->second);
      for (const uint32_t command : batch.commands) places_.commands[command] = place;
    }
    return {};
  }

  void set_times() {
    if (places_.spans.empty()) return;
    const int64_t start = places_.spans.front().begin_ns;
    for (const GpuSpan& span : places_.spans) {
      GpuPlace& place =
          span.pass != kNone ? places_.passes[span.pass] : places_.commands[span.command];
      place.begin = static_cast<double>(span.begin_ns - start);
      place.end = static_cast<double>(span.end_ns - start);
    }
  }

  static constexpr size_t kMaxDepth = 16;

  const Model& model_;
  GpuPlaces places_;
  IdIndex queue_index_;
  std::unordered_map<store::RowId, std::string> object_names_;
  std::unordered_map<store::RowId, Execution> executions_;
};

class SpanTable {
 public:
  SpanTable(const Model& model, const GpuPlaces& places, DataStrings& strings)
      : model_(model), places_(places), strings_(strings) {}

  DataTable run() && {
    add_command_buffers();
    for (const GpuSpan& span : places_.spans) {
      const uint32_t label =
          span.pass != kNone ? model_.passes[span.pass].label : model_.commands[span.command].label;
      add_labels(places_.of(span), span.frame, path_of(label));
    }
    for (auto& [queue, open] : open_) close(open, queue, 0);
    return std::move(table_);
  }

 private:
  struct Open {
    uint32_t frame = kNone;
    std::vector<uint32_t> labels;  // outermost first
    std::vector<std::pair<double, double>> times;
  };

  void add_command_buffers() {
    std::map<uint32_t, GpuPlace> extents;  // by command buffer
    for (const GpuSpan& span : places_.spans) {
      const GpuPlace& place = places_.of(span);
      GpuPlace& extent = extents.try_emplace(place.command_buffer, place).first->second;
      extent.begin = std::min(extent.begin, place.begin);
      extent.end = std::max(extent.end, place.end);
    }
    for (const auto& [number, extent] : extents) {
      if (number == kNone) continue;
      add("command_buffer", places_.command_buffers[number], extent.queue,
          {extent.begin, extent.end}, 0);
    }
  }

  std::vector<uint32_t> path_of(uint32_t label) const {
    std::vector<uint32_t> path;
    for (; label != kNone && path.size() < kMaxDepth; label = model_.parent_of_label(label))
      path.push_back(label);
    std::ranges::reverse(path);
    return path;
  }

  // Labels last as long as consecutive passes and commands of a queue's frame have them.
  void add_labels(const GpuPlace& place, uint32_t frame, const std::vector<uint32_t>& path) {
    Open& open = open_[place.queue];
    size_t common = 0;
    while (open.frame == frame && common < path.size() && common < open.labels.size() &&
           path[common] == open.labels[common])
      ++common;
    close(open, place.queue, common);
    open.frame = frame;
    for (auto& [begin, end] : open.times) end = std::max(end, place.end);
    for (size_t i = common; i < path.size(); ++i) {
      open.labels.push_back(path[i]);
      open.times.emplace_back(place.begin, place.end);
    }
  }

  void close(Open& open, uint32_t queue, size_t keep) {
    for (; open.labels.size() > keep; open.labels.pop_back(), open.times.pop_back()) {
      add("label", model_.labels[open.labels.back()].name, queue, open.times.back(),
          static_cast<uint32_t>(open.labels.size() - 1));
    }
  }

  void add(std::string_view kind, std::string_view name, uint32_t queue,
           std::pair<double, double> times, uint32_t depth) {
    kind_.push(strings_.add(kind));
    name_.push(strings_.add(name));
    queue_.push_index(queue);
    begin_.push_real(times.first);
    end_.push_real(times.second);
    depth_.push(depth);
  }

  static constexpr size_t kMaxDepth = 64;

  const Model& model_;
  const GpuPlaces& places_;
  DataStrings& strings_;
  std::map<uint32_t, Open> open_;  // by queue
  DataTable table_{"spans"};
  DataColumn& kind_ = table_.add("kind", DataColumn::Kind::Index);
  DataColumn& name_ = table_.add("name", DataColumn::Kind::Index);
  DataColumn& queue_ = table_.add("queue", DataColumn::Kind::Index);
  DataColumn& begin_ = table_.add("begin", DataColumn::Kind::Real);
  DataColumn& end_ = table_.add("end", DataColumn::Kind::Real);
  DataColumn& depth_ = table_.add("depth", DataColumn::Kind::Number);
};

}  // namespace

Result<GpuPlaces> find_gpu_places(const Model& model) { return PlaceFinder(model).run(); }

DataTable span_table(const Model& model, const GpuPlaces& places, DataStrings& strings) {
  return SpanTable(model, places, strings).run();
}

}  // namespace tally::analysis
