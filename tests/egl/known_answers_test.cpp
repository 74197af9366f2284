// Compares counts with values computed by hand.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <ctime>
#include <thread>

#include "support/kit.h"

namespace tally::egl_test {
namespace {

using Values = std::map<std::string, uint64_t>;

// The viewport is Context::kSize pixels wide and high.
constexpr uint64_t kPixels = uint64_t{Context::kSize} * Context::kSize;
const std::vector<GLfloat> kFullScreen = {-1, -1, 3, -1, -1, 3};
// The coordinates of twelve triangles, all outside the viewport.
const std::vector<GLfloat> kOutside(72, 5.0f);

class Counted {
 public:
  explicit Counted(Api api) : context_(display_.handle(), api) { context_.make_current(); }

  Context& context() { return context_; }
  Client& client() { return client_; }

  // The amounts that `draw` adds to the counters of a group.
  template <typename Action>
  Values count(std::string_view group, Action draw) {
    client_.choose_all(group);
    client_.start();
    draw();
    client_.stop();
    return client_.read();
  }

 private:
  Display display_;
  Context context_;
  Client client_;
};

TEST(KnownAnswersEs2, vertices_and_primitives_of_every_mode) {
  Counted counted(Api::Gles2);
  use_flat_program();
  use_positions(kOutside);
  const struct {
    GLenum mode;
    GLsizei vertices;
    uint64_t primitives;
  } rows[] = {{GL_POINTS, 5, 5},       {GL_LINES, 7, 3},      {GL_LINE_LOOP, 4, 4},
              {GL_LINE_STRIP, 4, 3},   {GL_TRIANGLES, 11, 3}, {GL_TRIANGLE_STRIP, 9, 7},
              {GL_TRIANGLE_FAN, 6, 4}, {GL_TRIANGLES, 2, 0},  {GL_LINE_LOOP, 1, 0}};
  for (const auto& row : rows) {
    const Values values = counted.count("API", [&] { glDrawArrays(row.mode, 0, row.vertices); });
    EXPECT_EQ(values.at("Draw calls"), 1u);
    EXPECT_EQ(values.at("Vertices submitted"), static_cast<uint64_t>(row.vertices));
    EXPECT_EQ(values.at("Primitives submitted"), row.primitives) << row.mode;
    counted.client().read(true);
  }
}

TEST(KnownAnswersEs2, indexed_draws) {
  Counted counted(Api::Gles2);
  use_flat_program();
  use_positions(kOutside);
  const GLushort indices[] = {0, 1, 2, 2, 1, 3};
  const Values values = counted.count("API", [&] {
    for (int i = 0; i < 3; i++) glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, indices);
  });
  EXPECT_EQ(values.at("Draw calls"), 3u);
  EXPECT_EQ(values.at("Draws, each of a multi-draw"), 3u);
  EXPECT_EQ(values.at("Vertices submitted"), 18u);
  EXPECT_EQ(values.at("Primitives submitted"), 6u);
  EXPECT_EQ(values.at("Instances submitted"), 3u);
}

TEST(KnownAnswersEs3, instanced_range_and_indirect_draws) {
  Counted counted(Api::Gles3);
  use_flat_program();
  use_positions(kOutside);
  const GLuint arguments[] = {3, 2, 0, 0};
  const GLushort indices[] = {0, 1, 2, 3};
  const Values values = counted.count("API", [&] {
    glDrawArraysInstanced(GL_TRIANGLES, 0, 6, 10);
    glDrawElementsInstanced(GL_TRIANGLE_STRIP, 4, GL_UNSIGNED_SHORT, indices, 5);
    glDrawRangeElements(GL_LINES, 0, 3, 4, GL_UNSIGNED_SHORT, indices);
    GLuint buffer = 0;
    glGenBuffers(1, &buffer);
    glBindBuffer(GL_DRAW_INDIRECT_BUFFER, buffer);
    glBufferData(GL_DRAW_INDIRECT_BUFFER, sizeof arguments, arguments, GL_STATIC_DRAW);
    glDrawArraysIndirect(GL_TRIANGLES, nullptr);
  });
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  EXPECT_EQ(values.at("Draw calls"), 4u);
  EXPECT_EQ(values.at("Draws, each of a multi-draw"), 3u);
  EXPECT_EQ(values.at("Indirect draws"), 1u);
  EXPECT_EQ(values.at("Vertices submitted"), 60u + 20u + 4u);
  EXPECT_EQ(values.at("Primitives submitted"), 20u + 10u + 2u);
  EXPECT_EQ(values.at("Instances submitted"), 10u + 5u + 1u);
}

TEST(KnownAnswersEs3, primitives_of_the_gpu_agree_with_those_submitted) {
  Counted counted(Api::Gles3);
  use_flat_program();
  use_positions(kOutside);
  const Values values = counted.count("GPU", [&] {
    for (int frame = 0; frame < 3; frame++) {
      glDrawArrays(GL_TRIANGLES, 0, 36);
      glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, 7);
      counted.context().swap();
    }
  });
  EXPECT_EQ(values.at("Primitives generated"), 3u * (12 + 14));
  EXPECT_EQ(values.at("Primitives written by transform feedback"), 0u);
}

