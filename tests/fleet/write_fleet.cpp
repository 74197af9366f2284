// Writes captures of a made-up renderer and adds them to a data set, as `tally run` and `tally
// export --to` would: write_fleet DATA_SET COMMITS FIRST END. Among all COMMITS it adds those from
// FIRST to before END, each on 2 devices and in 10 scenes. A line of shader s in scene c on device
// d runs
//
//   (1000 x (c + 1) + 10 x line + s) x (d + 1)
//
// times, except what fleet_test.py names: it knows the answers to every view.
#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/export/data_set.h"
#include "store/testing/test_capture.h"
#include "store/write/writer.h"

namespace tally::test {
namespace {

using store::RowId;

constexpr uint32_t kCompute = 0x20;
constexpr uint32_t kLines = 8;
constexpr int kDevices = 2, kScenes = 10;
constexpr int64_t kFirstCommitTime = 1'700'000'000;
constexpr const char* kShaders[] = {"terrain.comp", "water.comp", "sky.comp", "fog.comp"};
enum ShaderNumber { Terrain, Water, Sky, Fog };

struct Place {
  int commits, commit, device, scene;
};

// A line that is added in front of sky.comp moves its others.
bool is_moved(const Place& place, int shader) {
  return shader == Sky && place.commit >= place.commits / 2;
}

// A chain of blocks, one for each line.
std::vector<uint32_t> module(const std::string& name, bool is_moved) {
  std::string source = is_moved ? "// moves all lines\n" : "", blocks;
  for (uint32_t line = 1; line <= kLines; ++line) {
    source += fmt::format("{} = step({});\n", name, line);
    blocks += fmt::format("%b{} = OpLabel\nOpLine %file {} 1\n%x{} = OpIAdd %uint %one %one\n",
                          line, line + (is_moved ? 1 : 0), line);
    blocks += line < kLines ? fmt::format("OpBranch %b{}\n", line + 1) : "OpReturn\n";
  }
  const std::string text = fmt::format(R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "shaders/{}"
OpSource GLSL 450 %file "{}"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%one = OpConstant %uint 1
%main = OpFunction %void None %function
{}OpFunctionEnd
)",
                                       name, source, blocks);
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_3);
  spv_binary binary = nullptr;
  spvTextToBinary(context, text.data(), text.size(), &binary, nullptr);
  spvContextDestroy(context);
  if (binary == nullptr) throw std::runtime_error("a shader is not valid");
  std::vector<uint32_t> words(binary->code, binary->code + binary->wordCount);
  spvBinaryDestroy(binary);
  return words;
}

bool is_there(const Place& place, int shader) {
  return shader != Fog || (place.commit >= place.commits / 3 && place.scene == 1);
}

int64_t executions(const Place& place, int shader, int64_t line) {
  if (shader == Terrain && line == 8) return 0;
  if (shader == Terrain && line == 7 && place.scene != 9) return 0;
  const bool is_slower = shader == Water && line == 5 && place.scene == 3 && place.device == 0 &&
                         place.commit >= place.commits * 2 / 3;
  return (1000 * (place.scene + 1) + 10 * line + shader) * (place.device + 1) * (is_slower ? 3 : 1);
}

