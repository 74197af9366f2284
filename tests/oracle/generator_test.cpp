// The random programs hold every shape that they are said to hold, are valid and come to their end.
#include "oracle/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "oracle/interpreter.h"
#include "spirv/analysis/cfg.h"
#include "spirv/analysis/launch_inputs.h"
#include "spirv/analysis/loop_bounds.h"
#include "spirv/plan/trip_counts.h"
#include "support/gpu_run.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

using spirv::Cfg;
using spirv::CfgBlock;
using spirv::Instruction;
using spirv::MergeKind;
using spirv::Module;
using spv::Op;

constexpr uint64_t kSeeds = 300;
constexpr size_t kAtLeast = 3;  // programs that hold a shape

// How many programs hold each shape, by its name.
using Shapes = std::map<std::string, size_t>;

struct Code {
  Module module;
  std::vector<Cfg> cfgs;
};

Code code_of(const RandomProgram& random) {
  const auto words = assemble(random.text, SPV_ENV_UNIVERSAL_1_3);
  EXPECT_EQ(validate(words, SPV_ENV_VULKAN_1_3), "");
  auto module = Module::parse(words);
  if (!module) throw std::runtime_error(module.error().message);
  std::vector<Cfg> cfgs;
  for (const spirv::Function& function : module->functions()) {
    auto cfg = Cfg::build(*module, function);
    if (!cfg) throw std::runtime_error(cfg.error().message);
    cfgs.push_back(*std::move(cfg));
  }
  return {*std::move(module), std::move(cfgs)};
}

// The blocks between a header and its merge block, the header left away.
std::vector<uint32_t> construct_of(const Cfg& cfg, uint32_t header) {
  std::vector<bool> seen(cfg.blocks().size());
  std::vector<uint32_t> inside, work(cfg.successors(header).begin(), cfg.successors(header).end());
  seen[header] = seen[cfg.blocks()[header].merge_block] = true;
  while (!work.empty()) {
    const uint32_t block = work.back();
    work.pop_back();
    if (seen[block]) continue;
    seen[block] = true;
    inside.push_back(block);
    work.insert(work.end(), cfg.successors(block).begin(), cfg.successors(block).end());
  }
  return inside;
}

std::string kind_of(const CfgBlock& header) {
  if (header.merge == MergeKind::Loop) return "loop";
  return header.terminator == Op::OpSwitch ? "switch" : "selection";
}

class Finder {
 public:
  explicit Finder(const Code& code) : code_(code) {}

  std::map<std::string, bool> find() {
    find_instructions();
    find_trips();
    for (size_t f = 0; f < code_.cfgs.size(); ++f) {
      for (uint32_t block = 0; block < code_.cfgs[f].blocks().size(); ++block) {
        find_at(code_.cfgs[f], block);
      }
      find_returns(code_.module.functions()[f]);
    }
    return std::move(found_);
  }

 private:
  void see(const std::string& shape) { found_[shape] = true; }

  Op opcode_of(uint32_t id) const {
    const auto definition = code_.module.definition(id);
    return definition ? definition->opcode() : Op::OpNop;
  }

  void find_instructions() {
    for (size_t i = 0; i < code_.module.instruction_count(); ++i) {
      const Instruction instruction = code_.module.instruction(i);
      switch (instruction.opcode()) {
        case Op::OpFunctionCall:
          see("call");
          break;
        case Op::OpKill:
          see("kill");
          break;
        case Op::OpTerminateInvocation:
          see("termination");
          break;
        case Op::OpDemoteToHelperInvocation:
          see("demotion");
          break;
        case Op::OpPhi:
          see("phi");
          break;
        case Op::OpUnreachable:
          see("merge block that nothing reaches");
          break;
        case Op::OpSLessThan:
        case Op::OpSGreaterThan:
          see("comparison of signed numbers");
          break;
        case Op::OpBranchConditional:
          find_condition(*code_.module.definition(instruction.operand(0)));
          break;
        default:
          break;
      }
    }
  }

  void find_condition(const Instruction& condition) {
    if (condition.operand_count() > 0 && opcode_of(condition.operand(0)) == Op::OpSpecConstant) {
      see("condition of a specialization constant");
    }
  }

