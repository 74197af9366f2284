// The tagged pointers that instrumented code reads: to its record, and after it to the region
// block, in a push constant or at the start of a uniform buffer.
#pragma once

#include "base/status.h"
#include "spirv/instrument/context.h"

namespace tally::spirv {

// True if the application's push constants go to memory (AddressSource::block_address).
bool moves_push_constants(const Module& module, const EntryPoint& entry,
                          const AddressSource& address);

class TaggedRecordPointers {
 public:
  // The record of the block counts, and the block of the region counters (probe/region.h).
  enum class Kind : uint32_t { Record, Region };

  // Has both pointers if the pass counts by region.
  static Result<TaggedRecordPointers> make(PassContext& context);

  // A pointer of type(), its lower 32 bits, and whether it is set.
  uint32_t load(InstructionBuilder& code, Kind kind) const;
  uint32_t low_word(InstructionBuilder& code, uint32_t pointer) const;
  uint32_t is_set(InstructionBuilder& code, uint32_t record_pointer) const;
  // Not 0 if the upper 16 bits of the instance index hold the packed draw index: kNumberedDraws.
  uint32_t numbered_draws(InstructionBuilder& code, uint32_t record_pointer) const;
  // The pointer as a 64-bit word. The module has the capability Int64.
  uint32_t as_u64(InstructionBuilder& code, uint32_t pointer) const;
  // Two 32-bit words, or one 64-bit word where lavapipe would have to make one of two.
  uint32_t type() const { return type_; }

 private:
  explicit TaggedRecordPointers(PassContext& context);
  Status make_push_constant();
  void make_uniform_buffer();
  uint32_t new_pointers_struct() const;

  Editor& editor_;
  const PassContext& context_;
  uint32_t u32_;
  bool two_;
  bool wide_;
  uint32_t type_;
  uint32_t variable_ = 0;
  uint32_t member_ = 0;
  spv::StorageClass storage_ = spv::StorageClass::PushConstant;
};

}  // namespace tally::spirv
