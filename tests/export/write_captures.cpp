// Writes the captures that export_test.py exports: write_captures FOLDER.
//
// sample.tally: that of the golden reports. calls.tally: one dispatch of a shader whose functions
// call each other, with hostile names.
#include <spirv-tools/libspirv.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <vector>

#include "../golden/sample_capture.h"
#include "store/writer.h"

namespace tally::test {
namespace {

using store::RowId;

constexpr uint32_t kCompute = 0x20;

// Blocks: noise 0; warp 1; main 2 (calls warp), 3 (calls noise), 4.
constexpr const char* kCalls = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "shaders/main.comp"
%header = OpString "shaders/noise.glsl"
OpName %main "main"
OpName %warp "warp"
OpName %noise "noise"
%void = OpTypeVoid
%bool = OpTypeBool
%float = OpTypeFloat 32
%function = OpTypeFunction %void
%true = OpConstantTrue %bool
%one = OpConstant %float 1
%noise = OpFunction %void None %function
%b0 = OpLabel
OpLine %header 7 1
%x = OpFAdd %float %one %one
%y = OpFAdd %float %x %one
OpReturn
OpFunctionEnd
%warp = OpFunction %void None %function
%b1 = OpLabel
OpLine %file 3 1
%c0 = OpFunctionCall %void %noise
OpLine %header 9 1
%w = OpFAdd %float %one %one
OpReturn
OpFunctionEnd
%main = OpFunction %void None %function
%b2 = OpLabel
OpLine %file 10 1
%c1 = OpFunctionCall %void %warp
OpSelectionMerge %b4 None
OpBranchConditional %true %b3 %b4
%b3 = OpLabel
OpLine %file 11 1
%c2 = OpFunctionCall %void %noise
OpBranch %b4
%b4 = OpLabel
OpLine %file 12 1
OpReturn
OpFunctionEnd
)";

template <typename T>
T require(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

std::vector<uint32_t> assemble(const char* text) {
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_3);
  spv_binary binary = nullptr;
  spv_diagnostic diagnostic = nullptr;
  spvTextToBinary(context, text, std::strlen(text), &binary, &diagnostic);
  if (binary == nullptr) throw std::runtime_error(diagnostic->error);
  std::vector<uint32_t> words(binary->code, binary->code + binary->wordCount);
  spvBinaryDestroy(binary);
  spvContextDestroy(context);
  return words;
}

// "cycles" is a driver's own metric, stored by block: 10 of noise, 100 of warp, 1000 of main.
void write_rows(store::Writer& writer) {
  const RowId process = writer.add(store::ProcessRow{.pid = 1, .start_ns = 1});
  const RowId device = writer.add(
      store::DeviceRow{.process = process, .name = "GPU", .uuid = "00", .per_block = true});
  const RowId queue = writer.add(store::QueueRow{.device = device, .flags = 7});
  const RowId cycles = writer.add(store::MetricRow{.name = "Cycles", .description = "cycles"});
  const RowId executions =
      writer.add(store::MetricRow{.name = "Executions", .description = "executions"});
  writer.add(store::DeviceMetricRow{.device = device, .position = 0, .metric = executions});
  writer.add(store::DeviceMetricRow{.device = device, .position = 1, .metric = cycles});
  const RowId module =
      writer.add(store::ModuleRow{.hash = "abcd", .name = "calls", .spirv = assemble(kCalls)});
  const RowId shader = writer.add(store::ShaderRow{
      .device = device, .module = module, .stage = kCompute, .entry_point = "main"});
  const RowId pipeline =
      writer.add(store::PipelineRow{.device = device,
                                    .hash = "0123456789abcdef",
                                    .bind_point = "compute",
                                    .name = "evil;\"a\",\n\tfn=(1) x\x1b[31m\ncalls=9 9",
                                    .shaders = {shader}});
  const RowId buffer =
      writer.add(store::ObjectRow{.device = device, .type = "VkCommandBuffer", .handle = 1});
  const RowId frame = writer.add(store::FrameRow{.device = device});
  const RowId submission = writer.add(store::SubmissionRow{.frame = frame, .queue = queue});
  const RowId execution =
      writer.add(store::ExecutionRow{.submission = submission, .command_buffer = buffer});
  const RowId function =
      writer.add(store::FunctionRow{.kind = store::CallKind::Dispatch, .name = "vkCmdDispatch"});
  const RowId batch = writer.add(store::CommandBatchRow{.execution = execution,
                                                        .size = 1,
                                                        .function = function,
                                                        .pipeline = pipeline,
                                                        .counted = true,
                                                        .positions = {{0}}});
  const int64_t counts[] = {4, 3, 3, 1, 3};  // noise runs 3 times for warp and once for main
  const int64_t values[] = {10, 100, 1000, 0, 0};
  for (uint32_t block = 0; block < std::size(counts); ++block) {
    writer.add(store::BlockCountRow{
        .batch = batch, .stage = kCompute, .block = block, .executions = {{counts[block]}}});
    if (values[block] != 0)
      writer.add(store::BlockOtherRow{.batch = batch,
                                      .stage = kCompute,
                                      .block = block,
                                      .metric = cycles,
                                      .values = {{values[block]}}});
  }
  writer.end_frame(frame, 900, store::FrameEnd::Submit);
  writer.end_process(process, 9'000, store::Ending::Closed, 0);
}

void write_calls_capture(const std::string& path) {
  store::Writer writer = require(store::Writer::create(
      path,
      {.tool_version = "0.1.0", .command_line = {"calls", "a\nb"}, .start_monotonic_ns = 500}));
  write_rows(writer);
  const Status finished = writer.finish(1'000'500, 0);
  if (!finished) throw std::runtime_error(finished.error().message);
}

}  // namespace
}  // namespace tally::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  try {
    tally::test::write_sample_capture(folder + "/sample.tally");
    tally::test::write_calls_capture(folder + "/calls.tally");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_captures: %s\n", error.what());
    return 1;
  }
  return 0;
}