  // Loops with a given number of iterations.
  void find_trips() {
    const spirv::AnalyzedModule analyzed(code_.module);
    const auto graph = spirv::SegmentGraph::build(analyzed, analyzed.module().entry_points()[0]);
    if (!graph) throw std::runtime_error(graph.error().message);
    for (const spirv::TripCount& trip : spirv::find_trip_counts(analyzed, *graph)) {
      see(trip.in_memory ? "variable that counts a loop" : "phi that counts a loop");
      if (trip.inverse != 1) see("step that is not 1");
      if (trip.shift != 0) see("even step");
      const Op first = opcode_of(trip.first);
      if (first == Op::OpSpecConstant) see("first value that is specialized");
      if (first != Op::OpSpecConstant && first != Op::OpConstant)
        see("first value that is computed");
    }
    if (!graph->constant_loops.empty()) see("loop of a constant number of iterations");
    const auto is_bounded = [](const spirv::CfgSegment& segment) {
      return segment.bound > 1 && segment.bound < spirv::kUnbounded;
    };
    if (std::ranges::any_of(graph->segments, is_bounded)) see("loop with a bound");
  }

  void find_returns(const spirv::Function& function) {
    size_t returns = 0;
    for (uint32_t i = function.begin; i < function.end; ++i) {
      if (code_.module.instruction(i).opcode() == Op::OpReturnValue) ++returns;
    }
    if (returns > 1) see("early return");
  }

  void find_at(const Cfg& cfg, uint32_t block) {
    const CfgBlock& header = cfg.blocks()[block];
    if (header.merge == MergeKind::None || !header.reachable) return;
    for (const uint32_t inner : construct_of(cfg, block)) {
      const CfgBlock& other = cfg.blocks()[inner];
      if (other.merge != MergeKind::None) see(kind_of(other) + " in a " + kind_of(header));
    }
    if (header.merge == MergeKind::Loop) find_loop(cfg, block);
    if (header.terminator == Op::OpSwitch) find_switch(cfg, block);
  }

  void find_loop(const Cfg& cfg, uint32_t block) {
    const CfgBlock& header = cfg.blocks()[block];
    if (header.continue_target == block) return see("loop of one block");
    if (cfg.predecessors(header.merge_block).size() > 1) see("loop with several exits");
    if (cfg.predecessors(header.continue_target).size() > 1) see("loop with several continues");
    for (const uint32_t next : cfg.successors(block)) {
      if (next == header.merge_block) see("loop that tests first");
    }
    for (const uint32_t next : cfg.successors(header.continue_target)) {
      if (next == header.merge_block) see("loop that tests last");
    }
  }

  void find_switch(const Cfg& cfg, uint32_t block) {
    const CfgBlock& header = cfg.blocks()[block];
    const Instruction instruction = code_.module.instruction(header.end - 1);
    if (cfg.successors(block).size() < spirv::branch_targets(code_.module, instruction).size()) {
      see("switch with several literals for a target");
    }
    for (const uint32_t target : cfg.successors(block)) {
      if (target != header.merge_block && cfg.predecessors(target).size() > 1) {
        see("switch that falls through");
      }
    }
  }

  const Code& code_;
  std::map<std::string, bool> found_;
};

// True if invocations go different ways: a block that some execute and others do not.
bool diverges(const Code& code, const RandomProgram& random, ProgramKind kind) {
  constexpr uint32_t kInvocations = 8;  // a subgroup of lavapipe
  constexpr spv::ExecutionModel kModels[] = {
      spv::ExecutionModel::GLCompute, spv::ExecutionModel::Fragment, spv::ExecutionModel::Vertex};
  std::map<uint32_t, uint32_t> specialization;
  for (size_t i = 0; i + 1 < random.specialization.size(); i += 2) {
    specialization[random.specialization[i]] = random.specialization[i + 1];
  }
  Interpreter interpreter(code.module, kModels[static_cast<size_t>(kind)], specialization);
  interpreter.buffer().assign(kInvocations, 0);
  for (uint32_t i = 0; i < kInvocations; ++i) {
    interpreter.run({.global_id = {i, 0, 0},
                     .frag_coord = {static_cast<float>(i) + 0.5f, 0.5f, 0.5f, 1},
                     .vertex_index = i});
  }
  return std::ranges::any_of(interpreter.executions(),
                             [](uint64_t count) { return count > 0 && count < kInvocations; });
}

Shapes shapes_of(ProgramKind kind) {
  Shapes shapes;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomProgram random = random_program(seed, kind);
    const Code code = code_of(random);
    for (const auto& [shape, held] : Finder(code).find()) shapes[shape] += held;
    shapes["divergence"] += diverges(code, random, kind);
  }
  return shapes;
}

