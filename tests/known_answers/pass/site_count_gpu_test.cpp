// Counting at sites on a driver: answers that are worked out on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "discard_in_loop.frag.h"
#include "full_screen.vert.h"
#include "lanes.comp.h"
#include "loops.comp.h"
#include "memory.comp.h"
#include "spirv/analysis/sites.h"
#include "spirv/ir/module.h"
#include "support/environment.h"
#include "support/gpu_run.h"
#include "values.comp.h"

namespace tally::test {
namespace {

using spirv::SiteSlot;

template <size_t N>
std::vector<uint32_t> words_of(const uint32_t (&words)[N]) {
  return {words, words + N};
}

// Ways that differ in how sites count.
std::vector<Way> ways_of_sites(const Context& context, VkShaderStageFlagBits stage,
                               const spirv::SiteOptions& sites) {
  std::vector<Way> ways = all_ways(abilities_of(context), stage);
  for (Way& way : ways) way.sites = sites;
  return ways;
}

// The numbers of each site, in the order of the code.
using SlotNumbers = std::map<SiteSlot, uint64_t>;
std::vector<std::pair<uint32_t, SlotNumbers>> numbers_of(const spirv::BlockCounts& counts) {
  std::vector<std::pair<uint32_t, SlotNumbers>> all;
  for (const auto& [site, slot, value] : counts.sites) {
    if (all.empty() || all.back().first != site) all.push_back({site, {}});
    if (value != 0) all.back().second[slot] = value;
  }
  return all;
}

// The numbers that runs of a loop add up to.
SlotNumbers runs(const std::vector<uint64_t>& lengths) {
  SlotNumbers numbers;
  for (const uint64_t length : lengths) {
    const auto bucket =
        std::min<uint32_t>(static_cast<uint32_t>(std::bit_width(length)), spirv::kRunBuckets - 1);
    ++numbers[static_cast<SiteSlot>(static_cast<uint32_t>(SiteSlot::Runs) + bucket)];
    if (length == 0) continue;
    numbers[SiteSlot::Iterations] += length;
    numbers[SiteSlot::LongestRun] = std::max(numbers[SiteSlot::LongestRun], length);
  }
  return numbers;
}

TEST(SiteCountGpu, runs_of_loops_are_exact_however_they_end) {
  constexpr uint32_t kInvocations = 96;
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, words_of(loops_comp)}};
  program.values.assign(kInvocations, 0);
  program.groups[0] = kInvocations / 32;
  const auto each = [](const std::function<void(uint64_t, std::vector<uint64_t>&)>& add) {
    std::vector<uint64_t> lengths;
    for (uint64_t id = 0; id < kInvocations; ++id) add(id, lengths);
    return runs(lengths);
  };
  // In the order of the code: loops of main first, then the loop of the function that it calls.
  const std::vector<SlotNumbers> expected = {
      each([](uint64_t, auto& l) { l.push_back(10); }),
      each([](uint64_t id, auto& l) { l.push_back(id); }),
      each([](uint64_t, auto& l) { l.push_back(0); }),
      each([](uint64_t, auto& l) { l.push_back(6); }),
      each([](uint64_t, auto& l) { l.push_back(4); }),
      each([](uint64_t, auto& l) {
        for (uint64_t i = 0; i < 4; ++i) l.push_back(i);
      }),
      each([](uint64_t id, auto& l) { l.push_back(id % 3 + 1); }),
      each([](uint64_t, auto& l) { l.push_back(3); }),
      each([](uint64_t id, auto& l) { l.push_back(id < 50 && id % 2 == 1 ? id + 1 : 50); }),
      each([](uint64_t id, auto& l) {
        for (int i = 0; i < 3; ++i) l.push_back(id % 4 + 1);
      }),
  };
  const Outcome plain = run_program(context, program);
  for (const Way& way : ways_of_sites(context, VK_SHADER_STAGE_COMPUTE_BIT, {.loops = true})) {
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_EQ(outcome.values, plain.values);
    const auto sites = numbers_of(outcome.counts[0].blocks);
    ASSERT_EQ(sites.size(), expected.size());
    for (size_t i = 0; i < sites.size(); ++i) EXPECT_EQ(sites[i].second, expected[i]) << i;
  }
}

