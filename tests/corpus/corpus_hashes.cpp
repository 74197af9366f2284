// Hashes of what the pass makes of SPIR-V files and of random programs: corpus_hashes [--random N]
// FOLDER...
//
// One line for each module, entry point and options: the hash of the words and the hash of the
// plan, or "refused". A change that must not change the code that the pass writes is proven by
// equal output before and after it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/hash.h"
#include "corpus/module_files.h"
#include "corpus/pass_options.h"
#include "oracle/generator.h"
#include "spirv/ir/module.h"
#include "spirv/testing/block_count.h"
#include "support/spirv.h"

namespace {

using tally::spirv::CounterPlan;

class PlanWords {
 public:
  explicit PlanWords(const CounterPlan& plan) {
    add({plan.counter_count, plan.block_count});
    for (const CounterPlan::Sum& sum : plan.derived) add({sum.begin, sum.end});
    for (const auto& balance : plan.balances) {
      add({balance.inflow.begin, balance.inflow.end, balance.outflow.begin, balance.outflow.end,
           balance.block});
    }
    for (const CounterPlan::Term& term : plan.terms)
      add({term.value, static_cast<uint32_t>(term.factor)});
    for (const auto* list : {&plan.block_values, &plan.subgroup_values}) {
      words_.insert(words_.end(), list->begin(), list->end());
    }
    words_.insert(words_.end(), plan.output_counters.begin(), plan.output_counters.end());
    for (const auto& of : plan.branch_values) add({of.block, of.target, of.value});
    for (const auto& of : plan.site_counters)
      add({of.site, static_cast<uint32_t>(of.slot), of.counter});
  }

  tally::Hash128 hash() const { return tally::hash_words(words_); }

 private:
  void add(std::initializer_list<uint32_t> words) { words_.insert(words_.end(), words); }

  std::vector<uint32_t> words_;
};

void print_hashes(const std::string& name, const std::vector<uint32_t>& words) {
  const auto module = tally::spirv::Module::parse(words);
  if (!module) return fmt::print("{} cannot be read\n", name);
  for (const auto& entry : module->entry_points()) {
    for (const auto& [way, options] : tally::test::all_options(entry.model, entry.name)) {
      const auto result = add_block_counts(words, options);
      fmt::print("{} {}:{} {} ", name, static_cast<uint32_t>(entry.model), entry.name, way);
      if (result) {
        fmt::print("{} {}\n", to_string(tally::hash_words(result->words)),
                   to_string(PlanWords(result->plan).hash()));
      } else {
        fmt::print("refused\n");
      }
    }
  }
}

void print_folder(const std::string& folder) {
  for (const std::string& file : tally::test::module_files(folder)) {
    const auto words = tally::test::read_words(file);
    const std::string name = std::filesystem::relative(file, folder).string();
    if (words) {
      print_hashes(name, *words);
    } else {
      fmt::print("{}: {}\n", name, words.error().message);
    }
  }
}

void print_random(uint64_t count) {
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const auto kind = static_cast<tally::test::ProgramKind>(seed % 3);
    const auto program = tally::test::random_program(seed, kind);
    print_hashes(fmt::format("random-{}", seed),
                 tally::test::assemble(program.text, SPV_ENV_UNIVERSAL_1_3));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Prints hashes of what the pass makes of SPIR-V files, in many ways");
  std::vector<std::string> folders;
  uint64_t random = 0;
  app.add_option("folders", folders)->check(CLI::ExistingDirectory);
  app.add_option("--random", random, "also of so many random programs");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& folder : folders) print_folder(folder);
  print_random(random);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