const char* const kShapes[] = {"selection in a selection",
                               "selection in a switch",
                               "selection in a loop",
                               "switch in a selection",
                               "switch in a switch",
                               "switch in a loop",
                               "loop in a selection",
                               "loop in a switch",
                               "loop in a loop",
                               "loop of one block",
                               "loop that tests first",
                               "loop that tests last",
                               "loop with several exits",
                               "loop with several continues",
                               "switch that falls through",
                               "switch with several literals for a target",
                               "variable that counts a loop",
                               "phi that counts a loop",
                               "step that is not 1",
                               "even step",
                               "first value that is specialized",
                               "first value that is computed",
                               "loop of a constant number of iterations",
                               "loop with a bound",
                               "comparison of signed numbers",
                               "early return",
                               "call",
                               "phi",
                               "merge block that nothing reaches",
                               "condition of a specialization constant",
                               "divergence"};

class GeneratorTest : public testing::TestWithParam<ProgramKind> {};

TEST_P(GeneratorTest, every_shape_occurs_in_programs_that_are_valid_and_end) {
  const Shapes shapes = shapes_of(GetParam());
  const auto count = [&](const char* shape) {
    const auto found = shapes.find(shape);
    return found == shapes.end() ? 0 : found->second;
  };
  for (const char* shape : kShapes) EXPECT_GE(count(shape), kAtLeast) << shape;
  for (const char* shape : {"kill", "termination", "demotion"}) {
    if (GetParam() == ProgramKind::Fragment) {
      EXPECT_GE(count(shape), kAtLeast) << shape;
    } else {
      EXPECT_EQ(count(shape), 0u) << shape;
    }
  }
}

TEST_P(GeneratorTest, a_seed_is_a_program) {
  EXPECT_EQ(random_program(7, GetParam()).text, random_program(7, GetParam()).text);
  EXPECT_NE(random_program(7, GetParam()).text, random_program(8, GetParam()).text);
}

std::string replaced(std::string text, std::string_view old, std::string_view with) {
  const size_t at = text.find(old);
  if (at == text.npos) throw std::runtime_error("the frame of the programs is another one");
  return text.replace(at, old.size(), with);
}

// The executions of all blocks, where each word of the buffer is `fill` plus its index.
std::vector<uint64_t> executions_with(const RandomProgram& random, const Code& code,
                                      uint32_t fill) {
  std::map<uint32_t, uint32_t> specialization;
  for (size_t i = 0; i + 1 < random.specialization.size(); i += 2)
    specialization[random.specialization[i]] = random.specialization[i + 1];
  Interpreter interpreter(code.module, spv::ExecutionModel::GLCompute, specialization);
  constexpr uint32_t kInvocations = 32;
  for (uint32_t i = 0; i < kInvocations; ++i) interpreter.buffer().push_back(fill + i);
  for (uint32_t i = 0; i < kInvocations; ++i) interpreter.run({.global_id = {i, 0, 0}});
  return interpreter.executions();
}

// The programs read nothing. Two variants of each read a number of memory: one where its first
// function gets the number, one where a variable of the invocation does.
TEST(RandomPrograms, executions_change_with_memory_only_where_launch_inputs_say_so) {
  constexpr std::string_view kLoad =
      "%from = OpAccessChain %buffer_uint %buffer %c0 %seed\n%read = OpLoad %uint %from\n";
  size_t independent = 0, dependent = 0, different = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomProgram random = random_program(seed, ProgramKind::Compute);
    const auto inputs_of = [](const Code& code) {
      return spirv::launch_inputs(code.module, code.module.entry_points()[0]);
    };
    EXPECT_TRUE(inputs_of(code_of(random))) << random.text;
    for (const std::string_view reader :
         {"%mixed = OpIMul %uint %seed %c29\n", "OpStore %id %seed\n"}) {
      RandomProgram reading = random;
      reading.text = replaced(random.text, reader,
                              std::string(kLoad) + replaced(std::string(reader), "%seed", "%read"));
      const Code code = code_of(reading);
      const bool differs = executions_with(reading, code, 0) != executions_with(reading, code, 77);
      if (inputs_of(code)) {
        ++independent;
        EXPECT_FALSE(differs) << reading.text;
      } else {
        ++dependent;
        different += differs;
      }
    }
  }
  EXPECT_GT(independent, kAtLeast);
  EXPECT_GT(different, dependent / 2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GeneratorTest,
                         testing::Values(ProgramKind::Compute, ProgramKind::Fragment,
                                         ProgramKind::Vertex),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace tally::test
