// Random programs as ray-generation shaders, through the layer: their counts equal those of the
// interpreter. The programs are those of compute shaders, launched once for each invocation.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <regex>

#include "oracle/generator.h"
#include "oracle/interpreter.h"
#include "support/instrumentation.h"
#include "support/ray_tracing.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

constexpr uint32_t kInvocations = 16 * 5;
constexpr uint64_t kPrograms = 40;

void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no \"" + from + "\" in the program");
  text.replace(at, from.size(), to);
}

// From SPIR-V 1.4 on, an entry point lists all its global variables.
std::string global_variables(const std::string& text) {
  static const std::regex variable("(%\\w+) = OpVariable %\\w+ (Private|Input|StorageBuffer)");
  std::string names;
  for (std::sregex_iterator i(text.begin(), text.end(), variable), end; i != end; ++i) {
    names += " " + (*i)[1].str();
  }
  return names;
}

std::string as_ray_generation(std::string text) {
  const std::string variables = global_variables(text);
  replace(text, "OpCapability Shader\n",
          "OpCapability Shader\nOpCapability RayTracingKHR\n"
          "OpExtension \"SPV_KHR_ray_tracing\"\n");
  replace(text, "OpEntryPoint GLCompute %main \"main\" %global_id",
          "OpEntryPoint RayGenerationKHR %main \"main\"" + variables);
  text = std::regex_replace(text, std::regex("OpExecutionMode %main LocalSize .*\n"), "");
  replace(text, "BuiltIn GlobalInvocationId", "BuiltIn LaunchIdKHR");
  return text;
}

struct Expected {
  std::vector<uint32_t> values;
  std::vector<uint64_t> executions;
};

Expected interpret(const RandomProgram& program) {
  const std::vector<uint32_t> code = assemble(program.text, SPV_ENV_UNIVERSAL_1_3);
  const auto module = spirv::Module::parse(code);
  if (!module) throw std::runtime_error(module.error().message);
  std::map<uint32_t, uint32_t> specialization;
  for (size_t i = 0; i + 1 < program.specialization.size(); i += 2) {
    specialization[program.specialization[i]] = program.specialization[i + 1];
  }
  Interpreter interpreter(*module, spv::ExecutionModel::GLCompute, specialization);
  interpreter.buffer().assign(kInvocations, 0);
  for (uint32_t i = 0; i < kInvocations; ++i) interpreter.run({.global_id = {i, 0, 0}});
  return {interpreter.buffer(), interpreter.executions()};
}

class RayOracle : public testing::Test {
 protected:
  void SetUp() override {
    if (!RayTracingDevice::supported(Context())) GTEST_SKIP() << "no ray-tracing pipelines";
    VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
    RayTracingDevice rays(&instrumentation);
    context_.emplace(
        rays.options({.layers = {"VK_LAYER_TALLY_counters"},
                      .device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME}}));
    buffer_.emplace(*context_, kInvocations * sizeof(uint32_t));
    set_.emplace(*context_, std::initializer_list<VkBuffer>{*buffer_});
    layout_ = make_pipeline_layout(*context_, {{set_->layout()}});
  }

  // The values that the program writes.
  std::vector<uint32_t> run(const std::vector<uint32_t>& code, const RandomProgram& program,
                            const Instrumentation* instrumentation) {
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t i = 0; i + 1 < program.specialization.size(); i += 2) {
      entries.push_back({program.specialization[i], (i + 1) * 4, 4});
    }
    const VkSpecializationInfo specialization = {
        static_cast<uint32_t>(entries.size()), entries.data(),
        program.specialization.size() * sizeof(uint32_t), program.specialization.data()};
    const Pipeline pipeline = make_ray_pipeline(
        *context_, {.stages = {{VK_SHADER_STAGE_RAYGEN_BIT_KHR, code, "main", &specialization}},
                    .groups = {{.general = 0}},
                    .layout = layout_,
                    .instrumented = instrumentation != nullptr});
    const BindingTable table(*context_, pipeline, 1, {});
    buffer_->clear();
    context_->run([&](VkCommandBuffer commands) {
      if (instrumentation) instrumentation->begin(commands);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
      set_->bind(commands, layout_, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR);
      trace_rays(*context_, commands, table, kInvocations, 1);
      if (instrumentation) instrumentation->end(commands);
      full_barrier(commands);
    });
    const auto values = buffer_->as<uint32_t>();
    return {values.begin(), values.end()};
  }

  std::optional<Context> context_;
  std::optional<Buffer> buffer_;
  std::optional<StorageSet> set_;
  PipelineLayout layout_;
};

TEST_F(RayOracle, counts_of_random_programs_equal_those_of_the_interpreter) {
  uint64_t left_out = 0;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    const RandomProgram program = random_program(seed, ProgramKind::Compute);
    const Expected expected = interpret(program);
    const std::vector<uint32_t> code =
        assemble(as_ray_generation(program.text), SPV_ENV_UNIVERSAL_1_4);
    if (run(code, program, nullptr) != expected.values) {  // by the driver alone
      ++left_out;
      continue;
    }
    const Instrumentation instrumentation(*context_);
    EXPECT_EQ(run(code, program, &instrumentation), expected.values);
    const Counts counts(instrumentation, VK_SHADER_STAGE_RAYGEN_BIT_KHR, code);
    const std::vector<uint64_t> counted(counts.executions().begin(), counts.executions().end());
    EXPECT_EQ(counted, expected.executions);
  }
  EXPECT_LE(left_out, kPrograms / 20);
}

}  // namespace
}  // namespace tally::test
