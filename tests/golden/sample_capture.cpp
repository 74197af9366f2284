#include "sample_capture.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "catalogue/catalogue.h"
#include "sample_shaders.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/sites.h"
#include "spirv/testing/testing.h"
#include "store/testing/test_capture.h"
#include "store/write/writer.h"

namespace tally::test {
namespace {

using catalogue::Number;
using store::RowId;

constexpr uint32_t kVertex = 0x01, kFragment = 0x10, kCompute = 0x20;
constexpr Number kMetrics[] = {Number::Executions, Number::Instructions, Number::Float32,
                               Number::VaryingStores};

struct Shader {
  RowId row;
  uint32_t stage;
  spirv::BlockMap map;
};

class Sample {
 public:
  explicit Sample(store::Writer& writer, int64_t iterations = 10, bool is_timed = false)
      : writer_(writer), iterations_(iterations), is_timed_(is_timed) {}

  void write() {
    write_device();
    write_shaders();
    write_frame(0);
    write_frame(1);
    finish();
  }

  // One pass of draws that all differ in their parameters and in their counts.
  void write_different(int64_t draws) {
    write_device();
    write_shaders();
    const RowId frame = begin_frame(0);
    const RowId execution = begin_execution(frame, 0);
    const RowId pass = add_pass(execution, 0);
    for (int64_t first = 0; first < draws; first += store::kMaxBatchCommands)
      add_different(execution, pass, first,
                    std::min<int64_t>(draws, first + store::kMaxBatchCommands));
    writer_.end_frame(frame, 900, store::FrameEnd::Present);
    finish();
  }

