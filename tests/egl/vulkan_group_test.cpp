// The group "Vulkan layer": GL on zink or ANGLE, with Tally's layers loaded. These drivers choose
// the Vulkan commands for a GL draw (zink merges draws); the number of shader invocations is fixed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "support/kit.h"

namespace tally::egl_test {
namespace {

using Values = std::map<std::string, uint64_t>;

constexpr uint64_t kSamples = uint64_t{Context::kSize} * Context::kSize;

class VulkanGroup : public ::testing::Test {
 protected:
  VulkanGroup() : context_(display_.handle(), Api::Gles3) {
    context_.make_current();
    use_flat_program();
    use_positions({-1, -1, 3, -1, -1, 3});
  }

  static void draw(int times) {
    for (int i = 0; i < times; i++) glDrawArrays(GL_TRIANGLES, 0, 3);
  }
  static void expect_draws(const Values& values, uint64_t draws) {
    EXPECT_EQ(values.at("Draws, each of a multi-draw"), draws);
    EXPECT_EQ(values.at("Vertex shader invocations"), 3 * draws);
    EXPECT_EQ(values.at("Fragment shader invocations"), kSamples * draws);
    EXPECT_EQ(values.at("Commands whose shaders are not counted"), 0u);
  }

  Display display_;
  Context context_;
};

TEST_F(VulkanGroup, counts_what_the_gl_program_draws) {
  Client client;
  client.choose_all("Vulkan layer");
  client.start();
  draw(5);
  const Values values = client.read();
  expect_draws(values, 5);
  EXPECT_GT(values.at("Submissions"), 0u);
  EXPECT_GT(values.at("Render passes"), 0u);
  EXPECT_GE(values.at("Draw commands"), 1u);
  EXPECT_LE(values.at("Draw commands"), 5u);
  EXPECT_GT(values.at("GPU time in passes and dispatches"), 0u);
  EXPECT_EQ(values.at("Dispatches"), 0u);
  EXPECT_EQ(values.at("Geometry shader invocations"), 0u);
  EXPECT_GE(values.at("Shaders: Blocks executed"), 5 * (3 + kSamples));
  EXPECT_GE(values.at("Shaders: Output stores"), 5 * (3 + kSamples) * 4);
}

TEST_F(VulkanGroup, counts_exactly_between_start_and_stop) {
  Client client;
  client.choose_all("Vulkan layer");
  draw(3);
  expect_draws(client.read(), 0);
  client.start();
  draw(2);
  expect_draws(client.read(), 2);
  context_.swap();
  draw(4);
  client.stop();
  draw(7);
  expect_draws(client.read(), 6);
  client.start();
  draw(1);
  expect_draws(client.read(true), 7);
  expect_draws(client.read(), 0);
  draw(8);
  expect_draws(client.read(), 8);
}

TEST_F(VulkanGroup, choosing_while_counting_begins_anew) {
  Client client;
  client.choose("API", "Draw calls");
  client.start();
  draw(3);
  client.choose_all("Vulkan layer");
  draw(2);
  const Values values = client.read();
  expect_draws(values, 2);
  EXPECT_EQ(values.at("Draw calls"), 2u);
}

TEST_F(VulkanGroup, frames_that_are_swapped_add_up) {
  Client client;
  client.choose_all("Vulkan layer");
  client.start();
  for (int frame = 1; frame <= 20; frame++) {
    draw(frame);
    context_.swap();
  }
  expect_draws(client.read(), 20 * 21 / 2);
}

TEST_F(VulkanGroup, contexts_of_other_threads_count_once_they_have_finished) {
  Client client;
  client.choose_all("Vulkan layer");
  client.start();
  std::thread other([this] {
    const Context theirs(display_.handle(), Api::Gles3);
    theirs.make_current();
    use_flat_program();
    use_positions({-1, -1, 3, -1, -1, 3});
    draw(9);
    glFinish();
    theirs.release();
    eglReleaseThread();
  });
  draw(2);
  other.join();
  expect_draws(client.read(), 11);
}

TEST_F(VulkanGroup, may_be_read_from_a_thread_without_a_context) {
  Client client;
  client.choose_all("Vulkan layer");
  client.start();
  draw(6);
  glFinish();
  std::thread([&client] { expect_draws(client.read(), 6); }).join();
}

TEST_F(VulkanGroup, dispatches_are_counted_with_what_they_load_and_store) {
  const GLuint shader = TALLY_FUNCTION(glCreateShader)(GL_COMPUTE_SHADER);
  const char* const text =
      "#version 310 es\n"
      "layout(local_size_x = 16) in;\n"
      "layout(std430, binding = 0) buffer Data { uint data[]; };\n"
      "void main() { data[gl_GlobalInvocationID.x] += 3u; }\n";
  glShaderSource(shader, 1, &text, nullptr);
  glCompileShader(shader);
  const GLuint program = glCreateProgram();
  glAttachShader(program, shader);
  glLinkProgram(program);
  glUseProgram(program);
  GLuint buffer = 0;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_SHADER_STORAGE_BUFFER, buffer);
  glBufferData(GL_SHADER_STORAGE_BUFFER, 4096, nullptr, GL_DYNAMIC_COPY);
  TALLY_FUNCTION(glBindBufferBase)(GL_SHADER_STORAGE_BUFFER, 0, buffer);