TEST(SiteCountGpu, a_discard_ends_the_run_of_a_loop) {
  constexpr uint32_t kSize = 16;
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_VERTEX_BIT, words_of(full_screen_vert)},
                    {VK_SHADER_STAGE_FRAGMENT_BIT, words_of(discard_in_loop_frag)}};
  program.target.extent = {kSize, kSize};
  std::vector<uint64_t> lengths;
  for (uint32_t i = 0; i < kSize * kSize; ++i) lengths.push_back(i % 2 == 0 ? 4 : 8);
  for (const Way& way : ways_of_sites(context, VK_SHADER_STAGE_FRAGMENT_BIT, {.loops = true})) {
    SCOPED_TRACE(to_string(way));
    const auto sites = numbers_of(run_program(context, program, way).counts.back().blocks);
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_EQ(sites[0].second, runs(lengths));
  }
}

TEST(SiteCountGpu, values_that_are_seldom_wanted_are_counted_by_instruction) {
  const std::vector<float> inputs = {0.0f,  1.0f,   -1.0f,  INFINITY, -INFINITY, NAN,
                                     3e38f, -3e38f, 1e-30f, 2.0f,     -0.0f,     5.0f};
  constexpr uint32_t kInvocations = 32;
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, words_of(values_comp)}};
  std::vector<float> values;
  for (uint32_t id = 0; id < kInvocations; ++id) values.push_back(inputs[id % inputs.size()]);
  for (const float value : values) program.values.push_back(std::bit_cast<uint32_t>(value));
  program.values.resize(kInvocations + 4 + kInvocations);

  // Denormals of a division.
  const bool flushes = driver_name() == "swiftshader" || driver_name() == "nvidia";
  using Key = std::pair<spv::Op, SiteSlot>;
  std::map<Key, uint64_t> expected;
  const auto add_result = [&](spv::Op op, std::initializer_list<float> components) {
    bool is_nan = false, is_infinite = false, is_denormal = false;
    for (const float component : components) {
      is_nan = is_nan || std::isnan(component);
      is_infinite = is_infinite || std::isinf(component);
      is_denormal = is_denormal || std::fpclassify(component) == FP_SUBNORMAL;
    }
    if (is_nan) ++expected[{op, SiteSlot::Nan}];
    if (is_infinite && !is_nan) ++expected[{op, SiteSlot::Infinite}];
    if (is_denormal && !is_nan && !is_infinite && !flushes) ++expected[{op, SiteSlot::Denormal}];
  };
  for (uint32_t id = 0; id < kInvocations; ++id) {
    const float x = values[id];
    add_result(spv::Op::OpFMul, {x * 2});
    add_result(spv::Op::OpFDiv, {1 / x});
    add_result(spv::Op::OpExtInst, {std::sqrt(x)});
    add_result(spv::Op::OpFAdd, {x, 1 + x, 1});  // of the vector
    add_result(spv::Op::OpFAdd, {x * 2});        // of the product
    if (x == 0) ++expected[{spv::Op::OpFDiv, SiteSlot::ZeroDivision}];
    if (x < 0) ++expected[{spv::Op::OpExtInst, SiteSlot::Negative}];
    if (id % 4 == 0) ++expected[{spv::Op::OpUDiv, SiteSlot::ZeroDivision}];
    if (id % 8 >= 4) ++expected[{spv::Op::OpAccessChain, SiteSlot::OutOfRange}];
  }
  const auto module = spirv::Module::parse(program.stages[0].code);
  ASSERT_TRUE(module.ok());
  std::map<uint32_t, spv::Op> opcodes;  // by site
  for (size_t i = 0; i < module->instruction_count(); ++i) {
    opcodes[spirv::site_number(module->word_offset(i))] = module->instruction(i).opcode();
  }
  const Outcome plain = run_program(context, program);
  for (const Way& way : ways_of_sites(context, VK_SHADER_STAGE_COMPUTE_BIT, {.values = true})) {
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_EQ(outcome.values, plain.values);
    std::map<Key, uint64_t> counted;
    for (const auto& [site, numbers] : numbers_of(outcome.counts[0].blocks)) {
      for (const auto& [slot, number] : numbers) counted[{opcodes[site], slot}] += number;
    }
    EXPECT_EQ(counted, expected);
  }
}

