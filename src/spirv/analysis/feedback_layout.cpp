#include "spirv/analysis/feedback_layout.h"

#include <optional>

namespace tally::spirv {
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

}  // namespace tally::spirv