  Client client;
  client.choose_all("Vulkan layer");
  client.start();
  for (GLuint groups = 1; groups <= 4; groups++) {
    TALLY_FUNCTION(glDispatchCompute)(groups, 1, 1);
    TALLY_FUNCTION(glMemoryBarrier)(GL_SHADER_STORAGE_BARRIER_BIT);
  }
  const Values values = client.read();
  constexpr uint64_t kInvocations = 16 * (1 + 2 + 3 + 4);
  EXPECT_EQ(values.at("Dispatches"), 4u);
  EXPECT_EQ(values.at("Compute shader invocations"), kInvocations);
  EXPECT_EQ(values.at("Shaders: Buffer loads"), kInvocations);
  EXPECT_EQ(values.at("Shaders: Buffer stores"), kInvocations);
  EXPECT_EQ(values.at("Shaders: Buffer bytes loaded"), 4 * kInvocations);
  EXPECT_EQ(values.at("Shaders: Buffer bytes stored"), 4 * kInvocations);
  EXPECT_EQ(values.at("Fragment shader invocations"), 0u);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST_F(VulkanGroup, every_counter_has_a_name_of_its_own_a_unit_and_a_range) {
  const Brcm brcm;
  const Client client;
  const auto group = client.find_group("Vulkan layer");
  ASSERT_TRUE(group);
  EGLint counters = 0, most = 0;
  ASSERT_TRUE(brcm.group_info(*group, 0, nullptr, &counters, &most));
  EXPECT_EQ(counters, most);
  EXPECT_GT(counters, 40);
  std::map<std::string, int> names;
  for (EGLint c = 0; c < counters; c++) {
    std::array<char, 256> name{}, unit{};
    EGLuint64BRCM least = 1, greatest = 0, denominator = 0;
    ASSERT_TRUE(brcm.counter_info(*group, c, &least, &greatest, &denominator, name.size(),
                                  name.data(), unit.size(), unit.data()));
    EXPECT_EQ(names[name.data()]++, 0) << name.data();
    EXPECT_STRNE(unit.data(), "");
    EXPECT_EQ(least, 0u);
    EXPECT_GE(denominator, 1u);
    EXPECT_EQ(greatest, UINT64_MAX / denominator);
  }
}

// If GL does not run on Vulkan, or Tally's layers are not loaded.
TEST(NoVulkanGroup, is_not_listed) {
  const Display display;
  const Context context(display.handle(), Api::Gles3);
  context.make_current();
  const Client client;
  EXPECT_TRUE(client.find_group("API"));
  EXPECT_FALSE(client.find_group("Vulkan layer"));
}

}  // namespace
}  // namespace tally::egl_test
