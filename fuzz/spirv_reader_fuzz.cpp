// Fuzzes the reader: for any words it returns an error, or a module that keeps the guarantees of
// spirv/ir/module.h and contains exactly the given words.
#include <algorithm>
#include <string_view>

#include "expect.h"
#include "spirv/analysis/cost.h"
#include "spirv/ir/module.h"
#include "spirv_input.h"

using tally::spirv::Instruction;
using tally::spirv::Module;

namespace {

void check_instructions(const Module& module) {
  const tally::spirv::CostModel costs(module);
  for (size_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    TALLY_FUZZ_EXPECT(instruction.word_count() >= 1);
    TALLY_FUZZ_EXPECT(instruction.word_count() == instruction.words()[0] >> 16);
    TALLY_FUZZ_EXPECT(module.word_offset(i) + instruction.word_count() ==
                      module.word_offset(i + 1));
    TALLY_FUZZ_EXPECT(instruction.operand_count() < instruction.word_count());
    instruction.string(0);
    costs.cost_of(instruction);
    if (const uint32_t id = instruction.result_id()) {
      TALLY_FUZZ_EXPECT(id < module.bound());
      TALLY_FUZZ_EXPECT(module.definition_index(id) == i);
      TALLY_FUZZ_EXPECT(module.type_of(id) == instruction.type_id());
    }
  }
}

void check_functions(const Module& module) {
  size_t blocks = 0;
  for (const tally::spirv::Function& function : module.functions()) {
    TALLY_FUZZ_EXPECT(module.instruction(function.begin).opcode() == spv::Op::OpFunction);
    TALLY_FUZZ_EXPECT(module.instruction(function.end - 1).opcode() == spv::Op::OpFunctionEnd);
    for (const tally::spirv::BlockRange& block : module.blocks_of(function)) {
      TALLY_FUZZ_EXPECT(function.begin < block.begin && block.end < function.end);
      TALLY_FUZZ_EXPECT(module.instruction(block.begin).opcode() == spv::Op::OpLabel);
      TALLY_FUZZ_EXPECT(tally::spirv::is_terminator(module.instruction(block.end - 1).opcode()));
    }
    blocks += function.block_count;
  }
  TALLY_FUZZ_EXPECT(blocks == module.blocks().size());
}

// Lookups of undefined ids are allowed, too.
void check_lookups(const Module& module) {
  const uint32_t last = std::min(module.bound(), 1u << 12);
  for (uint32_t id = 0; id <= last; ++id) {
    module.name_of(id);
    module.function_index(id);
    module.decoration(id, spv::Decoration::Location);
    module.member_decoration(id, 0, spv::Decoration::Offset);
    for (uint32_t index : module.decorations_of(id)) {
      TALLY_FUZZ_EXPECT(module.instruction(index).operand(0) == id);
    }
  }
  module.has_capability(spv::Capability::Shader);
  module.has_extension("SPV_KHR_vulkan_memory_model");
  module.ext_inst_import("GLSL.std.450");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tally::fuzz::SpirvInput input = tally::fuzz::split_input(data, size);
  const auto module = Module::parse(input.words);
  if (!module) {
    TALLY_FUZZ_EXPECT(!module.error().message.empty());
    return 0;
  }
  TALLY_FUZZ_EXPECT(std::ranges::equal(module->words(), input.words));
  check_instructions(*module);
  check_functions(*module);
  check_lookups(*module);
  return 0;
}
