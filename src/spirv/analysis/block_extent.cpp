#include "spirv/analysis/block_extent.h"

#include <algorithm>
#include <vector>

#include "spirv/ir/saturating.h"
#include "spirv/ir/types.h"

namespace tally::spirv {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

constexpr auto byte_sum = saturating_sum<kMaxBytes>;
constexpr auto byte_product = saturating_product<kMaxBytes>;

// One entry for each instruction before the first function, made in one pass, so that types of
// types cost no more than their own words.
class Extents {
 public:
  explicit Extents(const Module& module) : module_(module), types_(module) {
    const size_t count =
        module.functions().empty() ? module.instruction_count() : module.functions().front().begin;
    extents_.reserve(count);
    for (size_t index = 0; index < count; ++index) {
      extents_.push_back(make(module.instruction(index)));
    }
  }

  uint64_t of_struct(uint32_t id) const { return of(id).bytes; }

 private:
  // How a matrix lies in memory is decorated where it is a member, so an array of matrices is known
  // only up to its last matrix.
  struct Extent {
    uint64_t bytes = 0;   // without that matrix
    uint32_t matrix = 0;  // a type, or 0
  };

  struct Member {
    uint64_t offset = 0;
    uint32_t matrix_stride = 0;
    bool row_major = false;
  };

  Extent of(uint32_t type) const {
    const uint32_t index = module_.definition_index(type);
    return index < extents_.size() ? extents_[index] : Extent{};
  }

  Extent make(const Instruction& type) const {
    switch (type.opcode()) {
      case spv::Op::OpTypeMatrix:
        return {0, type.result_id()};
      case spv::Op::OpTypeArray:
        return array(type);
      case spv::Op::OpTypeStruct:
        return {structure(type), 0};
      default:
        return {types_.shape(type.result_id()).bytes, 0};
    }
  }

  Extent array(const Instruction& type) const {
    Extent extent = of(type.operand(0));
    const uint64_t length = module_.constant_value(type.operand(1)).value_or(1);
    const uint64_t stride =
        module_.decoration(type.result_id(), spv::Decoration::ArrayStride).value_or(0);
    if (length > 0) extent.bytes = byte_sum(extent.bytes, byte_product(length - 1, stride));
    return extent;
  }

  uint64_t structure(const Instruction& type) const {
    std::vector<Member> members(type.operand_count());
    for (const uint32_t index : module_.decorations_of(type.result_id())) {
      const Instruction decoration = module_.instruction(index);
      if (decoration.opcode() != spv::Op::OpMemberDecorate) continue;
      if (decoration.operand(1) < members.size()) note(decoration, members[decoration.operand(1)]);
    }
    uint64_t end = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      const Extent extent = of(type.operand(i));
      end =
          std::max(end, byte_sum(members[i].offset,
                                 byte_sum(extent.bytes, matrix_bytes(extent.matrix, members[i]))));
    }
    return end;
  }

  static void note(const Instruction& decoration, Member& member) {
    switch (static_cast<spv::Decoration>(decoration.operand(2))) {
      case spv::Decoration::Offset:
        member.offset = decoration.operand(3);
        return;
      case spv::Decoration::MatrixStride:
        member.matrix_stride = decoration.operand(3);
        return;
      case spv::Decoration::RowMajor:
        member.row_major = true;
        return;
      default:
        return;
    }
  }

  uint64_t matrix_bytes(uint32_t matrix, const Member& member) const {
    if (matrix == 0) return 0;
    const TypeShape& shape = types_.shape(matrix);
    const uint64_t vectors = member.row_major ? shape.rows : shape.columns;
    const uint64_t components = member.row_major ? shape.columns : shape.rows;
    if (vectors == 0) return 0;
    return byte_sum(byte_product(vectors - 1, member.matrix_stride),
                    (byte_product(components, shape.width) + 7) / 8);
  }

  const Module& module_;
  TypeTable types_;
  std::vector<Extent> extents_;  // by instruction index
};

}  // namespace

uint64_t block_extent(const Module& module, uint32_t struct_id) {
  return Extents(module).of_struct(struct_id);
}

}  // namespace tally::spirv
