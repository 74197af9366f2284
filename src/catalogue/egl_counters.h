// The counters of EGL_BRCM_performance_counters, less those that drivers have themselves; each
// group in the order in which EGL lists it. For catalogue.cpp alone.
#pragma once

#include "catalogue/counter.h"

namespace tally::catalogue {

constexpr std::string_view kApi = "EGL: API";
constexpr std::string_view kFrame = "EGL: Frame";
constexpr std::string_view kProcess = "EGL: Process and device";
constexpr std::string_view kGpu = "EGL: GPU";
constexpr std::string_view kVulkanLayer = "EGL: Vulkan layer";

// A process has it, and so has each of its frames.
constexpr Counter egl(Number number, std::string_view id, std::string_view name,
                      std::string_view group, Unit unit, std::string_view counted,
                      std::string_view description) {
  return {number,      id,     name, group, unit, Storage::Uint64, Scope::Frame | Scope::Process,
          description, counted};
}

constexpr Counter egl_count(Number number, std::string_view id, std::string_view name,
                            std::string_view group, std::string_view counted,
                            std::string_view description) {
  return egl(number, id, name, group, Unit::Generic, counted, description);
}

constexpr Counter egl_time(Number number, std::string_view id, std::string_view name,
                           std::string_view group, std::string_view description) {
  return egl(number, id, name, group, Unit::Nanoseconds, {}, description);
}

constexpr Counter egl_bytes(Number number, std::string_view id, std::string_view name,
                            std::string_view group, std::string_view description) {
  return egl(number, id, name, group, Unit::Bytes, {}, description);
}

inline constexpr Counter kEglCounters[] = {
    egl_count(Number::GlDrawCalls, "gl_draw_calls", "Draw calls", kApi, "calls",
              "Calls of GL that draw, each one whatever it draws."),
    egl_count(
        Number::GlDraws, "gl_draws", "Draws, each of a multi-draw", kApi, "draws",
        "Direct draws of those calls, of a multi-draw each. Draws of indirect calls and display "
        "lists are not among them."),
    egl_count(Number::GlIndirectDraws, "gl_indirect_draws", "Indirect draws", kApi, "draws",
              "Draws whose arguments stand in a buffer, of a multi-draw each."),
    egl_count(Number::GlVertices, "gl_vertices", "Vertices submitted", kApi, "vertices",
              "Vertices of direct draws, times instances. Indices that restart primitives count as "
              "vertices."),
    egl_count(Number::GlPrimitives, "gl_primitives", "Primitives submitted", kApi, "primitives",
              "Primitives that those vertices make, times instances."),
    egl_count(Number::GlInstances, "gl_instances", "Instances submitted", kApi, "instances",
              "Instances of direct draws; a draw without instances has one."),
    egl_count(Number::GlDispatches, "gl_dispatches", "Compute dispatches", kApi, "calls",
              "Calls that dispatch compute work with a number of work groups as arguments."),
    egl_count(Number::GlWorkgroups, "gl_workgroups", "Compute work groups", kApi, "groups",
              "Work groups of direct dispatches."),
    egl_count(Number::GlComputeInvocations, "gl_compute_invocations",
              "Compute invocations submitted", kApi, "invocations",
              "Work groups of direct dispatches times the size of a work group of their program."),
    egl_count(Number::GlIndirectDispatches, "gl_indirect_dispatches", "Indirect compute dispatches",
              kApi, "calls",
              "Calls that dispatch compute work with the number of work groups in a buffer."),
    egl_count(Number::GlClears, "gl_clears", "Clears", kApi, "calls",
              "Calls that clear framebuffers, textures or buffers."),
    egl_count(Number::GlCopies, "gl_copies", "Copies and blits", kApi, "calls",
              "Calls that copy between buffers, textures and framebuffers."),
    egl_count(Number::GlMipmaps, "gl_mipmaps", "Mipmap generations", kApi, "calls",
              "Calls that generate the levels of a texture."),
    egl_count(Number::GlStateChanges, "gl_state_changes", "State changes", kApi, "calls",
              "Calls that set state which no other counter has."),
    egl_count(Number::GlProgramSwitches, "gl_program_switches", "Program switches", kApi, "calls",
              "Calls that make a program or a program pipeline current."),
    egl_count(Number::GlTextureBinds, "gl_texture_binds", "Texture binds", kApi, "calls",
              "Calls that bind textures or images."),
    egl_count(Number::GlBufferBinds, "gl_buffer_binds", "Buffer binds", kApi, "calls",
              "Calls that bind buffers."),
    egl_count(Number::GlVertexArrayBinds, "gl_vertex_array_binds", "Vertex array binds", kApi,
              "calls", "Calls that bind a vertex array object."),
    egl_count(Number::GlFramebufferBinds, "gl_framebuffer_binds", "Framebuffer binds", kApi,
              "calls", "Calls that bind a framebuffer object."),
    egl_count(Number::GlUniformUpdates, "gl_uniform_updates", "Uniform updates", kApi, "calls",
              "Calls that set uniforms."),
    egl_bytes(Number::GlUniformBytes, "gl_uniform_bytes", "Uniform bytes", kApi,
              "Bytes that those calls hand over."),
    egl_count(Number::GlTextureUploads, "gl_texture_uploads", "Texture uploads", kApi, "calls",
              "Calls that hand over texels."),
    egl_bytes(Number::GlTextureBytes, "gl_texture_bytes", "Texture upload bytes", kApi,
              "Bytes that those calls hand over, without row padding."),
    egl_count(Number::GlBufferUploads, "gl_buffer_uploads", "Buffer uploads", kApi, "calls",
              "Calls that hand over contents of buffers."),
    egl_bytes(Number::GlBufferBytes, "gl_buffer_bytes", "Buffer upload bytes", kApi,
              "Bytes that those calls hand over."),
    egl_count(Number::GlBufferMaps, "gl_buffer_maps", "Buffer maps", kApi, "calls",
              "Calls that map a buffer."),
    egl_bytes(Number::GlBufferMapBytes, "gl_buffer_map_bytes", "Buffer bytes mapped for writing",
              kApi, "Bytes of the ranges that glMapBufferRange maps for writing."),
    egl_count(Number::GlCompiles, "gl_compiles", "Shader compiles", kApi, "calls",
              "Calls that compile a shader."),
    egl_time(Number::GlCompileTime, "gl_compile_time", "Shader compile time", kApi,
             "Time that the program spends in those calls."),
    egl_count(Number::GlLinks, "gl_links", "Program links", kApi, "calls",
              "Calls that link a program."),
    egl_time(Number::GlLinkTime, "gl_link_time", "Program link time", kApi,
             "Time that the program spends in those calls."),
    egl_count(Number::GlErrors, "gl_errors", "GL errors", kApi, "errors",
              "Errors that GL has raised."),
    egl_count(Number::GlSyncCalls, "gl_sync_calls", "Synchronising calls", kApi, "calls",
              "Calls that may wait for the GPU: glFinish, waits for fences, results of queries, "
              "readbacks into the program's memory."),
    egl_time(Number::GlSyncTime, "gl_sync_time", "Time in synchronising calls", kApi,
             "Time that the program spends in those calls."),
    egl_count(Number::GlReadbacks, "gl_readbacks", "Readbacks", kApi, "calls",
              "Calls that read pixels, texels or buffers back."),
    egl_bytes(Number::GlReadbackBytes, "gl_readback_bytes", "Readback bytes", kApi,
              "Bytes that those calls ask for, without row padding. Reads of textures count none."),
    egl_count(Number::GlFlushes, "gl_flushes", "Flushes", kApi, "calls", "Calls of glFlush."),

    egl_count(Number::Swaps, "swaps", "Swaps", kFrame, "swaps", "Swaps of surfaces."),
    egl_count(Number::Frames, "frames", "Frames", kFrame, "frames",
              "Frames: from one swap of a surface to its next."),
    egl_time(Number::FrameTime, "frame_time", "Time in frames", kFrame,
             "Sum of the frames' times."),
    egl_time(Number::SwapTime, "swap_time", "CPU time in swaps", kFrame,
             "Time that the program spends in the calls that swap."),
    egl_time(Number::LatestFrameTime, "latest_frame_time", "Latest frame time", kFrame,
             "Time of the latest frame since the last reset."),
    egl_time(Number::ShortestFrameTime, "shortest_frame_time", "Shortest frame time", kFrame,
             "Time of the shortest frame since the last reset."),
    egl_time(Number::LongestFrameTime, "longest_frame_time", "Longest frame time", kFrame,
             "Time of the longest frame since the last reset."),

    egl_time(Number::CpuTime, "cpu_time", "CPU time", kProcess,
             "Processor time of the process, in the kernel too."),
    egl_time(Number::CpuKernelTime, "cpu_kernel_time", "CPU time in the kernel", kProcess,
             "Processor time of the process in the kernel."),
    egl_count(Number::PageFaults, "page_faults", "Page faults", kProcess, "faults",
              "Page faults of the process, minor and major."),
    egl_count(Number::ContextSwitches, "context_switches", "Context switches", kProcess, "switches",
              "Context switches of the process, voluntary or not."),
    egl_bytes(Number::ResidentMemory, "resident_memory", "Resident memory", kProcess,
              "Memory of the process that is resident now."),
    egl_count(Number::Threads, "threads", "Threads", kProcess, "threads",
              "Threads that the process has now."),
    egl_time(Number::GpuEngineTime, "gpu_engine_time", "GPU engine time", kProcess,
             "Time that an engine of the GPU worked for the process: one counter an engine, where "
             "the kernel's driver writes DRM usage statistics."),
    egl_bytes(Number::GpuMemory, "gpu_memory", "GPU memory", kProcess,
              "Memory of a region of the GPU that the process has now: one counter a region, where "
              "the kernel's driver writes DRM usage statistics."),

    egl_time(Number::GlGpuTime, "gl_gpu_time", "GPU time", kGpu,
             "Time on the GPU around the work of each frame, gaps included."),
    egl_count(Number::GlSamplesPassed, "gl_samples_passed", "Samples passed", kGpu, "samples",
              "Samples that pass the depth and stencil tests, as GL_SAMPLES_PASSED counts them."),
    egl_count(Number::GlPrimitivesGenerated, "gl_primitives_generated", "Primitives generated",
              kGpu, "primitives",
              "Primitives that reach transform feedback or rasterization, as "
              "GL_PRIMITIVES_GENERATED counts them."),
    egl_count(Number::GlPrimitivesWritten, "gl_primitives_written",
              "Primitives written by transform feedback", kGpu, "primitives",
              "Primitives that transform feedback writes."),
    egl_count(Number::GlVerticesFetched, "gl_vertices_fetched", "Vertices fetched", kGpu,
              "vertices", "GL_VERTICES_SUBMITTED of the pipeline statistics."),
    egl_count(Number::GlPrimitivesAssembled, "gl_primitives_assembled", "Primitives assembled",
              kGpu, "primitives", "GL_PRIMITIVES_SUBMITTED of the pipeline statistics."),
    egl_count(Number::GlVertexInvocations, "gl_vertex_invocations", "Vertex shader invocations",
              kGpu, "invocations", "GL_VERTEX_SHADER_INVOCATIONS of the pipeline statistics."),
    egl_count(Number::GlTessControlPatches, "gl_tess_control_patches",
              "Tessellation control patches", kGpu, "patches",
              "GL_TESS_CONTROL_SHADER_PATCHES of the pipeline statistics."),
    egl_count(Number::GlTessEvaluationInvocations, "gl_tess_evaluation_invocations",
              "Tessellation evaluation invocations", kGpu, "invocations",
              "GL_TESS_EVALUATION_SHADER_INVOCATIONS of the pipeline statistics."),
    egl_count(Number::GlGeometryInvocations, "gl_geometry_invocations",
              "Geometry shader invocations", kGpu, "invocations",
              "GL_GEOMETRY_SHADER_INVOCATIONS of the pipeline statistics."),
    egl_count(Number::GlGeometryPrimitives, "gl_geometry_primitives", "Geometry shader primitives",
              kGpu, "primitives",
              "GL_GEOMETRY_SHADER_PRIMITIVES_EMITTED of the pipeline statistics."),
    egl_count(Number::GlFragmentInvocations, "gl_fragment_invocations",
              "Fragment shader invocations", kGpu, "invocations",
              "GL_FRAGMENT_SHADER_INVOCATIONS of the pipeline statistics."),
    egl_count(Number::GlComputeShaderInvocations, "gl_compute_shader_invocations",
              "Compute shader invocations", kGpu, "invocations",
              "GL_COMPUTE_SHADER_INVOCATIONS of the pipeline statistics."),
    egl_count(Number::GlClippingInput, "gl_clipping_input", "Primitives clipped", kGpu,
              "primitives", "GL_CLIPPING_INPUT_PRIMITIVES of the pipeline statistics."),
    egl_count(Number::GlClippingOutput, "gl_clipping_output", "Primitives left by clipping", kGpu,
              "primitives", "GL_CLIPPING_OUTPUT_PRIMITIVES of the pipeline statistics."),

    egl_count(Number::VkSubmissions, "vk_submissions", "Submissions", kVulkanLayer, "submissions",
              "Submissions of Vulkan with passes, draws, dispatches or traces."),
    egl_count(Number::VkRenderPasses, "vk_render_passes", "Render passes", kVulkanLayer, "passes",
              "Render passes that are executed, dynamic ones included."),
    egl_count(Number::VkDrawCommands, "vk_draw_commands", "Draw commands", kVulkanLayer, "commands",
              "Commands that draw, each one whatever it draws."),
    egl_count(Number::VkDraws, "vk_draws", "Draws, each of a multi-draw", kVulkanLayer, "draws",
              "Draws of those commands. A command that takes the number of its draws from a buffer "
              "is one."),
    egl_count(Number::VkDispatches, "vk_dispatches", "Dispatches", kVulkanLayer, "commands",
              "Commands that dispatch."),
    egl_count(Number::VkRayTraces, "vk_ray_traces", "Ray traces", kVulkanLayer, "commands",
              "Commands that trace rays."),
    egl_count(Number::VkCommandsNotCounted, "vk_commands_not_counted",
              "Commands whose shaders are not counted", kVulkanLayer, "commands",
              "Draws, dispatches and traces that are missing from the counts of shaders; 0 where "
              "nothing is."),
    egl_time(Number::VkGpuTime, "vk_gpu_time", "GPU time in passes and dispatches", kVulkanLayer,
             "GPU time of render passes, and of dispatches outside of them."),
    egl_count(Number::VkVertexInvocations, "vk_vertex_invocations", "Vertex shader invocations",
              kVulkanLayer, "invocations", "Invocations of vertex shaders."),
    egl_count(Number::VkTessControlInvocations, "vk_tess_control_invocations",
              "Tessellation control invocations", kVulkanLayer, "invocations",
              "Invocations of tessellation control shaders."),
    egl_count(Number::VkTessEvaluationInvocations, "vk_tess_evaluation_invocations",
              "Tessellation evaluation invocations", kVulkanLayer, "invocations",
              "Invocations of tessellation evaluation shaders."),
    egl_count(Number::VkGeometryInvocations, "vk_geometry_invocations",
              "Geometry shader invocations", kVulkanLayer, "invocations",
              "Invocations of geometry shaders."),
    egl_count(Number::VkFragmentInvocations, "vk_fragment_invocations",
              "Fragment shader invocations", kVulkanLayer, "invocations",
              "Invocations of fragment shaders that are no helpers."),
    egl_count(Number::VkComputeInvocations, "vk_compute_invocations", "Compute shader invocations",
              kVulkanLayer, "invocations", "Invocations of compute shaders."),
};

}  // namespace tally::catalogue
