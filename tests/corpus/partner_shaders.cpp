// Partner shaders for a stage's varyings, as SPIR-V text.
#include <fmt/format.h>

#include <string>

#include "corpus/shader_interface.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

const char* const kTypes = R"(
%void = OpTypeVoid
%callback = OpTypeFunction %void
%float = OpTypeFloat 32
%float2 = OpTypeVector %float 2
%float3 = OpTypeVector %float 3
%float4 = OpTypeVector %float 4
%int = OpTypeInt 32 1
%int2 = OpTypeVector %int 2
%int3 = OpTypeVector %int 3
%int4 = OpTypeVector %int 4
%uint = OpTypeInt 32 0
%uint2 = OpTypeVector %uint 2
%uint3 = OpTypeVector %uint 3
%uint4 = OpTypeVector %uint 4
%zero = OpConstant %float 0
%input_float4 = OpTypePointer Input %float4
%output_float4 = OpTypePointer Output %float4
)";

std::string scalar(const Varying& varying) {
  switch (varying.number) {
    case Varying::Number::Float:
      return "float";
    case Varying::Number::Int:
      return "int";
    case Varying::Number::Uint:
      return "uint";
  }
  return {};
}

std::string type_name(const Varying& varying) {
  return scalar(varying) + (varying.components > 1 ? std::to_string(varying.components) : "");
}

// One variable per location, named %v<location>.
struct Variables {
  Variables(const std::vector<Varying>& varyings, const std::string& storage, bool flat) {
    for (const Varying& varying : varyings) {
      for (uint32_t i = 0; i < varying.locations; ++i) {
        const uint32_t location = varying.location + i;
        names += fmt::format(" %v{}", location);
        decorations += fmt::format("OpDecorate %v{0} Location {0}\n", location);
        if (flat && varying.number != Varying::Number::Float) {
          decorations += fmt::format("OpDecorate %v{} Flat\n", location);
        }
        declarations +=
            fmt::format("%p{0} = OpTypePointer {1} %{2}\n%v{0} = OpVariable %p{0} {1}\n", location,
                        storage, type_name(varying));
      }
    }
  }
  std::string names, decorations, declarations;
};

// Writes `%seed`, a float4 that was read before, to one location.
std::string write_varying(const Varying& varying, uint32_t location) {
  std::string text;
  std::string value = "%x";
  if (varying.number != Varying::Number::Float) {
    const bool is_signed = varying.number == Varying::Number::Int;
    text += fmt::format("%c{} = {} %{} %x\n", location,
                        is_signed ? "OpConvertFToS" : "OpConvertFToU", scalar(varying));
    value = fmt::format("%c{}", location);
  }
  if (varying.components > 1) {
    text += fmt::format("%t{} = OpCompositeConstruct %{}", location, type_name(varying));
    for (uint32_t i = 0; i < varying.components; ++i) text += " " + value;
    value = fmt::format("%t{}", location);
    text += '\n';
  }
  return text + fmt::format("OpStore %v{} {}\n", location, value);
}

// Adds one component of a location to the sum. `sum` is the id of the current sum and is updated.
std::string add_varying(const Varying& varying, uint32_t location, std::string& sum) {
  std::string text = fmt::format("%l{0} = OpLoad %{1} %v{0}\n", location, type_name(varying));
  std::string value = fmt::format("%l{}", location);
  if (varying.components > 1) {
    text += fmt::format("%e{0} = OpCompositeExtract %{1} {2} {3}\n", location, scalar(varying),
                        value, varying.components - 1);
    value = fmt::format("%e{}", location);
  }
  if (varying.number != Varying::Number::Float) {
    const bool is_signed = varying.number == Varying::Number::Int;
    text += fmt::format("%c{} = {} %float {}\n", location,
                        is_signed ? "OpConvertSToF" : "OpConvertUToF", value);
    value = fmt::format("%c{}", location);
  }
  text += fmt::format("%s{} = OpFAdd %float {} {}\n", location, sum, value);
  sum = fmt::format("%s{}", location);
  return text;
}

}  // namespace

std::vector<uint32_t> vertex_shader_for(const std::vector<Varying>& varyings) {
  const Variables variables(varyings, "Output", false);
  std::string body;
  for (const Varying& varying : varyings) {
    for (uint32_t i = 0; i < varying.locations; ++i) {
      body += write_varying(varying, varying.location + i);
    }
  }
  return assemble(
      fmt::format(R"(OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Vertex %main "main" %attribute %position{}
OpDecorate %attribute Location 0
OpDecorate %position BuiltIn Position
{}{}%attribute = OpVariable %input_float4 Input
%position = OpVariable %output_float4 Output
{}%main = OpFunction %void None %callback
%label = OpLabel
%seed = OpLoad %float4 %attribute
OpStore %position %seed
%x = OpCompositeExtract %float %seed 0
{}OpReturn
OpFunctionEnd
)",
                  variables.names, variables.decorations, kTypes, variables.declarations, body),
      SPV_ENV_VULKAN_1_0);
}

std::vector<uint32_t> fragment_shader_for(const std::vector<Varying>& varyings) {
  const Variables variables(varyings, "Input", true);
  std::string body, sum = "%zero";
  for (const Varying& varying : varyings) {
    for (uint32_t i = 0; i < varying.locations; ++i) {
      body += add_varying(varying, varying.location + i, sum);
    }
  }
  return assemble(fmt::format(R"(OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Fragment %main "main" %colour{}
OpExecutionMode %main OriginUpperLeft
OpDecorate %colour Location 0
{}{}%colour = OpVariable %output_float4 Output
{}%main = OpFunction %void None %callback
%label = OpLabel
{}%result = OpCompositeConstruct %float4 {} {} {} {}
OpStore %colour %result
OpReturn
OpFunctionEnd
)",
                              variables.names, variables.decorations, kTypes,
                              variables.declarations, body, sum, sum, sum, sum),
                  SPV_ENV_VULKAN_1_0);
}

}  // namespace tally::test
