#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/model/device_model.h"
#include "analysis/predict/fit.h"
#include "analysis/predict/prediction.h"
#include "analysis/tables/tables.h"
#include "analysis/testing/test_scene.h"
#include "spirv/testing/testing.h"

namespace tally::analysis {
namespace {

using spirv::CostClass;
using testing::DoubleNear;
using testing::HasSubstr;

// The numbers that a fit has to find, in seconds.
struct Known {
  CostClass cost;
  double seconds;
};
constexpr Known kKnown[] = {{CostClass::Fma, 1e-12},         {CostClass::Int32, 2e-12},
                            {CostClass::ControlFlow, 5e-12}, {CostClass::SpecialFunction, 8e-12},
                            {CostClass::BufferLoad, 2e-11},  {CostClass::BufferBytesLoaded, 1e-11},
                            {CostClass::SharedLoad, 3e-11},  {CostClass::TextureSample, 6e-11},
                            {CostClass::Atomic, 4e-10}};

DeviceModel known_device(double overlap) {
  DeviceModel device{.name = "known", .driver = "none", .date = "2026-11-01"};
  for (const Known& known : kKnown)
    device.classes[static_cast<size_t>(known.cost)].value = known.seconds;
  device.overlap.value = overlap;
  return device;
}

// A loop that counts, with `count` operations of a class.
MeasuredKernel kernel_of(const DeviceModel& device, std::initializer_list<CostClass> costs,
                         double count) {
  MeasuredKernel kernel{.name = "kernel"};
  kernel.work[CostClass::Int32] = 1e6;
  kernel.work[CostClass::ControlFlow] = 1e6;
  for (const CostClass cost : costs) kernel.work[cost] += count * 1e6;
  kernel.seconds = device.time_of(kernel.work).seconds;
  return kernel;
}

std::vector<MeasuredKernel> kernels_of(const DeviceModel& device) {
  std::vector<MeasuredKernel> kernels;
  for (const Known& known : kKnown) kernels.push_back(kernel_of(device, {known.cost}, 16));
  kernels.push_back(kernel_of(device, {CostClass::BufferLoad}, 16));
  kernels.back().work[CostClass::BufferBytesLoaded] = 256e6;
  kernels.back().seconds = device.time_of(kernels.back().work).seconds;
  kernels.push_back(kernel_of(device, {CostClass::SpecialFunction, CostClass::SharedLoad}, 8));
  kernels.back().mixes = true;
  kernels.push_back(kernel_of(device, {CostClass::Fma, CostClass::TextureSample}, 60));
  kernels.back().mixes = true;
  return kernels;
}

TEST(NonNegativeLeastSquares, finds_the_solution_or_the_nearest_without_negative_numbers) {
  const auto exact = non_negative_least_squares({{2, 0}, {1, 1}, {0, 3}}, {4, 5, 9});
  EXPECT_THAT(exact, testing::ElementsAre(DoubleNear(2, 1e-6), DoubleNear(3, 1e-6)));
  // Without the bound the second would be -1.
  const auto bounded = non_negative_least_squares({{1, 1}, {1, 0}}, {1, 2});
  EXPECT_THAT(bounded, testing::ElementsAre(DoubleNear(1.5, 1e-6), 0));
}

class KernelFitOf : public testing::TestWithParam<double> {};

TEST_P(KernelFitOf, a_known_device_gives_its_numbers_back) {
  const DeviceModel truth = known_device(GetParam());
  DeviceModel fitted{.is_cpu = GetParam() == 1};
  fit_kernels(kernels_of(truth), fitted);
  EXPECT_EQ(fitted.overlap.value, GetParam());
  for (const Known& known : kKnown) {
    const DeviceNumber& number = fitted.classes[static_cast<size_t>(known.cost)];
    EXPECT_NEAR(number.value / known.seconds, 1, 0.02) << static_cast<int>(known.cost);
    EXPECT_NEAR(number.residual, 0, 0.02);
    EXPECT_NE(number.kernel, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Overlaps, KernelFitOf, testing::Values(1, 2, 4));

TEST(WorkOfLoop, counts_what_the_loop_repeats_and_nothing_else) {
  const auto words = spirv::test::assemble(R"(
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main" %out
    OpExecutionMode %main LocalSize 1 1 1
    OpDecorate %out Binding 0
    OpDecorate %out DescriptorSet 0
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    %void = OpTypeVoid
    %type = OpTypeFunction %void
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %zero = OpConstant %uint 0
    %one = OpConstant %uint 1
    %ten = OpConstant %uint 10
    %block = OpTypeStruct %uint
    %pointer = OpTypePointer StorageBuffer %block
    %member = OpTypePointer StorageBuffer %uint
    %out = OpVariable %pointer StorageBuffer
    %main = OpFunction %void None %type
    %entry = OpLabel
    %at = OpAccessChain %member %out %zero
    OpBranch %header
    %header = OpLabel
    %i = OpPhi %uint %zero %entry %next %body
    OpLoopMerge %merge %body None
    OpBranch %body
    %body = OpLabel
    OpAtomicStore %at %one %zero %i
    %next = OpIAdd %uint %i %one
    %goes_on = OpULessThan %bool %next %ten
    OpBranchConditional %goes_on %header %merge
    %merge = OpLabel
    OpStore %at %i
    OpReturn
    OpFunctionEnd)");
  const auto work = work_of_loop(words, spv::ExecutionModel::GLCompute, 64, 10);
  ASSERT_TRUE(work.ok()) << work.error().message;
  EXPECT_EQ((*work)[CostClass::Atomic], 640);
  EXPECT_EQ((*work)[CostClass::Int32], 1280);
  EXPECT_EQ((*work)[CostClass::ControlFlow], 640);
  EXPECT_EQ((*work)[CostClass::BufferStore], 0);
}

TEST(DeviceModel, takes_the_longest_resource_where_all_overlap_and_the_sum_where_none_does) {
  Work work;
  work[CostClass::Fma] = 1e9;         // 1 ms
  work[CostClass::SharedLoad] = 1e8;  // 3 ms
  work.invocations = 1e6;
  EXPECT_NEAR(known_device(1).time_of(work).seconds, 4e-3, 1e-9);
  EXPECT_NEAR(known_device(100).time_of(work).seconds, 3e-3, 1e-6);
  EXPECT_EQ(known_device(4).time_of(work).bound, "shared memory");
}

TEST(DeviceModel, few_invocations_wait_for_themselves_and_a_dispatch_has_a_fixed_cost) {
  DeviceModel device = known_device(1);
  device.needed_invocations.value = 1000;
  device.dispatch.value = 5e-6;
  Work work;
  work[CostClass::Fma] = 1e6;  // 1 us
  work.invocations = 2000;
  EXPECT_NEAR(device.time_of(work).seconds, 6e-6, 1e-12);
  EXPECT_EQ(device.time_of(work).bound, "fixed cost");
  work.invocations = 100;
  EXPECT_NEAR(device.time_of(work).seconds, 15e-6, 1e-12);
  EXPECT_EQ(device.time_of(work).bound, "issue");
}

// Programs of five versions, whose times are the model's, times 2 and a noise that each program has
// by itself.
void add_programs(DeviceModel& device, int programs, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> of_program(0, 0.1), of_work(0, 0.05);
  std::uniform_real_distribution<double> size(-8, -2);
  for (int p = 0; p < programs; ++p) {
    const double all = of_program(random);
    for (int w = 0; w < 5; ++w) {
      const double modelled = std::pow(10, size(random));
      device.program_works.push_back(
          {"program " + std::to_string(p), std::to_string(w), "work", WorkKind::Dispatch,
           modelled * 2 * std::exp(all + of_work(random)), modelled, 0, 0, "issue"});
    }
  }
}

TEST(ProgramErrors, intervals_hold_what_they_say_for_programs_that_were_not_measured) {
  size_t covered = 0, all = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    DeviceModel device;
    add_programs(device, 14, seed);
    fit_programs(device);
    const ProgramErrors& errors = device.errors[0].value();
    EXPECT_NEAR(errors.shift, std::log(2), 0.15);
    ASSERT_TRUE(errors.low && errors.high);
    DeviceModel others;
    add_programs(others, 10, seed + 1000);
    for (const auto& work : others.program_works) {
      const double off = std::log(work.measured / work.modelled) - errors.shift;
      covered += off >= *errors.low && off <= *errors.high ? 1 : 0;
      ++all;
    }
  }
  const double share = static_cast<double>(covered) / static_cast<double>(all);
  EXPECT_GT(share, 0.75);
  EXPECT_LT(share, 0.95);
}

TEST(ProgramErrors, fewer_than_nine_programs_have_no_interval_and_no_time) {
  DeviceModel few, enough;
  add_programs(few, 8, 1);
  add_programs(enough, 9, 1);
  fit_programs(few);
  fit_programs(enough);
  EXPECT_FALSE(few.errors[0]->low);
  EXPECT_THAT(few.errors[0]->why_no_time(), HasSubstr("too few programs"));
  EXPECT_TRUE(enough.errors[0]->low);
  EXPECT_EQ(enough.errors[0]->why_no_time(), "");
  EXPECT_FALSE(enough.errors[1]);
}

TEST(ProgramErrors, large_errors_leave_no_time) {
  DeviceModel device;
  add_programs(device, 12, 3);
  for (size_t w = 0; w < device.program_works.size(); ++w)
    device.program_works[w].measured *= w % 2 == 0 ? 3 : 1;
  fit_programs(device);
  EXPECT_THAT(device.errors[0]->why_no_time(), HasSubstr("median error"));
}

TEST(ProgramErrors, ratios_are_of_versions_of_one_work_whose_counts_differ) {
  const auto ratios_of = [](const std::string& name, const std::string& version, double modelled) {
    DeviceModel device;
    device.program_works = {
        {"p", "a", "work", WorkKind::Dispatch, 2e-6, 1e-6, 0, 0, "issue"},
        {"p", version, name, WorkKind::Dispatch, 5e-6, modelled, 0, 0, "issue"}};
    fit_programs(device);
    return device.ratio_errors ? device.ratio_errors->works : 0;
  };
  EXPECT_EQ(ratios_of("work", "b", 2e-6), 2U);
  EXPECT_EQ(ratios_of("work", "a", 2e-6), 0U);
  EXPECT_EQ(ratios_of("other work", "b", 2e-6), 0U);
  EXPECT_EQ(ratios_of("work", "b", 1e-6), 0U);
  EXPECT_EQ(ratios_of("work", "b", 1e-6 * (1 + 1e-12)), 0U) << "rounded";
}

TEST(RatioTable, takes_times_for_those_of_equal_counts_where_the_fit_does) {
  const auto interval_of = [](double modelled) {
    const auto device = std::make_shared<const DeviceModel>();
    Prediction before{device}, after{device};
    for (Prediction* of : {&before, &after}) {
      of->works.works.push_back({.key = "k", .shape = "s", .name = "work"});
      of->works.works.back().work.invocations = 1;
      of->times.push_back({.seconds = 1e-6});
    }
    after.times[0].seconds = modelled;
    const Table table = make_ratio_table(before, after);
    EXPECT_EQ(table.rows.size(), 1U);
    const auto column = table.column_index("interval");
    return std::get<std::string>(table.rows.cell(0, *column));
  };
  EXPECT_EQ(interval_of(1e-6), "equal counts");
  EXPECT_EQ(interval_of(1e-6 * (1 + 1e-12)), "equal counts");
  EXPECT_EQ(interval_of(1e-6 * (1 + 1e-6)), "") << "the device has no errors of ratios";
}

TEST(MatchedWorks, are_of_one_name_or_at_one_place_among_those_of_a_shape) {
  const auto works = [](std::vector<CapturedWork> of) {
    return CaptureWorks{.works = std::move(of)};
  };
  const auto dispatch = [](const std::string& pipeline, const std::string& shape) {
    return CapturedWork{
        .key = pipeline + "|" + shape, .shape = shape, .name = pipeline + " " + shape};
  };
  using Matches = std::vector<std::optional<uint32_t>>;
  const CaptureWorks before =
      works({dispatch("p", "4 x 4"), dispatch("q", "4 x 4"), dispatch("r", "8 x 8")});
  EXPECT_EQ(match_works(before, before), (Matches{0, 1, 2}));
  // The shader of q was edited.
  EXPECT_EQ(match_works(before, works({dispatch("r", "8 x 8"), dispatch("new", "4 x 4"),
                                       dispatch("p", "4 x 4")})),
            (Matches{2, 1, 0}));
  // Two could be the edited one.
  EXPECT_EQ(match_works(before, works({dispatch("p", "4 x 4"), dispatch("new", "4 x 4"),
                                       dispatch("newer", "4 x 4")})),
            (Matches{0, std::nullopt, std::nullopt}));
}

TEST(ProgramErrors, ratios_of_a_program_do_not_have_what_its_works_share) {
  DeviceModel device;
  add_programs(device, 14, 5);
  fit_programs(device);
  ASSERT_TRUE(device.ratio_errors && device.ratio_errors->low);
  EXPECT_NEAR(device.ratio_errors->shift, 0, 0.02);
  EXPECT_LT(*device.ratio_errors->high - *device.ratio_errors->low,
            *device.errors[0]->high - *device.errors[0]->low);
}

TEST(Spearman, is_one_for_equal_order_and_shares_ranks_of_ties) {
  using List = std::vector<double>;
  const List equal = {1, 1, 1};
  EXPECT_DOUBLE_EQ(spearman(List{1, 5, 9}, List{2, 3, 100}, equal), 1);
  EXPECT_DOUBLE_EQ(spearman(List{1, 5, 9}, List{3, 2, 1}, equal), -1);
  EXPECT_NEAR(spearman(List{1, 1, 2}, List{1, 2, 3}, equal), 0.866, 0.001);
  // An element of weight 2 is as two equal ones.
  EXPECT_NEAR(spearman(List{1, 3, 2}, List{1, 2, 3}, List{2, 1, 1}),
              spearman(List{1, 1, 3, 2}, List{1, 1, 2, 3}, List{1, 1, 1, 1}), 1e-12);
}

TEST(DeviceFile, is_read_as_it_was_written) {
  DeviceModel device = known_device(4);
  fit_kernels(kernels_of(device), device);
  device.informative.emplace_back("dependent_load_ps", 3.5);
  add_programs(device, 10, 2);
  device.program_works[3].counts[static_cast<size_t>(CostClass::Fma)] = 1.5e9;
  fit_programs(device);
  const std::string text = device.to_json();
  const auto read = DeviceModel::parse("device.json", text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->to_json(), text);
  EXPECT_EQ(read->program_works[3].counts, device.program_works[3].counts);
}

TEST(DeviceFile, with_errors_that_no_program_has_is_damaged) {
  DeviceModel device = known_device(4);
  add_programs(device, 10, 2);
  fit_programs(device);
  device.errors[0]->high = 1000;
  EXPECT_THAT(DeviceModel::parse("d.json", device.to_json()).error().message,
              HasSubstr("damaged device file"));
}

TEST(TimeOfAPass, is_that_of_the_graphics_part_of_the_device_and_of_what_it_draws) {
  DeviceModel device = known_device(1);
  device.needed_invocations.value = 1000;
  device.graphics_arithmetic.value = 30;
  device.graphics_memory.value = 20;
  device.graphics_texture.value = 10;
  device.vertex.value = 2e-9;
  device.fragment.value = 3e-10;
  device.attachment_pixel.value = 1e-10;
  device.pass.value = 5e-6;
  device.draw.value = 1e-6;
  Work work{.kind = WorkKind::Pass};
  work[CostClass::Fma] = 1e6;            // 1 us in a dispatch
  work[CostClass::BufferLoad] = 1e5;     // 2 us
  work[CostClass::TextureSample] = 1e5;  // 6 us
  work.fragments = 1e5;
  work.vertices = 300;
  work.invocations = 1e5 + 300;
  work.attachment_pixels = 2e5;
  work.commands = 4;
  const WorkTime time = device.time_of(work);
  EXPECT_NEAR(time.fixed, 9e-6, 1e-12);
  EXPECT_NEAR(time.by_resource[static_cast<size_t>(Resource::Issue)], 30e-6, 1e-12);
  EXPECT_NEAR(time.by_resource[static_cast<size_t>(Resource::Memory)], 40e-6, 1e-12);
  EXPECT_NEAR(time.by_resource[static_cast<size_t>(Resource::Texture)], 60e-6, 1e-12);
  EXPECT_NEAR(time.by_resource[static_cast<size_t>(Resource::Raster)], 0.6e-6 + 30e-6 + 20e-6,
              1e-12);
  EXPECT_EQ(time.bound, "texture");
  // Ten invocations wait as long as in a dispatch.
  work.invocations = 10;
  EXPECT_NEAR(device.time_of(work).by_resource[static_cast<size_t>(Resource::Issue)], 100e-6,
              1e-12);
}

TEST(TimeOfADispatch, is_that_of_its_workgroups_and_of_how_subgroups_access_memory) {
  DeviceModel device = known_device(1);
  device.invocation.value = 1e-12;
  device.workgroup.value = 5e-10;
  device.spread_sector.value = 2e-12;
  device.extra_pass.value = 3e-12;
  device.dispatch.value = 4e-6;
  Work work;
  work.invocations = 1e6;
  work.workgroups = 1e4;
  work[CostClass::BufferLoad] = 1e6;   // 20 us
  work[CostClass::VaryingLoad] = 1e9;  // a register
  device.classes[static_cast<size_t>(CostClass::VaryingLoad)].value = 1e-9;
  const WorkTime close = device.time_of(work);
  EXPECT_NEAR(close.by_resource[static_cast<size_t>(Resource::Issue)], 6e-6, 1e-12);
  EXPECT_NEAR(close.seconds, 4e-6 + 6e-6 + 20e-6, 1e-12);
  work.spread_sectors = 1e7;
  work.extra_passes = 1e7;
  const WorkTime spread = device.time_of(work);
  EXPECT_NEAR(spread.seconds - close.seconds, 20e-6 + 30e-6, 1e-12);
  EXPECT_EQ(spread.bound, "memory");
}

TEST(DeviceInCycles, predicts_an_interval_of_cycles_and_no_time) {
  DeviceModel device{.name = "compiler", .in_cycles = true};
  device.overlap.value = 1;
  device.classes[static_cast<size_t>(CostClass::Fma)].value = 0.5;
  ProgramErrors errors{.programs = 9, .works = 9, .low = -0.1, .high = 0.1, .spearman = 1};
  device.errors[static_cast<size_t>(WorkKind::Dispatch)] = errors;
  const auto read = DeviceModel::parse("d.json", device.to_json());
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->in_cycles);
  Prediction prediction{std::make_shared<const DeviceModel>(device)};
  CapturedWork& of = prediction.works.works.emplace_back();
  of.work.invocations = 1;
  of.work[CostClass::Fma] = 2000;
  prediction.times.push_back(device.time_of(of.work));
  EXPECT_FALSE(prediction.time_of(0).has_value());
  const auto cycles = prediction.time_or_cycles_of(0);
  ASSERT_TRUE(cycles.has_value());
  EXPECT_EQ(cycles->time, 1000u);
  EXPECT_EQ(cycles->low, 905u) << "1000 / e^0.1";
  EXPECT_EQ(cycles->high, 1105u);
}

TEST(DeviceFile, what_is_none_or_damaged_is_one_error) {
  const auto error_of = [](const std::string& text) {
    const auto read = DeviceModel::parse("d.json", text);
    return read ? "none" : read.error().message;
  };
  const std::string good = known_device(4).to_json();
  EXPECT_EQ(error_of(good), "none");
  EXPECT_THAT(error_of("{"), HasSubstr("d.json: this is not a device file"));
  EXPECT_THAT(error_of(R"({"name": "generic", "weights": {}})"), HasSubstr("not a device file"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return error_of(text);
  };
  EXPECT_THAT(with("\"version\": 5", "\"version\": 4"), HasSubstr("of version 4"));
  EXPECT_THAT(with("\"date\"", "\"day\""), HasSubstr("damaged device file"));
  EXPECT_THAT(with("\"value\": 4", "\"value\": -4"), HasSubstr("damaged device file"));
  EXPECT_THAT(with("\"value\": 4.0", "\"value\": \"x\""), HasSubstr("damaged device file"));
  EXPECT_THAT(error_of(std::string(1000, '[')), HasSubstr("not a device file"));
}

// A recording that a submission executes several times has the time of its last execution.
TEST(CapturedWorks, have_counts_and_times_of_one_execution) {
  const store::TestDirectory folder;
  const std::string path = folder.file("capture.tally");
  TestScene scene(path);
  const auto pipeline = scene.add_pipeline("aa", "", scene.add_shader("bb", ""));
  scene.begin_frame(0);
  scene.dispatch(pipeline, {}, {}, {64, 60, 4, 64});
  scene.begin_frame(1, 3);
  scene.dispatch(pipeline, {}, 600, {192, 180, 12, 192});
  scene.finish();
  const auto model = open_model(path);
  ASSERT_TRUE(model) << model.error().message;
  ShaderCodes codes(*model);
  const auto works = works_of(*model, codes, "");
  ASSERT_TRUE(works) << works.error().message;
  ASSERT_EQ(works->works.size(), 1u);
  EXPECT_EQ(works->works[0].runs, 4);
  EXPECT_DOUBLE_EQ(works->works[0].seconds.value_or(0), 600e-9);
  EXPECT_DOUBLE_EQ(works->works[0].work.invocations, 64);
}

}  // namespace
}  // namespace tally::analysis
