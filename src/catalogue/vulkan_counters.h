// The counters of the Vulkan extensions, in the order in which they are listed. For catalogue.cpp
// alone.
#pragma once

#include <string_view>

#include "catalogue/counter.h"

namespace tally::catalogue {

constexpr std::string_view kExecution = "Execution";
constexpr std::string_view kArithmetic = "Arithmetic";
constexpr std::string_view kData = "Data movement";
constexpr std::string_view kMemory = "Memory";
constexpr std::string_view kTexture = "Textures and images";
constexpr std::string_view kInterface = "Stage interface";
constexpr std::string_view kControl = "Control and cooperation";
constexpr std::string_view kBranches = "Branches";
constexpr std::string_view kLoops = "Loops";
constexpr std::string_view kUnwanted = "Values";
constexpr std::string_view kClocks = "Clocks";
constexpr std::string_view kAccesses = "Memory accesses";
constexpr std::string_view kRay = "Rays";
constexpr std::string_view kMatrix = "Matrices";
constexpr std::string_view kRegion = "Regions of a framebuffer";
constexpr std::string_view kTime = "Time";
constexpr std::string_view kCommands = "Commands";
constexpr std::string_view kInvocations = "Shader invocations";
constexpr std::string_view kRates = "Rates and averages";

constexpr Counter block(Number number, std::string_view id, std::string_view name,
                        std::string_view group, std::string_view description,
                        Unit unit = Unit::Generic, Scopes scopes = Scope::Block) {
  return {number, id, name, group, unit, Storage::Uint64, scopes, description};
}

// The cost of a class of instructions, in a block of a shader or in everything that a query covers.
constexpr Counter cost(Number number, std::string_view id, std::string_view name,
                       std::string_view group, std::string_view description,
                       Unit unit = Unit::Generic) {
  return block(number, id, name, group, description, unit, Scope::Block | Scope::Command);
}

// A counter of performance queries. A query offers the counter at `scope` and at every wider scope.
constexpr Counter query(Number number, std::string_view id, std::string_view name,
                        std::string_view group, Unit unit, Storage storage,
                        std::string_view description, Scope scope = Scope::Command) {
  return {number, id, name, group, unit, storage, scope, description};
}

// Counts commands, each as one regardless of its work.
constexpr Counter commands(Number number, std::string_view id, std::string_view name,
                           std::string_view description) {
  return query(number, id, name, kCommands, Unit::Generic, Storage::Uint32, description);
}

constexpr Counter invocations(Number number, std::string_view id, std::string_view name,
                              std::string_view description) {
  return query(number, id, name, kInvocations, Unit::Generic, Storage::Uint64, description);
}

constexpr Counter branch(Number number, std::string_view id, std::string_view name,
                         std::string_view description) {
  return block(number, id, name, kBranches, description, Unit::Generic, Scope::Branch);
}

// A number of an instruction (spirv/analysis/sites.h).
constexpr Counter site(Number number, std::string_view id, std::string_view name,
                       std::string_view group, std::string_view description) {
  return block(number, id, name, group, description, Unit::Generic, Scope::Site);
}

// Sums over the fragment shader invocations of a region, modulo 2^32.
constexpr Counter region(Number number, std::string_view id, std::string_view name,
                         std::string_view description, Unit unit = Unit::Generic) {
  return {number, id, name, kRegion, unit, Storage::Uint32, Scope::Region, description};
}

inline constexpr Counter kVulkanCounters[] = {
    block(Number::Executions, "executions", "Executions", kExecution,
          "Times the block was executed, counted by invocation. Helper invocations do not count."),
    block(Number::Subgroups, "subgroups", "Subgroups", kExecution,
          "Times a subgroup executed the block with at least one non-helper invocation."),
    block(Number::SubgroupLanes, "subgroup_lanes", "Subgroup lanes", kExecution,
          "Lanes of those subgroups: their number times the device's subgroupSize. The executions "
          "as a share of them are the SIMD efficiency."),

    cost(Number::Instructions, "instructions", "Instructions", kExecution,
         "SPIR-V instructions executed, each counted once whatever its width. Labels, merges, "
         "declarations and debug information do not count."),

    cost(Number::Fma, "fma", "Multiply-adds", kArithmetic,
         "Floating-point multiply-adds by component: fma and mix, and the products within dot "
         "products, matrix products, length and normalize."),
    cost(Number::Float16, "float16", "16-bit float arithmetic", kArithmetic,
         "Floating-point operations of at most 16 bits by component: add, subtract, multiply, "
         "compare, min, max, round and the like."),
    cost(
        Number::Float32, "float32", "32-bit float arithmetic", kArithmetic,
        "Floating-point operations of 32 bits by component: add, subtract, multiply, compare, min, "
        "max, round and the like."),
    cost(
        Number::Float64, "float64", "64-bit float arithmetic", kArithmetic,
        "Floating-point operations of 64 bits by component: add, subtract, multiply, compare, min, "
        "max, round and the like."),
    cost(Number::Int8, "int8", "8-bit integer arithmetic", kArithmetic,
         "Integer and bit operations of 8 bits by component, and the multiply-adds of integer dot "
         "products of 8-bit components."),
    cost(Number::Int16, "int16", "16-bit integer arithmetic", kArithmetic,
         "Integer and bit operations of 16 bits by component, comparisons included."),
    cost(Number::Int32, "int32", "32-bit integer arithmetic", kArithmetic,
         "Integer and bit operations of 32 bits by component, comparisons included."),
    cost(Number::Int64, "int64", "64-bit integer arithmetic", kArithmetic,
         "Integer and bit operations of 64 bits by component, comparisons included."),
    cost(Number::Division, "division", "Divisions", kArithmetic,
         "Divisions, remainders and modulos of integers and floats, by component."),
    cost(Number::Logic, "logic", "Logic", kArithmetic,
         "Operations on booleans and selections between two values, by component."),
    cost(Number::Conversion, "conversion", "Conversions", kArithmetic,
         "Conversions between number types, packing and unpacking, by component. Reinterpreting "
         "bits is data movement."),
    cost(Number::SpecialFunction, "special_function", "Special functions", kArithmetic,
         "Trigonometry, exponentials, logarithms, powers, square roots and their inverses, by "
         "component."),
    cost(Number::Derivative, "derivative", "Derivatives", kArithmetic,
         "Screen-space derivatives, by component."),

    cost(Number::Move, "move", "Data movement", kData,
         "Components put together, taken apart, shuffled, copied or merged by a phi. Most cost "
         "nothing once compiled."),
    cost(Number::Address, "address", "Addressing", kData,
         "Access chains and other ways to address memory or a resource."),
    cost(Number::LocalLoads, "local_loads", "Local loads", kData,
         "Components read from variables of a function or invocation. Most are registers once "
         "compiled."),
    cost(Number::LocalStores, "local_stores", "Local stores", kData,
         "Components written to variables of a function or invocation. Most are registers once "
         "compiled."),

    cost(Number::BufferLoads, "buffer_loads", "Buffer loads", kMemory,
         "Loads from storage buffers, buffer device addresses and tensors, whatever their width."),
    cost(Number::BufferBytesLoaded, "buffer_bytes_loaded", "Buffer bytes loaded", kMemory,
         "Bytes that those loads request, without padding.", Unit::Bytes),
    cost(Number::BufferStores, "buffer_stores", "Buffer stores", kMemory,
         "Stores to storage buffers, buffer device addresses and tensors, whatever their width."),
    cost(Number::BufferBytesStored, "buffer_bytes_stored", "Buffer bytes stored", kMemory,
         "Bytes that those stores write, without padding.", Unit::Bytes),
    cost(Number::UniformLoads, "uniform_loads", "Uniform loads", kMemory,
         "Loads from uniform buffers and push constants, whatever their width."),
    cost(Number::UniformBytesLoaded, "uniform_bytes_loaded", "Uniform bytes loaded", kMemory,
         "Bytes that those loads request, without padding.", Unit::Bytes),
    cost(
        Number::SharedLoads, "shared_loads", "Shared-memory loads", kMemory,
        "Loads from memory that a workgroup shares, task payloads included, whatever their width."),
    cost(Number::SharedBytesLoaded, "shared_bytes_loaded", "Shared-memory bytes loaded", kMemory,
         "Bytes that those loads request, without padding.", Unit::Bytes),
    cost(Number::SharedStores, "shared_stores", "Shared-memory stores", kMemory,
         "Stores to memory that a workgroup shares, task payloads included, whatever their width."),
    cost(Number::SharedBytesStored, "shared_bytes_stored", "Shared-memory bytes stored", kMemory,
         "Bytes that those stores write, without padding.", Unit::Bytes),
    cost(Number::Atomics, "atomics", "Atomics", kMemory,
         "Atomic operations on buffers, shared memory and images, atomic loads and stores "
         "included."),

    cost(Number::TextureSamples, "texture_samples", "Texture samples", kTexture,
         "Filtered reads of a texture, one for each instruction."),
    cost(Number::TextureGathers, "texture_gathers", "Texture gathers", kTexture,
         "Reads of four neighbouring texels at once, one for each instruction."),
    cost(Number::TextureFetches, "texture_fetches", "Texture fetches", kTexture,
         "Unfiltered reads of one texel through a texture, one for each instruction."),
    cost(Number::ImageLoads, "image_loads", "Image loads", kTexture,
         "Reads of storage images, input attachments and tile images, one for each instruction."),
    cost(Number::ImageStores, "image_stores", "Image stores", kTexture,
         "Writes of storage images, one for each instruction."),
    cost(Number::ResourceQueries, "resource_queries", "Resource queries", kTexture,
         "Queries of the size, levels, samples or level of detail of an image, or the length of "
         "a buffer's array."),

    cost(Number::VaryingLoads, "varying_loads", "Input loads", kInterface,
         "Components read from the inputs of the stage, built-in ones included, and read back from "
         "its outputs."),
    cost(Number::VaryingStores, "varying_stores", "Output stores", kInterface,
         "Components written to the outputs of the stage, built-in ones included."),
    cost(Number::Interpolations, "interpolations", "Interpolations", kInterface,
         "Components of inputs interpolated at a position that the shader specifies."),
    cost(Number::Emits, "emits", "Emitted geometry", kInterface,
         "Vertices emitted, primitives ended, mesh outputs set, mesh tasks launched."),

    cost(Number::ControlFlow, "control_flow", "Control flow", kControl,
         "Branches, switches, calls, returns, discards and other ends of an invocation."),
    cost(Number::Barriers, "barriers", "Barriers", kControl,
         "Control and memory barriers, and the two ends of a fragment interlock."),
    cost(Number::SubgroupOperations, "subgroup_operations", "Subgroup operations", kControl,
         "Votes and ballots, one each; shuffles, broadcasts, reductions and scans, by component."),

    cost(Number::RayTraversals, "ray_traversals", "Ray traversals", kRay,
         "Rays traced, steps of a ray query, shaders called through a binding table, and "
         "reorderings of invocations."),
    cost(Number::RayAccesses, "ray_accesses", "Ray accesses", kRay,
         "All other accesses to ray queries, hit objects, payloads and hit attributes."),

    cost(Number::MatrixMultiplyAdds, "matrix_multiply_adds", "Cooperative multiply-adds", kMatrix,
         "Multiply-adds of cooperative vectors and matrices. A matrix belongs to a whole subgroup "
         "or "
         "workgroup: each invocation counts the whole product."),
    cost(Number::MatrixOperations, "matrix_operations", "Cooperative operations", kMatrix,
         "All other instructions on cooperative matrices, one each: loads, stores, conversions, "
         "reductions, arithmetic by element."),

    cost(Number::OtherInstructions, "other_instructions", "Other instructions", kExecution,
         "Instructions of no other class, and those that Tally does not know."),

    branch(Number::BranchTarget0, "branch_target_0", "Branch target 0",
           "Times the branch that ends the block went to its first target: of a conditional branch "
           "the one of a true condition, of a switch its default. 0 where a block has one target."),
    branch(Number::BranchTarget1, "branch_target_1", "Branch target 1",
           "Times the branch that ends the block went to its second target: of a conditional "
           "branch the one of a false condition, of a switch the first block of a case but the "
           "default's."),
    branch(Number::BranchTarget2, "branch_target_2", "Branch target 2",
           "Times the switch that ends the block went to its third target."),
    branch(Number::BranchTarget3, "branch_target_3", "Branch target 3",
           "Times the switch that ends the block went to its fourth target."),
    branch(Number::BranchTarget4, "branch_target_4", "Branch target 4",
           "Times the switch that ends the block went to its fifth target."),
    branch(Number::BranchTarget5, "branch_target_5", "Branch target 5",
           "Times the switch that ends the block went to its sixth target."),
    branch(Number::BranchTarget6, "branch_target_6", "Branch target 6",
           "Times the switch that ends the block went to its seventh target."),
    branch(Number::BranchTarget7, "branch_target_7", "Branch target 7",
           "Times the switch that ends the block went to its eighth target."),
    branch(Number::BranchTarget8, "branch_target_8", "Branch target 8",
           "Times the switch that ends the block went to its ninth target."),
    branch(Number::BranchTarget9, "branch_target_9", "Branch target 9",
           "Times the switch that ends the block went to its tenth target."),
    branch(Number::BranchTarget10, "branch_target_10", "Branch target 10",
           "Times the switch that ends the block went to its eleventh target."),
    branch(Number::BranchTarget11, "branch_target_11", "Branch target 11",
           "Times the switch that ends the block went to its twelfth target."),
    branch(Number::BranchTarget12, "branch_target_12", "Branch target 12",
           "Times the switch that ends the block went to its thirteenth target."),
    branch(Number::BranchTarget13, "branch_target_13", "Branch target 13",
           "Times the switch that ends the block went to its fourteenth target."),
    branch(Number::BranchTarget14, "branch_target_14", "Branch target 14",
           "Times the switch that ends the block went to its fifteenth target."),
    branch(Number::BranchTarget15, "branch_target_15", "Branch target 15",
           "Times the switch that ends the block went to its sixteenth target."),

    site(Number::LoopIterations, "loop_iterations", "Loop iterations", kLoops,
         "Iterations of the loop that began: each time that its test let it go on, or its body was "
         "entered where the test comes last."),
    site(Number::LoopLongestRun, "loop_longest_run", "Longest run", kLoops,
         "The most iterations of one run of the loop by one invocation. The highest value of "
         "several commands counts, not their sum."),
    site(Number::LoopRuns0, "loop_runs_0", "Runs of 0", kLoops,
         "Runs of the loop by an invocation that took no iteration."),
    site(Number::LoopRuns1, "loop_runs_1", "Runs of 1", kLoops,
         "Runs of the loop by an invocation that took one iteration."),
    site(Number::LoopRuns2, "loop_runs_2", "Runs of 2 to 3", kLoops,
         "Runs of the loop by an invocation that took 2 to 3 iterations."),
    site(Number::LoopRuns4, "loop_runs_4", "Runs of 4 to 7", kLoops,
         "Runs of the loop by an invocation that took 4 to 7 iterations."),
    site(Number::LoopRuns8, "loop_runs_8", "Runs of 8 to 15", kLoops,
         "Runs of the loop by an invocation that took 8 to 15 iterations."),
    site(Number::LoopRuns16, "loop_runs_16", "Runs of 16 to 31", kLoops,
         "Runs of the loop by an invocation that took 16 to 31 iterations."),
    site(Number::LoopRuns32, "loop_runs_32", "Runs of 32 to 63", kLoops,
         "Runs of the loop by an invocation that took 32 to 63 iterations."),
    site(Number::LoopRuns64, "loop_runs_64", "Runs of 64 to 127", kLoops,
         "Runs of the loop by an invocation that took 64 to 127 iterations."),
    site(Number::LoopRuns128, "loop_runs_128", "Runs of 128 to 255", kLoops,
         "Runs of the loop by an invocation that took 128 to 255 iterations."),
    site(Number::LoopRuns256, "loop_runs_256", "Runs of 256 to 511", kLoops,
         "Runs of the loop by an invocation that took 256 to 511 iterations."),
    site(Number::LoopRuns512, "loop_runs_512", "Runs of 512 to 1023", kLoops,
         "Runs of the loop by an invocation that took 512 to 1023 iterations."),
    site(Number::LoopRuns1024, "loop_runs_1024", "Runs of 1024 to 2047", kLoops,
         "Runs of the loop by an invocation that took 1024 to 2047 iterations."),
    site(Number::LoopRuns2048, "loop_runs_2048", "Runs of 2048 to 4095", kLoops,
         "Runs of the loop by an invocation that took 2048 to 4095 iterations."),
    site(Number::LoopRuns4096, "loop_runs_4096", "Runs of 4096 to 8191", kLoops,
         "Runs of the loop by an invocation that took 4096 to 8191 iterations."),
    site(Number::LoopRuns8192, "loop_runs_8192", "Runs of 8192 to 16383", kLoops,
         "Runs of the loop by an invocation that took 8192 to 16383 iterations."),
    site(Number::LoopRuns16384, "loop_runs_16384", "Runs of 16384 to 32767", kLoops,
         "Runs of the loop by an invocation that took 16384 to 32767 iterations."),
    site(Number::LoopRuns32768, "loop_runs_32768", "Runs of 32768 to 65535", kLoops,
         "Runs of the loop by an invocation that took 32768 to 65535 iterations."),
    site(Number::LoopRuns65536, "loop_runs_65536", "Runs of 65536 or more", kLoops,
         "Runs of the loop by an invocation that took 65536 iterations or more."),

    site(Number::NanResults, "nan_results", "NaN results", kUnwanted,
         "Times an instruction of the line computed a float that is not a number. An execution of "
         "the line's code in a block counts once."),
    site(Number::InfiniteResults, "infinite_results", "Infinite results", kUnwanted,
         "Times one computed an infinite float, and none a NaN."),
    site(Number::DenormalResults, "denormal_results", "Denormal results", kUnwanted,
         "Times one computed a denormal float, and none an infinite one or a NaN."),
    site(Number::ZeroDivisions, "zero_divisions", "Divisions by zero", kUnwanted,
         "Times one divided an integer or a float by zero, or took the remainder."),
    site(Number::NegativeOperands, "negative_operands", "Negative operands", kUnwanted,
         "Times one took the root, the logarithm or a power of a negative number."),
    site(Number::IndicesOutOfRange, "indices_out_of_range", "Indices out of range", kUnwanted,
         "Times an index was beyond the end of its array, vector or matrix."),

    site(Number::TimedCycles, "timed_cycles", "Timed cycles", kClocks,
         "Ticks of the subgroup's clock (VK_KHR_shader_clock) from the begin to the end of the "
         "shader, the loop or the call, summed over the invocations that are timed."),
    site(Number::TimedRuns, "timed_runs", "Timed runs", kClocks,
         "Times that a timed invocation came to that end."),
    site(Number::TimedInvocations, "timed_invocations", "Timed invocations", kClocks,
         "Invocations of the shader that are timed."),

    site(Number::RequestedBytes, "requested_bytes", "Requested bytes", kAccesses,
         "Bytes that invocations loaded, stored or changed by atomics in a buffer, in workgroup "
         "memory or in an image whose format the shader knows."),
    site(Number::MemorySubgroups, "memory_subgroups", "Subgroup accesses", kAccesses,
         "Subgroups that executed the access, with any of their invocations."),
    site(Number::MemorySectors, "memory_sectors", "Sectors", kAccesses,
         "Sectors of 32 bytes of a buffer that a subgroup touched with one access. A sector counts "
         "once, however many invocations touch it."),
    site(Number::MemoryLines, "memory_lines", "Lines", kAccesses,
         "Lines of 128 bytes of a buffer that a subgroup touched with one access."),
    site(Number::ExtraPasses, "extra_passes", "Extra passes", kAccesses,
         "Passes over 32 banks of 4 bytes that an access of a subgroup to workgroup memory took "
         "beyond those that its number of words needs."),
    site(Number::MissedAccesses, "missed_accesses", "Missed accesses", kAccesses,
         "Accesses by invocations whose sectors, lines, passes or texels are not all counted, "
         "because a workgroup of virtual subgroups touched too much."),
    site(Number::MemoryTexels, "memory_texels", "Texels", kAccesses,
         "Texels of an image that a subgroup touched with one access. A texel counts once, however "
         "many invocations touch it."),
    site(Number::TouchedLines, "touched_lines", "Touched lines", kAccesses,
         "Different lines of 128 bytes of buffers that all invocations of the shader touched in a "
         "command: an estimate with a standard error of 2.9 %. The highest value of several "
         "commands counts, not their sum."),

    region(Number::FragmentWarps, "fragment_warps", "Fragment warps",
           "Fragment invocations divided by the device's subgroup size, rounded up: a full-screen "
           "triangle gives 256 in every whole region of the default size."),
    region(Number::FragmentInvocations, "fragment_invocations", "Fragment invocations",
           "Invocations of fragment shaders that are not helpers when they begin."),
    region(
        Number::FragmentSubgroups, "fragment_subgroups", "Fragment subgroups",
        "Subgroups that began a fragment shader with at least one non-helper invocation; one "
        "that lies in several regions counts in the region of its lowest such invocation. 0 where "
        "fragment shaders have no subgroup operations."),
    region(Number::HelperInvocations, "helper_invocations", "Helper invocations",
           "Helper invocations in those subgroups when they begin, as far as the driver shows them "
           "to subgroup operations; counted in the subgroup's region."),
    region(Number::CoveredSamples, "covered_samples", "Covered samples",
           "Samples that fragment invocations cover when they begin (gl_SampleMaskIn). Depth and "
           "stencil tests may drop some later."),
    region(Number::DiscardedInvocations, "discarded_invocations", "Discarded invocations",
           "Fragment invocations that the shader discarded: killed, terminated or demoted."),
    region(Number::FragmentInstructions, "fragment_instructions", "Fragment instructions",
           "SPIR-V instructions that fragment invocations executed, each counted once whatever its "
           "width."),
    region(Number::FragmentFma, "fragment_fma", "Fragment multiply-adds",
           "Floating-point multiply-adds by component."),
    region(Number::FragmentArithmetic, "fragment_arithmetic", "Fragment arithmetic",
           "All other arithmetic by component: floats and integers of any width, divisions, logic, "
           "derivatives."),
    region(Number::FragmentConversions, "fragment_conversions", "Fragment conversions",
           "Conversions between number types by component."),
    region(Number::FragmentSpecialFunctions, "fragment_special_functions",
           "Fragment special functions",
           "Trigonometry, exponentials, logarithms, powers, square roots by component."),
    region(Number::FragmentLoads, "fragment_loads", "Fragment loads",
           "Loads from storage buffers, uniform buffers, push constants and buffer addresses."),
    region(Number::FragmentStores, "fragment_stores", "Fragment stores",
           "Stores to storage buffers and buffer addresses."),
    region(Number::FragmentBytesLoaded, "fragment_bytes_loaded", "Fragment bytes loaded",
           "Bytes that those loads request, without padding.", Unit::Bytes),
    region(Number::FragmentBytesStored, "fragment_bytes_stored", "Fragment bytes stored",
           "Bytes that those stores write, without padding.", Unit::Bytes),
    region(Number::FragmentTexture, "fragment_texture", "Fragment texture reads",
           "Texture samples, gathers and fetches, one for each instruction."),
    region(Number::FragmentImages, "fragment_images", "Fragment image accesses",
           "Loads and stores of storage images, input attachments and tile images."),
    region(Number::FragmentAtomics, "fragment_atomics", "Fragment atomics",
           "Atomic operations on buffers and images."),
    region(Number::FragmentVaryings, "fragment_varyings", "Fragment inputs and outputs",
           "Components read from inputs, interpolated, and written to outputs."),
    region(Number::FragmentControlFlow, "fragment_control_flow", "Fragment control flow",
           "Branches, switches, calls, returns, discards and other ends of an invocation."),
    region(Number::ShaderClock, "shader_clock", "Fragment shader clock",
           "Ticks of the subgroup's clock from its beginning to the end of its lowest non-helper "
           "invocation, over all subgroups, including the time of Tally's own counting.",
           Unit::Cycles),
    region(Number::FragmentPrimitives, "fragment_primitives", "Fragment primitives",
           "Distinct primitives for which the fragment shader ran, identified by draw and "
           "gl_PrimitiveID. Instances with the same gl_PrimitiveID count as one."),

    query(Number::GpuTime, "gpu_time", "GPU time", kTime, Unit::Nanoseconds, Storage::Uint64,
          "Time from the query's begin to its end by the device's timestamps. A query that also "
          "counts in shaders measures it in a separate pass."),
    query(Number::GpuTicks, "gpu_ticks", "GPU clock ticks", kTime, Unit::Cycles, Storage::Int64,
          "The same time in ticks of the timestamp clock, which is not the clock of the shader "
          "cores."),
    query(Number::CommandBufferTime, "command_buffer_time", "Command buffer time", kTime,
          Unit::Nanoseconds, Storage::Uint64, "The same time of a whole command buffer.",
          Scope::CommandBuffer),

    commands(Number::Draws, "draws", "Draws",
             "Draw commands, each counted once whatever it draws; mesh draws included."),
    commands(Number::IndirectDraws, "indirect_draws", "Indirect draws",
             "Draw commands that read their arguments from a buffer."),
    commands(Number::Dispatches, "dispatches", "Dispatches",
             "Commands that dispatch compute work, indirect ones included."),
    commands(Number::RayTraces, "ray_traces", "Ray trace commands", "Commands that trace rays."),
    query(Number::Vertices, "vertices", "Vertices", kCommands, Unit::Generic, Storage::Uint64,
          "Vertices that draws assemble, times instances; indirect draws included."),
    query(Number::Primitives, "primitives", "Primitives", kCommands, Unit::Generic, Storage::Uint64,
          "Primitives that draws assemble by their topology, times instances."),
    query(Number::Patches, "patches", "Patches", kCommands, Unit::Generic, Storage::Uint64,
          "Patches that draws assemble for tessellation, times instances."),
    query(Number::Workgroups, "workgroups", "Workgroups", kCommands, Unit::Generic, Storage::Uint64,
          "Compute workgroups of direct and indirect dispatches."),
    query(Number::MeshWorkgroups, "mesh_workgroups", "Mesh workgroups", kCommands, Unit::Generic,
          Storage::Uint64,
          "Workgroups that mesh draws launch: of task shaders where there is one, else of mesh "
          "shaders."),
    commands(Number::PipelineBinds, "pipeline_binds", "Pipeline binds",
             "Commands that bind a pipeline."),
    commands(Number::DescriptorBinds, "descriptor_binds", "Descriptor binds",
             "Commands that bind or push descriptors or bind descriptor heaps."),
    commands(Number::VertexBufferBinds, "vertex_buffer_binds", "Vertex buffer binds",
             "Commands that bind vertex buffers."),
    commands(Number::IndexBufferBinds, "index_buffer_binds", "Index buffer binds",
             "Commands that bind an index buffer."),
    commands(Number::ConstantUpdates, "constant_updates", "Constant updates",
             "Commands that update push constants or push data."),
    commands(Number::PipelineBarriers, "pipeline_barriers", "Pipeline barriers",
             "Pipeline barriers and waits for events."),
    query(Number::RenderPasses, "render_passes", "Render passes", kCommands, Unit::Generic,
          Storage::Int32, "Render passes begun, dynamic ones included.", Scope::RenderPass),
    commands(Number::Transfers, "transfers", "Transfers",
             "Commands that copy, blit, resolve, fill, update, or clear outside a render pass."),
    commands(Number::AttachmentClears, "attachment_clears", "Attachment clears",
             "Commands that clear attachments within a render pass; load operations do not count."),

    invocations(Number::ShaderInvocations, "shader_invocations", "Shader invocations",
                "Invocations of the shaders of all stages. Helper invocations do not count."),
    invocations(Number::VertexShaderInvocations, "vertex_shader_invocations",
                "Vertex shader invocations", "Invocations of vertex shaders."),
    invocations(Number::TessellationControlShaderInvocations,
                "tessellation_control_shader_invocations",
                "Tessellation control shader invocations",
                "Invocations of tessellation control shaders, one for each vertex of an output "
                "patch."),
    invocations(Number::TessellationEvaluationShaderInvocations,
                "tessellation_evaluation_shader_invocations",
                "Tessellation evaluation shader invocations",
                "Invocations of tessellation evaluation shaders."),
    invocations(Number::GeometryShaderInvocations, "geometry_shader_invocations",
                "Geometry shader invocations", "Invocations of geometry shaders."),
    invocations(Number::FragmentShaderInvocations, "fragment_shader_invocations",
                "Fragment shader invocations",
                "Invocations of fragment shaders that are not helpers when they begin."),
    invocations(Number::ComputeShaderInvocations, "compute_shader_invocations",
                "Compute shader invocations", "Invocations of compute shaders."),
    invocations(Number::TaskShaderInvocations, "task_shader_invocations", "Task shader invocations",
                "Invocations of task shaders."),
    invocations(Number::MeshShaderInvocations, "mesh_shader_invocations", "Mesh shader invocations",
                "Invocations of mesh shaders."),
    invocations(Number::RayShaderInvocations, "ray_shader_invocations", "Ray shader invocations",
                "Invocations of the shaders of all ray-tracing stages."),
    invocations(
        Number::SampleCoverage, "sample_coverage", "Sample coverage",
        "Samples that fragment invocations cover (gl_SampleMaskIn) and do not discard. Depth and "
        "stencil tests may drop some later."),
    invocations(Number::ShaderSubgroups, "shader_subgroups", "Shader subgroups",
                "Subgroups that began a shader with at least one non-helper invocation, in the "
                "stages that have subgroup operations."),
    query(Number::ActiveLanes, "active_lanes", "Active lanes", kInvocations, Unit::Percentage,
          Storage::Float32,
          "Invocations as a percentage of the lanes of their subgroups, in the stages that have "
          "subgroup operations. Where subgroups may be wider than the device's subgroupSize, it "
          "may exceed 100."),
    query(Number::FragmentActiveLanes, "fragment_active_lanes", "Fragment active lanes",
          kInvocations, Unit::Percentage, Storage::Float32, "The same for fragment shaders."),
    query(Number::ComputeActiveLanes, "compute_active_lanes", "Compute active lanes", kInvocations,
          Unit::Percentage, Storage::Float32, "The same for compute shaders."),

    query(Number::InstructionsPerInvocation, "instructions_per_invocation",
          "Instructions per invocation", kRates, Unit::Generic, Storage::Float32,
          "SPIR-V instructions that a shader invocation executes, on average."),
    query(Number::ControlFlowShare, "control_flow_share", "Control flow share", kRates,
          Unit::Percentage, Storage::Float32,
          "Branches, switches, calls, returns and discards as a percentage of all SPIR-V "
          "instructions executed."),
    query(Number::BufferLoadRate, "buffer_load_rate", "Buffer load rate", kRates,
          Unit::BytesPerSecond, Storage::Float64,
          "Bytes that shaders load from storage buffers and buffer addresses, divided by GPU time. "
          "Loads from caches count.",
          Scope::RenderPass),
    query(Number::BufferStoreRate, "buffer_store_rate", "Buffer store rate", kRates,
          Unit::BytesPerSecond, Storage::Float64,
          "Bytes that shaders store to storage buffers and buffer addresses, divided by GPU time.",
          Scope::RenderPass),
    query(Number::InstructionRate, "instruction_rate", "Instruction rate", kRates, Unit::Hertz,
          Storage::Float64, "SPIR-V instructions executed, divided by GPU time.",
          Scope::RenderPass),
    query(Number::InvocationRate, "invocation_rate", "Invocation rate", kRates, Unit::Hertz,
          Storage::Float64, "Shader invocations of all stages, divided by GPU time.",
          Scope::RenderPass),
    query(Number::VerticesPerDraw, "vertices_per_draw", "Vertices per draw", kRates, Unit::Generic,
          Storage::Float32, "Vertices that a draw command of the command buffer has, on average.",
          Scope::CommandBuffer),
    query(Number::FragmentsPerDraw, "fragments_per_draw", "Fragments per draw", kRates,
          Unit::Generic, Storage::Float32,
          "Fragment shader invocations of a draw command of the command buffer, on average.",
          Scope::CommandBuffer),
    query(Number::PipelineBindsPerDraw, "pipeline_binds_per_draw", "Pipeline binds per draw",
          kRates, Unit::Generic, Storage::Float32,
          "Pipelines that the command buffer binds for each of its draw commands.",
          Scope::CommandBuffer),
};

}  // namespace tally::catalogue
