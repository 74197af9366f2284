#include "store/testing/test_capture.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "picture/picture.h"
#include "platform/files.h"

namespace tally::store {
namespace {

constexpr uint32_t kFragment = 0x10;

void write_definitions(Writer& writer, TestCapture& ids) {
  ids.process = writer.add(ProcessRow{.pid = 42,
                                      .parent_pid = 1,
                                      .executable = "/usr/bin/app",
                                      .command_line = {"app", "--fast"},
                                      .application = "App",
                                      .engine = "Engine",
                                      .start_ns = 1000});
  ids.device = writer.add(DeviceRow{.process = ids.process,
                                    .name = "llvmpipe",
                                    .type = "cpu",
                                    .vendor_id = 0x10005,
                                    .api_version = 1u << 22 | 3u << 12,
                                    .driver_name = "lavapipe",
                                    .uuid = "00",
                                    .timestamp_period_ns = 1.0,
                                    .per_block = true});
  ids.queue = writer.add(QueueRow{.device = ids.device, .flags = 7, .timestamp_bits = 64});
  ids.executions = writer.add(MetricRow{.name = "executions", .description = "times executed"});
  ids.fma = writer.add(MetricRow{.name = "fma", .description = "fused multiply-adds"});
  writer.add(DeviceMetricRow{.device = ids.device, .position = 0, .metric = ids.executions});
  writer.add(DeviceMetricRow{.device = ids.device, .position = 1, .metric = ids.fma});
  ids.module = writer.add(ModuleRow{.hash = "abc", .name = "blur.spv", .spirv = {0x07230203, 7}});
  ids.shader = writer.add(ShaderRow{.device = ids.device,
                                    .module = ids.module,
                                    .stage = kFragment,
                                    .entry_point = "main",
                                    .constants = {{1, 4, 8}, {300, 8, ~0ull}}});
  ids.pipeline = writer.add(PipelineRow{.device = ids.device,
                                        .hash = "def",
                                        .bind_point = "graphics",
                                        .name = "blur",
                                        .shaders = {ids.shader}});
  for (uint32_t i = 0; i < 2; ++i) {
    writer.add(
        PipelineStatisticRow{.pipeline = ids.pipeline,
                             .position = i,
                             .executable_name = "fragment shader",
                             .executable_description = "compiled",
                             .stages = kFragment,
                             .subgroup_size = 32,
                             .name = i == 0 ? "Registers" : "Occupancy",
                             .description = "of an invocation",
                             .format = i == 0 ? StatisticFormat::Uint : StatisticFormat::Float,
                             .value = i == 0 ? 40 : 0.75});
  }
  ids.object =
      writer.add(ObjectRow{.device = ids.device, .type = "VkCommandBuffer", .handle = ~0ull});
  ids.label = writer.add(LabelRow{.name = "Frame"});
  ids.inner_label = writer.add(LabelRow{.parent = ids.label, .name = "Shadow"});
}

void write_values(Writer& writer, const TestCapture& ids) {
  writer.add(
      BlockCostRow{.shader = ids.shader, .block = 0, .metric = ids.executions, .per_execution = 1});
  writer.add(BlockCostRow{.shader = ids.shader, .block = 0, .metric = ids.fma, .per_execution = 3});
  writer.add(
      BlockCountRow{.batch = ids.draws, .stage = kFragment, .block = 0, .executions = {{100, 7}}});
  writer.add(BlockOtherRow{
      .batch = ids.draws, .stage = kFragment, .block = 1, .metric = ids.fma, .values = {{5}}});
}

// Four regions, the right ones 36 wide and the lower ones 18 high; a picture of red and green.
void write_regions(Writer& writer, TestCapture& ids) {
  ids.warps = writer.add(RegionCounterRow{.name = "Fragment warps"});
  ids.invocations = writer.add(RegionCounterRow{.name = "Fragment invocations"});
  ids.regions = writer.add(PassRegionsRow{.pass = ids.pass,
                                          .x = 4,
                                          .y = 8,
                                          .width = 100,
                                          .height = 50,
                                          .region_width = 64,
                                          .region_height = 32});
  writer.add(RegionValuesRow{
      .regions = ids.regions, .counter = ids.invocations, .by_region = {10, 0, ~0u, 7}});
  writer.add(RegionDrawRow{.regions = ids.regions,
                           .position = 1,
                           .counter = ids.invocations,
                           .places = {0, 2},
                           .values = {4, 9}});
  const auto png = encode_png({2, 1, {0xff0000ff, 0xff00ff00}});
  require(png ? Status{} : Status{png.error()});
  writer.add(PassPictureRow{.pass = ids.pass, .width = 2, .height = 1, .png = *png});
}

}  // namespace

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::abort();
}

