#include "api/queries/every_type.h"

#include "full_screen.vert.h"
#include "plain.frag.h"

namespace tally::test {

constexpr VkQueryPipelineStatisticFlags kCertain =
    VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT |
    VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_PRIMITIVES_BIT |
    VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT;

std::vector<QueryCase> query_cases() {
  std::vector<QueryCase> cases;
  for (const Source source : {Source::Native, Source::Emulated}) {
    cases.push_back({"occlusion", source, VK_QUERY_TYPE_OCCLUSION, 0, {64 * 64}});
    cases.push_back({"statistics", source, VK_QUERY_TYPE_PIPELINE_STATISTICS, kCertain, {3, 1, 3}});
    cases.push_back({"primitives", source, VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT, 0, {1}});
  }
  cases.push_back({"status", Source::Emulated, VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR, 0, {}});
  return cases;
}

void PrintTo(const QueryCase& one, std::ostream* out) {
  *out << one.name << '_' << name_of(one.source);
}

// Its lone device must have the extensions that the type needs.
bool EveryType::native_has_it() {
  start(false);
  switch (which().type) {
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
      return context().features().pipelineStatisticsQuery == VK_TRUE;
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
      return context().has_extension(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME);
    default:
      return true;
  }
}

void EveryType::SetUp() {
  const bool native = native_has_it();
  if (!emulated() && !native) GTEST_SKIP() << "the driver has none";
  ContextOptions options;
  if (context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)) {
    options.device_extensions.push_back(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
  }
  if (which().type == VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT) {
    options.device_extensions.push_back(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME);
    options.device_next = &primitives_;
  }
  start(emulated(), options);
}

VkQueryControlFlags EveryType::control_flags() const {
  return which().type == VK_QUERY_TYPE_OCCLUSION ? VK_QUERY_CONTROL_PRECISE_BIT : 0;
}

Queries EveryType::make_queries(uint32_t count) {
  return {context(), which().type, count, which().statistics};
}

Pipeline EveryType::make_triangle(GraphicsPipelineInfo info) {
  return make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}}, std::move(info));
}

void EveryType::query(VkCommandBuffer commands, const Queries& queries, uint32_t index,
                      VkPipeline pipeline, uint32_t triangles) {
  queries.begin(commands, index, control_flags());
  for (uint32_t i = 0; i < triangles; ++i) draw(commands, pipeline, 3);
  queries.end(commands, index);
}

std::vector<uint64_t> EveryType::expected(uint32_t triangles) const {
  std::vector<uint64_t> all = which().numbers;
  for (uint64_t& number : all) number *= triangles;
  return all;
}

VkQueryResultFlags EveryType::state_flag() const {
  return which().type == VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR
             ? VK_QUERY_RESULT_WITH_STATUS_BIT_KHR
             : VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
}

VkResult EveryType::state_of(const Queries& queries, uint32_t query) {
  std::vector<uint64_t> data(numbers() + 1);
  const VkResult result =
      vkGetQueryPoolResults(context().device(), queries, query, 1, data.size() * 8, data.data(),
                            data.size() * 8, VK_QUERY_RESULT_64_BIT | state_flag());
  EXPECT_EQ(is_available(data.back()), result == VK_SUCCESS) << "both say the same";
  return result;
}

}  // namespace tally::test
