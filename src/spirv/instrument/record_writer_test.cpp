#include "spirv/instrument/record_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::compute_options;
using test::header;
using test::instrumented;
using test::kCompute;
using test::kTypes;
using testing::HasSubstr;
using testing::Not;

const std::string kStraight =
    "%main = OpFunction %void None %fn\n%start = OpLabel\nOpReturn\nOpFunctionEnd\n";

BlockCountOptions sm_options(spv::ExecutionModel stage) {
  BlockCountOptions options = compute_options();
  options.stage = stage;
  options.max_shards_log2 = 6;
  options.sm_builtins = true;
  return options;
}

const std::string kVertex = "OpEntryPoint Vertex %main \"main\"";

TEST(RecordWriter, the_shard_of_a_vertex_follows_from_the_multiprocessor_where_that_is_known) {
  BlockCountOptions options = sm_options(spv::ExecutionModel::Vertex);
  const std::string vertex = header(kVertex + "\n") + kTypes + kStraight;
  EXPECT_THAT(instrumented(vertex, options),
              testing::AllOf(HasSubstr("OpCapability ShaderSMBuiltinsNV"),
                             HasSubstr("OpExtension \"SPV_NV_shader_sm_builtins\""),
                             HasSubstr("BuiltIn SMIDNV"), Not(HasSubstr("BuiltIn InstanceIndex"))));
  options.sm_builtins = false;
  EXPECT_THAT(instrumented(vertex, options),
              testing::AllOf(Not(HasSubstr("SM")), HasSubstr("BuiltIn InstanceIndex")));
}

TEST(RecordWriter, the_shard_follows_from_the_instance_where_that_is_read_anyway) {
  BlockCountOptions options = sm_options(spv::ExecutionModel::Vertex);
  const std::string reads = header(kVertex + " %index\n") +
                            "OpDecorate %index BuiltIn InstanceIndex\n" + kTypes +
                            "%int = OpTypeInt 32 1\n%pointer = OpTypePointer Input %int\n"
                            "%index = OpVariable %pointer Input\n" +
                            kStraight;
  EXPECT_THAT(instrumented(reads, options), Not(HasSubstr("SMIDNV")));
  options.packed_draw_indices.emplace();
  EXPECT_THAT(instrumented(header(kVertex + "\n") + kTypes + kStraight, options),
              Not(HasSubstr("SMIDNV")));
}

TEST(RecordWriter, the_shard_of_other_stages_does_not_follow_from_the_multiprocessor) {
  EXPECT_THAT(instrumented(header(kCompute) + kTypes + kStraight,
                           sm_options(spv::ExecutionModel::GLCompute)),
              Not(HasSubstr("SMIDNV")));
}

}  // namespace
}  // namespace tally::spirv
