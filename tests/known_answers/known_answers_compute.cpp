// Compares counts of compute shaders with values computed by hand.
#include "classes.comp.h"
#include "control_flow.comp.h"
#include "known_answers.h"
#include "specialized.comp.h"
#include "support/stages.h"

namespace tally::test {
namespace {

class ComputeAnswers : public KnownAnswers {
 protected:
  // An instrumented pipeline of control_flow.comp with kTrips = `trips`.
  Pipeline make_control_flow(uint32_t trips = 5) {
    const VkSpecializationMapEntry entry = {0, 0, sizeof(trips)};
    const VkSpecializationInfo specialization = {1, &entry, sizeof(trips), &trips};
    return make_compute_pipeline(
        context_,
        {{kCompute, control_flow_comp, "main", &specialization}, layout_, {}, 0, &kInstrument});
  }
  // Records `dispatch` with `pipeline` bound, submits it and waits.
  template <typename Dispatch>
  void measure(VkPipeline pipeline, Dispatch&& dispatch) {
    context_.run([&](VkCommandBuffer commands) {
      instrumentation_.begin(commands);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      set_.bind(commands, layout_);
      dispatch(commands);
      instrumentation_.end(commands);
      full_barrier(commands);
    });
  }
  Counts counts_of(std::span<const uint32_t> code, std::optional<uint32_t> result = std::nullopt) {
    return counts(kCompute, code, result);
  }

  Buffer values_{context_, 4096};
  StorageSet set_{context_, {values_}};
  PipelineLayout layout_ = make_pipeline_layout(context_, {{set_.layout()}}, 16);
};

TEST_F(ComputeAnswers, every_block_is_counted_as_often_as_it_runs) {
  const Pipeline pipeline = make_control_flow();
  measure(pipeline, [](VkCommandBuffer commands) { vkCmdDispatch(commands, 4, 1, 1); });
  const Counts counts = counts_of(control_flow_comp);
  EXPECT_EQ(counts.invocations(), 128u);
  EXPECT_EQ(counts.at("uneven_loop"), 16u * (0 + 1 + 2 + 3 + 4 + 5 + 6 + 7));
  EXPECT_EQ(counts.at("quarter"), 32u);
  EXPECT_EQ(counts.at("others"), 96u);
  EXPECT_EQ(counts.at("case_zero"), 43u);       // 0, 3, ... 126
  EXPECT_EQ(counts.at("case_one"), 43u + 43u);  // falls through from 0; 1, 4, ... 127
  EXPECT_EQ(counts.at("case_other"), 42u);
  EXPECT_EQ(counts.at("trips"), 100u * 5 + 28u * 3);
  EXPECT_EQ(counts.at("break"), 28u);
  EXPECT_EQ(counts.at("return"), 8u);
  EXPECT_EQ(counts.at("tail"), 120u);
  EXPECT_EQ(counts.at("twice"), 32u + 120u);  // from both call sites
}

TEST_F(ComputeAnswers, a_specialization_constant_changes_the_trips) {
  const Pipeline pipeline = make_control_flow(2);
  measure(pipeline, [](VkCommandBuffer commands) { vkCmdDispatch(commands, 4, 1, 1); });
  EXPECT_EQ(counts_of(control_flow_comp).at("trips"), 128u * 2);
  EXPECT_EQ(counts_of(control_flow_comp).at("break"), 0u);
}

// Counts that follow from the constants of specialized.comp in a dispatch of 3 workgroups.
struct Specialized {
  uint32_t workgroup = 1, length = 1, trips = 3, selector = 0, step = 1;  // the defaults

