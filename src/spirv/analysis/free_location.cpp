#include "spirv/analysis/free_location.h"

#include <algorithm>
#include <vector>

#include "spirv/ir/saturating.h"
#include "spirv/ir/types.h"

namespace tally::spirv {
namespace {

using spv::Decoration;
using spv::Op;

// More locations than any interface has, and the result of saturating arithmetic.
constexpr uint64_t kTooMany = uint64_t{1} << 12;

constexpr auto location_sum = saturating_sum<kTooMany>;
constexpr auto location_product = saturating_product<kTooMany>;

class Locations {
 public:
  explicit Locations(const Module& module) : module_(module), types_(module) {
    const size_t count =
        module.functions().empty() ? module.instruction_count() : module.functions().front().begin;
    extents_.reserve(count);
    for (size_t index = 0; index < count; ++index) {
      extents_.push_back(make(module.instruction(index)));
    }
  }

  // The first Location after those of a variable; kTooMany if not known.
  uint64_t end_of(const Instruction& variable) const {
    const uint32_t id = variable.result_id();
    if (module_.decoration(id, Decoration::BuiltIn)) return 0;
    const auto pointer = module_.definition(variable.type_id());
    if (!pointer || pointer->opcode() != Op::OpTypePointer) return kTooMany;
    uint32_t type = pointer->operand(1);
    if (is_per_vertex(id, type)) type = element(type);
    const auto location = module_.decoration(id, Decoration::Location);
    const Extent extent = of(type);
    if (extent.block != 0) return end_of_block(extent, location);
    return location ? location_sum(*location, extent.size) : kTooMany;
  }

 private:
  // The locations that a type occupies.
  struct Extent {
    uint64_t size = kTooMany;  // in locations, without gaps
    uint32_t block = 0;        // the struct, also of an array of structs
    uint64_t blocks = 1;       // how many of them
  };
  struct Member {
    bool is_builtin = false;
    std::optional<uint32_t> location;
  };

  // A type that is not declared before its use has no size.
  Extent of(uint32_t type) const {
    const uint32_t index = module_.definition_index(type);
    return index < extents_.size() ? extents_[index] : Extent{};
  }

  uint32_t element(uint32_t array) const {
    const auto type = module_.definition(array);
    const bool is_array =
        type && (type->opcode() == Op::OpTypeArray || type->opcode() == Op::OpTypeRuntimeArray);
    return is_array ? type->operand(0) : 0;
  }

  // A per-vertex input of a fragment shader: an array of the vertex stage's output.
  bool is_per_vertex(uint32_t variable, uint32_t type) const {
    return module_.decoration(variable, Decoration::PerVertexKHR) ||
           module_.member_decoration(element(type), 0, Decoration::PerVertexKHR);
  }

  Extent make(const Instruction& type) const {
    switch (type.opcode()) {
      case Op::OpTypeArray:
        return array(type);
      case Op::OpTypeStruct:
        return structure(type);
      case Op::OpTypeInt:
      case Op::OpTypeFloat:
      case Op::OpTypeVector:
      case Op::OpTypeMatrix: {
        const TypeShape& shape = types_.shape(type.result_id());
        return {location_product(shape.columns, shape.width == 64 && shape.rows > 2 ? 2 : 1)};
      }
      default:
        return {};
    }
  }

  Extent array(const Instruction& type) const {
    Extent extent = of(type.operand(0));
    const bool is_fixed = module_.opcode_of(type.operand(1)) == Op::OpConstant;
    const uint64_t length =
        is_fixed ? module_.constant_value(type.operand(1)).value_or(kTooMany) : kTooMany;
    extent.size = location_product(extent.size, length);
    extent.blocks = location_product(extent.blocks, length);
    return extent;
  }

  Extent structure(const Instruction& type) const {
    Extent extent{0, type.result_id()};
    for (const uint32_t member : type.operands())
      extent.size = location_sum(extent.size, of(member).size);
    return extent;
  }

  std::vector<Member> members_of(uint32_t block, size_t count) const {
    std::vector<Member> members(count);
    for (const uint32_t index : module_.decorations_of(block)) {
      const Instruction decoration = module_.instruction(index);
      if (decoration.opcode() != Op::OpMemberDecorate || decoration.operand(1) >= count) continue;
      Member& member = members[decoration.operand(1)];
      const auto what = static_cast<Decoration>(decoration.operand(2));
      if (what == Decoration::BuiltIn) member.is_builtin = true;
      if (what == Decoration::Location) member.location = decoration.operand(3);
    }
    return members;
  }

  // Members have their own Location or follow the member before. Blocks of an array are assumed to
  // follow each other, each with the gaps of a single block.
  uint64_t end_of_block(const Extent& extent, std::optional<uint32_t> location) const {
    const auto definition = module_.definition(extent.block);
    const auto types = definition->operands();
    if (types.size() > kTooMany) return kTooMany;
    const std::vector<Member> members = members_of(extent.block, types.size());
    uint64_t next = location ? *location : kTooMany;
    uint64_t begin = kTooMany;
    uint64_t end = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i].is_builtin) continue;
      const uint64_t first = members[i].location ? *members[i].location : next;
      next = location_sum(first, of(types[i]).size);
      begin = std::min(begin, first);
      end = std::max(end, next);
    }
    return end <= begin ? end : location_sum(begin, location_product(extent.blocks, end - begin));
  }

  const Module& module_;
  TypeTable types_;
  std::vector<Extent> extents_;  // by instruction index
};

}  // namespace

std::optional<uint32_t> first_free_location(const Module& module, const EntryPoint& entry,
                                            spv::StorageClass storage) {
  if (module.decorates_in_groups()) return std::nullopt;
  const Locations locations(module);
  uint64_t end = 0;
  for (const uint32_t id : entry.interface) {
    const auto variable = module.definition(id);
    if (!variable || variable->opcode() != Op::OpVariable) continue;
    if (variable->operand(0) != static_cast<uint32_t>(storage)) continue;
    end = std::max(end, locations.end_of(*variable));
  }
  if (end >= kTooMany) return std::nullopt;
  return static_cast<uint32_t>(end);
}

}  // namespace tally::spirv
