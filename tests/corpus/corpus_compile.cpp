// corpus_compile FOLDER...: every entry point of the modules in the folders becomes a pipeline of
// the device, as it is and instrumented. Fails if the driver takes the original and not what the
// pass made of it. A driver that crashes names the module first (--verbose).
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string_view>

#include "corpus/entry_pipeline.h"
#include "corpus/module_files.h"
#include "support/environment.h"

namespace {

using namespace tally;

struct Totals {
  size_t modules = 0, unreadable = 0, compiled = 0, failures = 0;
  std::map<std::string, size_t> left_out;  // by reason
};

class Compiler {
 public:
  explicit Compiler(bool verbose) : verbose_(verbose) {}

  void file(const std::string& path) {
    ++totals.modules;
    const auto words = test::read_words(path);
    const auto module = words ? spirv::Module::parse(*words) : Result<spirv::Module>(words.error());
    if (!module) {
      ++totals.unreadable;
      return;
    }
    for (const spirv::EntryPoint& entry : module->entry_points()) {
      if (verbose_) std::fprintf(stderr, "%s: %s\n", path.c_str(), entry.name.c_str());
      if (const auto reason = compile(path, *module, entry)) ++totals.left_out[*reason];
    }
  }

  Totals totals;
  const test::Context& context() const { return context_; }

 private:
  // Why the entry point was left out, or nothing.
  std::optional<std::string> compile(const std::string& path, const spirv::Module& module,
                                     const spirv::EntryPoint& entry) {
    if (auto reason = test::EntryPipeline::obstacle(context_, module, entry)) return reason;
    const test::EntryPipeline target(context_, module, entry);
    test::Pipeline plain, instrumented;
    if (target.create(module.words(), 0, plain) != VK_SUCCESS) {
      return "the driver does not take the original";
    }
    const auto result = instrument_for(context_, target, module, entry);
    if (!result) return "the pass refuses it: " + result.error().message;
    const VkResult created = target.create(result->words, 0, instrumented);
    if (created == VK_SUCCESS) {
      ++totals.compiled;
    } else {
      ++totals.failures;
      fmt::print("FAIL {} {}: VkResult {} once instrumented\n", path, entry.name,
                 static_cast<int>(created));
    }
    return std::nullopt;
  }

  test::Context context_;
  bool verbose_;
};

int run(int argc, char** argv) {
  bool verbose = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--verbose") {
      verbose = true;
      continue;
    }
    for (std::string& file : test::module_files(argv[i])) files.push_back(std::move(file));
  }
  Compiler compiler(verbose);
  for (const std::string& file : files) compiler.file(file);
  const Totals& totals = compiler.totals;
  fmt::print(
      "{}: {} modules ({} unreadable), {} entry points compiled plain and instrumented, {} "
      "failures\n",
      compiler.context().properties().deviceName, totals.modules, totals.unreadable,
      totals.compiled, totals.failures);
  for (const auto& [reason, count] : totals.left_out)
    fmt::print("  {} left out: {}\n", count, reason);
  return totals.failures == 0 && totals.compiled > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  test::set_default_environment();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
