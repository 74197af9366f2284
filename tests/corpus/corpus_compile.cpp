// corpus_compile [--statistics] FOLDER...
//
// Creates a pipeline for every entry point of the valid modules in the folders, original and
// instrumented. Fails if the driver accepts the original but not the instrumented module, or
// crashes on it. Prints the creation times without a pipeline cache and the share of the pass.
// --statistics prints a table of the driver's statistics about the generated code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>

#include "corpus/code_statistics.h"
#include "corpus/entry_pipeline.h"
#include "corpus/module_files.h"
#include "support/environment.h"
#include "support/spirv.h"
#include "support/supervised.h"

namespace {

using namespace tally;

// The lines that a child sends about an item.
constexpr std::string_view kDevice = "device ";
constexpr std::string_view kPlain = "plain";
constexpr std::string_view kInstrumented = "instrumented";
constexpr std::string_view kCompiled = "compiled ";
constexpr std::string_view kLeftOut = "left out ";
constexpr std::string_view kTimes = "times ";
constexpr std::string_view kCounters = "counters ";
constexpr std::string_view kFailed = "failed ";
constexpr std::string_view kThrew = "threw ";

struct Item {
  std::string path;
  size_t entry;  // of the module
};

using Clock = std::chrono::steady_clock;
int64_t nanoseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

class Compiler {
 public:
  Compiler(const std::vector<Item>& items, bool statistics)
      : items_(items), context_(options(statistics)), statistics_(statistics) {}

  void compile(size_t item, const test::SendLine& send_line) {
    send_line(std::string(kDevice) + context_.properties().deviceName);
    const auto words = test::read_words(items_[item].path);
    const auto module = spirv::Module::parse(*words);
    try {
      compile(*module, module->entry_points()[items_[item].entry], send_line);
    } catch (const std::exception& error) {  // invalid pipeline state, or a driver failure
      send_line(std::string(kThrew) + error.what());
    }
  }

 private:
  test::ContextOptions options(bool statistics) {
    test::ContextOptions options;
    if (!statistics) return options;
    options.device_extensions = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME};
    options.device_next = &feature_;
    return options;
  }

  VkResult create(const test::EntryPipeline& target, std::span<const uint32_t> words,
                  test::Pipeline& pipeline) const {
    return target.create(words, statistics_ ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0,
                         pipeline);
  }

  void compile(const spirv::Module& module, const spirv::EntryPoint& entry,
               const test::SendLine& send_line) {
    const auto left_out = [&](const std::string& why) { send_line(std::string(kLeftOut) + why); };
    if (const auto reason = test::EntryPipeline::obstacle(context_, module, entry))
      return left_out(*reason);
    send_line(kPlain);
    const test::EntryPipeline target(context_, module, entry);
    test::Pipeline plain, instrumented;
    const auto begin = Clock::now();
    if (create(target, module.words(), plain) != VK_SUCCESS)
      return left_out("no pipeline of the original");
    const auto created_plain = Clock::now();
    const auto result = instrument_for(context_, target, module, entry);
    if (!result) return left_out("the pass refuses it: " + result.error().message);
    const auto passed = Clock::now();
    send_line(fmt::format("{}{}", kCounters, result->plan.counter_count));
    send_line(kInstrumented);
    const VkResult created = create(target, result->words, instrumented);
    if (created != VK_SUCCESS)
      return send_line(fmt::format("{}VkResult {}", kFailed, static_cast<int>(created)));
    send_line(fmt::format("{}{} {} {}", kTimes, nanoseconds(created_plain - begin),
                          nanoseconds(passed - created_plain), nanoseconds(Clock::now() - passed)));
    const auto of = [&](VkPipeline pipeline) {
      return test::code_statistics(context_, pipeline, target.stage());
    };
    send_line(
        std::string(kCompiled) +
        (statistics_ ? test::CodeComparison::line(of(plain), of(instrumented)) : std::string()));
  }

  const std::vector<Item>& items_;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, nullptr,
      VK_TRUE};
  test::Context context_;
  bool statistics_;
};

// The results of all items, in the parent.
class Totals {
 public:
  explicit Totals(const std::vector<Item>& items) : items_(items) {}