// Takes the number of touched lines out of the sites; nullopt: there is none.
std::optional<uint64_t> take_touched_lines(std::vector<std::pair<uint32_t, SlotNumbers>>& sites) {
  for (auto site = sites.begin(); site != sites.end(); ++site) {
    if (!site->second.contains(SiteSlot::TouchedLines)) continue;
    const uint64_t lines = site->second[SiteSlot::TouchedLines];
    sites.erase(site);
    return lines;
  }
  return std::nullopt;
}

// The estimate of the number of lines of binding 0 of set 0, by the documented hash and by a search
// for the highest likelihood.
uint64_t estimated_lines(const std::set<uint32_t>& lines) {
  constexpr int kRows = 512, kLastBit = 23;
  std::set<std::pair<uint32_t, int>> bits;
  for (const uint32_t line : lines) {
    uint32_t h = line * 0x9e3779b1u;
    h = (h ^ h >> 15) ^ 0x9e3779b1u;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    h ^= h >> 16;
    bits.insert({h % kRows, std::min(std::countr_zero(h / kRows), kLastBit)});
  }
  const auto likelihood = [&](double count) {
    double sum = 0;
    for (int bit = 0; bit <= kLastBit; ++bit) {
      const double mean = count / kRows * std::pow(0.5, std::min(bit + 1, kLastBit));
      const auto set = std::ranges::count(bits, bit, &std::pair<uint32_t, int>::second);
      sum += static_cast<double>(set) * std::log(-std::expm1(-mean)) -
             static_cast<double>(kRows - set) * mean;
    }
    return sum;
  };
  double low = 0.01, high = 1e6;
  for (int i = 0; i < 200; ++i) {
    const double third = (high - low) / 3;
    likelihood(low + third) < likelihood(high - third) ? low += third : high -= third;
  }
  return static_cast<uint64_t>(std::llround(low));
}

// Where each lane of an access begins, in bytes; -1: it does not take part.
struct AccessPattern {
  bool is_shared;
  uint32_t bytes, extent;
  std::function<int(uint32_t id)> begin;
};

// Adds what lanes that are together touch, of which each begins at one of these bytes.
void add_together(const AccessPattern& access, const std::vector<uint32_t>& begins,
                  SlotNumbers& numbers) {
  std::set<uint32_t> sectors, lines, words;
  for (const uint32_t begin : begins) {
    for (uint32_t byte = begin; byte < begin + access.extent; ++byte) {
      sectors.insert(byte / 32);
      lines.insert(byte / 128);
      words.insert(byte / 4);
    }
  }
  ++numbers[SiteSlot::Subgroups];
  if (access.is_shared) {
    std::map<uint32_t, uint64_t> of_bank;
    uint64_t most = 0;
    for (const uint32_t word : words) most = std::max(most, ++of_bank[word % 32]);
    const uint64_t extra = most - (words.size() + 31) / 32;
    if (extra != 0) numbers[SiteSlot::ExtraPasses] += extra;
  } else {
    numbers[SiteSlot::Sectors] += sectors.size();
    numbers[SiteSlot::Lines] += lines.size();
  }
}

SlotNumbers touched(const AccessPattern& access, uint32_t invocations, uint32_t subgroup_size) {
  SlotNumbers numbers;
  for (uint32_t first = 0; first < invocations; first += subgroup_size) {
    std::vector<uint32_t> begins;
    for (uint32_t id = first; id < std::min(first + subgroup_size, invocations); ++id) {
      if (const int begin = access.begin(id); begin >= 0)
        begins.push_back(static_cast<uint32_t>(begin));
    }
    if (begins.empty()) continue;
    numbers[SiteSlot::RequestedBytes] += begins.size() * access.bytes;
    if (subgroup_size == 1) continue;  // without subgroup operations
    add_together(access, begins, numbers);
  }
  return numbers;
}

