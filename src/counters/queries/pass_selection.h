// One recording serves all passes of a performance query. Before each submission the host selects
// its pass: whether shaders count, and which of two recordings of a command the GPU executes.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <vector>

#include "counters/memory/host_blocks.h"
#include "counters/memory/word_pool.h"
#include "counters/queries/batch.h"
#include "counters/queries/context.h"

namespace tally::counters {

// Record pointers that shaders read through a descriptor set.
struct DescriptorPointers {
  WordPage page;
  uint32_t index = 0;
  uint64_t record = 0;  // null in passes that count nothing
  uint64_t region = 0;
};

class PassSelection {
 public:
  PassSelection(const QueryContext& context, QueryBatches& batches)
      : context_(context), batches_(batches) {}

  void reset();
  // Around a command that is recorded twice, by conditional rendering: the GPU executes the
  // counting variant in passes that count, and the other in passes that take the time.
  VkResult begin_variant(bool counting);
  void end_variant() const;
  void add(const DescriptorPointers& pointers);
  // Executed command buffers belong to the same submission.
  void follow(const PassSelection& executed);
  // Before a submission.
  void select(uint32_t pass) const;

 private:
  const QueryContext& context_;
  QueryBatches& batches_;
  std::optional<HostBlock> condition_;  // of this command buffer
  std::vector<HostBlock> conditions_;   // with those of executed ones
  std::vector<DescriptorPointers> pointers_;
};

}  // namespace tally::counters
