#include "analysis/model/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace tally::analysis {
namespace {

using store::ExecutionRow;
using store::RowId;

struct Node {
  const ExecutionRow* row = nullptr;
  std::vector<CommandPosition> commands;
  std::vector<Node*> children;  // in execution order
  size_t next_command = 0, next_child = 0;
  bool begun = false;
};

int64_t ran_before(const Node* node) {
  return node->row->parent_command.value_or(std::numeric_limits<int64_t>::max());
}

bool earlier(const Node* a, const Node* b) {
  if (ran_before(a) != ran_before(b)) return ran_before(a) < ran_before(b);
  return a->row->position < b->row->position;
}

// Returns the child that runs before the node's next command, or null.
Node* next_due_child(Node& node) {
  if (node.next_child == node.children.size()) return nullptr;
  Node* child = node.children[node.next_child];
  const bool is_due = node.next_command == node.commands.size() ||
                      ran_before(child) <= node.commands[node.next_command].position;
  if (!is_due) return nullptr;
  ++node.next_child;
  return child;
}

// Uses an explicit stack: a damaged file may nest executions to any depth.
void emit(Node& root, std::vector<CommandPosition>& out) {
  std::vector<Node*> open;
  const auto begin = [&](Node* node) {
    if (!std::exchange(node->begun, true)) open.push_back(node);
  };
  begin(&root);
  while (!open.empty()) {
    Node& node = *open.back();
    if (Node* child = next_due_child(node)) {
      begin(child);
    } else if (node.next_command < node.commands.size()) {
      out.push_back(std::move(node.commands[node.next_command++]));
    } else {
      open.pop_back();
    }
  }
}

}  // namespace

std::vector<CommandPosition> in_execution_order(std::vector<ExecutionRow> executions,
                                                std::vector<CommandPosition> commands) {
  std::sort(executions.begin(), executions.end(),
            [](const ExecutionRow& a, const ExecutionRow& b) { return a.position < b.position; });
  std::sort(
      commands.begin(), commands.end(),
      [](const CommandPosition& a, const CommandPosition& b) { return a.position < b.position; });
  std::unordered_map<RowId, Node> nodes;
  for (const ExecutionRow& row : executions) nodes[row.id].row = &row;
  std::vector<CommandPosition> out, orphans;
  for (CommandPosition& command : commands) {
    const auto node = nodes.find(command.execution);
    (node == nodes.end() ? orphans : node->second.commands).push_back(std::move(command));
  }
  std::vector<Node*> roots;
  for (const ExecutionRow& row : executions) {
    Node& node = nodes[row.id];
    const auto parent = row.parent ? nodes.find(*row.parent) : nodes.end();
    (parent == nodes.end() ? roots : parent->second.children).push_back(&node);
  }
  for (auto& [id, node] : nodes) std::sort(node.children.begin(), node.children.end(), earlier);
  for (Node* root : roots) emit(*root, out);
  for (const ExecutionRow& row : executions) emit(nodes[row.id], out);
  for (CommandPosition& command : orphans) out.push_back(std::move(command));
  return out;
}

namespace {

// False if the span has no place on a time axis from 0 on: a file may hold any numbers.
bool is_time(int64_t begin, int64_t time) {
  return begin >= 0 && time >= 0 && begin <= std::numeric_limits<int64_t>::max() - time;
}

}  // namespace

