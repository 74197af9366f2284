// The cost of making pipelines: many programs that differ in one constant, made without a cache,
// for a cache and from it; their first use and a later one; memory and the whole run. Bare, with
// the features of the counters layer enabled but unused, with pipelines that have the flag of
// VK_ARM_shader_instrumentation, under `tally run`, and with shaders that count by hand: with
// knowledge that no layer has, and with only what a layer knows.
//
//   pipeline_cost [--pipelines N] [--rounds N] [--unused] [--shader-objects]
//
// With --shader-objects, each program is two shader objects (VK_EXT_shader_object) instead.
//
// The measured program is this program itself: each measurement is a process of its own, so that
// nothing is left of the one before. scripts/with-driver chooses the driver.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <tally/vulkan_arm.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "harness/child.h"
#include "harness/gpu.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "program.frag.h"
#include "program_as_layer.frag.h"
#include "program_by_hand.frag.h"
#include "support/instrumentation.h"
#include "support/memory.h"
#include "support/pipeline.h"
#include "support/render_target.h"
#include "support/shader_objects.h"
#include "tiny_draws.vert.h"
#include "tiny_draws_as_layer.vert.h"
#include "tiny_draws_by_hand.vert.h"

namespace tally::bench {
namespace {

constexpr uint32_t kNumber = 0x7a11e000;      // of program.frag
constexpr uint32_t kFirstInstanceShift = 16;  // of a draw's number, where shaders count as a layer

struct Options {
  uint32_t pipelines = 1'000;
  int rounds = 5;
  bool enabled = false;
  bool flagged = false;
  bool by_hand = false;
  bool as_layer = false;
  bool unused = false;
  bool shader_objects = false;
  std::string result;  // of the measured program

  bool counts() const { return by_hand || as_layer; }
};

// The measurements of one process. Times are in nanoseconds and of all pipelines together.
struct Costs {
  double create = 0, processor = 0, miss = 0, hit = 0, first_use = 0, second_use = 0, bytes = 0,
         start = 0, start_processor = 0;

  Sample sample() const {
    return {create, processor, miss, hit, first_use, second_use, bytes, start, start_processor};
  }
};

// Processor time of this process, in nanoseconds.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

double resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Enables every feature of the layer that needs variants of pipelines.
test::ContextOptions layer_options(const Options& options) {
  if (options.flagged) return test::with_instrumentation();
  test::ContextOptions context;
  if (!options.enabled) return context;
  static VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  static VkPhysicalDevicePerformanceQueryFeaturesKHR queries{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR, &instrumentation, VK_TRUE};
  static VkPhysicalDevicePerformanceCountersByRegionFeaturesARM regions{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, &queries,
      VK_TRUE};
  context.layers = {"VK_LAYER_TALLY_counters"};
  context.device_next = &regions;
  context.device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME,
                               VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME,
                               VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME};
  return context;
}

test::ContextOptions context_options(const Options& options) {
  test::ContextOptions context = layer_options(options);
  if (!options.shader_objects) return context;
  static VkPhysicalDeviceShaderObjectFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
  feature.pNext = const_cast<void*>(context.device_next);
  context.device_next = &feature;
  context.device_extensions.push_back(VK_EXT_SHADER_OBJECT_EXTENSION_NAME);
  return context;
}

// For the shaders that count by hand.
struct Record {
  uint64_t vertices, fragments, iterations, breaks, low;
  bool operator==(const Record&) const = default;
};

class Programs {
 public:
  explicit Programs(const Options& options)
      : options_(options),
        context_(context_options(options)),
        target_(context_, {.extent = {400, 400}}),
        layout_(test::make_pipeline_layout(context_, {}, options.counts() ? sizeof(Push) : 0)) {
    if (!options.counts()) return;
    records_ = test::Buffer(
        context_, options.pipelines * sizeof(Record),
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  }

  void make(VkPipelineCache cache) {
    const auto [vertex, fragment] = shaders();
    std::vector<uint32_t> code(fragment.begin(), fragment.end());
    const auto number = std::ranges::find(code, kNumber);
    if (number == code.end()) throw std::runtime_error("program.frag has no number");
    test::GraphicsPipelineInfo info;
    info.layout = layout_;
    info.cache = cache;
    if (options_.flagged) info.next = &test::kInstrument;
    for (uint32_t i = 0; i < options_.pipelines; ++i) {
      *number = kNumber + 8 * i;
      info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, vertex}, {VK_SHADER_STAGE_FRAGMENT_BIT, code}};
      if (options_.shader_objects) {
        make_shader_objects(info.stages);
      } else {
        pipelines_.push_back(test::make_graphics_pipeline(context_, info));
      }
    }
  }

