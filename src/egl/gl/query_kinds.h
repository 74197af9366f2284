// The values that GL query objects provide, as the GPU group lists them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tally::egl {

enum class QueryKind : uint8_t {
  GpuTime,
  SamplesPassed,
  PrimitivesGenerated,
  PrimitivesWritten,
  VerticesSubmitted,
  PrimitivesSubmitted,
  VertexInvocations,
  TessControlPatches,
  TessEvaluationInvocations,
  GeometryInvocations,
  GeometryPrimitives,
  FragmentInvocations,
  ComputeInvocations,
  ClippingInput,
  ClippingOutput,
  Count
};

inline constexpr size_t kQueryKindCount = static_cast<size_t>(QueryKind::Count);

// Bit (1 << kind) for each kind.
using QueryKinds = uint32_t;
constexpr QueryKinds bit_of(QueryKind kind) { return QueryKinds{1} << static_cast<unsigned>(kind); }

// Sums over the results so far. They only grow; the context's thread writes them, any thread may
// read them.
using QueryTotals = std::array<std::atomic<uint64_t>, kQueryKindCount>;

}  // namespace tally::egl