Result<std::vector<GpuSpan>> gpu_timeline(const Model& model) {
  std::vector<GpuSpan> spans;
  for (uint32_t p = 0; p < model.passes.size(); ++p) {
    const store::PassRow& row = model.passes[p].row;
    if (!row.gpu_begin_ns || !row.gpu_time_ns || !is_time(*row.gpu_begin_ns, *row.gpu_time_ns))
      continue;
    spans.push_back(
        {*row.gpu_begin_ns, *row.gpu_begin_ns + *row.gpu_time_ns, model.passes[p].frame, p, kNone});
  }
  std::unordered_map<store::RowId, const Batch*> batches;
  for (const Batch& batch : model.batches) batches.emplace(batch.id, &batch);
  const Status read = model.reader.for_each_batch([&](const store::CommandBatchRow& row) {
    const auto found = batches.find(row.id);
    if (found == batches.end() || row.pass) return true;
    for (size_t i = 0; i < found->second->commands.size(); ++i) {
      const uint32_t command = found->second->commands[i];
      const int64_t begin = row.gpu_begin_ns.at(i), time = row.gpu_time_ns.at(i);
      if (is_time(begin, time))
        spans.push_back({begin, begin + time, model.commands[command].frame, kNone, command});
    }
    return true;
  });
  TALLY_TRY(read);
  std::ranges::stable_sort(spans, [](const GpuSpan& a, const GpuSpan& b) {
    return std::pair(a.begin_ns, -a.end_ns) < std::pair(b.begin_ns, -b.end_ns);
  });
  return spans;
}

Result<std::vector<bool>> pipelines_used_before(const Model& model) {
  std::vector<bool> used(model.pipelines.size());
  if (!model.selection.frames || model.selection.frames->first == 0) return used;
  auto statement = TALLY_TRY(
      model.reader.query("SELECT DISTINCT command_batch.pipeline FROM frame"
                         " JOIN submission ON submission.frame = frame.id"
                         " JOIN execution ON execution.submission = submission.id"
                         " JOIN command_batch ON command_batch.execution = execution.id"
                         " WHERE frame.number < ? AND command_batch.pipeline IS NOT NULL"));
  statement.bind(model.selection.frames->first);
  while (statement.step()) {
    const uint32_t pipeline = model.pipeline_index.find(statement.integer(0));
    if (pipeline != kNone) used[pipeline] = true;
  }
  TALLY_TRY(statement.status());
  return used;
}

FirstUses find_first_uses(const Model& model) {
  FirstUses first{std::vector<bool>(model.commands.size()), std::vector<bool>(model.passes.size()),
                  std::vector<bool>(model.frames.size())};
  std::vector<bool> used = model.used_before;
  used.resize(model.pipelines.size());
  for (size_t i = 0; i < model.commands.size(); ++i) {
    const Command& command = model.commands[i];
    if (command.pipeline == kNone || used[command.pipeline]) continue;
    used[command.pipeline] = true;
    first.commands[i] = true;
    first.frames[command.frame] = true;
    if (command.pass != kNone) first.passes[command.pass] = true;
  }
  return first;
}

namespace {

class PlaceFinder {
 public:
  explicit PlaceFinder(const Model& model) : model_(model) {}

  Result<GpuPlaces> run() {
    TALLY_TRY(find_queues());
    TALLY_TRY(find_executions());
    TALLY_TRY(place_commands());
    for (const Pass& pass : model_.passes) places_.passes.push_back(place_of(pass.row.execution));
    places_.spans = TALLY_TRY(gpu_timeline(model_));
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
    const auto queues = TALLY_TRY(model_.reader.queues());
    for (const store::QueueRow& queue : queues) {
      queue_index_.add(queue.id, static_cast<uint32_t>(places_.queues.size()));
      places_.queues.push_back(queue.name.empty()
                                   ? fmt::format("queue {}.{}", queue.family, queue.position)
                                   : queue.name);
    }
    return {};
  }

  Status find_executions() {
    const auto objects = TALLY_TRY(model_.reader.objects());
    for (const store::ObjectRow& object : objects) object_names_[object.id] = object.name;
    std::unordered_map<store::RowId, uint32_t> queues;  // by submission
    TALLY_TRY(model_.reader.for_each_submission([&](const store::SubmissionRow& row) {
      queues[row.id] = queue_index_.find(row.queue);
      return true;
    }));
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
    auto rows = TALLY_TRY(
        model_.reader.query("SELECT id, execution FROM command_batch WHERE pass IS NULL"));
    std::unordered_map<store::RowId, store::RowId> execution_of;
    while (rows.step()) execution_of[rows.integer(0)] = rows.integer(1);
    TALLY_TRY(rows.status());
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

}  // namespace

Result<GpuPlaces> find_gpu_places(const Model& model) { return PlaceFinder(model).run(); }

}  // namespace tally::analysis
