// Copies of arguments and indices in the application's buffers, from which the GPU counts what the
// host cannot know: indirect commands, and draws whose indices may restart the primitive.
#pragma once

#include "counters/queries/batch.h"
#include "counters/queries/context.h"
#include "counters/queries/indirect_counts.h"
#include "counters/queries/query_memory.h"

namespace tally::counters {

class ArgumentRecorder {
 public:
  ArgumentRecorder(const QueryContext& context, QueryMemory& memory)
      : context_(context), memory_(memory) {}

  // True if the layer would have to copy too much for one command.
  static bool exceeds_limits(const IndirectCommand& command);
  // Adds a command to `work`; `entry` has its targets. Copies its arguments now if `can_copy`.
  VkResult add(const IndirectCommand& command, const DrawFacts& facts, QueryArguments entry,
               bool can_copy, QueryWork& work);
  // Copies what has not been copied yet. Not inside a render pass.
  void copy_pending(QueryWork& work) const;

 private:
  VkResult add_indices(const IndirectCommand& command, probe::QueryIndirect& operation,
                       QueryWork& work);
  void copy(const QueryArguments& arguments) const;

  const QueryContext& context_;
  QueryMemory& memory_;
};

}  // namespace tally::counters