  void use() { draw(records_.address()); }

  // Where shaders count by hand: a draw covers six pixels, whose loop ends before its first
  // iteration. A layer's shaders count nothing without records.
  void check_counts(uint64_t uses) {
    if (options_.as_layer) draw(0);
    const Record expected = {3 * uses, 6 * uses, 0, 0, 6 * uses};
    if (!options_.counts() ||
        std::ranges::count(records_.as<Record>(), expected) == std::ptrdiff_t{options_.pipelines}) {
      return;
    }
    throw std::runtime_error("the counts by hand are wrong");
  }

  void destroy() { pipelines_.clear(); }

  test::PipelineCache make_cache() const {
    const VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    VkPipelineCache cache = VK_NULL_HANDLE;
    test::check(vkCreatePipelineCache(context_.device(), &info, nullptr, &cache));
    return {context_.device(), cache};
  }

 private:
  struct Push {
    VkDeviceAddress records;
    uint32_t stride;
  };
  using Code = std::span<const uint32_t>;

  void make_shader_objects(const std::vector<test::Stage>& stages) {
    const VkShaderCreateFlagsEXT flags =
        options_.flagged ? VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM : 0;
    shader_objects_.push_back(std::make_unique<test::ShaderObjects>(
        context_, std::vector<test::ShaderObjectInfo>{
                      {stages[0], VK_SHADER_STAGE_FRAGMENT_BIT, flags}, {stages[1], 0, flags}}));
  }

  // Code of the vertex and the fragment stage.
  std::pair<Code, Code> shaders() const {
    if (options_.as_layer) return {tiny_draws_as_layer_vert, program_as_layer_frag};
    if (options_.by_hand) return {tiny_draws_by_hand_vert, program_by_hand_frag};
    return {tiny_draws_vert, program_frag};
  }

  void draw(VkDeviceAddress records) {
    context_.run([&](VkCommandBuffer commands) {
      target_.begin(commands);
      if (options_.as_layer) push(commands, records);
      if (options_.shader_objects) draw_shader_objects(commands);
      for (uint32_t i = 0; i < pipelines_.size(); ++i) {
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines_[i]);
        if (options_.by_hand) push(commands, records + i * sizeof(Record));
        vkCmdDraw(commands, 3, 1, 0, options_.as_layer ? i << kFirstInstanceShift : 0);
      }
      target_.end(commands);
    });
  }

  void draw_shader_objects(VkCommandBuffer commands) const {
    test::set_draw_state(context_, commands, {.extent = {400, 400}});
    test::unbind_graphics_shaders(context_, commands);
    for (const auto& shaders : shader_objects_) {
      shaders->bind(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
    }
  }

  void push(VkCommandBuffer commands, VkDeviceAddress records) const {
    const Push push{records, sizeof(Record)};
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof push, &push);
  }

  const Options& options_;
  test::Context context_;
  test::RenderTarget target_;
  test::Buffer records_;
  test::PipelineLayout layout_;
  std::vector<test::Pipeline> pipelines_;
  std::vector<std::unique_ptr<test::ShaderObjects>> shader_objects_;
};

// The measured program.
void run_measured(const Options& options) {
  Costs costs;
  Programs programs(options);
  const double before = resident_bytes();
  const double idle = processor_time();
  costs.create = time_of([&] { programs.make(VK_NULL_HANDLE); });
  costs.processor = processor_time() - idle;
  if (!options.unused) costs.first_use = time_of([&] { programs.use(); });
  costs.bytes = resident_bytes() - before;
  costs.start = costs.create + costs.first_use;
  costs.start_processor = processor_time() - idle;
  if (!options.unused) {
    costs.second_use = time_of([&] { programs.use(); });
    programs.check_counts(2);
  }
  if (!options.unused && !options.shader_objects) {
    programs.destroy();
    const test::PipelineCache cache = programs.make_cache();
    costs.miss = time_of([&] { programs.make(cache); });
    programs.destroy();
    costs.hit = time_of([&] { programs.make(cache); });
  }
  std::ofstream file(options.result);
  for (const double value : costs.sample()) file << fmt::format("{}\n", value);
}

