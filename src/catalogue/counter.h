// A counter as the catalogue describes it, and the number of each.
//
// A counter's number and id never change and are never reused, because captures, scripts and
// applications store them. New counters get new numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally::catalogue {

// The units of VkPerformanceCounterUnitKHR, with the same values.
enum class Unit : uint8_t {
  Generic = 0,
  Percentage = 1,
  Nanoseconds = 2,
  Bytes = 3,
  BytesPerSecond = 4,
  Kelvin = 5,
  Watts = 6,
  Volts = 7,
  Amps = 8,
  Hertz = 9,
  Cycles = 10,
};

// The storage types of VkPerformanceCounterStorageKHR, with the same values.
enum class Storage : uint8_t {
  Int32 = 0,
  Int64 = 1,
  Uint32 = 2,
  Uint64 = 3,
  Float32 = 4,
  Float64 = 5
};

// The thing that one value of a counter describes. A counter may be available at several scopes.
enum class Scope : uint16_t {
  Block = 1 << 0,          // a basic block of a shader, in a command: VK_ARM_shader_instrumentation
  Region = 1 << 1,         // a region of a framebuffer: VK_ARM_performance_counters_by_region
  Command = 1 << 2,        // VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR
  RenderPass = 1 << 3,     // ..._RENDER_PASS_KHR
  CommandBuffer = 1 << 4,  // ..._COMMAND_BUFFER_KHR
  Frame = 1 << 5,          // between two presentations
  Process = 1 << 6,        // the process as a whole, at the time of reading
  Device = 1 << 7,         // the device as a whole, at the time of reading
  Branch = 1 << 8,         // a target of the branch that ends a basic block; a metric of the block
  Site = 1 << 9,           // an instruction of a shader, in a command; a metric as if of a block
};

class Scopes {
 public:
  constexpr Scopes() = default;
  constexpr Scopes(Scope scope) : bits_(static_cast<uint16_t>(scope)) {}
  constexpr bool has(Scope scope) const { return (bits_ & static_cast<uint16_t>(scope)) != 0; }
  friend constexpr Scopes operator|(Scopes a, Scopes b) {
    a.bits_ = static_cast<uint16_t>(a.bits_ | b.bits_);
    return a;
  }

 private:
  uint16_t bits_ = 0;
};
constexpr Scopes operator|(Scope a, Scope b) { return Scopes(a) | Scopes(b); }

// The numbers of the counters, usable as VkPerformanceCounterARM::counterID. Each kind has a range
// of 256; within a range, new counters are appended.
enum class Number : uint32_t {
  Executions = 1,
  Subgroups = 2,
  // Indexed by the target's number.
  BranchTarget0 = 3,
  BranchTarget1,
  BranchTarget2,
  BranchTarget3,
  BranchTarget4,
  BranchTarget5,
  BranchTarget6,
  BranchTarget7,
  BranchTarget8,
  BranchTarget9,
  BranchTarget10,
  BranchTarget11,
  BranchTarget12,
  BranchTarget13,
  BranchTarget14,
  BranchTarget15,
  SubgroupLanes,

  Instructions = 256,
  Fma,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  Division,
  Logic,
  Conversion,
  SpecialFunction,
  Derivative,
  Move,
  Address,
  LocalLoads,
  LocalStores,
  BufferLoads,
  BufferBytesLoaded,
  BufferStores,
  BufferBytesStored,
  UniformLoads,
  UniformBytesLoaded,
  SharedLoads,
  SharedBytesLoaded,
  SharedStores,
  SharedBytesStored,
  Atomics,
  TextureSamples,
  TextureGathers,
  TextureFetches,
  ImageLoads,
  ImageStores,
  ResourceQueries,
  VaryingLoads,
  VaryingStores,
  Interpolations,
  Emits,
  ControlFlow,
  Barriers,
  SubgroupOperations,
  RayTraversals,
  RayAccesses,
  MatrixMultiplyAdds,
  MatrixOperations,
  OtherInstructions,

  LoopIterations = 512,
  LoopLongestRun,
  // Indexed by the bucket of the run's length.
  LoopRuns0,
  LoopRuns1,
  LoopRuns2,
  LoopRuns4,
  LoopRuns8,
  LoopRuns16,
  LoopRuns32,
  LoopRuns64,
  LoopRuns128,
  LoopRuns256,
  LoopRuns512,
  LoopRuns1024,
  LoopRuns2048,
  LoopRuns4096,
  LoopRuns8192,
  LoopRuns16384,
  LoopRuns32768,
  LoopRuns65536,
  NanResults,
  InfiniteResults,
  DenormalResults,
  ZeroDivisions,
  NegativeOperands,
  IndicesOutOfRange,
  TimedCycles,
  TimedRuns,
  TimedInvocations,
  RequestedBytes,
  MemorySubgroups,
  MemorySectors,
  MemoryLines,
  ExtraPasses,
  MissedAccesses,
  MemoryTexels,
  TouchedLines,