class Capture {
 public:
  Capture(const std::string& path, const Place& place, int64_t start_unix_ns)
      : place_(place), writer_(made(path, start_unix_ns)) {
    const RowId process = writer_.add(
        store::ProcessRow{.pid = 1, .ending = store::Ending::Closed, .commands_missing = 0});
    device_ = writer_.add(store::DeviceRow{.process = process,
                                           .name = fmt::format("GPU {}", place.device),
                                           .type = "cpu",
                                           .driver_name = "driver",
                                           .uuid = "00",
                                           .per_block = true});
    executions_ = add_metric(0, "Executions", "executions of the block");
    const RowId frame = writer_.add(store::FrameRow{.device = device_});
    const RowId queue = writer_.add(store::QueueRow{.device = device_});
    const RowId submission = writer_.add(store::SubmissionRow{.frame = frame, .queue = queue});
    const RowId buffer =
        writer_.add(store::ObjectRow{.device = device_, .type = "VkCommandBuffer"});
    execution_ =
        writer_.add(store::ExecutionRow{.submission = submission, .command_buffer = buffer});
    function_ =
        writer_.add(store::FunctionRow{.kind = store::CallKind::Dispatch, .name = "vkCmdDispatch"});
    for (int shader = Terrain; shader <= Fog; ++shader) {
      if (is_there(place, shader)) add_dispatch(shader);
    }
    if (!writer_.finish(1'000, 0)) throw std::runtime_error(path + " cannot be written");
  }

 private:
  static store::Writer made(const std::string& path, int64_t start_unix_ns) {
    auto writer = store::Writer::create(path, {.tool_version = "0.1.0",
                                               .command_line = {"/usr/bin/renderer"},
                                               .start_unix_ns = start_unix_ns});
    if (!writer) throw std::runtime_error(writer.error().message);
    return std::move(*writer);
  }

  RowId add_metric(uint32_t position, const std::string& name, const std::string& description) {
    const RowId metric = writer_.add(store::MetricRow{.name = name, .description = description});
    writer_.add(store::DeviceMetricRow{.device = device_, .position = position, .metric = metric});
    return metric;
  }

  void add_dispatch(int number) {
    const std::string name = kShaders[number];
    const bool moved = is_moved(place_, number);
    const std::string hash = fmt::format("{:032x}", 2 * number + (moved ? 1 : 0));
    const RowId module_row =
        writer_.add(store::ModuleRow{.hash = hash, .name = name, .spirv = module(name, moved)});
    const RowId shader = writer_.add(store::ShaderRow{
        .device = device_, .module = module_row, .stage = kCompute, .entry_point = "main"});
    const RowId pipeline = writer_.add(store::PipelineRow{.device = device_,
                                                          .hash = hash,
                                                          .bind_point = "compute",
                                                          .name = name,
                                                          .shaders = {shader}});
    const RowId batch = writer_.add(store::CommandBatchRow{.execution = execution_,
                                                           .size = 1,
                                                           .function = function_,
                                                           .pipeline = pipeline,
                                                           .counted = true,
                                                           .positions = {{number}}});
    for (uint32_t block = 0; block < kLines; ++block) {
      writer_.add(store::BlockCostRow{
          .shader = shader, .block = block, .metric = executions_, .per_execution = 1});
      const int64_t count = executions(place_, number, block + 1);
      if (count == 0) continue;
      writer_.add(store::BlockCountRow{
          .batch = batch, .stage = kCompute, .block = block, .executions = {{count}}});
    }
  }

  Place place_;
  store::Writer writer_;
  RowId device_ = 0, executions_ = 0, execution_ = 0, function_ = 0;
};

int run(const std::string& data_set, int commits, int first, int end) {
  const store::TestDirectory folder;
  for (int commit = first; commit < end; ++commit) {
    for (int scene = 0; scene < kScenes; ++scene) {
      cli::ExportToOptions options{.files = {},
                                   .folder = data_set,
                                   .commit = fmt::format("commit-{:05}", commit),
                                   .scene = fmt::format("scene {}", scene)};
      for (int device = 0; device < kDevices; ++device) {
        options.files.push_back(folder.file(fmt::format("{}.tally", device)));
        Capture(options.files.back(), {commits, commit, device, scene},
                (kFirstCommitTime + 3600 * commit) * 1'000'000'000);
      }
      const Result<int> status = cli::export_to(options);
      if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
      if (!status || *status != 0) return 1;
      for (const std::string& file : options.files) std::filesystem::remove(file);
    }
  }
  return 0;
}

}  // namespace
}  // namespace tally::test

int main(int argc, char** argv) {
  if (argc != 5) return std::fputs("usage: write_fleet DATA_SET COMMITS FIRST END\n", stderr), 2;
  try {
    return tally::test::run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_fleet: %s\n", error.what());
    return 1;
  }
}
