// The stub of each function in functions.def. When nothing is collected, it reads two words and
// jumps to the driver.
#include <tuple>

#include "egl/gl/calls.h"
#include "egl/gl/hot.h"
#include "egl/gl/raw.h"

namespace tally::egl {
namespace {

// The handlers of the functions in functions.def.
//
// A handler's count(call, arguments...) counts one call before the driver gets it. kWork marks a
// call that submits GPU work; kTime names the counter that the call's duration is added to. A
// handler with kAlways replaces the whole call, whether or not anything is collected: run(thread,
// real, arguments...).
namespace observe {

// --- draws

struct Work {
  static constexpr bool kWork = true;
};

struct DrawArrays : Work {
  static void count(Call& call, GLenum mode, GLint, GLsizei vertices) {
    call.draw(mode, size_of(vertices));
  }
};
struct DrawArraysInstanced : Work {
  static void count(Call& call, GLenum mode, GLint, GLsizei vertices, GLsizei instances, auto...) {
    call.draw(mode, size_of(vertices), size_of(instances));
  }
};
struct DrawElements : Work {
  static void count(Call& call, GLenum mode, GLsizei vertices, GLenum, const void*, auto...) {
    call.draw(mode, size_of(vertices));
  }
};
struct DrawRangeElements : Work {
  static void count(Call& call, GLenum mode, GLuint, GLuint, GLsizei vertices, auto...) {
    call.draw(mode, size_of(vertices));
  }
};
struct DrawElementsInstanced : Work {
  static void count(Call& call, GLenum mode, GLsizei vertices, GLenum, const void*,
                    GLsizei instances, auto...) {
    call.draw(mode, size_of(vertices), size_of(instances));
  }
};
struct MultiDrawArrays : Work {
  static void count(Call& call, GLenum mode, const GLint*, const GLsizei* vertices, GLsizei draws) {
    call.add(ApiCounter::DrawCalls);
    for (GLsizei i = 0; i < draws; i++) call.part_of_draw(mode, size_of(vertices[i]));
  }
};
struct MultiDrawElements : Work {
  static void count(Call& call, GLenum mode, const GLsizei* vertices, GLenum, const void* const*,
                    GLsizei draws, auto...) {
    call.add(ApiCounter::DrawCalls);
    for (GLsizei i = 0; i < draws; i++) call.part_of_draw(mode, size_of(vertices[i]));
  }
};
// Only the GPU knows the number of vertices.
struct DrawIndirect : Work {
  static void count(Call& call, auto...) {
    call.add(ApiCounter::DrawCalls);
    call.add(ApiCounter::IndirectDraws);
  }
};
struct MultiDrawIndirect : Work {
  static void count(Call& call, GLenum, const void*, GLsizei draws, GLsizei) {
    call.add(ApiCounter::DrawCalls);
    call.add(ApiCounter::IndirectDraws, size_of(draws));
  }
  static void count(Call& call, GLenum mode, GLenum, const void* indirect, GLsizei draws,
                    GLsizei stride) {
    count(call, mode, indirect, draws, stride);
  }
};
struct DrawRectangle : Work {
  static void count(Call& call, auto...) { call.draw(mode::kQuads, 4); }
};
// Display lists, pixel rectangles, evaluators: draws whose vertices cannot be counted.
struct DrawOpaque : Work {
  static void count(Call& call, auto...) { call.add(ApiCounter::DrawCalls); }
};

// --- immediate mode: a draw from glBegin to glEnd

struct BeginPrimitives : Work {
  static void count(Call& call, GLenum mode) {
    if (call.context() != nullptr) call.context()->immediate() = {mode, 0};
  }
};
struct ImmediateVertex {
  static void count(Call& call, auto...) {
    if (call.context() != nullptr) call.context()->immediate().vertices++;
  }
};
struct EndPrimitives {
  static void count(Call& call) {
    if (call.context() == nullptr) return;
    const auto [mode, vertices] = std::exchange(call.context()->immediate(), {});
    call.draw(mode, vertices);
  }
};
struct NewList {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLuint list, GLenum mode) {
    if (thread.context != nullptr) thread.context->set_list_mode(mode);
    real(list, mode);
  }
};
struct EndList {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real) {
    real();
    if (thread.context != nullptr) thread.context->set_list_mode(0);
  }
};

// --- other work of the GPU

struct ClearWork : Work {
  static void count(Call& call, auto...) { call.add(ApiCounter::Clears); }
};
struct CopyWork : Work {
  static void count(Call& call, auto...) { call.add(ApiCounter::Copies); }
};
struct MipmapWork : Work {
  static void count(Call& call, auto...) { call.add(ApiCounter::Mipmaps); }
};
struct DispatchCompute : Work {
  static void count(Call& call, GLuint x, GLuint y, GLuint z) {
    const uint64_t groups = uint64_t{x} * y * z;
    call.dispatch(groups);
    if ((collecting() & kCollectComputeInvocations) && call.context() != nullptr) {
      call.add(ApiCounter::ComputeInvocations, groups * call.context()->work_group_size());
    }
  }
};
struct DispatchGroupSize : Work {
  static void count(Call& call, GLuint x, GLuint y, GLuint z, GLuint size_x, GLuint size_y,
                    GLuint size_z) {
    const uint64_t groups = uint64_t{x} * y * z;
    call.dispatch(groups);
    call.add(ApiCounter::ComputeInvocations, groups * size_x * size_y * size_z);
  }
};
struct DispatchIndirect : Work {
  static void count(Call& call, GLintptr) { call.add(ApiCounter::IndirectDispatches); }
};

// --- programs

struct UseProgram {
  static void count(Call& call, auto...) {
    call.state();
    call.add(ApiCounter::ProgramSwitches);
  }
};
struct CompileShader {
  static constexpr ApiCounter kTime = ApiCounter::CompileTime;
  static void count(Call& call, auto...) { call.add(ApiCounter::Compiles); }
};
struct LinkProgram {
  static constexpr ApiCounter kTime = ApiCounter::LinkTime;
  static void count(Call& call, auto...) { call.add(ApiCounter::Links); }
};
struct CreateShaderProgram : LinkProgram {
  static void count(Call& call, auto...) {
    call.add(ApiCounter::Compiles);
    call.add(ApiCounter::Links);
  }
};

// --- uniforms

// The values are the arguments after the first kSkipped (program, location).
template <size_t kSkipped>
struct UniformValues {
  template <typename... Arguments>
  static void count(Call& call, Arguments...) {
    using Value = std::tuple_element_t<kSkipped, std::tuple<Arguments...>>;
    call.upload_uniforms((sizeof...(Arguments) - kSkipped) * sizeof(Value));
  }
};
// Arrays of values with kComponents each: glUniform*v, glProgramUniform*v, the matrices.
template <size_t kComponents>
struct UniformVector {
  template <typename Value>
  static void count(Call& call, GLint, GLsizei values, const Value*) {
    call.upload_uniforms(size_of(values) * kComponents * sizeof(Value));
  }
  template <typename Value>
  static void count(Call& call, GLint location, GLsizei values, GLboolean, const Value* data) {
    count(call, location, values, data);
  }
  template <typename Value>
  static void count(Call& call, GLuint, GLint location, GLsizei values, const Value* data) {
    count(call, location, values, data);
  }
  template <typename Value>
  static void count(Call& call, GLuint, GLint location, GLsizei values, GLboolean,
                    const Value* data) {
    count(call, location, values, data);
  }
};

// --- uploads

template <size_t kFromEnd, typename... Arguments>
auto argument_from_end(const Arguments&... arguments) {
  return std::get<sizeof...(Arguments) - kFromEnd>(std::tie(arguments...));
}

// The last `kBehind` arguments follow the extent; the last three are format, type and pixels.
template <size_t kDimensions, size_t kBehind>
uint64_t texture_bytes(const auto&... arguments) {
  uint64_t pixels = size_of(argument_from_end<kBehind + 1>(arguments...));
  if constexpr (kDimensions >= 2) pixels *= size_of(argument_from_end<kBehind + 2>(arguments...));
  if constexpr (kDimensions >= 3) pixels *= size_of(argument_from_end<kBehind + 3>(arguments...));
  return pixels *
         pixel_bits(argument_from_end<3>(arguments...), argument_from_end<2>(arguments...)) / 8;
}
// glTexImage without pixels only creates the texture. With a pixel buffer bound, the pointer is an
// offset and may be 0.
template <size_t kDimensions>
struct TexImage {
  static void count(Call& call, auto... arguments) {
    if (argument_from_end<1>(arguments...) == nullptr &&
        !call.is_bound(GL_PIXEL_UNPACK_BUFFER_BINDING)) {
      return;
    }
    call.upload_texture(texture_bytes<kDimensions, 4>(arguments...));
  }
};
template <size_t kDimensions>
struct TexSubImage : Work {
  static void count(Call& call, auto... arguments) {
    call.upload_texture(texture_bytes<kDimensions, 3>(arguments...));
  }
};
struct CompressedImage {
  static void count(Call& call, auto... arguments) {
    call.upload_texture(size_of(argument_from_end<2>(arguments...)));
  }
};
struct BufferData {
  static void count(Call& call, auto, GLsizeiptr bytes, const void* data, auto) {
    if (data != nullptr) call.upload_buffer(size_of(bytes));
  }
};
struct BufferSubData {
  static void count(Call& call, auto, GLintptr, GLsizeiptr bytes, const void*) {
    call.upload_buffer(size_of(bytes));
  }
};
struct MapBuffer {
  static void count(Call& call, auto...) { call.add(ApiCounter::BufferMaps); }
};
struct MapBufferRange {
  static void count(Call& call, auto, GLintptr, GLsizeiptr bytes, GLbitfield access) {
    call.add(ApiCounter::BufferMaps);
    if (access & GL_MAP_WRITE_BIT) call.add(ApiCounter::BufferMapBytes, size_of(bytes));
  }
};

// --- reading back and waiting

struct Finish {
  static constexpr ApiCounter kTime = ApiCounter::SyncTime;
  static void count(Call& call, auto...) { call.add(ApiCounter::SyncCalls); }
};
struct Flush {
  static void count(Call& call) { call.add(ApiCounter::Flushes); }
};

// A read into the application's memory waits for the GPU; a read into a pixel buffer does not.
template <typename Function>
void read_back(HotThread& thread, uint64_t bytes, Function function) {
  Call call(thread);
  call.add(ApiCounter::Readbacks);
  call.add(ApiCounter::ReadbackBytes, bytes);
  if (call.is_bound(GL_PIXEL_PACK_BUFFER_BINDING)) return function();
  call.add(ApiCounter::SyncCalls);
  const TimedCall timed(call, ApiCounter::SyncTime);
  function();
}
struct ReadPixels {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLint x, GLint y, GLsizei width, GLsizei height,
                  GLenum format, GLenum type, auto... rest) {
    const auto call = [&] { real(x, y, width, height, format, type, rest...); };
    if (!(collecting() & kCollectApi)) return call();
    read_back(thread, size_of(width) * size_of(height) * pixel_bits(format, type) / 8, call);
  }
};
struct ReadTexture {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, auto... arguments) {
    const auto call = [&] { real(arguments...); };
    if (!(collecting() & kCollectApi)) return call();
    read_back(thread, 0, call);
  }
};
struct GetBufferSubData : Finish {
  static void count(Call& call, auto, GLintptr, GLsizeiptr bytes, const void*) {
    call.add(ApiCounter::SyncCalls);
    call.add(ApiCounter::Readbacks);
    call.add(ApiCounter::ReadbackBytes, size_of(bytes));
  }
};
struct GetQueryObject {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLuint id, GLenum name, auto* result) {
    if (name != GL_QUERY_RESULT || !(collecting() & kCollectApi)) return real(id, name, result);
    Call call(thread);
    call.add(ApiCounter::SyncCalls);
    const TimedCall timed(call, ApiCounter::SyncTime);
    real(id, name, result);
  }
};

