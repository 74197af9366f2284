#include "analysis/testing/test_scene.h"

#include "spirv/analysis/block_map.h"
#include "spirv/testing/testing.h"

namespace tally::analysis {
namespace {

constexpr uint32_t kCompute = 0x20;

constexpr const char* kBranching = R"(
%file = OpString "shaders/branch.comp"
OpSource GLSL 450 %file "void main() {
  if (fast)
    a = 1 + 1;
  else a = 1 + 2;

  a = 2 + 2;
}"
OpDecorate %fast SpecId 0
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%fast = OpSpecConstantTrue %bool
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 2 7
OpSelectionMerge %end None
OpBranchConditional %fast %then %else
%then = OpLabel
OpLine %file 3 5
%a = OpIAdd %uint %one %one
OpBranch %end
%else = OpLabel
OpLine %file 4 5
%b = OpIAdd %uint %one %two
OpBranch %end
%end = OpLabel
OpLine %file 6 3
%c = OpIAdd %uint %two %two
OpNoLine
OpReturn
OpFunctionEnd
)";

}  // namespace

std::vector<uint32_t> branching_shader() { return assembled(kBranching); }

std::vector<uint32_t> assembled(std::string_view text) {
  return spirv::test::assemble_shader(text, spirv::make_version(1, 3));
}

TestScene::TestScene(const std::string& path, const std::string& frame_range)
    : writer_(store::require(
          store::Writer::create(path, {.tool_version = "0.1.0", .frame_range = frame_range}))) {
  const RowId process = writer_.add(store::ProcessRow{.pid = 1});
  device_ = writer_.add(store::DeviceRow{
      .process = process, .name = "GPU", .type = "cpu", .uuid = "00", .per_block = true});
  queue_ = writer_.add(store::QueueRow{.device = device_});
  buffer_ = writer_.add(store::ObjectRow{.device = device_, .type = "VkCommandBuffer"});
  executions_ = add_metric(catalogue::Number::Executions);
  instructions_ = add_metric(catalogue::Number::Instructions);
}

TestScene::RowId TestScene::add_metric(catalogue::Number number) {
  const catalogue::Counter& counter = catalogue::counter(number);
  const RowId metric = writer_.add(store::MetricRow{
      .name = std::string(counter.name), .description = std::string(counter.description)});
  writer_.add(store::DeviceMetricRow{.device = device_, .position = metrics_++, .metric = metric});
  return metric;
}

TestScene::RowId TestScene::add_shader(const std::string& hash, const std::string& name,
                                       const std::vector<uint32_t>& words,
                                       const Specialization& constants) {
  const RowId module = writer_.add(store::ModuleRow{.hash = hash, .name = name, .spirv = words});
  const RowId shader = writer_.add(store::ShaderRow{.device = device_,
                                                    .module = module,
                                                    .stage = kCompute,
                                                    .entry_point = "main",
                                                    .constants = constants});
  const auto parsed = store::require(spirv::Module::parse(words)).specialized(constants);
  const auto map =
      store::require(spirv::BlockMap::build(parsed, spv::ExecutionModel::GLCompute, "main"));
  costs_.clear();
  for (uint32_t block = 0; block < map.blocks().size(); ++block) {
    costs_.push_back(map.blocks()[block].mix[spirv::CostClass::Instruction]);
    writer_.add(store::BlockCostRow{
        .shader = shader, .block = block, .metric = executions_, .per_execution = 1});
    writer_.add(store::BlockCostRow{
        .shader = shader, .block = block, .metric = instructions_, .per_execution = costs_[block]});
  }
  return shader;
}

TestScene::RowId TestScene::add_pipeline(const std::string& hash, const std::string& name,
                                         RowId shader) {
  return writer_.add(store::PipelineRow{
      .device = device_, .hash = hash, .bind_point = "compute", .name = name, .shaders = {shader}});
}

TestScene::RowId TestScene::add_label(std::optional<RowId> parent, const std::string& name) {
  return writer_.add(store::LabelRow{.parent = parent, .name = name});
}

void TestScene::begin_frame(int64_t number, int64_t runs) {
  const RowId frame =
      writer_.add(store::FrameRow{.device = device_, .number = number, .begin_ns = number});
  const RowId submission =
      writer_.add(store::SubmissionRow{.frame = frame, .queue = queue_, .number = number_++});
  execution_ = writer_.add(
      store::ExecutionRow{.submission = submission, .command_buffer = buffer_, .runs = runs});
  position_ = 0;
  pass_.reset();
}

