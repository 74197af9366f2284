// Runs the pass over SPIR-V files: corpus_check [--env vulkan1.3] [--at-least N] [--out FOLDER]
// FOLDER...
//
// Every entry point is instrumented with all options (pass_options.h). The check fails if a result
// is invalid although the original is valid, if reading and writing a module changes a byte, or if
// there are fewer than N modules. Modules that the pass refuses are listed with the reason; invalid
// modules must do no harm.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "corpus/module_files.h"
#include "corpus/pass_options.h"
#include "spirv/analysis/interface.h"
#include "spirv/ir/editor.h"
#include "spirv/ir/module.h"
#include "spirv/testing/block_count.h"
#include "support/spirv.h"

namespace {

using tally::spirv::BlockCountOptions;
using tally::spirv::EntryPoint;
using tally::spirv::Module;
using tally::spirv::Placement;
using tally::test::NamedOptions;
namespace fs = std::filesystem;

struct Totals {
  size_t modules = 0, invalid = 0, entry_points = 0, results = 0, refused = 0, failures = 0;
  size_t blocks = 0, counters = 0;
};

class Check {
 public:
  // `out`: the folder for results of the layer's options; may be empty.
  Check(spv_target_env environment, fs::path out)
      : environment_(environment), out_(std::move(out)) {}

  void file(const fs::path& path) {
    const auto read = tally::test::read_words(path.string());
    if (!read) return fail(path, read.error().message);
    const std::vector<uint32_t>& words = *read;
    ++totals.modules;
    const bool valid = tally::test::validate(words, environment_).empty();
    if (!valid) ++totals.invalid;
    const auto module = Module::parse(words);
    if (!module) {
      if (valid) fail(path, "cannot be read: " + module.error().message);
      return;
    }
    check_identity(path, words);
    for (const auto& entry : module->entry_points()) {
      ++totals.entry_points;
      for (NamedOptions& way : tally::test::all_options(entry.model, entry.name)) {
        auto& packed = way.options.packed_draw_indices;
        if (packed && packed->location) {
          packed->location = free_location(*module, entry);
          if (!packed->location) continue;
        }
        check(path, words, way, valid);
      }
    }
  }

  Totals totals;
  std::map<std::string, size_t> reasons;

 private:
  void fail(const fs::path& path, const std::string& what) {
    ++totals.failures;
    fmt::print("FAIL {}: {}\n", path.string(), what);
  }

  void check_identity(const fs::path& path, const std::vector<uint32_t>& words) {
    const auto module = Module::parse(words);
    const auto written = module ? tally::spirv::Editor(*module).write() : module.error();
    if (!written || *written != words) fail(path, "reading and writing changes it");
  }

  void check(const fs::path& path, const std::vector<uint32_t>& words, const NamedOptions& way,
             bool valid) {
    const auto& [name, options] = way;
    const auto result = add_block_counts(words, options);
    if (!result) {
      ++totals.refused;
      ++reasons[result.error().message];
      return;
    }
    ++totals.results;
    if (counts_few_blocks(way)) {
      totals.blocks += result->plan.block_count;
      totals.counters += result->plan.counter_count;
    }
    if (!out_.empty() && name == tally::test::kLayerOptions) write(path, result->words);
    if (!valid) return;
    const std::string message = tally::test::validate(result->words, environment_);
    if (message.empty()) return;
    fail(path, fmt::format("{} {}: {}", options.entry_point, name, message));
  }

  // Blocks alone, and as few as possible of them.
  static bool counts_few_blocks(const NamedOptions& way) {
    return way.name.starts_with("counting-") && way.options.placement == Placement::Minimal &&
           !way.options.count_subgroups;
  }

  static std::optional<uint32_t> free_location(const Module& module, const EntryPoint& entry) {
    const bool fragment = entry.model == spv::ExecutionModel::Fragment;
    return first_free_location(module, entry,
                               fragment ? spv::StorageClass::Input : spv::StorageClass::Output);
  }

  void write(const fs::path& path, const std::vector<uint32_t>& words) const {
    fs::create_directories(out_);
    const auto status = tally::test::write_words((out_ / path.filename()).string(), words);
    if (!status) fmt::print("{}\n", status.error().message);
  }

  spv_target_env environment_;
  fs::path out_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the pass over SPIR-V files, in many ways, and validates what it makes");
  std::vector<std::string> folders;
  std::string environment_name = "vulkan1.3";
  fs::path out;
  size_t at_least = 1;
  app.add_option("folders", folders)->required()->check(CLI::ExistingDirectory);
  app.add_option("--env", environment_name, "what spirv-val checks against");
  app.add_option("--out", out, "where modules are written as the layer instruments them");
  app.add_option("--at-least", at_least, "fewer modules are a failure");
  CLI11_PARSE(app, argc, argv);
  spv_target_env environment{};
  if (!spvParseTargetEnv(environment_name.c_str(), &environment)) {
    fmt::print(stderr, "no environment \"{}\"\n", environment_name);
    return 1;
  }
  Check check(environment, out);
  for (const std::string& folder : folders) {
    for (const std::string& file : tally::test::module_files(folder)) check.file(file);
  }
  const Totals& totals = check.totals;
  for (const auto& [reason, count] : check.reasons)
    fmt::print("refused {} times: {}\n", count, reason);
  fmt::print("{} modules ({} not valid), {} entry points, {} results, {} refused\n", totals.modules,
             totals.invalid, totals.entry_points, totals.results, totals.refused);
  if (totals.blocks != 0) {
    fmt::print("counters per block, minimal placement: {:.3f}\n",
               static_cast<double>(totals.counters) / static_cast<double>(totals.blocks));
  }
  fmt::print("{} passed, {} failed\n", totals.results - std::min(totals.results, totals.failures),
             totals.failures);
  if (totals.modules < at_least) fmt::print("{} modules are too few\n", totals.modules);
  return totals.failures == 0 && totals.results > 0 && totals.modules >= at_least ? 0 : 1;
}