// --- errors, and the application's queries, which take precedence over ours

struct GetError {
  static constexpr bool kAlways = true;
  static GLenum run(HotThread& thread, auto real) {
    const GLenum error = real();
    if (error != GL_NO_ERROR && (collecting() & kCollectApi)) Call(thread).add(ApiCounter::Errors);
    return thread.context != nullptr ? thread.context->application_gets_error(error) : error;
  }
};
// Brackets a call that begins or ends a query.
void around_query(HotThread& thread, GLenum target, GLuint index, auto call) {
  if (thread.context == nullptr) return call();
  thread.context->before_query(target, index);
  call();
  thread.context->after_query(target, index);
}
struct BeginQuery {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLenum target, GLuint id) {
    around_query(thread, target, 0, [&] { real(target, id); });
  }
};
struct BeginQueryIndexed {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLenum target, GLuint index, GLuint id) {
    around_query(thread, target, index, [&] { real(target, index, id); });
  }
};
struct EndQuery {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLenum target) {
    around_query(thread, target, 0, [&] { real(target); });
  }
};
struct EndQueryIndexed {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLenum target, GLuint index) {
    around_query(thread, target, index, [&] { real(target, index); });
  }
};
struct GetQuery {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLenum target, GLenum name, GLint* value) {
    real(target, name, value);
    hide(thread, target, 0, name, value);
  }
  static void hide(HotThread& thread, GLenum target, GLuint index, GLenum name, GLint* value) {
    if (name == GL_CURRENT_QUERY && value != nullptr && thread.context != nullptr &&
        thread.context->hides_query(target, index)) {
      *value = 0;
    }
  }
};
struct GetQueryIndexed {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLenum target, GLuint index, GLenum name,
                  GLint* value) {
    real(target, index, name, value);
    GetQuery::hide(thread, target, index, name, value);
  }
};
struct IsQuery {
  static constexpr bool kAlways = true;
  static GLboolean run(HotThread& thread, auto real, GLuint id) {
    const GLboolean is_query = real(id);
    return thread.context != nullptr && thread.context->owns_query(id) ? GLboolean{GL_FALSE}
                                                                       : is_query;
  }
};
struct BeginMonitor {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLuint monitor) {
    if (thread.context != nullptr) thread.context->before_monitor_begins();
    real(monitor);
  }
};
struct EndMonitor {
  static constexpr bool kAlways = true;
  static void run(HotThread& thread, auto real, GLuint monitor) {
    real(monitor);
    if (thread.context != nullptr) thread.context->after_monitor_ends();
  }
};

