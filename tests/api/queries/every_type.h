// A query of any type around draws of one triangle, by the driver or the layer: tests the rules
// that apply to all query types.
#pragma once

#include "api/queries/scenes.h"

namespace tally::test {

struct QueryCase {
  const char* name;
  Source source;
  VkQueryType type;
  VkQueryPipelineStatisticFlags statistics;
  std::vector<uint64_t> numbers;  // of one triangle over a 64 x 64 target
};

class EveryType : public QueryTypes, public testing::WithParamInterface<QueryCase> {
 protected:
  const QueryCase& which() const { return GetParam(); }
  bool emulated() const { return GetParam().source == Source::Emulated; }

  void SetUp() override;
  VkQueryControlFlags control_flags() const;
  Queries make_queries(uint32_t count);
  Pipeline make_triangle(GraphicsPipelineInfo info = {});
  // Draws with the query active.
  void query(VkCommandBuffer commands, const Queries& queries, uint32_t index, VkPipeline pipeline,
             uint32_t triangles = 1);
  // The expected numbers of `triangles` triangles.
  std::vector<uint64_t> expected(uint32_t triangles = 1) const;
  // The number of values of one query in a result, without a state.
  size_t numbers() const { return which().numbers.size(); }
  // A driver may return any nonzero value for "available".
  bool is_available(uint64_t state) const { return emulated() ? state == 1 : state != 0; }
  VkResult state_of(const Queries& queries, uint32_t query);
  // The flag that requests a state after the numbers.
  VkQueryResultFlags state_flag() const;

 private:
  bool native_has_it();
  VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT primitives_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT, nullptr, VK_TRUE};
};

// The driver's and the layer's queries of every type. The driver's result status queries are for
// video queues only.
std::vector<QueryCase> query_cases();
void PrintTo(const QueryCase& one, std::ostream* out);

#define TALLY_EVERY_TYPE(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(query_cases()), \
                           [](const auto& one) { return testing::PrintToString(one.param); })

}  // namespace tally::test
