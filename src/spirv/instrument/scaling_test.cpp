// The time of the pass follows the size of the module, and it needs no stack that grows with it.
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/block_map.h"
#include "spirv/instrument/block_count.h"
#include "spirv/testing/instrumented.h"
#include "spirv/testing/large_modules.h"

namespace tally::spirv {
namespace {

using test::LargeModule;

BlockCountOptions options_of(const LargeModule& module) {
  BlockCountOptions options = test::compute_options();
  options.stage = module.stage;
  options.address = {AddressSource::Kind::UniformBuffer, 0, 7, 0};
  return options;
}

void instrument(const LargeModule& module, const BlockCountOptions& options) {
  const auto result = add_block_counts(module.words, options);
  EXPECT_TRUE(result) << result.error().message;
}

// The layer's work on a module, in several ways.
void work_on(const LargeModule& module) {
  EXPECT_TRUE(BlockMap::build(test::parsed(module.words), module.stage, "main"));
  BlockCountOptions options = options_of(module);
  instrument(module, options);
  if (module.stage != spv::ExecutionModel::Fragment) return;
  options.regions.emplace();
  instrument(module, options);
  options.regions.reset();
  options.driver.hangs_on_discards = true;
  instrument(module, options);
}

// Time of this thread, so that other work of the machine makes no difference.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_for(const LargeModule& module) {
  const double begin = processor_seconds();
  work_on(module);
  return processor_seconds() - begin;
}

class Scaling : public testing::TestWithParam<std::string_view> {
 protected:
  // Memory is kept for the next round: the kernel's time for new pages is not part of the pass.
  static void SetUpTestSuite() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
  }
};

// It would take 256 times as long if the time grew with the square. It may take more than 16 times
// as long: the larger module does not fit into the caches. Other work of the machine can only make
// a round longer, so the shortest counts.
TEST_P(Scaling, sixteen_times_the_blocks_take_less_than_100_times_as_long) {
  constexpr int kRounds = 8;
  const LargeModule small = test::large_module(GetParam(), 4'000);
  const LargeModule large = test::large_module(GetParam(), 64'000);
  double few = seconds_for(small), many = seconds_for(large);
  for (int round = 1; round < kRounds && many >= 100 * few; ++round) {
    few = std::min(few, seconds_for(small));
    many = std::min(many, seconds_for(large));
  }
  EXPECT_LT(many, 100 * few);
}

// On a stack of 128 kB.
TEST_P(Scaling, deep_nesting_needs_no_deep_stack) {
  const LargeModule module = test::large_module(GetParam(), 20'000);
  const std::function<void()> work = [&] { work_on(module); };
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
  pthread_t thread{};
  const auto body = [](void* run) -> void* {
    (*static_cast<const std::function<void()>*>(run))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, const_cast<std::function<void()>*>(&work)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST_P(Scaling, the_modules_are_valid_and_stay_so) {
  const LargeModule module = test::large_module(GetParam(), 40);
  EXPECT_EQ(test::validate(module.words), "");
  EXPECT_NO_THROW(test::instrument(module.words, options_of(module)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Scaling, testing::ValuesIn(test::large_shapes()),
                         [](const auto& shape) {
                           std::string name(shape.param);
                           std::ranges::replace_if(
                               name, [](char c) { return c == ' ' || c == '\''; }, '_');
                           return name;
                         });

// 4 bytes for each id below the bound would be 16 MB each time.
TEST(Scaling, the_bound_of_ids_costs_nothing) {
  LargeModule module = test::large_module("ifs in a row", 4);
  BlockCountOptions options = test::compute_options();  // with push constants
  const auto seconds = [&] {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      const double begin = processor_seconds();
      for (int i = 0; i < 100; ++i) instrument(module, options);
      best = std::min(best, processor_seconds() - begin);
    }
    return best;
  };
  const double low = seconds();
  module.words[3] = kBoundLimit - 10'000;
  EXPECT_LT(seconds(), 4 * low + 0.05);
  // The highest id is a type's, too.
  const test::Words type = test::instruction(spv::Op::OpTypeStruct, {module.words[3] - 1});
  const auto first =
      std::ranges::find(module.words, test::instruction(spv::Op::OpTypeVoid, {1})[0]);
  module.words.insert(first, type.begin(), type.end());
  EXPECT_LT(seconds(), 4 * low + 0.05);
}

// An intersection shader clears its counts wherever it may go on; many such places share a
// function.
TEST(Scaling, many_reported_intersections_clear_the_counts_in_one_function) {
  const auto few = test::large_module("reported intersections", 3);
  const auto many = test::large_module("reported intersections", 1000);
  const auto text_of = [](const LargeModule& module) {
    return test::readable(test::instrument(module.words, options_of(module)).words);
  };
  EXPECT_EQ(text_of(few).find("tally_clear"), std::string::npos);
  EXPECT_EQ(test::count_of(text_of(many), "OpFunctionCall %void %tally_clear"), 1000u);
}

}  // namespace
}  // namespace tally::spirv