TEST(KnownAnswersEs3, values_hold_all_that_was_submitted_before_they_are_read) {
  Counted counted(Api::Gles3);
  use_flat_program();
  use_positions(kOutside);
  counted.client().choose("GPU", "Primitives generated");
  counted.client().start();
  for (uint64_t i = 1; i <= 20; i++) {
    glDrawArrays(GL_TRIANGLES, 0, 3);  // no flush, no swap
    EXPECT_EQ(counted.client().read().at("Primitives generated"), i);
  }
  EXPECT_EQ(counted.client().read(true).at("Primitives generated"), 20u);
  glDrawArrays(GL_TRIANGLES, 0, 6);
  EXPECT_EQ(counted.client().read(true).at("Primitives generated"), 2u);
}

TEST(KnownAnswersGl, samples_and_pipeline_statistics) {
  Counted counted(Api::GlCore);
  use_flat_program(true);
  use_positions(kFullScreen);
  glViewport(0, 0, Context::kSize, Context::kSize);
  const Values values = counted.count("GPU", [&] {
    glClear(GL_COLOR_BUFFER_BIT);
    for (int i = 0; i < 4; i++) glDrawArrays(GL_TRIANGLES, 0, 3);
    counted.context().swap();
    glEnable(GL_SCISSOR_TEST);
    glScissor(5, 7, 11, 13);
    glDrawArrays(GL_TRIANGLES, 0, 3);
  });
  EXPECT_EQ(values.at("Samples passed"), 4 * kPixels + 11 * 13);
  EXPECT_EQ(values.at("Primitives generated"), 5u);
  EXPECT_EQ(values.at("Vertices fetched"), 15u);
  EXPECT_EQ(values.at("Primitives assembled"), 5u);
  EXPECT_EQ(values.at("Vertex shader invocations"), 15u);
  EXPECT_EQ(values.at("Primitives clipped"), 5u);
  EXPECT_GE(values.at("Fragment shader invocations"), 4 * kPixels + 11 * 13);
  EXPECT_EQ(values.at("Compute shader invocations"), 0u);
  EXPECT_GT(values.at("GPU time"), 0u);
}

TEST(KnownAnswersGl, samples_that_fail_the_depth_test_do_not_pass) {
  Counted counted(Api::GlCore);
  use_flat_program(true);
  use_positions(kFullScreen);
  glEnable(GL_DEPTH_TEST);
  glDepthFunc(GL_LESS);
  glClear(GL_DEPTH_BUFFER_BIT);
  const Values values = counted.count("GPU", [&] {
    glDrawArrays(GL_TRIANGLES, 0, 3);  // writes depth
    glDrawArrays(GL_TRIANGLES, 0, 3);  // fails the depth test
  });
  EXPECT_EQ(values.at("Samples passed"), kPixels);
}

