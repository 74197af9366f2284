#include "analysis/model/execution_order.h"

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

}  // namespace tally::analysis