  FragmentWarps = 768,
  FragmentInvocations,
  FragmentSubgroups,
  HelperInvocations,
  CoveredSamples,
  DiscardedInvocations,
  FragmentInstructions,
  FragmentFma,
  FragmentArithmetic,
  FragmentConversions,
  FragmentSpecialFunctions,
  FragmentLoads,
  FragmentStores,
  FragmentBytesLoaded,
  FragmentBytesStored,
  FragmentTexture,
  FragmentImages,
  FragmentAtomics,
  FragmentVaryings,
  FragmentControlFlow,
  ShaderClock,
  FragmentPrimitives,

  GpuTime = 1024,
  GpuTicks,
  CommandBufferTime,
  Draws,
  IndirectDraws,
  Dispatches,
  RayTraces,
  Vertices,
  Primitives,
  Patches,
  Workgroups,
  MeshWorkgroups,
  PipelineBinds,
  DescriptorBinds,
  VertexBufferBinds,
  IndexBufferBinds,
  ConstantUpdates,
  PipelineBarriers,
  RenderPasses,
  Transfers,
  AttachmentClears,
  ShaderInvocations,
  VertexShaderInvocations,
  TessellationControlShaderInvocations,
  TessellationEvaluationShaderInvocations,
  GeometryShaderInvocations,
  FragmentShaderInvocations,
  ComputeShaderInvocations,
  TaskShaderInvocations,
  MeshShaderInvocations,
  RayShaderInvocations,
  SampleCoverage,
  ShaderSubgroups,
  ActiveLanes,
  FragmentActiveLanes,
  ComputeActiveLanes,
  InstructionsPerInvocation,
  ControlFlowShare,
  BufferLoadRate,
  BufferStoreRate,
  InstructionRate,
  InvocationRate,
  VerticesPerDraw,
  FragmentsPerDraw,
  PipelineBindsPerDraw,

  GlDrawCalls = 1280,
  GlDraws,
  GlIndirectDraws,
  GlVertices,
  GlPrimitives,
  GlInstances,
  GlDispatches,
  GlWorkgroups,
  GlComputeInvocations,
  GlIndirectDispatches,
  GlClears,
  GlCopies,
  GlMipmaps,
  GlStateChanges,
  GlProgramSwitches,
  GlTextureBinds,
  GlBufferBinds,
  GlVertexArrayBinds,
  GlFramebufferBinds,
  GlUniformUpdates,
  GlUniformBytes,
  GlTextureUploads,
  GlTextureBytes,
  GlBufferUploads,
  GlBufferBytes,
  GlBufferMaps,
  GlBufferMapBytes,
  GlCompiles,
  GlCompileTime,
  GlLinks,
  GlLinkTime,
  GlErrors,
  GlSyncCalls,
  GlSyncTime,
  GlReadbacks,
  GlReadbackBytes,
  GlFlushes,

  Swaps = 1536,
  Frames,
  FrameTime,
  SwapTime,
  LatestFrameTime,
  ShortestFrameTime,
  LongestFrameTime,

  CpuTime = 1792,
  CpuKernelTime,
  PageFaults,
  ContextSwitches,
  ResidentMemory,
  Threads,
  GpuEngineTime,
  GpuMemory,

  GlGpuTime = 2048,
  GlSamplesPassed,
  GlPrimitivesGenerated,
  GlPrimitivesWritten,
  GlVerticesFetched,
  GlPrimitivesAssembled,
  GlVertexInvocations,
  GlTessControlPatches,
  GlTessEvaluationInvocations,
  GlGeometryInvocations,
  GlGeometryPrimitives,
  GlFragmentInvocations,
  GlComputeShaderInvocations,
  GlClippingInput,
  GlClippingOutput,

  VkSubmissions = 2304,
  VkRenderPasses,
  VkDrawCommands,
  VkDraws,
  VkDispatches,
  VkRayTraces,
  VkCommandsNotCounted,
  VkGpuTime,
  VkVertexInvocations,
  VkTessControlInvocations,
  VkTessEvaluationInvocations,
  VkGeometryInvocations,
  VkFragmentInvocations,
  VkComputeInvocations,
};

struct Counter {
  Number number;
  std::string_view id;     // lower case with underscores; for options, files and scripts
  std::string_view name;   // for display
  std::string_view group;  // counters of one group belong together in a list
  Unit unit;
  Storage storage;
  Scopes scopes;
  std::string_view description;  // one or two sentences, below 256 bytes
  // Of Unit::Generic: what is counted, as the unit ("calls"). Empty: name_of(unit).
  std::string_view counted = {};
};

}  // namespace tally::catalogue
