#include "spirv/instrument/context.h"

#include <gtest/gtest.h>

#include "catalogue/catalogue.h"
#include "spirv/plan/options.h"

namespace tally::spirv {
namespace {

using spv::ExecutionModel;

TEST(Stages, each_stage_of_the_catalogue_has_traits) {
  for (const catalogue::Stage& stage : catalogue::stages()) {
    EXPECT_NE(find_stage(static_cast<ExecutionModel>(stage.execution_model)), nullptr)
        << stage.name;
  }
}

TEST(Stages, the_catalogue_has_the_numbers_of_spirv_in_the_order_of_vulkan) {
  constexpr ExecutionModel kModels[] = {ExecutionModel::Vertex,
                                        ExecutionModel::TessellationControl,
                                        ExecutionModel::TessellationEvaluation,
                                        ExecutionModel::Geometry,
                                        ExecutionModel::Fragment,
                                        ExecutionModel::GLCompute,
                                        ExecutionModel::TaskEXT,
                                        ExecutionModel::MeshEXT,
                                        ExecutionModel::RayGenerationKHR,
                                        ExecutionModel::AnyHitKHR,
                                        ExecutionModel::ClosestHitKHR,
                                        ExecutionModel::MissKHR,
                                        ExecutionModel::IntersectionKHR,
                                        ExecutionModel::CallableKHR};
  ASSERT_EQ(catalogue::stages().size(), std::size(kModels));
  for (size_t i = 0; i < std::size(kModels); ++i) {
    const catalogue::Stage& stage = catalogue::stages()[i];
    EXPECT_EQ(stage.bit, 1u << i);
    EXPECT_EQ(stage.execution_model, static_cast<uint32_t>(kModels[i])) << stage.name;
  }
}

// The options are the key of a cache.
TEST(Options, that_differ_in_a_nested_field_are_not_equal) {
  BlockCountOptions some, other;
  some.regions.emplace();
  other.regions.emplace();
  EXPECT_EQ(some, other);
  other.regions->primitive_ids = false;
  EXPECT_NE(some, other);
  other = some;
  other.driver.keeps_draws_apart = true;
  EXPECT_NE(some, other);
  other = some;
  other.packed_draw_indices.emplace();
  EXPECT_NE(some, other);
}

}  // namespace
}  // namespace tally::spirv
