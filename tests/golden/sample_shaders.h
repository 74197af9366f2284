// The shaders of the sample capture. Comments number their blocks with the public numbers.
#pragma once

namespace tally::test {

// Blocks: 0 lines 2 and 3, 1 line 4 (bright pixels), 2 line 5. The debug information contains the
// source.
inline constexpr const char* kLitFragment = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Fragment %main "main" %color
OpExecutionMode %main OriginUpperLeft
%file = OpString "shaders/lit.frag"
OpSource GLSL 450 %file "void main() {
  float light = ambient + sun;
  if (light > limit)
    light = light * exposure;
  color = light;
}"
OpDecorate %color Location 0
%void = OpTypeVoid
%bool = OpTypeBool
%float = OpTypeFloat 32
%out = OpTypePointer Output %float
%function = OpTypeFunction %void
%color = OpVariable %out Output
%one = OpConstant %float 1
%two = OpConstant %float 2
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 2 17
%light = OpFAdd %float %one %two
OpLine %file 3 13
%test = OpFOrdGreaterThan %bool %light %two
OpSelectionMerge %end None
OpBranchConditional %test %then %end
%then = OpLabel
OpLine %file 4 13
%scaled = OpFMul %float %light %two
OpBranch %end
%end = OpLabel
OpLine %file 5 3
%result = OpPhi %float %light %entry %scaled %then
OpStore %color %result
OpReturn
OpFunctionEnd
)";

// One block, no debug information.
inline constexpr const char* kTriangleVertex = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Vertex %main "main" %position
OpDecorate %position BuiltIn Position
%void = OpTypeVoid
%float = OpTypeFloat 32
%vec4 = OpTypeVector %float 4
%out = OpTypePointer Output %vec4
%function = OpTypeFunction %void
%position = OpVariable %out Output
%zero = OpConstant %float 0
%main = OpFunction %void None %function
%entry = OpLabel
%point = OpCompositeConstruct %vec4 %zero %zero %zero %zero
OpStore %position %point
OpReturn
OpFunctionEnd
)";

// Blocks: 0 entry, 1 loop header, 2 body, 3 continue, 4 merge. Names, but no lines.
inline constexpr const char* kLoopCompute = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "reduce"
OpExecutionMode %main LocalSize 64 1 1
OpName %main "reduce"
OpName %sum "sum"
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%ten = OpConstant %uint 10
%main = OpFunction %void None %function
%entry = OpLabel
OpBranch %header
%header = OpLabel
%i = OpPhi %uint %zero %entry %next %continue
OpLoopMerge %merge %continue None
OpBranch %body
%body = OpLabel
%sum = OpIMul %uint %i %i
%less = OpULessThan %bool %i %ten
OpBranchConditional %less %continue %merge
%continue = OpLabel
%next = OpIAdd %uint %i %one
OpBranch %header
%merge = OpLabel
OpReturn
OpFunctionEnd
)";

}  // namespace tally::test