 private:
  void finish() {
    writer_.add(store::MessageRow{
        .process = process_, .severity = store::Severity::Warning, .text = "one moment, please"});
    writer_.end_process(process_, 9'000, store::Ending::Closed, 0);
  }

  void write_device() {
    process_ = writer_.add(
        store::ProcessRow{.pid = 42, .executable = "/usr/bin/renderer", .start_ns = 1000});
    device_ = writer_.add(store::DeviceRow{.process = process_,
                                           .name = "Sample GPU",
                                           .type = "discrete",
                                           .api_version = 1u << 22 | 3u << 12 | 230,
                                           .driver_name = "sampledriver",
                                           .driver_info = "1.2.3",
                                           .uuid = "00",
                                           .timestamp_period_ns = 1,
                                           .per_block = true});
    queue_ = writer_.add(store::QueueRow{.device = device_, .flags = 7, .timestamp_bits = 64});
    for (uint32_t i = 0; i < std::size(kMetrics); ++i) {
      const catalogue::Counter& counter = catalogue::counter(kMetrics[i]);
      metrics_.push_back(writer_.add(store::MetricRow{
          .name = std::string(counter.name), .description = std::string(counter.description)}));
      writer_.add(
          store::DeviceMetricRow{.device = device_, .position = i, .metric = metrics_.back()});
    }
    buffer_ =
        writer_.add(store::ObjectRow{.device = device_, .type = "VkCommandBuffer", .handle = 1});
    render_pass_ = writer_.add(
        store::ObjectRow{.device = device_, .type = "VkRenderPass", .handle = 2, .name = "main"});
    const RowId frame = writer_.add(store::LabelRow{.name = "Frame"});
    opaque_ = writer_.add(store::LabelRow{.parent = frame, .name = "Opaque"});
    reduce_ = writer_.add(store::LabelRow{.parent = frame, .name = "Reduce"});
  }

  Shader write_shader(const char* text, const char* hash, const char* name, uint32_t stage,
                      spv::ExecutionModel model, const char* entry) {
    const auto words = spirv::test::assemble(text, spirv::make_version(1, 3));
    const RowId module = writer_.add(store::ModuleRow{.hash = hash, .name = name, .spirv = words});
    const RowId row = writer_.add(store::ShaderRow{
        .device = device_, .module = module, .stage = stage, .entry_point = entry});
    const auto parsed = store::require(spirv::Module::parse(words));
    Shader shader{row, stage, store::require(spirv::BlockMap::build(parsed, model, entry))};
    for (uint32_t block = 0; block < shader.map.blocks().size(); ++block) {
      for (size_t m = 0; m < std::size(kMetrics); ++m) {
        if (const uint64_t cost = cost_of(shader, block, m)) {
          writer_.add(store::BlockCostRow{
              .shader = row, .block = block, .metric = metrics_[m], .per_execution = cost});
        }
      }
    }
    return shader;
  }

  static uint64_t cost_of(const Shader& shader, uint32_t block, size_t metric) {
    if (kMetrics[metric] == Number::Executions) return 1;
    return shader.map.blocks()[block].mix[*spirv::cost_class_of(kMetrics[metric])];
  }

  void write_shaders() {
    using Model = spv::ExecutionModel;
    lit_ = write_shader(kLitFragment, "11112222333344445555666677778888", "", kFragment,
                        Model::Fragment, "main");
    triangle_ = write_shader(kTriangleVertex, "aaaabbbbccccddddeeeeffff00001111", "triangle",
                             kVertex, Model::Vertex, "main");
    loop_ = write_shader(kLoopCompute, "deadbeefdeadbeefdeadbeefdeadbeef", "", kCompute,
                         Model::GLCompute, "reduce");
    const RowId binary =
        writer_.add(store::ShaderRow{.device = device_,
                                     .stage = kFragment,
                                     .entry_point = "main",
                                     .not_instrumented = "made from a binary, without SPIR-V"});
    graphics_ = writer_.add(store::PipelineRow{.device = device_,
                                               .hash = "0123456789abcdef0123456789abcdef",
                                               .bind_point = "graphics",
                                               .name = "opaque",
                                               .shaders = {triangle_.row, lit_.row}});
    compute_ = writer_.add(store::PipelineRow{.device = device_,
                                              .hash = "fedcba9876543210fedcba9876543210",
                                              .bind_point = "compute",
                                              .shaders = {loop_.row}});
    uncounted_ =
        writer_.add(store::PipelineRow{.device = device_,
                                       .hash = "99998888777766665555444433332222",
                                       .bind_point = "graphics",
                                       .name = "from binary",
                                       .not_instrumented = "made from a binary, without SPIR-V",
                                       .shaders = {binary}});
  }

  RowId begin_frame(int64_t number) {
    return writer_.add(
        store::FrameRow{.device = device_, .number = number, .begin_ns = 1'000 * number});
  }

  RowId begin_execution(RowId frame, int64_t number) {
    const RowId submission =
        writer_.add(store::SubmissionRow{.frame = frame, .queue = queue_, .number = number});
    return writer_.add(store::ExecutionRow{
        .submission = submission, .command_buffer = buffer_, .recording = number});
  }

  RowId add_pass(RowId execution, int64_t number) {
    return writer_.add(
        store::PassRow{.execution = execution,
                       .render_pass = render_pass_,
                       .width = 640,
                       .height = 480,
                       .layers = 1,
                       .attachments = R"([{"format":44,"load":"clear","store":"store"}])",
                       .label = opaque_,
                       .gpu_begin_ns = 2'000'000 * (number + 1),
                       .gpu_time_ns = 1'500'000 + number});
  }

  void write_frame(int64_t number) {
    const RowId frame = begin_frame(number);
    const RowId execution = begin_execution(frame, number);
    const RowId pass = add_pass(execution, number);
    add_regions(pass, number);
    const RowId first = add_draw(execution, 0, graphics_, pass, 3);
    add_counts(first, triangle_, {3});
    add_counts(first, lit_, {1000, 400, 1000});
    const RowId second = add_draw(execution, 1, graphics_, pass, 6);
    add_counts(second, triangle_, {6});
    add_counts(second, lit_, {2'000'000, 0, 2'000'000});
    if (number == 1) add_draw(execution, 2, uncounted_, pass, 3);
    const RowId function =
        writer_.add(store::FunctionRow{.kind = store::CallKind::Dispatch, .name = "vkCmdDispatch"});
    const RowId dispatch = writer_.add(store::CommandBatchRow{
        .execution = execution,
        .size = 1,
        .function = function,
        .pipeline = compute_,
        .counted = true,
        .positions = {{3}},
        .labels = {{reduce_}},
        .parameters = {{"groupCountX", {{4}}}, {"groupCountY", {{1}}}, {"groupCountZ", {{1}}}},
        .gpu_begin_ns = {{2'000'000 * (number + 1) + 1'600'000}},
        .gpu_time_ns = {{20'000}}});
    const int64_t tests = 256 * (iterations_ + 1);
    add_counts(dispatch, loop_, {256, tests, tests, 256 * iterations_, 256});
    if (is_timed_) add_cycles(dispatch);
    writer_.end_frame(frame, 1'000 * number + 900, store::FrameEnd::Present);
  }

  // One of four invocations of the compute shader takes 500 cycles, of them 420 in the loop.
  void add_cycles(RowId batch) {
    const auto module = store::require(
        spirv::Module::parse(spirv::test::assemble(kLoopCompute, spirv::make_version(1, 3))));
    const auto add = [&](spv::Op opcode, Number number, int64_t value) {
      uint32_t i = 0;
      while (module.instruction(i).opcode() != opcode) ++i;
      const catalogue::Counter& counter = catalogue::counter(number);
      const RowId metric = writer_.add(store::MetricRow{
          .name = std::string(counter.name), .description = std::string(counter.description)});
      writer_.add(store::BlockOtherRow{.batch = batch,
                                       .stage = kCompute,
                                       .block = spirv::site_number(module.word_offset(i)),
                                       .metric = metric,
                                       .values = {{value}}});
    };
    add(spv::Op::OpFunction, Number::TimedCycles, 64 * 500);
    add(spv::Op::OpFunction, Number::TimedRuns, 64);
    add(spv::Op::OpFunction, Number::TimedInvocations, 64);
    add(spv::Op::OpLoopMerge, Number::TimedCycles, 64 * 420);
    add(spv::Op::OpLoopMerge, Number::TimedRuns, 64);
  }

  // 5 x 4 regions of 128x128 pixels; the last row is 96 high. Only the first three have values.
  void add_regions(RowId pass, int64_t frame) {
    const RowId regions = writer_.add(store::PassRegionsRow{
        .pass = pass, .width = 640, .height = 480, .region_width = 128, .region_height = 128});
    const auto add = [&](Number counter, std::vector<uint32_t> values) {
      values.resize(5 * 4);
      const RowId row = writer_.add(
          store::RegionCounterRow{.name = std::string(catalogue::counter(counter).name)});
      writer_.add(store::RegionValuesRow{.regions = regions, .counter = row, .by_region = values});
    };
    const auto more = static_cast<uint32_t>(frame);
    add(Number::FragmentWarps, {512, 1, 1536});
    add(Number::FragmentInvocations, {16'384, 20, 49'152 + more});
    add(Number::FragmentInstructions, {98'304, 120, 294'912 + 6 * more});
    add(Number::FragmentBytesLoaded, {0, 0, 4096});
  }

  RowId add_draw(RowId execution, int64_t position, RowId pipeline, RowId pass, int vertices) {
    return add_draws(execution, pipeline, pass, 1, {{position}}, {{vertices}});
  }

  RowId add_draws(RowId execution, RowId pipeline, RowId pass, size_t size, store::Column positions,
                  store::Column vertices) {
    const RowId function =
        writer_.add(store::FunctionRow{.kind = store::CallKind::Draw, .name = "vkCmdDraw"});
    return writer_.add(store::CommandBatchRow{.execution = execution,
                                              .size = size,
                                              .function = function,
                                              .pipeline = pipeline,
                                              .pass = pass,
                                              .counted = true,
                                              .positions = std::move(positions),
                                              .labels = {{opaque_}},
                                              .parameters = {{"vertexCount", std::move(vertices)},
                                                             {"instanceCount", {{1}}},
                                                             {"firstVertex", {{0}}}},
                                              .topology = 3});
  }

  // The draws of one batch: `first` to `last` - 1.
  void add_different(RowId execution, RowId pass, int64_t first, int64_t last) {
    store::Column positions, vertices, fragments, bright;
    for (int64_t draw = first; draw < last; ++draw) {
      positions.values.push_back(draw);
      vertices.values.push_back(3 * (draw + 1));
      fragments.values.push_back(1000 + draw);
      bright.values.push_back(1 + draw / 2);
    }
    const RowId batch =
        add_draws(execution, graphics_, pass, positions.values.size(), positions, vertices);
    const auto add = [&](const Shader& shader, uint32_t block, const store::Column& executions) {
      writer_.add(store::BlockCountRow{
          .batch = batch, .stage = shader.stage, .block = block, .executions = executions});
    };
    add(triangle_, 0, vertices);
    add(lit_, 0, fragments);
    add(lit_, 1, bright);
    add(lit_, 2, fragments);
  }

  void add_counts(RowId batch, const Shader& shader, const std::vector<int64_t>& executions) {
    for (uint32_t block = 0; block < executions.size(); ++block) {
      if (executions[block] == 0) continue;
      writer_.add(store::BlockCountRow{.batch = batch,
                                       .stage = shader.stage,
                                       .block = block,
                                       .executions = {{executions[block]}}});
    }
  }

  store::Writer& writer_;
  int64_t iterations_;
  bool is_timed_;
  std::vector<RowId> metrics_;
  RowId process_ = 0, device_ = 0, queue_ = 0, buffer_ = 0, render_pass_ = 0, opaque_ = 0,
        reduce_ = 0;
  RowId graphics_ = 0, compute_ = 0, uncounted_ = 0;
  Shader lit_, triangle_, loop_;
};

template <typename Write>
void write_capture(const std::string& path, const Write& write) {
  store::Writer writer =
      store::require(store::Writer::create(path, {.tool_version = "0.1.0",
                                                  .command_line = {"renderer", "--fast"},
                                                  .working_directory = "/home/user",
                                                  .start_unix_ns = 1'700'000'000'000'000'000,
                                                  .start_monotonic_ns = 500}));
  write(writer);
  store::require(writer.finish(2'500'000'500, 0));
}

}  // namespace

void write_sample_capture(const std::string& path, int64_t iterations) {
  write_capture(path, [&](store::Writer& writer) { Sample(writer, iterations).write(); });
}

void write_timed_capture(const std::string& path) {
  write_capture(path, [](store::Writer& writer) { Sample(writer, 10, true).write(); });
}

void write_different_draws(const std::string& path, int64_t draws) {
  write_capture(path, [&](store::Writer& writer) { Sample(writer).write_different(draws); });
}

}  // namespace tally::test
