#include "spirv/analysis/interface.h"

#include <algorithm>
#include <vector>

#include "spirv/ir/module.h"

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
    const size_t count = module.declarations_end();
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

namespace {

using spv::Decoration;
using spv::ExecutionMode;
using spv::Op;

// The decorations of a variable or of a member of its block, which inherits those of the variable.
struct Capture {
  std::optional<uint32_t> buffer, stride, stream;
  bool captured = false;  // it has an offset

  Capture or_of(const Capture& whole) const {
    return {buffer ? buffer : whole.buffer, stride ? stride : whole.stride,
            stream ? stream : whole.stream, captured};
  }
};

template <typename Find>
Capture capture_of(Find&& find) {
  return {find(Decoration::XfbBuffer), find(Decoration::XfbStride), find(Decoration::Stream),
          find(Decoration::Offset).has_value()};
}

class Reader {
 public:
  explicit Reader(const Module& module) : module_(module) {}

  void add_variable(uint32_t variable) {
    const auto definition = module_.definition(variable);
    if (!definition || definition->opcode() != Op::OpVariable) return;
    const auto pointer = module_.definition(module_.type_of(variable));
    if (!pointer || pointer->opcode() != Op::OpTypePointer) return;
    if (static_cast<spv::StorageClass>(pointer->operand(0)) != spv::StorageClass::Output) return;
    const uint32_t type_id = pointer->operand(1);
    const Capture whole =
        capture_of([&](Decoration decoration) { return module_.decoration(variable, decoration); });
    add(whole);
    const auto type = module_.definition(type_id);
    if (!type || type->opcode() != Op::OpTypeStruct) return;
    for (uint32_t member = 0; member < type->operand_count(); ++member) {
      const Capture part = capture_of([&](Decoration decoration) {
        return module_.member_decoration(type_id, member, decoration);
      });
      add(part.or_of(whole));
    }
  }

  const FeedbackLayout& layout() const { return layout_; }
  FeedbackLayout& layout() { return layout_; }

 private:
  void add(const Capture& capture) {
    if (!capture.captured || !capture.buffer || !capture.stride) return;
    if (*capture.buffer >= FeedbackLayout::kBuffers) return;
    FeedbackLayout::Buffer& buffer = layout_.buffers[*capture.buffer];
    buffer.stride = *capture.stride;
    buffer.stream = capture.stream.value_or(0);
  }

  const Module& module_;
  FeedbackLayout layout_;
};

uint32_t output_vertices(const Module& module, const EntryPoint& entry) {
  const bool tessellates = entry.model == spv::ExecutionModel::TessellationEvaluation;
  uint32_t vertices = tessellates ? 3 : 0;
  for (const uint32_t mode : module.execution_modes(entry)) {
    switch (static_cast<ExecutionMode>(module.instruction(mode).operand(1))) {
      case ExecutionMode::OutputPoints:
      case ExecutionMode::PointMode:
        return 1;
      case ExecutionMode::OutputLineStrip:
      case ExecutionMode::Isolines:
        vertices = 2;
        break;
      case ExecutionMode::OutputTriangleStrip:
        vertices = 3;
        break;
      default:
        break;
    }
  }
  return vertices;
}

}  // namespace

FeedbackLayout feedback_layout(const Module& module, const EntryPoint& entry) {
  Reader reader(module);
  for (const uint32_t variable : entry.interface) reader.add_variable(variable);
  reader.layout().primitive_vertices = output_vertices(module, entry);
  return reader.layout();
}

namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

constexpr auto byte_sum = saturating_sum<kMaxBytes>;
constexpr auto byte_product = saturating_product<kMaxBytes>;

// One entry for each instruction before the first function, made in one pass, so that types of
// types cost no more than their own words.
class Extents {
 public:
  explicit Extents(const Module& module) : module_(module), types_(module) {
    const size_t count = module.declarations_end();
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

namespace {

// The constant that is the workgroup's size, whatever the execution mode says.
std::optional<uint32_t> size_constant(const Module& module) {
  for (const uint32_t i : module.decorations()) {
    const Instruction decoration = module.instruction(i);
    if (decoration.opcode() == spv::Op::OpDecorate && decoration.operand_count() > 2 &&
        static_cast<spv::Decoration>(decoration.operand(1)) == spv::Decoration::BuiltIn &&
        static_cast<spv::BuiltIn>(decoration.operand(2)) == spv::BuiltIn::WorkgroupSize) {
      return decoration.operand(0);
    }
  }
  return std::nullopt;
}

// The values of three constants.
std::optional<WorkgroupSize> size_of(const Module& module, std::span<const uint32_t> ids,
                                     bool specialized) {
  WorkgroupSize size{};
  if (ids.size() != size.size()) return std::nullopt;
  for (size_t i = 0; i < size.size(); ++i) {
    const auto value = module.constant_value(ids[i]);
    if (!value || (!specialized && module.is_specialization_constant(ids[i]))) return std::nullopt;
    size[i] = static_cast<uint32_t>(*value);
  }
  return size;
}

std::optional<WorkgroupSize> workgroup_size(const Module& module, const EntryPoint& entry,
                                            bool specialized) {
  if (const auto constant = size_constant(module)) {
    const auto composite = module.definition(*constant);
    if (!composite || (composite->opcode() != spv::Op::OpConstantComposite &&
                       (!specialized || composite->opcode() != spv::Op::OpSpecConstantComposite)))
      return std::nullopt;
    return size_of(module, composite->operands(), specialized);
  }
  for (const uint32_t i : module.execution_modes(entry)) {
    const Instruction mode = module.instruction(i);
    if (mode.operand_count() != 5) continue;
    const auto kind = static_cast<spv::ExecutionMode>(mode.operand(1));
    if (kind == spv::ExecutionMode::LocalSize)
      return WorkgroupSize{mode.operand(2), mode.operand(3), mode.operand(4)};
    if (kind == spv::ExecutionMode::LocalSizeId && specialized)
      return size_of(module, mode.operands().subspan(2), specialized);
  }
  return std::nullopt;
}

}  // namespace

std::optional<WorkgroupSize> workgroup_size(const Module& module, const EntryPoint& entry) {
  return workgroup_size(module, entry, module.is_fixed());
}

std::optional<WorkgroupSize> specialized_workgroup_size(const Module& module,
                                                        const EntryPoint& entry) {
  return workgroup_size(module, entry, true);
}

}  // namespace tally::spirv
