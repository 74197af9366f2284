#include "analysis/model/device_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "catalogue/catalogue.h"

namespace tally::analysis {
namespace {

using spirv::CostClass;
using spirv::InstructionMix;
using ::testing::HasSubstr;
using ::testing::StartsWith;

InstructionMix mix_with(std::initializer_list<std::pair<CostClass, uint64_t>> counts) {
  InstructionMix mix;
  for (const auto& [cost, count] : counts) mix.add(cost, count);
  return mix;
}

std::string weights_error(std::string_view text) {
  const auto costs = DeviceCosts::parse("d.json", text, DeviceCosts::generic().get());
  return costs ? "" : costs.error().message;
}

TEST(DeviceCosts, a_sine_costs_more_than_what_is_a_register_once_compiled) {
  const DeviceCosts& generic = *DeviceCosts::generic();
  EXPECT_EQ(generic.name(), "generic");
  EXPECT_EQ(generic.cost_of(mix_with({{CostClass::Instruction, 1},
                                      {CostClass::Move, 3},
                                      {CostClass::Address, 2},
                                      {CostClass::LocalLoad, 4},
                                      {CostClass::LocalStore, 4}})),
            0u);
  EXPECT_EQ(generic.cost_of(mix_with({{CostClass::SpecialFunction, 1}, {CostClass::Float32, 3}})),
            7u);
}

TEST(DeviceCosts, a_file_replaces_the_weights_that_it_names) {
  const auto costs =
      DeviceCosts::parse("d.json", R"({"name": "half", "weights": {"float16": 0.5, "fma": 2}})",
                         DeviceCosts::generic().get());
  ASSERT_TRUE(costs.ok()) << costs.error().message;
  EXPECT_EQ(costs->name(), "half");
  EXPECT_EQ(costs->weight(CostClass::Float16), 0.5);
  EXPECT_EQ(costs->weight(CostClass::Division),
            DeviceCosts::generic()->weight(CostClass::Division));
  EXPECT_EQ(costs->cost_of(mix_with({{CostClass::Float16, 4}, {CostClass::Fma, 1}})), 4u);
}

TEST(DeviceCosts, an_error_names_the_place_in_the_file) {
  EXPECT_EQ(weights_error("{\n  \"name\" 1}"), "d.json:2:10: this is not JSON");
  EXPECT_THAT(weights_error("{\"name\": \"a\",\n \"weights\": {\n  \"sine\": 4}}"),
              StartsWith("d.json:3:3: there is no class \"sine\"; the classes are "));
  EXPECT_THAT(weights_error("{\"name\": \"a\",\n \"weights\": {\"fma\": -1}}"),
              StartsWith("d.json:2:14: the weight of \"fma\" is not a number from 0"));
  EXPECT_THAT(weights_error("{\"name\": \"a\",\n \"weights\": {\"fma\": \"1\"}}"),
              HasSubstr("d.json:2:14"));
  EXPECT_THAT(weights_error("{\"nam\": \"a\"}"), StartsWith("d.json:1:2: there is no \"nam\""));
  EXPECT_THAT(weights_error("{\"name\": 1}"), StartsWith("d.json:1:2: a wrong type for \"name\""));
  EXPECT_THAT(weights_error("{\"weights\": {}}"), HasSubstr("\"name\" is missing"));
  EXPECT_THAT(weights_error("{\"name\": \"a\"}"), HasSubstr("\"weights\" is missing"));
  EXPECT_THAT(weights_error("[]"), HasSubstr("not an object"));
  EXPECT_THAT(weights_error(std::string(100, '[') + std::string(100, ']')),
              HasSubstr("too deeply"));
}

// Rows are "| `fma` | 1 | ... |".
TEST(DeviceCosts, the_page_has_the_weight_and_the_reason_of_each_class) {
  std::ifstream file(TALLY_COST_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const std::regex row("\n\\| `([a-z0-9_]+)` \\| ([0-9.]+) \\| ([^|\n]{5,}) \\|");
  std::map<std::string, double> weights;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
    weights[(*at)[1]] = std::stod((*at)[2]);
  for (size_t c = 0; c < spirv::kCostClassCount; ++c) {
    const auto cost = static_cast<CostClass>(c);
    const std::string id(catalogue::counter(spirv::counter_of(cost)).id);
    ASSERT_TRUE(weights.contains(id)) << id;
    EXPECT_EQ(weights[id], DeviceCosts::generic()->weight(cost)) << id;
  }
  EXPECT_EQ(weights.size(), spirv::kCostClassCount);
}

}  // namespace
}  // namespace tally::analysis