class Runs {
 public:
  explicit Runs(const Options& options) : options_(options) {
    folder_ = std::filesystem::temp_directory_path() / "pipeline_cost.XXXXXX";
    if (!::mkdtemp(folder_.data())) throw std::runtime_error("no temporary folder");
    // Programs that an earlier process compiled are not measured.
    for (const char* name : {"MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE"}) {
      setenv(name, "true", 1);
    }
    setenv("__GL_SHADER_DISK_CACHE", "0", 1);
  }
  ~Runs() { std::filesystem::remove_all(folder_); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  Sample run(const std::vector<std::string>& before, const std::vector<std::string>& flags) const {
    const std::string result = folder_ + "/result";
    std::vector<std::string> command = before;
    command.insert(command.end(), {std::filesystem::read_symlink("/proc/self/exe"), "--result",
                                   result, "--pipelines", std::to_string(options_.pipelines)});
    command.insert(command.end(), flags.begin(), flags.end());
    if (options_.unused) command.emplace_back("--unused");
    if (options_.shader_objects) command.emplace_back("--shader-objects");
    run_quietly(command);
    std::ifstream file(result);
    Sample sample;
    for (double value = 0; file >> value;) sample.push_back(value);
    if (sample.size() != Costs{}.sample().size()) throw std::runtime_error("no result");
    return sample;
  }

  std::vector<std::string> captured() const {
    return {TALLY_PROGRAM, "run", "--force", "--output", folder_ + "/programs.tally", "--"};
  }

 private:
  const Options& options_;
  std::string folder_;
};

std::vector<Candidate> uses(const Runs& runs, bool shader_objects) {
  std::vector<Candidate> candidates = {
      {"bare", [&] { return runs.run({}, {}); }},
      {"features enabled", [&] { return runs.run({}, {"--enabled"}); }},
      {"with the flag", [&] { return runs.run({}, {"--flagged"}); }},
      {"tally run", [&] { return runs.run(runs.captured(), {}); }}};
  if (!shader_objects && Capabilities(test::Context().gpu()).int64_atomics) {
    candidates.push_back({"by hand", [&] { return runs.run({}, {"--by-hand"}); }});
    candidates.push_back(
        {"by hand, as a layer must", [&] { return runs.run({}, {"--as-layer"}); }});
  }
  return candidates;
}

void measure(const Options& options) {
  const Runs runs(options);
  const std::vector<Measured> rows =
      measure_in_turn(uses(runs, options.shader_objects), options.rounds);
  enum class When { Always, Used, UsedWithCaches };
  constexpr struct {
    const char* title;
    When measured;
  } kRows[] = {{"created without a cache", When::Always},
               {"the same, processor time", When::Always},
               {"created, cache misses", When::UsedWithCaches},
               {"created, cache hits", When::UsedWithCaches},
               {"first use", When::Used},
               {"second use", When::Used},
               {"memory", When::Always},
               {"creation and first use", When::Used},
               {"the same, processor time", When::Used}};
  std::vector<std::string> head = {fmt::format("{} pipelines: of one", options.pipelines)};
  for (const Measured& row : rows) head.push_back(row.name);
  Table table(head);
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (options.unused && kRows[i].measured != When::Always) continue;
    if (options.shader_objects && kRows[i].measured == When::UsedWithCaches) continue;
    const double bare = rows[0].values[i].median / options.pipelines;
    const bool memory = std::string_view(kRows[i].title) == "memory";
    std::vector<std::string> cells = {
        kRows[i].title, memory ? fmt::format("{:.1f} kB", bare / 1e3) : duration(bare)};
    for (size_t use = 1; use < rows.size(); ++use) {
      cells.push_back(with_quartiles(rows[use].ratios[i]));
    }
    table.add(cells);
  }
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  CLI::App app("The cost of making pipelines");
  tally::bench::Options options;
  app.add_option("--pipelines", options.pipelines)->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_flag("--unused", options.unused, "Create the pipelines once and do not use them");
  app.add_flag("--shader-objects", options.shader_objects,
               "Make shader objects instead of pipelines");
  app.add_option("--result", options.result, "Be the measured program, and write here");
  app.add_flag("--enabled", options.enabled, "Enable the features of the layer");
  app.add_flag("--flagged", options.flagged, "Create pipelines with the flag");
  CLI::Option* by_hand =
      app.add_flag("--by-hand", options.by_hand, "Use shaders that count by hand");
  app.add_flag("--as-layer", options.as_layer, "The same with only what a layer knows")
      ->excludes(by_hand);
  CLI11_PARSE(app, argc, argv);
  return tally::bench::run_program([&] {
    if (options.result.empty()) {
      tally::bench::measure(options);
    } else {
      tally::bench::run_measured(options);
    }
  });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