TEST(KnownAnswersGl, multi_draws) {
  Counted counted(Api::GlCore);
  use_flat_program(true);
  use_positions(kOutside);
  const GLint firsts[] = {0, 3, 6};
  const GLsizei counts[] = {3, 6, 4};
  const Values values = counted.count("API", [&] {
    function<void (*)(GLenum, const GLint*, const GLsizei*, GLsizei)>("glMultiDrawArrays")(
        GL_TRIANGLES, firsts, counts, 3);
  });
  EXPECT_EQ(values.at("Draw calls"), 1u);
  EXPECT_EQ(values.at("Draws, each of a multi-draw"), 3u);
  EXPECT_EQ(values.at("Vertices submitted"), 13u);
  EXPECT_EQ(values.at("Primitives submitted"), 4u);
}

TEST(KnownAnswersGl, immediate_mode) {
  Counted counted(Api::GlCompatibility);
  const auto begin = function<void (*)(GLenum)>("glBegin");
  const auto end = function<void (*)()>("glEnd");
  const auto vertex = function<void (*)(GLfloat, GLfloat)>("glVertex2f");
  const Values values = counted.count("API", [&] {
    begin(GL_TRIANGLES);
    for (int i = 0; i < 6; i++) vertex(0.1f * static_cast<GLfloat>(i), 0.0f);
    end();
    begin(GL_LINES);
    for (int i = 0; i < 4; i++) vertex(0.1f * static_cast<GLfloat>(i), 0.5f);
    end();
  });
  EXPECT_EQ(values.at("Draw calls"), 2u);
  EXPECT_EQ(values.at("Vertices submitted"), 10u);
  EXPECT_EQ(values.at("Primitives submitted"), 4u);
}

TEST(KnownAnswersEs3, compute) {
  Counted counted(Api::Gles3);
  const char* const text =
      "#version 310 es\nlayout(local_size_x = 8, local_size_y = 4) in;\n"
      "layout(std430, binding = 0) buffer Out { uint sum; };\n"
      "void main() { atomicAdd(sum, 1u); }";
  const GLuint shader = glCreateShader(GL_COMPUTE_SHADER);
  glShaderSource(shader, 1, &text, nullptr);
  const GLuint program = glCreateProgram();
  GLuint buffers[2];
  glGenBuffers(2, buffers);
  const Values values = counted.count("API", [&] {
    glCompileShader(shader);
    glAttachShader(program, shader);
    glLinkProgram(program);
    glUseProgram(program);
    const GLuint zero = 0, groups[] = {2, 2, 2};
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffers[0]);
    glBufferData(GL_SHADER_STORAGE_BUFFER, sizeof zero, &zero, GL_STATIC_DRAW);
    glDispatchCompute(3, 5, 2);
    glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, buffers[1]);
    glBufferData(GL_DISPATCH_INDIRECT_BUFFER, sizeof groups, groups, GL_STATIC_DRAW);
    glDispatchComputeIndirect(0);
  });
  EXPECT_EQ(values.at("Compute dispatches"), 1u);
  EXPECT_EQ(values.at("Indirect compute dispatches"), 1u);
  EXPECT_EQ(values.at("Compute work groups"), 30u);
  EXPECT_EQ(values.at("Compute invocations submitted"), 30u * 32u);
  EXPECT_EQ(values.at("Shader compiles"), 1u);
  EXPECT_EQ(values.at("Program links"), 1u);
  EXPECT_GT(values.at("Shader compile time") + values.at("Program link time"), 0u);
  EXPECT_EQ(values.at("Program switches"), 1u);
  EXPECT_EQ(values.at("Buffer binds"), 2u);
  EXPECT_EQ(values.at("Buffer uploads"), 2u);
  EXPECT_EQ(values.at("Buffer upload bytes"), 16u);
  // The driver counts the same.
  glMemoryBarrier(GL_ALL_BARRIER_BITS);
  glBindBuffer(GL_SHADER_STORAGE_BUFFER, buffers[0]);
  const void* const sum = glMapBufferRange(GL_SHADER_STORAGE_BUFFER, 0, 4, GL_MAP_READ_BIT);
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(*static_cast<const GLuint*>(sum), (30u + 8u) * 32u);
}

