#include "analysis/execution_order.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tally::analysis {
namespace {

using store::ExecutionRow;
using store::RowId;

struct Node {
  const ExecutionRow* row = nullptr;
  std::vector<CommandPlace> commands;
  std::vector<Node*> children;  // in the order in which they ran
  bool done = false;
};

int64_t ran_before(const Node* node) {
  return node->row->parent_command.value_or(std::numeric_limits<int64_t>::max());
}

bool earlier(const Node* a, const Node* b) {
  if (ran_before(a) != ran_before(b)) return ran_before(a) < ran_before(b);
  return a->row->position < b->row->position;
}

void emit(Node& node, std::vector<CommandPlace>& out) {
  if (node.done) return;
  node.done = true;
  size_t child = 0;
  for (CommandPlace& command : node.commands) {
    while (child < node.children.size() && ran_before(node.children[child]) <= command.position) {
      emit(*node.children[child++], out);
    }
    out.push_back(std::move(command));
  }
  while (child < node.children.size()) emit(*node.children[child++], out);
}

}  // namespace

std::vector<CommandPlace> in_execution_order(std::vector<ExecutionRow> executions,
                                             std::vector<CommandPlace> commands) {
  std::sort(executions.begin(), executions.end(),
            [](const ExecutionRow& a, const ExecutionRow& b) { return a.position < b.position; });
  std::sort(commands.begin(), commands.end(),
            [](const CommandPlace& a, const CommandPlace& b) { return a.position < b.position; });
  std::unordered_map<RowId, Node> nodes;
  for (const ExecutionRow& row : executions) nodes[row.id].row = &row;
  std::vector<CommandPlace> out, stray;
  for (CommandPlace& command : commands) {
    const auto node = nodes.find(command.execution);
    (node == nodes.end() ? stray : node->second.commands).push_back(std::move(command));
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
  for (CommandPlace& command : stray) out.push_back(std::move(command));
  return out;
}

}  // namespace tally::analysis