TEST(SiteCountGpu, sectors_lines_and_bank_conflicts_are_those_that_the_host_works_out) {
  constexpr uint32_t kInvocations = 64;
  constexpr int kOrder = 0, kSink = 256, kWords = 512, kWide = 16896, kPairs = 17920,
                kMatrices = 19968, kEnd = kMatrices + 16 * 48;
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, words_of(memory_comp)}};
  program.values.assign(kEnd / 4, 0);
  std::mt19937 random(42);
  std::vector<int> order;
  for (uint32_t id = 0; id < kInvocations; ++id) {
    order.push_back(static_cast<int>(random() % 4096));
    program.values[id] = static_cast<uint32_t>(order.back());
  }
  const auto words = [&](int stride) {
    return AccessPattern{false, 4, 4, [=](uint32_t id) { return kWords + 4 * stride * int(id); }};
  };
  const auto shared = [](uint32_t bytes, auto begin) {
    return AccessPattern{true, bytes, bytes, begin};
  };
  const auto at = [](int first, int stride) {
    return [=](uint32_t id) { return first + stride * int(id); };
  };
  const auto of_matrix = [](int first) {
    return [=](uint32_t id) { return first + 48 * int(id % 16); };
  };
  // In the order of the code. An increment of an atomic is one access.
  const std::vector<AccessPattern> accesses = {
      {false, 4, 4, at(kOrder, 4)},
      words(0),
      words(2),
      words(4),
      words(8),
      words(64),
      {false, 4, 4, [&](uint32_t id) { return kWords + 4 * order[id]; }},
      {false, 4, 4, at(kWide + 4, 16)},
      {false, 16, 16, at(kWide, 16)},
      {false, 4, 4, at(kPairs + 24, 32)},
      {false, 4, 4, of_matrix(kMatrices + 16 + 8)},
      {false, 36, 44, of_matrix(kMatrices)},
      {false, 36, 44, [&](uint32_t id) { return kMatrices + 48 * (order[id] % 16); }},
      {false, 4, 4, [](uint32_t id) { return id % 3 == 0 ? kWords + 4 * int(id) : -1; }},
      shared(4, at(0, 8)),
      shared(4, at(0, 128)),
      shared(4, [](uint32_t id) { return int(id % 32 * 32 + id / 32) * 4; }),
      shared(4, [](uint32_t id) { return int(id % 32 * 33 + id / 32) * 4; }),
      shared(16, at(0, 16)),
      shared(4, [&](uint32_t id) { return 4 * (order[id] % 4); }),
      {false, 4, 4, at(kSink, 4)},
  };
  std::set<uint32_t> lines;  // of the buffer
  for (const AccessPattern& access : accesses) {
    for (uint32_t id = 0; id < kInvocations && !access.is_shared; ++id) {
      const int begin = access.begin(id);
      for (uint32_t byte = 0; begin >= 0 && byte < access.extent; ++byte)
        lines.insert((static_cast<uint32_t>(begin) + byte) / 128);
    }
  }
  const uint64_t touched_lines = estimated_lines(lines);
  EXPECT_NEAR(static_cast<double>(touched_lines), static_cast<double>(lines.size()),
              0.06 * static_cast<double>(lines.size()));
  const Outcome plain = run_program(context, program);
  const bool masks_branches = abilities_of(context).masks_branches;
  // Few ways: new lavapipes take seconds for each.
  for (const bool no_subgroups : {false, true}) {
    const Way way{.no_subgroups = no_subgroups, .sites = {.memory = true}};
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_EQ(outcome.values, plain.values);
    auto sites = numbers_of(outcome.counts[0].blocks);
    EXPECT_EQ(take_touched_lines(sites), touched_lines);
    ASSERT_EQ(sites.size(), accesses.size());
    const bool by_subgroup = sites[0].second.contains(SiteSlot::Subgroups);
    EXPECT_EQ(by_subgroup, !no_subgroups && !masks_branches);
    const uint32_t size = by_subgroup ? context.subgroup_size() : 1;
    for (size_t i = 0; i < sites.size(); ++i) {
      EXPECT_EQ(sites[i].second, touched(accesses[i], kInvocations, size)) << i;
    }
  }
  for (const uint32_t lanes : {32u, 64u}) {
    const Way way{.shards_log2 = 1, .sites = {.memory = true, .memory_lanes = lanes}};
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_EQ(outcome.values, plain.values);
    auto sites = numbers_of(outcome.counts[0].blocks);
    EXPECT_EQ(take_touched_lines(sites), touched_lines);
    ASSERT_EQ(sites.size(), accesses.size());
    for (size_t i = 0; i < sites.size(); ++i) {
      EXPECT_EQ(sites[i].second, touched(accesses[i], kInvocations, lanes)) << i;
    }
  }
}

