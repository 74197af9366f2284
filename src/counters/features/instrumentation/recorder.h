// VK_ARM_shader_instrumentation while a command buffer is recorded: the active object, and the
// records of the commands. Used by one thread at a time. Steady state: no lock, no allocation.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <vector>

#include "counters/features/instrumentation/object.h"
#include "counters/features/instrumentation/state.h"
#include "counters/shaders/program.h"

namespace tally::counters {

class InstrumentationRecorder {
 public:
  explicit InstrumentationRecorder(const ShardTable& shards) : shards_(shards) {}

  void reset();
  void begin(const std::shared_ptr<Instrumentation>& object);
  void end();
  bool active() const { return active_ != nullptr; }
  // Objects that commands of this command buffer, or of executed secondaries, write to.
  const std::vector<std::shared_ptr<Instrumentation>>& objects() const { return objects_; }
  void execute(const InstrumentationRecorder& secondary);
  // The ranges of this command buffer whose records can be gathered at its end.
  std::vector<RecordedRange> gatherable() const;
  // Queries read the records of the active range.
  void share() { range_->stays = true; }

  const ShardTable& shards() const { return shards_; }

  // --- commands, while active
  uint32_t take_index() { return active_->take_index(); }
  // Cuts zeroed memory for a record from the open page, or from a new one.
  VkResult reserve(uint64_t bytes, uint32_t shards_log2, VkDeviceSize& offset);
  VkDeviceAddress address_of(VkDeviceSize offset) const { return page_.page.address + offset; }
  void append(uint32_t result_index, VkDeviceSize offset, uint32_t shards_log2,
              const std::shared_ptr<const Program>& program);
  // A pair of record pointers in a descriptor set.
  VkResult next_words(WordPage& page, uint32_t& index);

  // --- consecutive draws: the record that would extend the last run
  const InstrumentationRecord& next() const { return range_->next(); }
  bool next_fits(uint64_t bytes) const {
    return next().offset * probe::kRecordAlignment == page_.used &&
           page_.page.size - page_.used >= bytes;
  }
  VkDeviceAddress next_address() const { return page_.page.address + page_.used; }
  // False if another command buffer took the result index in between.
  bool append_next(uint64_t bytes) {
    if (!active_->take_index(next().result_index)) return false;
    page_.use(bytes);  // zeroed before other threads see the record
    range_->append_next();
    return true;
  }

 private:
  void close_pages();
  void add_object(const std::shared_ptr<Instrumentation>& object);

  const ShardTable& shards_;
  std::shared_ptr<Instrumentation> active_;
  RecordRange* range_ = nullptr;
  Instrumentation::OpenPage page_;
  Instrumentation::OpenWords words_;
  const Program* kept_program_ = nullptr;  // the last one that the range keeps alive
  std::vector<std::shared_ptr<Instrumentation>> objects_;
  std::vector<RecordedRange> ranges_;
};

}  // namespace tally::counters
