// pass_throughput FOLDER...: the throughput of the pass in megabytes of SPIR-V per second, compared
// with the layer's other work on a module and with the validator of SPIRV-Tools, for the modules in
// the folders (tests/corpus/gather collects some). Single-threaded, no device.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <spirv-tools/libspirv.hpp>

#include "corpus/module_files.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/block_map.h"
#include "spirv/testing/block_count.h"

namespace tally::bench {
namespace {

struct Input {
  std::vector<uint32_t> words;
  spv::ExecutionModel model;
  std::string entry;
};

spirv::BlockCountOptions options_of(const Input& input) {
  spirv::BlockCountOptions options;
  options.stage = input.model;
  options.entry_point = input.entry;
  options.address = {spirv::AddressSource::Kind::UniformBuffer, 0, 7, 0};
  options.int64 = options.int64_atomics = options.subgroup_operations = true;
  options.max_shards_log2 = 6;
  return options;
}

bool validate(std::span<const uint32_t> words) {
  const spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  return tools.Validate(words.data(), words.size());
}

// The valid modules that can be instrumented, each with its first entry point.
std::vector<Input> read_inputs(const std::vector<std::string>& folders) {
  std::vector<Input> inputs;
  for (const std::string& folder : folders) {
    for (const std::string& file : test::module_files(folder)) {
      auto words = test::read_words(file);
      const auto module = words ? spirv::Module::parse(*words) : words.error();
      if (!module || module->entry_points().empty() || !validate(*words)) continue;
      const spirv::EntryPoint& entry = module->entry_points().front();
      Input input = {std::move(*words), entry.model, entry.name};
      if (add_block_counts(input.words, options_of(input))) inputs.push_back(std::move(input));
    }
  }
  if (inputs.empty()) throw std::runtime_error("no module that can be instrumented");
  return inputs;
}

Candidate candidate(std::string name, const std::vector<Input>& inputs,
                    std::function<bool(const Input&)> work) {
  return {std::move(name), [&inputs, work = std::move(work)] {
            return Sample{time_of([&] {
              for (const Input& input : inputs) {
                if (!work(input)) throw std::runtime_error("a module could not be processed");
              }
            })};
          }};
}

void run(const std::vector<std::string>& folders, int rounds) {
  const std::vector<Input> inputs = read_inputs(folders);
  size_t bytes = 0;
  for (const Input& input : inputs) bytes += input.words.size() * sizeof(uint32_t);
  const Candidate candidates[] = {
      candidate("spirv-val", inputs, [](const Input& input) { return validate(input.words); }),
      candidate("reading", inputs,
                [](const Input& input) { return spirv::Module::parse(input.words).ok(); }),
      candidate("reading, blocks and costs", inputs,
                [](const Input& input) {
                  const auto module = spirv::Module::parse(input.words);
                  return spirv::BlockMap::build(*module, input.model, input.entry).ok();
                }),
      candidate(
          "reading and the pass", inputs,
          [](const Input& input) { return add_block_counts(input.words, options_of(input)).ok(); }),
      candidate("reading, blocks, costs and the pass", inputs, [](const Input& input) {
        const auto analyzed = spirv::AnalyzedModule::parse(input.words);
        const spirv::Module& module = analyzed->module();
        return analyzed->block_map(*module.find_entry_point(input.model, input.entry)).ok() &&
               add_block_counts(*analyzed, options_of(input)).ok();
      })};
  Table table(
      {fmt::format("{} modules, {:.2f} MB", inputs.size(), static_cast<double>(bytes) / 1e6),
       "time", "a module", "MB/s", "of spirv-val"});
  for (const Measured& row : measure_in_turn(candidates, rounds)) {
    const double time = row.values[0].median;
    table.add({row.name, duration(time), duration(time / static_cast<double>(inputs.size())),
               number(static_cast<double>(bytes) * 1e3 / time, 1),
               with_quartiles(row.ratios[0], 3)});
  }
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  CLI::App app("Megabytes of SPIR-V a second");
  std::vector<std::string> folders;
  int rounds = 15;
  app.add_option("folders", folders)->required()->check(CLI::ExistingDirectory);
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  tally::bench::run(folders, rounds);
  return 0;
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
