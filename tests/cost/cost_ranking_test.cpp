// Ranks the lines of real shaders by cost and by instructions, as glslang writes them and after
// `spirv-opt -O`, and compares the two rankings: Kendall's tau-b over the lines of at least 1 % in
// either. Blocks have fixed counts, the same for both: each loop runs eight times, and both sides
// of a condition run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/model/device_costs.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/cfg.h"
#include "spirv/analysis/loops.h"
#include "spirv/testing/testing.h"

namespace tally {
namespace {

using spirv::Module;

constexpr double kIterations = 8;
constexpr double kLeastShare = 0.01;
constexpr double kAgreement = 0.85;

std::vector<uint32_t> words_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  const std::string text = bytes.str();
  std::vector<uint32_t> words(text.size() / sizeof(uint32_t));
  std::copy_n(text.data(), words.size() * sizeof(uint32_t), reinterpret_cast<char*>(words.data()));
  return words;
}

// How often one execution of a function runs each of its blocks.
std::vector<double> counts_in(const Module& module, const spirv::Function& function) {
  const auto cfg = spirv::Cfg::build(module, function);
  std::vector<std::vector<uint32_t>> successors;
  for (uint32_t block = 0; block < cfg->blocks().size(); ++block)
    successors.emplace_back(cfg->successors(block).begin(), cfg->successors(block).end());
  std::vector<double> counts(successors.size(), 1);
  for (const spirv::Loop& loop : spirv::find_loops(successors, 0)) {
    for (const uint32_t block : loop.vertices) counts[block] *= kIterations;
  }
  return counts;
}

// The executions of each function of the module.
std::map<uint32_t, double> executions_of_functions(const Module& module, uint32_t entry) {
  std::map<uint32_t, double> executions = {{entry, 1}};
  const auto order = module.calls().callees_first(entry);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const spirv::Function& function = module.functions()[*at];
    const std::vector<double> counts = counts_in(module, function);
    const auto blocks = module.blocks_of(function);
    for (size_t b = 0; b < blocks.size(); ++b) {
      for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
        const uint32_t called = spirv::called_functions(module.instruction(i)).first;
        const uint32_t callee = called == 0 ? spirv::kNone : module.function_index(called);
        if (callee != spirv::kNone) executions[callee] += executions[*at] * counts[b];
      }
    }
  }
  return executions;
}

struct Lines {
  std::map<uint32_t, double> cost, instructions;  // by line
};

Lines lines_of(const std::string& file) {
  const Module module = spirv::test::parsed(words_of(file));
  const spirv::EntryPoint& entry = module.entry_points().front();
  const auto map = spirv::BlockMap::build(module, entry.model, entry.name, spirv::CostDetail::Kept);
  const auto executions = executions_of_functions(module, module.function_index(entry.function_id));
  const auto generic = analysis::DeviceCosts::generic();
  Lines lines;
  for (const spirv::MappedFunction& function : map->functions()) {
    const uint32_t index = module.function_index(function.id);
    const std::vector<double> counts = counts_in(module, module.functions()[index]);
    for (uint32_t b = 0; b < function.block_count; ++b) {
      const double runs = executions.at(index) * counts[b];
      for (const spirv::LineCost& line : map->lines_of(map->blocks()[function.first_block + b])) {
        lines.cost[line.location.line] +=
            runs * static_cast<double>(generic->cost_of(map->kept(line)));
        lines.instructions[line.location.line] +=
            runs * static_cast<double>(line.mix[spirv::CostClass::Instruction]);
      }
    }
  }
  return lines;
}

double sum_of(const std::map<uint32_t, double>& values) {
  double sum = 0;
  for (const auto& [line, value] : values) sum += value;
  return sum;
}

int sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

// Kendall's tau-b.
double agreement(std::map<uint32_t, double> a, std::map<uint32_t, double> b) {
  const double all_a = sum_of(a), all_b = sum_of(b);
  std::vector<std::pair<double, double>> shares;
  for (const auto& [line, value] : a) b.try_emplace(line, 0);
  for (const auto& [line, value] : b) {
    const std::pair share{a[line] / all_a, value / all_b};
    if (std::max(share.first, share.second) >= kLeastShare) shares.push_back(share);
  }
  double together = 0, pairs_a = 0, pairs_b = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int x = sign(shares[i].first - shares[j].first);
      const int y = sign(shares[i].second - shares[j].second);
      together += x * y;
      pairs_a += x * x;
      pairs_b += y * y;
    }
  }
  return pairs_a == 0 || pairs_b == 0 ? 1 : together / std::sqrt(pairs_a * pairs_b);
}

std::vector<std::string> module_files() {
  std::vector<std::string> files;
  std::istringstream list(TALLY_MODULES);
  for (std::string file; std::getline(list, file, ',');) files.push_back(file);
  return files;
}

TEST(CostRanking, lines_of_twelve_shaders_rank_alike_before_and_after_an_optimiser) {
  const auto files = module_files();
  ASSERT_GE(files.size(), 12u);
  double costs = 0, instructions = 0;
  size_t agreeing = 0;
  fmt::print("{:<28} {:>6} {:>13}\n", "Kendall's tau by", "cost", "instructions");
  for (const std::string& file : files) {
    const Lines plain = lines_of(file), optimised = lines_of(file + ".opt");
    const double by_cost = agreement(plain.cost, optimised.cost);
    const double by_instructions = agreement(plain.instructions, optimised.instructions);
    const std::string name = file.substr(file.rfind('/') + 1);
    fmt::print("{:<28} {:>6.3f} {:>13.3f}\n", name, by_cost, by_instructions);
    agreeing += by_cost >= kAgreement ? 1 : 0;
    costs += by_cost;
    instructions += by_instructions;
  }
  const auto count = static_cast<double>(files.size());
  fmt::print("{:<28} {:>6.3f} {:>13.3f}\n", "mean", costs / count, instructions / count);
  EXPECT_GE(agreeing, 12u);
  EXPECT_GE(costs / count, 0.9);
  EXPECT_GT(costs / count, instructions / count + 0.1);
}

}  // namespace
}  // namespace tally
