// The application's own queries are not affected by ours, and take precedence over a query of the
// same kind.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "support/kit.h"

#ifndef GL_SAMPLES_PASSED
#define GL_SAMPLES_PASSED 0x8914
#define GL_TIME_ELAPSED 0x88BF
#define GL_TIMESTAMP 0x8E28
#define GL_QUERY_BUFFER 0x9192
#define GL_VERTEX_SHADER_INVOCATIONS 0x82F0
#define GL_COMPILE 0x1300
#endif

namespace tally::egl_test {
namespace {

constexpr GLuint kPixels = Context::kSize * Context::kSize;

// Draws full-screen triangles in a desktop context while all counters of the GPU group count.
class OwnQueries : public testing::Test {
 protected:
  OwnQueries() : context_(display_.handle(), Api::GlCompatibility) {
    context_.make_current();
    use_flat_program(true);
    use_positions({-1, -1, 3, -1, -1, 3});
    glViewport(0, 0, Context::kSize, Context::kSize);
    client_.choose_all("GPU");
    client_.start();
  }
  ~OwnQueries() override { EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR}); }

  static void draw() { glDrawArrays(GL_TRIANGLES, 0, 3); }
  static GLuint result(GLuint query) {
    GLuint value = 0xBAD;
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &value);
    return value;
  }
  static GLint current(GLenum target) {
    GLint name = -1;
    glGetQueryiv(target, GL_CURRENT_QUERY, &name);
    return name;
  }
  uint64_t ours(const char* counter) { return client_.read().at(counter); }

  Display display_;
  Context context_;
  Client client_;
};

TEST_F(OwnQueries, its_occlusion_query_counts_its_own_draws) {
  GLuint query = 0;
  glGenQueries(1, &query);
  draw();
  glBeginQuery(GL_SAMPLES_PASSED, query);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  draw();
  draw();
  glEndQuery(GL_SAMPLES_PASSED);
  draw();
  EXPECT_EQ(result(query), 2 * kPixels);
  // Our count excludes what was drawn during the application's query.
  EXPECT_EQ(ours("Samples passed"), 2u * kPixels);
}

TEST_F(OwnQueries, a_boolean_occlusion_query_wins_too) {
  GLuint query = 0;
  glGenQueries(1, &query);
  draw();
  glBeginQuery(GL_ANY_SAMPLES_PASSED, query);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  draw();
  glEndQuery(GL_ANY_SAMPLES_PASSED);
  EXPECT_EQ(result(query), GLuint{GL_TRUE});
  EXPECT_EQ(ours("Samples passed"), kPixels);
  // A query of another kind does not stop ours.
  EXPECT_EQ(ours("Primitives generated"), 2u);
}

TEST_F(OwnQueries, timer_queries_and_timestamps_work_beside_ours) {
  GLuint queries[2];
  glGenQueries(2, queries);
  draw();
  glBeginQuery(GL_TIME_ELAPSED, queries[0]);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
  draw();
  glEndQuery(GL_TIME_ELAPSED);
  function<void (*)(GLuint, GLenum)>("glQueryCounter")(queries[1], GL_TIMESTAMP);
  EXPECT_GT(result(queries[0]), 0u);
  EXPECT_GT(ours("GPU time"), 0u);
}

TEST_F(OwnQueries, a_query_that_runs_across_frames_and_readings_is_not_disturbed) {
  GLuint query = 0;
  glGenQueries(1, &query);
  glBeginQuery(GL_SAMPLES_PASSED, query);
  for (int frame = 0; frame < 3; frame++) {
    draw();
    context_.swap();
    ours("Samples passed");
  }
  glEndQuery(GL_SAMPLES_PASSED);
  EXPECT_EQ(result(query), 3 * kPixels);
}

TEST_F(OwnQueries, a_query_that_was_active_before_we_counted_is_not_disturbed) {
  client_.stop();
  GLuint query = 0;
  glGenQueries(1, &query);
  glBeginQuery(GL_SAMPLES_PASSED, query);
  draw();
  client_.start();
  draw();
  glEndQuery(GL_SAMPLES_PASSED);
  EXPECT_EQ(result(query), 2 * kPixels);
  draw();
  EXPECT_EQ(ours("Samples passed"), kPixels);
}

TEST_F(OwnQueries, the_application_sees_no_query_of_ours) {
  draw();  // our queries are now active
  EXPECT_EQ(current(GL_SAMPLES_PASSED), 0);
  EXPECT_EQ(current(GL_PRIMITIVES_GENERATED), 0);
  EXPECT_EQ(current(GL_VERTEX_SHADER_INVOCATIONS), 0);
  for (GLuint name = 1; name < 100; name++) EXPECT_FALSE(glIsQuery(name)) << name;
  GLuint query = 0;
  glGenQueries(1, &query);
  glBeginQuery(GL_SAMPLES_PASSED, query);
  EXPECT_EQ(current(GL_SAMPLES_PASSED), static_cast<GLint>(query));
  EXPECT_TRUE(glIsQuery(query));
  glEndQuery(GL_SAMPLES_PASSED);
}