  void on_line(size_t item, std::string_view line) {
    const auto rest = [&](std::string_view start) {
      return std::string(line.substr(start.size()));
    };
    if (line.starts_with(kDevice)) device_ = rest(kDevice);
    if (line == kPlain || line == kInstrumented) stage_ = line;
    if (line.starts_with(kLeftOut)) ++left_out_[rest(kLeftOut)];
    if (line.starts_with(kFailed)) fail(item, rest(kFailed));
    if (line.starts_with(kTimes)) add_times(rest(kTimes));
    if (line.starts_with(kCounters)) item_counters_ = std::stoul(rest(kCounters));
    if (line.starts_with(kThrew)) on_death(item, rest(kThrew));
    if (!line.starts_with(kCompiled)) return;
    ++compiled_;
    counters_ += item_counters_;
    code_.add(rest(kCompiled));
  }

  void on_death(size_t item, const std::string& how) {
    if (stage_ == kInstrumented) return fail(item, how);
    ++left_out_["no pipeline of the original"];
    fmt::print("{}, plain: {}\n", items_[item].path, how);
  }

  bool print(size_t modules, size_t invalid) const {
    fmt::print(
        "{}: {} modules ({} not valid), {} entry points compiled plain and instrumented with {} "
        "counters, {} failures\n",
        device_, modules, invalid, compiled_, counters_, failures_);
    for (const auto& [reason, count] : left_out_) fmt::print("  {} left out: {}\n", count, reason);
    fmt::print(
        "  pipelines created in {:.0f} ms plain and {:.0f} ms instrumented; the pass took "
        "{:.0f} ms, {:.1f} % of all\n",
        plain_ / 1e6, instrumented_ / 1e6, pass_ / 1e6,
        100 * pass_ / (plain_ + pass_ + instrumented_));
    code_.print();
    return failures_ == 0 && compiled_ > 0;
  }

 private:
  void add_times(const std::string& line) {
    double plain = 0, pass = 0, instrumented = 0;
    if (std::sscanf(line.c_str(), "%lf %lf %lf", &plain, &pass, &instrumented) != 3) return;
    plain_ += plain;
    pass_ += pass;
    instrumented_ += instrumented;
  }

  void fail(size_t item, const std::string& how) {
    ++failures_;
    fmt::print("FAIL {}, instrumented: {}\n", items_[item].path, how);
  }

  const std::vector<Item>& items_;
  std::string device_, stage_;
  size_t compiled_ = 0, failures_ = 0;
  size_t item_counters_ = 0, counters_ = 0;         // of the current item; of all compiled ones
  std::map<std::string, size_t> left_out_;          // by reason
  double plain_ = 0, pass_ = 0, instrumented_ = 0;  // nanoseconds
  test::CodeComparison code_;
};

// The number of entry points of a module, or 0 if it is invalid.
size_t entry_points_of(const std::string& path) {
  const auto words = test::read_words(path);
  if (!words || !test::validate(*words).empty()) return 0;
  const auto module = spirv::Module::parse(*words);
  return module ? module->entry_points().size() : 0;
}

int run(const std::vector<std::string>& files, bool statistics) {
  std::vector<Item> items;
  size_t invalid = 0;
  for (const std::string& file : files) {
    const size_t count = entry_points_of(file);
    if (count == 0) ++invalid;
    for (size_t entry = 0; entry < count; ++entry) items.push_back({file, entry});
  }
  Totals totals(items);
  test::supervise(
      {.count = items.size(),
       .limit = std::chrono::minutes(1),
       .begin = [&]() -> test::Work {
         const auto compiler = std::make_shared<Compiler>(items, statistics);
         return [compiler](size_t item, const test::SendLine& send_line) {
           compiler->compile(item, send_line);
         };
       },
       .on_line = [&](size_t item, std::string_view line) { totals.on_line(item, line); },
       .on_death = [&](size_t item,
                       const test::Death& death) { totals.on_death(item, death.how); }});
  return totals.print(files.size(), invalid) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Gives SPIR-V files to a driver's compiler, plain and as the layer instruments them");
  std::vector<std::string> folders;
  bool statistics = false;
  app.add_option("folders", folders)->required()->check(CLI::ExistingDirectory);
  app.add_flag("--statistics", statistics, "what the compiler says of its code");
  CLI11_PARSE(app, argc, argv);
  test::set_default_environment();
  std::vector<std::string> files;
  for (const std::string& folder : folders)
    std::ranges::copy(test::module_files(folder), std::back_inserter(files));
  try {
    return run(files, statistics);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