// --- state

struct State {
  static void count(Call& call, auto...) { call.state(); }
};
template <ApiCounter kCounter>
struct Bind {
  static void count(Call& call, auto...) {
    call.state();
    call.add(kCounter);
  }
};
using BindTexture = Bind<ApiCounter::TextureBinds>;
using BindBuffer = Bind<ApiCounter::BufferBinds>;
using BindVertexArray = Bind<ApiCounter::VertexArrayBinds>;
using BindFramebuffer = Bind<ApiCounter::FramebufferBinds>;

}  // namespace observe

template <typename Handler>
concept Always = requires {
  requires Handler::kAlways;
};
template <typename Handler>
concept MakesWork = requires {
  requires Handler::kWork;
};
template <typename Handler>
concept Timed = requires {
  Handler::kTime;
};

template <typename Handler, typename Result, typename... Arguments>
[[gnu::noinline]] Result observed(HotThread& thread, Result (*real)(Arguments...),
                                  Arguments... arguments) {
  note_call();
  Call call(thread);
  Handler::count(call, arguments...);
  if constexpr (MakesWork<Handler>) {
    if ((collecting() & kCollectGpu) && thread.context != nullptr) thread.context->before_work();
  }
  if constexpr (Timed<Handler>) {
    const TimedCall timed(call, Handler::kTime);
    return real(arguments...);
  } else {
    return real(arguments...);
  }
}