  void expect(const Counts& counts) const {
    const uint64_t invocations = 3u * workgroup;
    EXPECT_EQ(counts.invocations(), invocations);
    EXPECT_EQ(counts.at("trips"), invocations * trips);
    EXPECT_EQ(counts.at("steps"), invocations * (12 / step));
    EXPECT_EQ(counts.at("strides"), invocations + 3) << "the first of a workgroup takes two steps";
    EXPECT_EQ(counts.at("case_zero"), selector == 0 ? invocations : 0);
    EXPECT_EQ(counts.at("case_two"), selector == 2 ? invocations : 0);
    EXPECT_EQ(counts.at("case_other"), selector == 0 || selector == 2 ? 0 : invocations);
    EXPECT_EQ(counts.at("first"), 3u);
    EXPECT_EQ(counts.total("shared_bytes_loaded"), invocations * length * 4);
    EXPECT_EQ(counts.total("shared_bytes_stored"), 3u * 4) << "one element, whatever the length";
  }
};

// Two pipelines of one module: neither has the trip counts or the costs of the other.
TEST_F(ComputeAnswers, what_is_specialized_is_counted_as_it_is_specialized) {
  const Specialized constants{8, 5, 7, 2, 4};
  const VkSpecializationMapEntry entries[] = {
      {0, 0, 4}, {1, 4, 4}, {2, 8, 4}, {3, 12, 4}, {4, 16, 4}};
  const VkSpecializationInfo specialization = {5, entries, sizeof constants, &constants};
  const Pipeline pipelines[] = {
      make_compute_pipeline(
          context_,
          {{kCompute, specialized_comp, "main", &specialization}, layout_, {}, 0, &kInstrument}),
      make_compute_pipeline(context_,
                            {{kCompute, specialized_comp}, layout_, {}, 0, &kInstrument})};
  context_.run([&](VkCommandBuffer commands) {
    instrumentation_.begin(commands);
    set_.bind(commands, layout_);
    for (const Pipeline& pipeline : pipelines) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdDispatch(commands, 3, 1, 1);
      full_barrier(commands);
    }
    instrumentation_.end(commands);
  });
  constants.expect(counts_of(specialized_comp, 0));
  Specialized().expect(counts_of(specialized_comp, 1));
}

TEST_F(ComputeAnswers, an_indirect_dispatch_is_counted_by_what_the_buffer_says) {
  const Buffer arguments(context_, 2 * sizeof(VkDispatchIndirectCommand),
                         VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  const auto commands_in_buffer = arguments.as<VkDispatchIndirectCommand>();
  commands_in_buffer[0] = {3, 1, 1};
  commands_in_buffer[1] = {0, 5, 1};  // no invocations
  const Pipeline pipeline = make_control_flow();
  measure(pipeline, [&](VkCommandBuffer commands) {
    vkCmdDispatchIndirect(commands, arguments, 0);
    vkCmdDispatchIndirect(commands, arguments, sizeof(VkDispatchIndirectCommand));
  });
  EXPECT_EQ(counts_of(control_flow_comp, 0).invocations(), 96u);
  EXPECT_EQ(counts_of(control_flow_comp, 0).at("tail"), 96u);
  EXPECT_EQ(counts_of(control_flow_comp, 1).invocations(), 0u);
}

TEST_F(ComputeAnswers, each_dispatch_has_counts_of_its_own) {
  const Pipeline pipeline = make_control_flow();
  measure(pipeline, [](VkCommandBuffer commands) {
    for (uint32_t groups = 1; groups <= 4; ++groups) {
      vkCmdDispatch(commands, groups, 1, 1);
      full_barrier(commands);
    }
  });
  for (uint32_t groups = 1; groups <= 4; ++groups) {
    EXPECT_EQ(counts_of(control_flow_comp, groups - 1).invocations(), groups * 32u);
    EXPECT_EQ(counts_of(control_flow_comp, groups - 1).at("quarter"), groups * 8u);
  }
}

TEST_F(ComputeAnswers, a_large_dispatch_loses_nothing) {
  const Buffer values(context_, 4u << 20);
  const StorageSet set(context_, {values});
  const Pipeline pipeline = make_control_flow();
  constexpr uint32_t kGroups = 32768;  // 2^20 invocations
  measure(pipeline, [&](VkCommandBuffer commands) {
    set.bind(commands, layout_);
    vkCmdDispatch(commands, kGroups, 1, 1);
  });
  const Counts counts = counts_of(control_flow_comp);
  EXPECT_EQ(counts.invocations(), 32u * kGroups);
  EXPECT_EQ(counts.at("uneven_loop"), 4u * kGroups * 28);
  EXPECT_EQ(counts.at("quarter"), 8u * kGroups);
}

TEST_F(ComputeAnswers, the_classes_hold_what_each_invocation_does) {
  const Pipeline pipeline =
      make_compute_pipeline(context_, {{kCompute, classes_comp}, layout_, {}, 0, &kInstrument});
  measure(pipeline, [&](VkCommandBuffer commands) {
    const float scale[4] = {1, 2, 3, 4};
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof(scale), scale);
    vkCmdDispatch(commands, 1, 1, 1);
  });
  const Counts counts = counts_of(classes_comp);
  EXPECT_EQ(counts.invocations(), 64u);
  EXPECT_EQ(counts.total("fma"), 64u * 4);
  EXPECT_EQ(counts.total("special_function"), 64u * 2);
  EXPECT_EQ(counts.total("float32"), 64u);
  EXPECT_EQ(counts.total("int32"), 64u);
  EXPECT_EQ(counts.total("buffer_loads"), 64u);
  EXPECT_EQ(counts.total("buffer_bytes_loaded"), 64u * 16);
  EXPECT_EQ(counts.total("buffer_bytes_stored"), 64u * 16);
  EXPECT_EQ(counts.total("uniform_bytes_loaded"), 64u * 16);
  EXPECT_EQ(counts.total("shared_bytes_stored"), 64u * 8);
  EXPECT_EQ(counts.total("shared_bytes_loaded"), 64u * 8);
  EXPECT_EQ(counts.total("atomics"), 64u);
  EXPECT_EQ(counts.total("barriers"), 64u);
}

}  // namespace
}  // namespace tally::test
