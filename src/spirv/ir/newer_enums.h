// Enumerants of the SPIR-V registry that the installed headers (1.3.239) do not have.
#pragma once

#include <spirv/unified1/spirv.hpp11>

namespace tally::spirv::newer {

inline constexpr auto OpTypeTensorARM = static_cast<spv::Op>(4163);
inline constexpr auto OpTypeUntypedPointerKHR = static_cast<spv::Op>(4417);
inline constexpr auto OpUntypedVariableKHR = static_cast<spv::Op>(4418);
inline constexpr auto OpUntypedAccessChainKHR = static_cast<spv::Op>(4419);
inline constexpr auto OpUntypedInBoundsAccessChainKHR = static_cast<spv::Op>(4420);
inline constexpr auto OpUntypedPtrAccessChainKHR = static_cast<spv::Op>(4423);
inline constexpr auto OpUntypedInBoundsPtrAccessChainKHR = static_cast<spv::Op>(4424);
inline constexpr auto OpFmaKHR = static_cast<spv::Op>(4427);
inline constexpr auto OpExtInstWithForwardRefsKHR = static_cast<spv::Op>(4433);
inline constexpr auto OpTypeCooperativeMatrixKHR = static_cast<spv::Op>(4456);
inline constexpr auto OpCooperativeMatrixMulAddKHR = static_cast<spv::Op>(4459);
inline constexpr auto OpConstantCompositeReplicateEXT = static_cast<spv::Op>(4461);
inline constexpr auto OpTypeBufferEXT = static_cast<spv::Op>(5115);
inline constexpr auto OpAbortKHR = static_cast<spv::Op>(5121);
inline constexpr auto OpMemberDecorateIdEXT = static_cast<spv::Op>(5127);
inline constexpr auto OpTypeVectorIdEXT = static_cast<spv::Op>(5288);
inline constexpr auto OpCooperativeVectorMatrixMulNV = static_cast<spv::Op>(5289);
inline constexpr auto OpCooperativeVectorOuterProductAccumulateNV = static_cast<spv::Op>(5290);
inline constexpr auto OpCooperativeVectorMatrixMulAddNV = static_cast<spv::Op>(5292);
inline constexpr auto OpCooperativeVectorLoadNV = static_cast<spv::Op>(5302);
inline constexpr auto OpCooperativeVectorStoreNV = static_cast<spv::Op>(5303);
inline constexpr auto OpCooperativeMatrixReduceNV = static_cast<spv::Op>(5366);
inline constexpr auto OpCooperativeMatrixLoadTensorNV = static_cast<spv::Op>(5367);
inline constexpr auto OpCooperativeMatrixPerElementOpNV = static_cast<spv::Op>(5369);
inline constexpr auto OpRawAccessChainNV = static_cast<spv::Op>(5398);

inline constexpr auto StorageClassTileImageEXT = static_cast<spv::StorageClass>(4172);
inline constexpr auto StorageClassNodePayloadAMDX = static_cast<spv::StorageClass>(5068);
inline constexpr auto StorageClassHitObjectAttributeEXT = static_cast<spv::StorageClass>(5411);

}  // namespace tally::spirv::newer
