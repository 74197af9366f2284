#include "analysis/model/first_uses.h"

namespace tally::analysis {

Result<std::vector<bool>> pipelines_used_before(const Model& model) {
  std::vector<bool> used(model.pipelines.size());
  if (!model.selection.frames || model.selection.frames->first == 0) return used;
  auto statement = model.reader.query(
      "SELECT DISTINCT command_batch.pipeline FROM frame"
      " JOIN submission ON submission.frame = frame.id"
      " JOIN execution ON execution.submission = submission.id"
      " JOIN command_batch ON command_batch.execution = execution.id"
      " WHERE frame.number < ? AND command_batch.pipeline IS NOT NULL");
  if (!statement) return statement.error();
  statement->bind(model.selection.frames->first);
  while (statement->step()) {
    const uint32_t pipeline = model.pipeline_index.find(statement->integer(0));
    if (pipeline != kNone) used[pipeline] = true;
  }
  if (Status read = statement->status(); !read) return read.error();
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

}  // namespace tally::analysis