TestScene::RowId TestScene::begin_pass(std::optional<int64_t> gpu_time_ns,
                                       std::optional<RowId> sample) {
  pass_ = writer_.add(store::PassRow{.execution = execution_,
                                     .position = position_++,
                                     .width = 24,
                                     .height = 16,
                                     .layers = 1,
                                     .attachments = "[]",
                                     .gpu_time_ns = gpu_time_ns,
                                     .time_sample = sample});
  return *pass_;
}

void TestScene::add_regions(RowId pass,
                            const std::map<std::string, std::vector<uint32_t>>& counters) {
  regions_ = writer_.add(store::PassRegionsRow{
      .pass = pass, .width = 24, .height = 16, .region_width = 16, .region_height = 16});
  for (const auto& [counter, by_region] : counters) {
    const RowId row = writer_.add(store::RegionCounterRow{.name = counter});
    writer_.add(
        store::RegionValuesRow{.regions = regions_, .counter = row, .by_region = by_region});
  }
}

void TestScene::add_region_draw(int64_t position, const std::string& counter,
                                const std::vector<uint32_t>& places,
                                const std::vector<uint32_t>& values) {
  writer_.add(store::RegionDrawRow{.regions = regions_,
                                   .position = position,
                                   .counter = writer_.add(store::RegionCounterRow{.name = counter}),
                                   .places = places,
                                   .values = values});
}

TestScene::RowId TestScene::add_uncounted_pipeline(const std::string& hash, RowId shader,
                                                   const std::string& reason) {
  return writer_.add(store::PipelineRow{.device = device_,
                                        .hash = hash,
                                        .bind_point = "compute",
                                        .not_instrumented = reason,
                                        .shaders = {shader}});
}

void TestScene::dispatch_uncounted(RowId pipeline) { add_dispatch(pipeline, {}, {}, false); }

void TestScene::dispatch(RowId pipeline, std::optional<RowId> label,
                         std::optional<int64_t> gpu_time_ns,
                         const std::vector<uint64_t>& executions) {
  add_dispatch(pipeline, label, gpu_time_ns, true);
  for (uint32_t block = 0; block < executions.size(); ++block) {
    if (executions[block] == 0) continue;
    writer_.add(store::BlockCountRow{.batch = batch_,
                                     .stage = kCompute,
                                     .block = block,
                                     .executions = {{store::stored(executions[block])}}});
  }
}

void TestScene::dispatch_sampled(RowId pipeline, RowId sample,
                                 const std::vector<std::optional<int64_t>>& gpu_times_ns) {
  for (const std::optional<int64_t> time : gpu_times_ns) {
    sample_ = sample;
    dispatch(pipeline, {}, time, {1});
    sample_.reset();
  }
}

void TestScene::add_dispatch(RowId pipeline, std::optional<RowId> label,
                             std::optional<int64_t> gpu_time_ns, bool counted) {
  const RowId function =
      writer_.add(store::FunctionRow{.kind = store::CallKind::Dispatch, .name = "vkCmdDispatch"});
  batch_ = writer_.add(store::CommandBatchRow{
      .execution = execution_,
      .size = 1,
      .function = function,
      .pipeline = pipeline,
      .pass = pass_,
      .counted = counted,
      .positions = {{position_++}},
      .labels = {{label.value_or(store::Column::kNull)}},
      .parameters = {{"groupCountX", {{4}}}},
      .gpu_begin_ns = {{sample_ && gpu_time_ns ? 1000 * position_ : store::Column::kNull}},
      .gpu_time_ns = {{gpu_time_ns.value_or(store::Column::kNull)}},
      .repeats = sample_.has_value(),
      .time_sample = sample_});
}

void TestScene::set_value(uint32_t block, RowId metric, uint64_t value) {
  writer_.add(store::BlockOtherRow{.batch = batch_,
                                   .stage = kCompute,
                                   .block = block,
                                   .metric = metric,
                                   .values = {{store::stored(value)}}});
}

void TestScene::finish() { store::require(writer_.finish(1'000, 0)); }

}  // namespace tally::analysis