TEST(KnownAnswersEs3, uploads_in_bytes) {
  Counted counted(Api::Gles3);
  const GLuint program = use_flat_program();
  const GLint color = glGetUniformLocation(program, "color");
  std::array<unsigned char, 64 * 64 * 4> pixels{};
  std::array<GLfloat, 16> floats{};
  GLuint texture = 0, buffer = 0;
  glGenTextures(1, &texture);
  glGenBuffers(1, &buffer);
  const Values values = counted.count("API", [&] {
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 64, 64, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 16, 8, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 10, 10, 0, GL_RGB, GL_UNSIGNED_SHORT_5_6_5,
                 pixels.data());
    glUniform4f(color, 0, 0, 0, 0);
    glUniform4fv(color, 1, floats.data());
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, 1000, nullptr, GL_STATIC_DRAW);
    glBufferSubData(GL_ARRAY_BUFFER, 0, 100, pixels.data());
    glMapBufferRange(GL_ARRAY_BUFFER, 0, 500, GL_MAP_WRITE_BIT);
    glUnmapBuffer(GL_ARRAY_BUFFER);
    glMapBufferRange(GL_ARRAY_BUFFER, 0, 500, GL_MAP_READ_BIT);
    glUnmapBuffer(GL_ARRAY_BUFFER);
  });
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  EXPECT_EQ(values.at("Texture binds"), 1u);
  EXPECT_EQ(values.at("Texture uploads"), 2u);
  EXPECT_EQ(values.at("Texture upload bytes"), 16u * 8 * 4 + 10 * 10 * 2);
  EXPECT_EQ(values.at("Uniform updates"), 2u);
  EXPECT_EQ(values.at("Uniform bytes"), 32u);
  EXPECT_EQ(values.at("Buffer uploads"), 1u);
  EXPECT_EQ(values.at("Buffer upload bytes"), 100u);
  EXPECT_EQ(values.at("Buffer maps"), 2u);
  EXPECT_EQ(values.at("Buffer bytes mapped for writing"), 500u);
}

