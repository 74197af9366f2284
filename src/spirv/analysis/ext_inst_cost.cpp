// The costs of extended instructions.

#include <spirv/unified1/GLSL.std.450.h>

#include "spirv/analysis/cost.h"

namespace tally::spirv {

void CostModel::add_ext_inst(const Instruction& instruction, InstructionMix& mix) const {
  switch (module_->ext_inst_set(instruction.operand(0))) {
    case ExtInstSet::Glsl450:
      return add_glsl(instruction, mix);
    case ExtInstSet::AmdShaderBallot:
      return add_by_component(instruction, CostClass::Subgroup, mix);
    case ExtInstSet::AmdTrinaryMinMax: {
      const TypeShape& shape = types_.shape(instruction.type_id());
      return add_arithmetic(shape, shape.components, mix);
    }
    case ExtInstSet::AmdExplicitVertexParameter:
      return add_by_component(instruction, CostClass::Interpolation, mix);
    default:
      return mix.add(CostClass::Other);
  }
}

// Functions that are short sequences of other operations cost what a simple compiler emits for
// them.
void CostModel::add_glsl(const Instruction& instruction, InstructionMix& mix) const {
  const TypeShape& result = types_.shape(instruction.type_id());
  const TypeShape& operand = types_.shape_of(instruction.operand(2));
  const TypeShape& shape = result.kind == TypeShape::Kind::Composite ? operand : result;
  const uint64_t n = shape.components;
  switch (static_cast<GLSLstd450>(instruction.operand(1))) {
    case GLSLstd450Round:
    case GLSLstd450RoundEven:
    case GLSLstd450Trunc:
    case GLSLstd450FAbs:
    case GLSLstd450SAbs:
    case GLSLstd450FSign:
    case GLSLstd450SSign:
    case GLSLstd450Floor:
    case GLSLstd450Ceil:
    case GLSLstd450Fract:
    case GLSLstd450Radians:
    case GLSLstd450Degrees:
    case GLSLstd450Modf:
    case GLSLstd450ModfStruct:
    case GLSLstd450FMin:
    case GLSLstd450UMin:
    case GLSLstd450SMin:
    case GLSLstd450FMax:
    case GLSLstd450UMax:
    case GLSLstd450SMax:
    case GLSLstd450FClamp:
    case GLSLstd450UClamp:
    case GLSLstd450SClamp:
    case GLSLstd450IMix:
    case GLSLstd450Step:
    case GLSLstd450Frexp:
    case GLSLstd450FrexpStruct:
    case GLSLstd450Ldexp:
    case GLSLstd450FindILsb:
    case GLSLstd450FindSMsb:
    case GLSLstd450FindUMsb:
    case GLSLstd450NMin:
    case GLSLstd450NMax:
    case GLSLstd450NClamp:
      return add_arithmetic(shape, n, mix);
    case GLSLstd450Sin:
    case GLSLstd450Cos:
    case GLSLstd450Tan:
    case GLSLstd450Asin:
    case GLSLstd450Acos:
    case GLSLstd450Atan:
    case GLSLstd450Sinh:
    case GLSLstd450Cosh:
    case GLSLstd450Tanh:
    case GLSLstd450Asinh:
    case GLSLstd450Acosh:
    case GLSLstd450Atanh:
    case GLSLstd450Atan2:
    case GLSLstd450Pow:
    case GLSLstd450Exp:
    case GLSLstd450Log:
    case GLSLstd450Exp2:
    case GLSLstd450Log2:
    case GLSLstd450Sqrt:
    case GLSLstd450InverseSqrt:
      return mix.add(CostClass::SpecialFunction, n);
    case GLSLstd450PackSnorm4x8:
    case GLSLstd450PackUnorm4x8:
    case GLSLstd450PackSnorm2x16:
    case GLSLstd450PackUnorm2x16:
    case GLSLstd450PackHalf2x16:
      return mix.add(CostClass::Conversion, operand.components);
    case GLSLstd450UnpackSnorm4x8:
    case GLSLstd450UnpackUnorm4x8:
    case GLSLstd450UnpackSnorm2x16:
    case GLSLstd450UnpackUnorm2x16:
    case GLSLstd450UnpackHalf2x16:
      return mix.add(CostClass::Conversion, n);
    case GLSLstd450PackDouble2x32:
    case GLSLstd450UnpackDouble2x32:
      return mix.add(CostClass::Move, 2);
    case GLSLstd450Fma:
      return mix.add(CostClass::Fma, n);
    case GLSLstd450FMix:  // x + (y - x) * a
      add_arithmetic(shape, n, mix);
      return mix.add(CostClass::Fma, n);
    case GLSLstd450SmoothStep:  // t = clamp((x - low) / (high - low)); t * t * (3 - 2 * t)
      add_arithmetic(shape, 6 * n, mix);
      mix.add(CostClass::Division, n);
      return mix.add(CostClass::Fma, n);
    case GLSLstd450Determinant:
    case GLSLstd450MatrixInverse:  // elimination: about the cube of its order
      return mix.add(CostClass::Fma, operand.components * operand.columns);
    case GLSLstd450Distance:
      add_arithmetic(operand, operand.components, mix);
      [[fallthrough]];
    case GLSLstd450Length:
      mix.add(CostClass::Fma, operand.components);
      return mix.add(CostClass::SpecialFunction);
    case GLSLstd450Normalize:  // x * inversesqrt(dot(x, x))
      mix.add(CostClass::Fma, n);
      mix.add(CostClass::SpecialFunction);
      return add_arithmetic(shape, n, mix);
    case GLSLstd450Cross:
      add_arithmetic(shape, n, mix);
      return mix.add(CostClass::Fma, n);
    case GLSLstd450FaceForward:  // dot(nref, i) < 0 ? n : -n
      mix.add(CostClass::Fma, n);
      return mix.add(CostClass::Logic, n);
    case GLSLstd450Reflect:  // i - 2 * dot(n, i) * n
      add_arithmetic(shape, 1, mix);
      return mix.add(CostClass::Fma, 2 * n);
    case GLSLstd450Refract:  // as reflect, with eta, a square root and a branch by its sign
      add_arithmetic(shape, n + 3, mix);
      mix.add(CostClass::Fma, 2 * n + 1);
      mix.add(CostClass::SpecialFunction);
      return mix.add(CostClass::Logic, n);
    case GLSLstd450InterpolateAtCentroid:
    case GLSLstd450InterpolateAtSample:
    case GLSLstd450InterpolateAtOffset:
      return mix.add(CostClass::Interpolation, n);
    default:
      return mix.add(CostClass::Other);
  }
}

}  // namespace tally::spirv
