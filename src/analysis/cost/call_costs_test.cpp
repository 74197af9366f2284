#include "analysis/cost/call_costs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/testing/test_scene.h"
#include "spirv/testing/testing.h"

namespace tally::analysis {
namespace {

// Memory by the square of the length would be 80 GB.
TEST(CallCosts, a_long_chain_of_inlined_calls_takes_memory_by_its_length) {
  constexpr uint32_t kLength = 200'000;
  std::string text = R"(
    OpCapability Shader
    OpExtension "SPV_KHR_non_semantic_info"
    %set = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main"
    OpExecutionMode %main LocalSize 1 1 1
    %name = OpString "a.comp"
    %called = OpString "shade"
    %void = OpTypeVoid
    %u32 = OpTypeInt 32 0
    %u1 = OpConstant %u32 1
    %source = OpExtInst %void %set DebugSource %name
    %unit = OpExtInst %void %set DebugCompilationUnit %u1 %u1 %source %u1
    %type = OpExtInst %void %set DebugTypeFunction %u1 %void
    %shade = OpExtInst %void %set DebugFunction %called %type %source %u1 %u1 %unit %called %u1 %u1
    %at0 = OpExtInst %void %set DebugInlinedAt %u1 %shade
)";
  for (uint32_t i = 1; i < kLength; ++i)
    text += fmt::format("%at{} = OpExtInst %void %set DebugInlinedAt %u1 %shade %at{}\n", i, i - 1);
  text += fmt::format(R"(
    %function = OpTypeFunction %void
    %main = OpFunction %void None %function
    %entry = OpLabel
    %scope = OpExtInst %void %set DebugScope %shade %at{}
    %line = OpExtInst %void %set DebugLine %source %u1 %u1 %u1 %u1
    %sum = OpIAdd %u32 %u1 %u1
    OpReturn
    OpFunctionEnd
)",
                      kLength - 1);
  auto module = spirv::Module::parse(spirv::test::assemble(text));
  ASSERT_TRUE(module.ok());
  auto map = spirv::BlockMap::build(*module, spv::ExecutionModel::GLCompute, "main");
  ASSERT_TRUE(map.ok());
  const ShaderCode code{std::move(*module), std::move(*map), 0, spv::ExecutionModel::GLCompute};
  const ShaderCalls calls(code);
  EXPECT_EQ(calls.frames().size(), kLength + 1);
  uint32_t visited = 0;
  const CallCosts costs(calls, {}, {});
  EXPECT_FALSE(costs.visit_paths(
      {.enter = [&](auto, uint64_t) { ++visited; }, .cost = [](auto, const SelfCost&) {}}));
  EXPECT_EQ(visited, kLength + 1);
}

}  // namespace
}  // namespace tally::analysis
