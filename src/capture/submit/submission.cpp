#include "capture/submit/submission.h"

#include "capture/record/recording.h"

namespace tally::capture {

Execution* Submission::find(const Recording& recording) {
  for (Submission* part = this; part != nullptr; part = part->previous) {
    const auto found = std::ranges::find_if(part->executions, [&](const Execution& other) {
      return other.recording.get() == &recording;
    });
    if (found != part->executions.end()) return &*found;
  }
  return nullptr;
}

void Submission::add(const std::shared_ptr<Recording>& recording) {
  if (Execution* same = find(*recording)) {
    ++same->runs;
    // Its secondaries run again too.
    for (const RecordedSecondary& secondary : recording->secondaries) add(secondary.recording);
    return;
  }
  executions.push_back({recording});
  add_secondaries(*recording, static_cast<uint32_t>(executions.size() - 1));
}

void Submission::add_secondaries(const Recording& recording, uint32_t parent) {
  for (const RecordedSecondary& secondary : recording.secondaries) {
    const size_t before = executions.size();
    add(secondary.recording);
    if (executions.size() == before) continue;
    Execution& added = executions[before];
    added.parent = parent;
    added.parent_command = secondary.before_command;
    added.parent_label = secondary.label;
    added.parent_pass = secondary.pass;
    added.parent_subpass = secondary.subpass;
  }
}

uint64_t Submission::commands() const {
  uint64_t count = not_recorded;
  for (const Execution& execution : executions) {
    count += execution.recording->commands() + execution.recording->commands_lost;
  }
  return count;
}

}  // namespace tally::capture