TEST_F(OwnQueries, ending_a_query_that_was_not_begun_is_still_an_error) {
  draw();
  glEndQuery(GL_SAMPLES_PASSED);
  EXPECT_EQ(glGetError(), GLenum{GL_INVALID_OPERATION});
  draw();
  EXPECT_EQ(ours("Samples passed"), 2u * kPixels);
}

TEST_F(OwnQueries, a_query_that_fails_to_begin_does_not_stop_ours) {
  draw();
  glBeginQuery(GL_SAMPLES_PASSED, 0);
  EXPECT_EQ(glGetError(), GLenum{GL_INVALID_OPERATION});
  draw();
  EXPECT_EQ(ours("Samples passed"), 2u * kPixels);
}

TEST_F(OwnQueries, a_query_buffer_gets_none_of_our_results) {
  GLuint buffer = 0;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_QUERY_BUFFER, buffer);
  const std::vector<GLuint> before(64, 0xABCD);
  glBufferData(GL_QUERY_BUFFER, 256, before.data(), GL_STREAM_READ);
  draw();
  EXPECT_EQ(ours("Samples passed"), kPixels);
  GLint bound = 0;
  glGetIntegerv(0x9193, &bound);
  EXPECT_EQ(bound, static_cast<GLint>(buffer));
  std::vector<GLuint> after(64);
  function<void (*)(GLenum, GLintptr, GLsizeiptr, void*)>("glGetBufferSubData")(GL_QUERY_BUFFER, 0,
                                                                                256, after.data());
  EXPECT_EQ(after, before);
}

TEST_F(OwnQueries, no_query_of_ours_gets_into_a_display_list) {
  const auto new_list = function<void (*)(GLuint, GLenum)>("glNewList");
  const auto end_list = function<void (*)()>("glEndList");
  const auto call_list = function<void (*)(GLuint)>("glCallList");
  context_.swap();  // none of our queries is active now
  new_list(1, GL_COMPILE);
  draw();
  end_list();
  EXPECT_EQ(ours("Samples passed"), 0u);
  call_list(1);
  call_list(1);
  EXPECT_EQ(ours("Samples passed"), 2u * kPixels);
}

TEST_F(OwnQueries, errors_stay_the_applications) {
  glEnable(0xDEAD);
  draw();
  context_.swap();
  ours("Samples passed");
  EXPECT_EQ(glGetError(), GLenum{GL_INVALID_ENUM});
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST_F(OwnQueries, nothing_drawn_changes) {
  const auto picture = [] {
    glClearColor(0.25f, 0.5f, 0.75f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glEnable(GL_SCISSOR_TEST);
    glScissor(3, 5, 20, 30);
    draw();
    glDisable(GL_SCISSOR_TEST);
    std::vector<unsigned char> pixels(kPixels * 4);
    glReadPixels(0, 0, Context::kSize, Context::kSize, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    return pixels;
  };
  const auto counting = picture();
  client_.stop();
  EXPECT_EQ(picture(), counting);
  EXPECT_GT(std::set<unsigned char>(counting.begin(), counting.end()).size(), 2u);
}

TEST(ListingCounters, takes_no_query_names_from_the_application) {
  const Display display;
  const Context context(display.handle(), Api::Gles3);
  context.make_current();
  EXPECT_GE(Brcm().constant(EGL_NUM_COUNTER_GROUPS_BRCM), 4);
  GLuint query = 0;
  glGenQueries(1, &query);
  EXPECT_EQ(query, 1u);
}

TEST(ListingCounters, needs_no_context_and_leaves_none) {
  const Display display;
  const Client client;
  EXPECT_TRUE(client.find("GPU", "GPU time"));
  EXPECT_EQ(eglGetCurrentContext(), EGL_NO_CONTEXT);
  EXPECT_EQ(eglGetError(), EGL_SUCCESS);
}

TEST(ListingCounters, grows_only_at_the_end) {
  const Display display;
  const Brcm brcm;
  const auto list = [&] {
    std::vector<std::vector<std::string>> all;
    for (EGLint g = 0; g < brcm.constant(EGL_NUM_COUNTER_GROUPS_BRCM); g++) {
      all.push_back({group_name(brcm, g)});
      EGLint counters = 0;
      brcm.group_info(g, 0, nullptr, &counters, nullptr);
      for (EGLint c = 0; c < counters; c++) all.back().push_back(counter_name(brcm, g, c));
    }
    return all;
  };
  const auto before = list();
  const Context context(display.handle(), Api::GlCore);
  context.make_current();
  const auto after = list();
  ASSERT_GE(after.size(), before.size());
  for (size_t g = 0; g < before.size(); g++) {
    ASSERT_GE(after[g].size(), before[g].size());
    EXPECT_TRUE(std::equal(before[g].begin(), before[g].end(), after[g].begin())) << after[g][0];
  }
  EXPECT_TRUE(Client().find("GPU", "Samples passed"));
}

}  // namespace
}  // namespace tally::egl_test