TEST(KnownAnswersEs3, waiting_and_reading_back) {
  Counted counted(Api::Gles3);
  std::array<unsigned char, 32 * 16 * 4> pixels{};
  GLuint buffer = 0;
  glGenBuffers(1, &buffer);
  const Values values = counted.count("API", [&] {
    glFinish();
    glFlush();
    glReadPixels(0, 0, 32, 16, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    const GLsync sync = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    glClientWaitSync(sync, GL_SYNC_FLUSH_COMMANDS_BIT, 1'000'000'000);
    glDeleteSync(sync);
    glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
    glBufferData(GL_PIXEL_PACK_BUFFER, sizeof pixels, nullptr, GL_STREAM_READ);
    glReadPixels(0, 0, 16, 16, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);  // does not wait
    glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  });
  EXPECT_EQ(values.at("Synchronising calls"), 3u);
  EXPECT_GT(values.at("Time in synchronising calls"), 0u);
  EXPECT_EQ(values.at("Readbacks"), 2u);
  EXPECT_EQ(values.at("Readback bytes"), (32u + 16u) * 16 * 4);
  EXPECT_EQ(values.at("Flushes"), 1u);
}

TEST(KnownAnswersEs3, state_changes) {
  Counted counted(Api::Gles3);
  const Values values = counted.count("API", [&] {
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE);
    glViewport(0, 0, 8, 8);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glBindVertexArray(0);
    glUseProgram(0);
    glClear(GL_COLOR_BUFFER_BIT);
    GLint ignored = 0;
    glGetIntegerv(GL_MAX_TEXTURE_SIZE, &ignored);
  });
  EXPECT_EQ(values.at("State changes"), 6u);
  EXPECT_EQ(values.at("Framebuffer binds"), 1u);
  EXPECT_EQ(values.at("Vertex array binds"), 1u);
  EXPECT_EQ(values.at("Program switches"), 1u);
  EXPECT_EQ(values.at("Clears"), 1u);
}

TEST(KnownAnswersEs3, errors_are_counted_and_still_found_by_the_application) {
  Counted counted(Api::Gles3);
  counted.client().choose("API", "GL errors");
  counted.client().start();
  glEnable(0xDEAD);
  counted.context().swap();  // detects the error
  EXPECT_EQ(counted.client().read().at("GL errors"), 1u);
  glBindBuffer(0xDEAD, 0);  // the error flag is set already
  EXPECT_EQ(glGetError(), GLenum{GL_INVALID_ENUM});
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  glViewport(0, 0, -1, 0);
  EXPECT_EQ(glGetError(), GLenum{GL_INVALID_VALUE});
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  counted.client().stop();
  EXPECT_EQ(counted.client().read().at("GL errors"), 3u);
}

TEST(KnownAnswersEs3, frames_and_their_times) {
  Counted counted(Api::Gles3);
  constexpr uint64_t kMillisecond = 1'000'000;
  const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  const Values values = counted.count("Frame", [&] {
    counted.context().swap();
    pause(5);
    counted.context().swap();
    pause(30);
    counted.context().swap();
    pause(10);
    counted.context().swap();
  });
  EXPECT_EQ(values.at("Swaps"), 4u);
  EXPECT_EQ(values.at("Frames"), 3u);
  EXPECT_GE(values.at("Shortest frame time"), 5 * kMillisecond);
  EXPECT_LT(values.at("Shortest frame time"), values.at("Longest frame time"));
  EXPECT_GE(values.at("Longest frame time"), 30 * kMillisecond);
  EXPECT_GE(values.at("Latest frame time"), 10 * kMillisecond);
  EXPECT_LE(values.at("Latest frame time"), values.at("Longest frame time"));
  EXPECT_GE(values.at("Time in frames"), 45 * kMillisecond);
  EXPECT_LT(values.at("CPU time in swaps"), values.at("Time in frames"));
}

TEST(KnownAnswersEs3, extremes_begin_anew_when_reset) {
  Counted counted(Api::Gles3);
  counted.client().choose_all("Frame");
  counted.client().start();
  counted.context().swap();
  counted.context().swap();
  EXPECT_GT(counted.client().read(true).at("Longest frame time"), 0u);
  EXPECT_EQ(counted.client().read().at("Longest frame time"), 0u);
  counted.context().swap();
  const Values after = counted.client().read();
  EXPECT_EQ(after.at("Frames"), 1u);
  for (const char* name : {"Longest frame time", "Shortest frame time", "Latest frame time"}) {
    EXPECT_EQ(after.at(name), after.at("Time in frames")) << name;
  }
}

TEST(KnownAnswersProcess, cpu_time_memory_and_threads) {
  Counted counted(Api::Gles3);
  counted.client().choose_all("Process and device");
  const uint64_t idle_threads = counted.client().read().at("Threads");
  counted.client().start();
  std::vector<char> memory(64 << 20, 1);
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 20;  // of CPU time
  while (std::clock() < end) memory[0]++;
  Values during;
  std::thread([&] { during = counted.client().read(); }).join();
  EXPECT_EQ(during.at("Threads"), idle_threads + 1);
  EXPECT_GE(during.at("CPU time"), 20'000'000u);
  EXPECT_LE(during.at("CPU time in the kernel"), during.at("CPU time"));
  EXPECT_GE(during.at("Resident memory"), uint64_t{64} << 20);
  EXPECT_GT(during.at("Page faults"), 1000u);
}

}  // namespace
}  // namespace tally::egl_test