CaptureRow test_capture_row() {
  return {.tool_version = "0.1.0",
          .command_line = {"app", "--fast"},
          .working_directory = "/tmp",
          .start_unix_ns = 1'700'000'000'000'000'000,
          .start_monotonic_ns = 500,
          .frame_range = "0-9",
          .shader_pattern = "*blur*",
          .frame_per = "label",
          .frame_label = "^token",
          .replacements = {"blur.*=less.frag"}};
}

TestCapture write_test_rows(Writer& writer) {
  TestCapture ids;
  write_definitions(writer, ids);
  ids.frame = writer.add(FrameRow{.device = ids.device, .number = 0, .begin_ns = 2000});
  ids.submission = writer.add(SubmissionRow{
      .frame = ids.frame, .queue = ids.queue, .number = 1, .time_ns = 2100, .label = ids.label});
  ids.execution = writer.add(
      ExecutionRow{.submission = ids.submission, .command_buffer = ids.object, .recording = 9});
  ids.pass = writer.add(PassRow{.execution = ids.execution,
                                .width = 640,
                                .height = 480,
                                .layers = 1,
                                .attachments = "[]",
                                .label = ids.inner_label,
                                .gpu_begin_ns = 10,
                                .gpu_time_ns = 20});
  const RowId draw = writer.add(FunctionRow{.kind = CallKind::Draw, .name = "vkCmdDraw"});
  const RowId dispatch =
      writer.add(FunctionRow{.kind = CallKind::Dispatch, .name = "vkCmdDispatch"});
  ids.draws =
      writer.add(CommandBatchRow{.execution = ids.execution,
                                 .size = 2,
                                 .function = draw,
                                 .pipeline = ids.pipeline,
                                 .pass = ids.pass,
                                 .counted = true,
                                 .positions = {{0, 2}},
                                 .labels = {{ids.inner_label, Column::kNull}},
                                 .parameters = {{"vertexCount", {{3}}}, {"firstVertex", {{0, 30}}}},
                                 .topology = 4,
                                 .primitive_restart = true,
                                 .patch_control_points = 3});
  ids.dispatch = writer.add(CommandBatchRow{.execution = ids.execution,
                                            .size = 1,
                                            .function = dispatch,
                                            .positions = {{1}},
                                            .parameters = {{"groupCountX", {{4}}}},
                                            .gpu_begin_ns = {{40}},
                                            .gpu_time_ns = {{5}}});
  write_values(writer, ids);
  write_regions(writer, ids);
  ids.frame_counter = writer.add(FrameCounterRow{.device = ids.device,
                                                 .group = "Frame",
                                                 .name = "CPU time in swaps",
                                                 .unit = "us",
                                                 .denominator = 1000});
  writer.add_frame_values({{{.frame = ids.frame, .counter = ids.frame_counter, .value = 1500}}});
  writer.add(MessageRow{
      .process = ids.process, .time_ns = 2500, .severity = Severity::Warning, .text = "careful"});
  writer.add(ReplacementRow{.process = ids.process,
                            .pattern = "blur.*",
                            .file = "less.frag",
                            .shader = "blur.spv",
                            .stage = kFragment,
                            .entry_point = "main",
                            .hash = "000",
                            .new_hash = "abc"});
  writer.end_frame(ids.frame, 3000, FrameEnd::Present);
  writer.end_process(ids.process, 4000, Ending::Closed, 0);
  return ids;
}

TestCapture write_test_capture(const std::string& path) {
  Result<Writer> writer = Writer::create(path, test_capture_row());
  require(writer ? Status{} : Status{writer.error()});
  const TestCapture ids = write_test_rows(*writer);
  require(writer->finish(5000, 0));
  return ids;
}

TestDirectory::TestDirectory() {
  const auto made = platform::make_unique_folder(platform::temporary_folder() + "/tally-test-");
  require(made ? Status{} : Status{Error{"no temporary directory"}});
  path_ = *made;
}

TestDirectory::~TestDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tally::store
