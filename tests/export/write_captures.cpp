// Writes the captures that export_test.py exports: write_captures FOLDER [DRAWS].
//
// With DRAWS, only draws.tally: so many draws, which all differ. Otherwise:
// sample.tally: the capture of the golden reports. calls.tally: one dispatch of a shader whose
// functions call each other, with hostile names. inlined.tally: two dispatches of functions that
// were inlined for several calls, with branches. gl.tally: two frames of GL.
#include <string>

#include "../golden/sample_capture.h"
#include "analysis/testing/test_scene.h"
#include "spirv/analysis/block_map.h"
#include "spirv/testing/testing.h"
#include "store/testing/test_capture.h"
#include "store/write/writer.h"

namespace tally::test {
namespace {

using store::RowId;

constexpr uint32_t kCompute = 0x20;

// Blocks: noise 0; warp 1; main 2 (calls warp), 3 (calls noise), 4.
constexpr const char* kCalls = R"(
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
  const RowId module = writer.add(
      store::ModuleRow{.hash = "abcd",
                       .name = "calls",
                       .spirv = spirv::test::assemble_shader(kCalls, spirv::make_version(1, 3))});
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
  // A stage of which the pipeline has no shader.
  constexpr uint32_t kVertex = 0x01;
  writer.add(
      store::BlockCountRow{.batch = batch, .stage = kVertex, .block = 0, .executions = {{5}}});
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
  store::Writer writer = store::require(store::Writer::create(
      path,
      {.tool_version = "0.1.0", .command_line = {"calls", "a\nb"}, .start_monotonic_ns = 500}));
  write_rows(writer);
  store::require(writer.finish(1'000'500, 0));
}

void write_inlined_capture(const std::string& path) {
  const auto& words = spirv::test::corpus_module("optimised.calls.comp.debug.spv");
  analysis::TestScene scene(path);
  const RowId subgroups = scene.add_metric(catalogue::Number::Subgroups);
  const RowId taken = scene.add_metric(catalogue::Number::BranchTarget0);
  const RowId not_taken = scene.add_metric(catalogue::Number::BranchTarget1);
  const RowId pipeline = scene.add_pipeline("p", "", scene.add_shader("1111", "", words));
  const size_t blocks =
      store::require(spirv::BlockMap::build(spirv::test::parsed(words),
                                            spv::ExecutionModel::GLCompute, "main"))
          .blocks()
          .size();
  scene.begin_frame(0);
  for (uint64_t dispatch = 1; dispatch <= 2; ++dispatch) {
    std::vector<uint64_t> executions;
    for (uint64_t block = 0; block < blocks; ++block)
      executions.push_back(100 * dispatch + block * block % 17);
    scene.dispatch(pipeline, {}, {}, executions);
    for (uint32_t block = 0; block < blocks; ++block) {
      scene.set_value(block, subgroups, executions[block] / 8 + 1);
      scene.set_value(block, taken, block);
      scene.set_value(block, not_taken, executions[block] - block);
    }
  }
  scene.finish();
}

// Dispatches and passes of two kinds that were not all timed.
void write_sampled_capture(const std::string& path) {
  analysis::TestScene scene(path);
  const RowId pipeline = scene.add_pipeline("p", "", scene.add_shader("1111", ""));
  const RowId other = scene.add_pipeline("q", "", scene.add_shader("2222", ""));
  for (int64_t frame = 0; frame < 2; ++frame) {
    scene.begin_frame(frame);
    scene.dispatch(pipeline, {}, 900, {1});
    scene.dispatch_sampled(pipeline, 1, {80, {}, 100 + 7 * frame, {}, {}, 120});
    scene.dispatch_sampled(other, 2, {5, {}, 8 + frame});
    scene.dispatch_sampled(other, 3, {{}, 50});
    for (const std::optional<int64_t> time : {std::optional<int64_t>(700), {}, {740 + frame}, {}}) {
      scene.begin_pass(time, 4);
      scene.dispatch(pipeline, {}, {}, {1});
    }
  }
  scene.finish();
}

// Two frames of GL with a counter.
void write_gl_capture(const std::string& path) {
  store::Writer writer = store::require(
      store::Writer::create(path, {.tool_version = "0.1.0", .command_line = {"gl"}}));
  const RowId process = writer.add(store::ProcessRow{.pid = 1, .start_ns = 1});
  const RowId device =
      writer.add(store::DeviceRow{.process = process, .name = "GL", .type = "gl", .uuid = "00"});
  const RowId draws = writer.add(store::FrameCounterRow{
      .device = device, .group = "API", .name = "Draw calls", .unit = "calls"});
  for (int64_t number = 0; number < 2; ++number) {
    const RowId frame =
        writer.add(store::FrameRow{.device = device, .number = number, .begin_ns = 100 * number});
    writer.add_frame_values(
        {{{.frame = frame, .counter = draws, .value = static_cast<uint64_t>(7 + number)}}});
    writer.end_frame(frame, 100 * number + 90, store::FrameEnd::Present);
  }
  writer.end_process(process, 9'000, store::Ending::Closed, 0);
  store::require(writer.finish(1'000'500, 0));
}

}  // namespace
}  // namespace tally::test

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  const std::string folder = argv[1];
  if (argc == 3) {
    tally::test::write_different_draws(folder + "/draws.tally", std::stoll(argv[2]));
    return 0;
  }
  tally::test::write_sample_capture(folder + "/sample.tally");
  tally::test::write_calls_capture(folder + "/calls.tally");
  tally::test::write_inlined_capture(folder + "/inlined.tally");
  tally::test::write_sampled_capture(folder + "/sampled.tally");
  tally::test::write_gl_capture(folder + "/gl.tally");
  return 0;
}
