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

#include "analysis/model/device_model.h"
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

std::vector<std::string> files_of(const char* text) {
  std::vector<std::string> files;
  std::istringstream list(text);
  for (std::string file; std::getline(list, file, ',');) files.push_back(file);
  return files;
}

struct Agreement {
  size_t agreeing = 0;
  double cost = 0, instructions = 0;  // means
};

// Compares the lines of modules as glslang and as another compiler writes them.
Agreement compare(const std::vector<std::pair<std::string, std::string>>& modules) {
  Agreement sum;
  fmt::print("{:<28} {:>6} {:>13}\n", "Kendall's tau by", "cost", "instructions");
  const auto print = [](const std::string& name, double cost, double instructions) {
    fmt::print("{:<28} {:>6.3f} {:>13.3f}\n", name, cost, instructions);
  };
  for (const auto& [file, other] : modules) {
    const Lines plain = lines_of(file), changed = lines_of(other);
    const double cost = agreement(plain.cost, changed.cost);
    const double instructions = agreement(plain.instructions, changed.instructions);
    print(other.substr(other.rfind('/') + 1), cost, instructions);
    sum.agreeing += cost >= kAgreement ? 1 : 0;
    sum.cost += cost;
    sum.instructions += instructions;
  }
  sum.cost /= static_cast<double>(modules.size());
  sum.instructions /= static_cast<double>(modules.size());
  print("mean", sum.cost, sum.instructions);
  return sum;
}

std::vector<std::pair<std::string, std::string>> with_ending(const char* files,
                                                             const std::string& ending) {
  std::vector<std::pair<std::string, std::string>> modules;
  for (const std::string& file : files_of(files)) modules.emplace_back(file, file + ending);
  return modules;
}

TEST(CostRanking, lines_of_twelve_shaders_rank_alike_before_and_after_an_optimiser) {
  const Agreement found = compare(with_ending(TALLY_MODULES, ".opt"));
  EXPECT_GE(found.agreeing, 12u);
  EXPECT_GE(found.cost, 0.9);
  EXPECT_GT(found.cost, found.instructions + 0.1);
}

TEST(CostRanking, lines_of_twelve_shaders_rank_alike_as_shaderc_optimises_them) {
  const Agreement found = compare(with_ending(TALLY_MODULES, ".glslc"));
  EXPECT_GE(found.agreeing, 12u);
  EXPECT_GE(found.cost, 0.9);
  EXPECT_GT(found.cost, found.instructions + 0.1);
}

// Only four lines of nlmeans.comp have 1 %, and two of them cost nearly the same.
TEST(CostRanking, lines_of_hlsl_rank_alike_before_and_after_an_optimiser) {
  const auto modules = with_ending(TALLY_HLSL_MODULES, ".opt");
  const Agreement found = compare(modules);
  EXPECT_GE(found.agreeing + 1, modules.size());
  EXPECT_GE(found.cost, 0.9);
}

// The HLSL has on each line what the GLSL has there.
TEST(CostRanking, lines_of_hlsl_rank_as_those_of_the_same_shader_in_glsl) {
  std::vector<std::pair<std::string, std::string>> modules;
  for (const std::string& file : files_of(TALLY_HLSL_MODULES))
    modules.emplace_back(file.substr(0, file.rfind('.')), file);
  EXPECT_EQ(compare(modules).agreeing, modules.size());
}

}  // namespace
}  // namespace tally