// The accesses of an instruction by the lanes of virtual subgroups.
class TogetherLanes {
 public:
  TogetherLanes(bool is_shared, uint32_t lanes) : access_{is_shared, 4, 4, {}}, lanes_(lanes) {}

  // `where`: what lanes that are together have in common.
  void add(uint32_t group, uint32_t lane, std::vector<uint32_t> where, uint32_t word) {
    where.insert(where.end(), {group, lane / lanes_});
    begins_[where].push_back(4 * word);
  }
  void add_lines(std::set<uint32_t>& lines) const {
    for (const auto& [where, begins] : begins_) {
      for (const uint32_t begin : begins) lines.insert(begin / 128);
    }
  }
  SlotNumbers numbers() const {
    SlotNumbers numbers;
    for (const auto& [where, begins] : begins_) {
      numbers[SiteSlot::RequestedBytes] += begins.size() * access_.bytes;
      add_together(access_, begins, numbers);
    }
    return numbers;
  }

 private:
  AccessPattern access_;
  uint32_t lanes_;
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> begins_;
};

// The accesses of lanes.comp, in the order of the code, and the lines of the buffer.
std::vector<SlotNumbers> accesses_of_lanes(uint32_t groups, uint32_t lanes,
                                           std::set<uint32_t>& lines) {
  constexpr uint32_t kLanes = 96, kSink = 0, kWords = 288;
  TogetherLanes words(false, lanes), line(true, lanes), sink(false, lanes), called(false, lanes);
  for (uint32_t group = 0; group < groups; ++group) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const auto call = [&](uint32_t number, uint32_t index) {
        for (uint32_t i = 0; i <= index % 3; ++i)
          called.add(group, lane, {number, i}, kWords + index * 4 + i * 256);
      };
      for (uint32_t i = 0; i < 4; ++i) {
        if ((lane + i) % 4 == 0) continue;
        for (uint32_t j = 0; j < (lane + i) % 5; ++j) {
          words.add(group, lane, {i, j}, kWords + lane + 512 * i + 64 * j);
          line.add(group, lane, {i, j}, lane * 8 + j);
        }
      }
      if (lane % 2 == 0) call(0, lane);
      call(1, lane + 1);
      if (lane % 7 != 6) sink.add(group, lane, {}, kSink + group * kLanes + lane);
    }
  }
  for (const TogetherLanes* of : {&words, &sink, &called}) of->add_lines(lines);
  return {words.numbers(), line.numbers(), sink.numbers(), called.numbers()};
}

TEST(SiteCountGpu, virtual_subgroups_are_those_of_the_same_iterations_and_calls) {
  constexpr uint32_t kGroups = 3;
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, words_of(lanes_comp)}};
  program.values.assign(288 + 4096, 7);
  program.groups[0] = kGroups;
  const Outcome plain = run_program(context, program);
  for (const uint32_t lanes : {32u, 64u}) {
    for (const bool narrow : {false, true}) {
      const Way way{.uniform_buffer = narrow,
                    .narrow = narrow,
                    .sites = {.memory = true, .memory_lanes = lanes}};
      SCOPED_TRACE(to_string(way));
      const Outcome outcome = run_program(context, program, way);
      EXPECT_EQ(outcome.values, plain.values);
      auto sites = numbers_of(outcome.counts[0].blocks);
      std::set<uint32_t> lines;
      const std::vector<SlotNumbers> expected = accesses_of_lanes(kGroups, lanes, lines);
      EXPECT_EQ(take_touched_lines(sites), estimated_lines(lines));
      ASSERT_EQ(sites.size(), expected.size());
      for (size_t i = 0; i < sites.size(); ++i) EXPECT_EQ(sites[i].second, expected[i]) << i;
    }
  }
}

}  // namespace
}  // namespace tally::test
