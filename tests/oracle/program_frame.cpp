#include "oracle/program_frame.h"

#include <fmt/format.h>

#include "oracle/launch_parts.h"

namespace tally::test {

std::string header_of(ProgramKind kind, uint32_t group_size) {
  if (kind == ProgramKind::Launch) return LaunchParts::header();
  std::string text = "OpCapability Shader\n";
  if (kind == ProgramKind::Fragment) {
    return text +
           "OpCapability DemoteToHelperInvocation\n"
           "OpExtension \"SPV_EXT_demote_to_helper_invocation\"\n"
           "OpExtension \"SPV_KHR_terminate_invocation\"\nOpMemoryModel Logical GLSL450\n"
           "OpEntryPoint Fragment %main \"main\" %frag_coord %colour\n"
           "OpExecutionMode %main OriginUpperLeft\nOpDecorate %frag_coord BuiltIn FragCoord\n"
           "OpDecorate %colour Location 0\n";
  }
  text += "OpMemoryModel Logical GLSL450\n";
  if (kind == ProgramKind::Vertex) {
    text +=
        "OpEntryPoint Vertex %main \"main\" %vertex_index %position\n"
        "OpDecorate %vertex_index BuiltIn VertexIndex\nOpDecorate %position BuiltIn Position\n";
  } else {
    text += "OpEntryPoint GLCompute %main \"main\" %global_id\n" +
            fmt::format("OpExecutionMode %main LocalSize {} 1 1\n", group_size) +
            "OpDecorate %global_id BuiltIn GlobalInvocationId\n";
  }
  return text +
         "OpDecorate %values ArrayStride 4\n"
         "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
         "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n";
}

std::string globals_of(ProgramKind kind) {
  if (kind == ProgramKind::Launch) return LaunchParts::globals();
  std::string text =
      "OpDecorate %spec0 SpecId 10\nOpDecorate %spec1 SpecId 11\n"
      "%void = OpTypeVoid\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n%int = OpTypeInt 32 1\n"
      "%void_function = OpTypeFunction %void\n%uint_function = OpTypeFunction %uint %uint\n"
      "%function_uint = OpTypePointer Function %uint\n"
      "%function_int = OpTypePointer Function %int\n"
      "%private_uint = OpTypePointer Private %uint\n%id = OpVariable %private_uint Private\n"
      "%fuel = OpVariable %private_uint Private\n"
      "%spec0 = OpSpecConstant %uint 3\n%spec1 = OpSpecConstant %uint 4\n"
      "%c255 = OpConstant %uint 255\n";
  for (int i = 0; i < 64; ++i) text += fmt::format("%c{} = OpConstant %uint {}\n", i, i);
  if (kind == ProgramKind::Fragment) {
    return text +
           "%float = OpTypeFloat 32\n%vec4 = OpTypeVector %float 4\n"
           "%scale = OpConstant %float 0.003921569\n"
           "%in_vec4 = OpTypePointer Input %vec4\n%out_vec4 = OpTypePointer Output %vec4\n"
           "%frag_coord = OpVariable %in_vec4 Input\n%colour = OpVariable %out_vec4 Output\n";
  }
  if (kind == ProgramKind::Vertex) {
    text +=
        "%in_uint = OpTypePointer Input %uint\n%vertex_index = OpVariable %in_uint Input\n"
        "%float = OpTypeFloat 32\n%vec4 = OpTypeVector %float 4\n"
        "%out_vec4 = OpTypePointer Output %vec4\n%position = OpVariable %out_vec4 Output\n"
        "%two = OpConstant %float 2\n%one = OpConstant %float 1\n"
        "%outside = OpConstantComposite %vec4 %two %two %one %one\n";
  } else {
    text +=
        "%uvec3 = OpTypeVector %uint 3\n%in_uvec3 = OpTypePointer Input %uvec3\n"
        "%global_id = OpVariable %in_uvec3 Input\n";
  }
  return text +
         "%values = OpTypeRuntimeArray %uint\n"
         "%block = OpTypeStruct %values\n%buffer_block = OpTypePointer StorageBuffer %block\n"
         "%buffer_uint = OpTypePointer StorageBuffer %uint\n"
         "%buffer = OpVariable %buffer_block StorageBuffer\n";
}

std::string main_of(ProgramKind kind) {
  std::string text = "%main = OpFunction %void None %void_function\n%start = OpLabel\n";
  if (kind == ProgramKind::Fragment) {
    text +=
        "%coord = OpLoad %vec4 %frag_coord\n%fx = OpCompositeExtract %float %coord 0\n"
        "%fy = OpCompositeExtract %float %coord 1\n%ix = OpConvertFToU %uint %fx\n"
        "%iy = OpConvertFToU %uint %fy\n%row = OpIMul %uint %iy %c37\n"
        "%seed = OpIAdd %uint %ix %row\n";
  } else if (kind == ProgramKind::Vertex) {
    text += "%seed = OpLoad %uint %vertex_index\nOpStore %position %outside\n";
  } else {
    text += "%ids = OpLoad %uvec3 %global_id\n%seed = OpCompositeExtract %uint %ids 0\n";
  }
  text +=
      "OpStore %id %seed\nOpStore %fuel %c60\n%mixed = OpIMul %uint %seed %c29\n"
      "%result = OpFunctionCall %uint %f0 %mixed\n";
  if (kind == ProgramKind::Fragment) {
    for (int i = 0; i < 4; ++i) {
      text += fmt::format(
          "%s{0} = OpShiftRightLogical %uint %result %c{1}\n%m{0} = OpBitwiseAnd %uint %s{0} "
          "%c255\n"
          "%g{0} = OpConvertUToF %float %m{0}\n%h{0} = OpFMul %float %g{0} %scale\n",
          i, 8 * i);
    }
    text += "%rgba = OpCompositeConstruct %vec4 %h0 %h1 %h2 %h3\nOpStore %colour %rgba\n";
  } else {
    text += "%slot = OpAccessChain %buffer_uint %buffer %c0 %seed\nOpStore %slot %result\n";
  }
  return text + "OpReturn\nOpFunctionEnd\n";
}

}  // namespace tally::test
