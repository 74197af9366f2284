// The code that enters the lines that accesses touch into a LineSketch (plan/counter_plan.h).
#include "probe/record.h"
#include "spirv/analysis/sites.h"
#include "spirv/instrument/memory_counting.h"
#include "spirv/instrument/record_writer.h"

namespace tally::spirv {

using spv::Op;

namespace {
constexpr uint32_t kSketchedShift = 7;
static_assert(1u << kSketchedShift == kLineBytes);
// Odd factors that spread small numbers over 32 bits.
constexpr uint32_t kScatter = 0x9e3779b1, kElementScatter = 0x7feb352d;
constexpr uint32_t kBindings = 1u << 16;  // of a set, for its number in a hash
}  // namespace

// The load is atomic: an old value in a cache would cost an atomic operation each time.
void RecordWriter::set_bits(InstructionBuilder& code, const RecordPointer& record_pointer,
                            uint32_t word, uint32_t bits) {
  if (!context_.use_int64) {
    words_pointer_type_ = counters_pointer_type();
  } else if (words_pointer_type_ == 0) {
    words_pointer_type_ = array_pointer_type(u32_, sizeof(uint32_t));
  }
  const uint32_t counters =
      pointer_at(code, first_shard(code, record_pointer), words_pointer_type_);
  const uint32_t type = editor_.type_pointer(spv::StorageClass::PhysicalStorageBuffer, u32_);
  const uint32_t pointer = code.access_chain(type, counters, {editor_.constant_u32(0), word});
  const uint32_t old =
      code.emit(Op::OpAtomicLoad, u32_, {pointer, memory_.scope(), memory_.relaxed()});
  const uint32_t lacks =
      code.emit(Op::OpINotEqual, boolean_, {emit(code, Op::OpBitwiseAnd, old, bits), bits});
  code.if_then(lacks, [&] {
    code.emit(Op::OpAtomicOr, u32_, {pointer, memory_.scope(), memory_.relaxed(), bits});
  });
}

// A number of the buffer that a variable names: the same for variables of one binding.
uint32_t MemoryCounting::number_of(uint32_t variable) const {
  const Module& module = tools_.context.module();
  const auto set = module.decoration(variable, spv::Decoration::DescriptorSet);
  const auto binding = module.decoration(variable, spv::Decoration::Binding);
  if (!binding) return variable * kScatter;
  return (set.value_or(0) * kBindings + *binding + 1) * kScatter;
}

// Enters the lines of an access into the sketch.
void MemoryCounting::sketch_lines(InstructionBuilder& code, const MemoryAccess& access,
                                  const Begin& begin) {
  const bool is_address = access.variable == 0;
  uint32_t line = binary(code, Op::OpShiftRightLogical, begin.byte, constant(kSketchedShift));
  uint32_t resource = 0;
  if (is_address) {
    // 32 bits of the line's number; the others tell resources apart.
    const uint32_t upper =
        binary(code, Op::OpShiftLeftLogical, begin.resource, constant(32 - kSketchedShift));
    line = binary(code, Op::OpBitwiseOr, line, upper);
    resource = binary(code, Op::OpShiftRightLogical, begin.resource, constant(kSketchedShift));
  } else {
    resource = constant(number_of(access.variable));
    if (begin.resource != 0) {
      const uint32_t element = binary(code, Op::OpIMul, begin.resource, constant(kElementScatter));
      resource = binary(code, Op::OpIAdd, resource, element);
    }
  }
  if (sketch_line_ == 0) sketch_line_ = editor_.new_id();
  if (access.is_in_one(kLineBytes)) {
    code.call(none_, sketch_line_, {resource, line});
    return;
  }
  if (sketch_lines_ == 0) sketch_lines_ = editor_.new_id();
  const uint32_t inside = binary(code, Op::OpBitwiseAnd, begin.byte, constant(kLineBytes - 1));
  const uint32_t end = plus(code, inside, access.extent - 1);
  const uint32_t more = binary(code, Op::OpShiftRightLogical, end, constant(kSketchedShift));
  code.call(none_, sketch_lines_, {resource, line, more});
}

void MemoryCounting::finish_sketch() {
  if (sketch_line_ == 0) return;
  const auto times = [&](InstructionBuilder& code, uint32_t number, uint32_t factor) {
    return binary(code, Op::OpIMul, number, constant(factor));
  };
  const auto folded = [&](InstructionBuilder& code, uint32_t number, uint32_t shift) {
    const uint32_t upper = binary(code, Op::OpShiftRightLogical, number, constant(shift));
    return binary(code, Op::OpBitwiseXor, number, upper);
  };
  make_function(tools_.context, sketch_line_, "tally.sketch_line", {u32_, u32_},
                [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                  if_counting(tools_, code, [&](const RecordPointer& record) {
                    // Lines of one resource have different hashes: each step can be undone.
                    uint32_t hash = folded(code, times(code, parameters[1], kScatter), 15);
                    hash = binary(code, Op::OpBitwiseXor, hash, parameters[0]);
                    hash = times(code, folded(code, hash, 16), 0x85ebca6b);
                    hash = times(code, folded(code, hash, 13), 0xc2b2ae35);
                    hash = folded(code, hash, 16);
                    const uint32_t row =
                        binary(code, Op::OpBitwiseAnd, hash, constant(LineSketch::kRows - 1));
                    // The lowest bit that is set in the rest, or the one above it.
                    uint32_t rest = binary(code, Op::OpShiftRightLogical, hash,
                                           constant(LineSketch::kRowsLog2));
                    rest = binary(code, Op::OpBitwiseOr, rest, constant(1u << LineSketch::kBits));
                    const uint32_t negative = code.emit(Op::OpSNegate, u32_, {rest});
                    const uint32_t bit = binary(code, Op::OpBitwiseAnd, rest, negative);
                    tools_.record.set_bits(code, record, plus(code, row, 2 * sketch_), bit);
                  });
                });
  if (sketch_lines_ == 0) return;
  make_function(tools_.context, sketch_lines_, "tally.sketch_lines", {u32_, u32_, u32_},
                [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                  code.repeat(u32_, constant(0), [&](uint32_t distance) {
                    const uint32_t line = binary(code, Op::OpIAdd, parameters[1], distance);
                    code.call(none_, sketch_line_, {parameters[0], line});
                    const uint32_t again = compare(code, Op::OpULessThan, distance, parameters[2]);
                    return InstructionBuilder::Turn{plus(code, distance, 1), again};
                  });
                });
}

}  // namespace tally::spirv