template <Fn kFunction, typename Handler, typename Signature>
struct Stub;

template <Fn kFunction, typename Handler, typename Result, typename... Arguments>
struct Stub<kFunction, Handler, Result(Arguments...)> {
  static Result call(Arguments... arguments) noexcept {
    if constexpr (!Always<Handler>) {
      const GlTable* const only = g_only_table.load(std::memory_order_acquire);
      if (collecting() == 0 && only != nullptr) [[likely]]
        return reinterpret_cast<Result (*)(Arguments...)>((*only)[kFunction])(arguments...);
    }
    HotThread& thread = t_hot;
    const auto real = reinterpret_cast<Result (*)(Arguments...)>((*thread.gl)[kFunction]);
    if constexpr (Always<Handler>) {
      note_call();
      return Handler::run(thread, real, arguments...);
    } else {
      if (collecting() == 0) [[likely]]
        return real(arguments...);
      return observed<Handler>(thread, real, arguments...);
    }
  }
};

using namespace observe;

}  // namespace

// For exports.S, which refers to it by name.
extern "C" const AnyFunction tally_egl_gl_stubs[kFnCount];
const AnyFunction tally_egl_gl_stubs[kFnCount] = {
#define GL(function, handler) \
  reinterpret_cast<AnyFunction>(&Stub<Fn::function, handler, decltype(::function)>::call),
#include "egl/gl/functions.def"
#undef GL
};

AnyFunction stub_of(Fn function) { return tally_egl_gl_stubs[static_cast<size_t>(function)]; }

}  // namespace tally::egl
