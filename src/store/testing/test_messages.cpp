#include "store/testing/test_messages.h"

namespace tally::store::stream {

std::vector<AnyMessage> one_message_of_each_kind() {
  CommandBatch batch;
  batch.function = Function::DrawIndexed;
  batch.pipeline = 4;
  batch.pass_of = PassOf::Own;
  batch.pass = 1;
  batch.subpass = 2;
  batch.counted = true;
  batch.size = 2;
  batch.positions = {{300, 302}};
  batch.labels = {{3}};
  batch.parameters = {{{36, 72}}, {{1}}, {{0}}, {{-5}}, {{2}}};
  batch.gpu_begin_ns = {{-1, 5}};
  batch.gpu_time_ns = {{1'000'000, Column::kNull}};
  const Process process{.pid = 1,
                        .parent_pid = 2,
                        .executable = "/bin/app",
                        .command_line = {"app", "-x"},
                        .application = "App",
                        .engine = "Engine",
                        .start_ns = 99};
  Device device;
  device.id = 1;
  device.name = "gpu";
  device.type = "cpu";
  device.vendor_id = 2;
  device.device_id = 3;
  device.api_version = 4;
  device.driver_name = "driver";
  device.driver_info = "info";
  device.driver_version = 5;
  device.uuid = "00ff";
  device.timestamp_period_ns = 1.5;
  device.per_block = true;
  device.not_captured = "why";
  device.metrics = {{.name = "m", .description = "d"}};
  device.region_counters = {"Fragment warps"};
  Pipeline pipeline;
  pipeline.id = 5;
  pipeline.device = 1;
  pipeline.hash = "hash";
  pipeline.bind_point = "graphics";
  pipeline.not_instrumented = "reason";
  pipeline.shaders = {4, 4};
  return {process,
          End{5},
          device,
          Queue{.id = 2, .device = 1, .position = 1, .flags = 7, .timestamp_bits = 64},
          Module{.id = 3, .hash = "hash", .spirv = {0x07230203, 0x10000}},
          Shader{4, 1, 3, 16, "main", "reason", {{1, 4, 8}, {300, 8, ~0ull}}},
          pipeline,
          Object{.id = 6, .device = 1, .type = "VkRenderPass", .handle = ~0ull},
          Name{Named::Pipeline, 5, "name"},
          Label{7, 8, "label"},
          Frame{1, -3, 12},
          FrameEnded{1, 3, 13, FrameEnd::QueueIdle},
          Submission{2, 3, 4, 5, 7},
          Execution{1, 0, 2, 6, 9, 2, true},
          Pass{1, true, 6, 6, 64, 48, 1, 3, "[]", 7, GpuTime{1, 2}},
          batch,
          BatchValues{{{0, 16, 3, {{7, 8}}}}, {{1, 16, 3, 2, {{INT64_MAX}}}}},
          BlockCosts{4, 8, 2, {1, 3, 1, 0}},
          Missing{1, 3, 20},
          Message{.time_ns = 7, .severity = Severity::Error, .text = "text", .count = 2},
          NotInstrumented{4, "reason"},
          FrameCounter{1, 1, "API", "Draw calls", "calls", 1, true},
          FrameValues{1, 3, {{1, 7}, {2, ~0ull}}},
          PassRegions{1, 2, 0, 1, -4, 8, 100, 50, 64, 32},
          RegionValues{0, {1, 0, ~0u, 4}},
          PassPicture{1, 2, 0, 1, 2, 1},
          PictureRows{{0xff0000ff, 0xff00ff00}},
          Bound{5},
          Gone{{6, 300}, {7}},
          ForgetValues{9},
          Replacement{.pattern = "blur.*",
                      .file = "less.frag",
                      .shader = "blur.frag",
                      .stage = 16,
                      .entry_point = "main",
                      .hash = "abc",
                      .new_hash = "def",
                      .refusal = "reason"},
          PipelineStatistic{5, 1, 2, "compute", "a compute shader", 32, 64, "Spills",
                            "of registers", StatisticFormat::Int, -2.5},
          RegionDraw{0, 3, {0, 300}, {~0u, 1}}};
}

}  // namespace tally::store::stream
