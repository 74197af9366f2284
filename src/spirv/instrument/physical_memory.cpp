#include "spirv/instrument/physical_memory.h"

namespace tally::spirv {

using spv::Op;

PhysicalMemory::PhysicalMemory(PassContext& context)
    : editor_(context.editor),
      scope_(editor_.constant_u32(
          word(context.vulkan_memory_model ? spv::Scope::QueueFamily : spv::Scope::Device))),
      use_int64_(context.use_int64),
      relaxed_(editor_.constant_u32(word(spv::MemorySemanticsMask::MaskNone))) {}

uint32_t PhysicalMemory::add(InstructionBuilder& code, uint32_t type, uint32_t pointer,
                             uint32_t value) const {
  return code.emit(Op::OpAtomicIAdd, type, {pointer, scope_, relaxed_, value});
}

uint32_t PhysicalMemory::advance_64(InstructionBuilder& code, uint32_t address,
                                    uint32_t bytes) const {
  const uint32_t u64 = editor_.type_int(64);
  const uint32_t from = code.emit(Op::OpBitcast, u64, {address});
  const uint32_t distance = code.emit(Op::OpUConvert, u64, {bytes});
  const uint32_t sum = code.emit(Op::OpIAdd, u64, {from, distance});
  return code.emit(Op::OpBitcast, editor_.type_vector(editor_.type_int(32), 2), {sum});
}

uint32_t PhysicalMemory::advance(InstructionBuilder& code, uint32_t address, uint32_t bytes) const {
  const uint32_t u32 = editor_.type_int(32);
  if (use_int64_) return advance_64(code, address, bytes);
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32, {address, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32, {address, 1});
  const uint32_t sum = code.emit(Op::OpIAdd, u32, {low, bytes});
  const uint32_t overflows = code.emit(Op::OpULessThan, editor_.type_bool(), {sum, low});
  const uint32_t carry =
      code.emit(Op::OpSelect, u32, {overflows, editor_.constant_u32(1), editor_.constant_u32(0)});
  const uint32_t sum_high = code.emit(Op::OpIAdd, u32, {high, carry});
  return code.emit(Op::OpCompositeConstruct, editor_.type_vector(u32, 2), {sum, sum_high});
}

}  // namespace tally::spirv
