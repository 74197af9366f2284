// Several contexts, threads and displays at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/kit.h"

namespace tally::egl_test {
namespace {

void draw_triangles(int draws) {
  for (int i = 0; i < draws; i++) glDrawArrays(GL_TRIANGLES, 0, 3);
}

TEST(Threads, two_contexts_in_two_threads_are_counted_together) {
  const Display display;
  const Context own(display.handle(), Api::Gles3);
  own.make_current();
  Client client;
  client.choose_all("API");
  client.choose_all("GPU");
  client.start();
  constexpr int kFrames = 20, kDraws = 10;
  const auto work = [&](Api api) {
    const Context context(display.handle(), api);
    context.make_current();
    use_flat_program(api == Api::GlCore);
    use_positions({5, 5, 6, 5, 5, 6});
    for (int frame = 0; frame < kFrames; frame++) {
      draw_triangles(kDraws);
      context.swap();
    }
    context.release();
    eglReleaseThread();
  };
  std::thread a(work, Api::Gles3), b(work, Api::GlCore);
  a.join();
  b.join();
  const auto values = client.read();
  EXPECT_EQ(values.at("Draw calls"), 2u * kFrames * kDraws);
  EXPECT_EQ(values.at("Vertices submitted"), 2u * kFrames * kDraws * 3);
  EXPECT_EQ(values.at("Primitives generated"), 2u * kFrames * kDraws);
}

TEST(Threads, one_thread_may_have_several_contexts_by_turns) {
  const Display display;
  const Context a(display.handle(), Api::Gles3), b(display.handle(), Api::GlCore);
  Client client;
  a.make_current();
  client.choose("GPU", "Primitives generated");
  client.start();
  for (const Context* context : {&a, &b, &a, &b}) {
    context->make_current();
    use_flat_program(context == &b);
    use_positions({5, 5, 6, 5, 5, 6});
    draw_triangles(3);
  }
  EXPECT_EQ(client.read().at("Primitives generated"), 12u);
}

TEST(Threads, counts_outlive_their_thread_and_context) {
  const Display display;
  Client client;
  client.choose("API", "Draw calls");
  client.start();
  for (int i = 0; i < 5; i++) {
    std::thread([&] {
      const Context context(display.handle(), Api::Gles2);
      context.make_current();
      draw_triangles(4);
    }).join();
  }
  EXPECT_EQ(client.read().at("Draw calls"), 20u);
}

TEST(Threads, reading_and_resetting_while_others_draw_loses_nothing) {
  const Display display;
  Client client;
  client.choose("API", "Draw calls");
  client.start();
  constexpr int kDraws = 20000;
  std::atomic<bool> done = false;
  std::thread worker([&] {
    const Context context(display.handle(), Api::Gles2);
    context.make_current();
    glEnable(GL_CULL_FACE);
    draw_triangles(kDraws);
    done = true;
  });
  uint64_t sum = 0;
  while (!done) sum += client.read(true).at("Draw calls");
  worker.join();
  sum += client.read(true).at("Draw calls");
  EXPECT_EQ(sum, static_cast<uint64_t>(kDraws));
}

TEST(Threads, every_function_may_be_called_while_others_draw) {
  const Display display;
  Client client;
  client.choose_all("API");
  client.choose_all("Frame");
  client.start();
  std::atomic<bool> stop = false;
  const auto draw = [&] {
    const Context context(display.handle(), Api::Gles3);
    context.make_current();
    use_flat_program();
    use_positions({5, 5, 6, 5, 5, 6});
    while (!stop) {
      draw_triangles(5);
      context.swap();
    }
  };
  std::thread a(draw), b(draw);
  const Brcm brcm;
  for (int i = 0; i < 60; i++) {
    const EGLint groups = brcm.constant(EGL_NUM_COUNTER_GROUPS_BRCM);
    for (EGLint g = 0; g < groups; g++) brcm.choose(i % 3 != 0, g, 0, nullptr);
    client.read_records(i % 2 == 0);
    if (i % 10 == 0) client.stop();
    if (i % 10 == 5) client.start();
  }
  stop = true;
  a.join();
  b.join();
}

TEST(Displays, two_displays_count_together_and_end_apart) {
  Client client;
  client.choose("API", "Draw calls");
  client.start();
  const Display surfaceless;
  const auto query_devices = TALLY_FUNCTION(eglQueryDevicesEXT);
  EGLDeviceEXT device = nullptr;
  EGLint count = 0;
  ASSERT_TRUE(query_devices(1, &device, &count));
  ASSERT_GE(count, 1);
  const EGLDisplay other = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, device, nullptr);
  ASSERT_TRUE(eglInitialize(other, nullptr, nullptr));
  EXPECT_NE(other, surfaceless.handle());
  {
    const Context a(surfaceless.handle(), Api::Gles2), b(other, Api::Gles2);
    a.make_current();
    draw_triangles(2);
    b.make_current();
    draw_triangles(3);
    EXPECT_EQ(client.read().at("Draw calls"), 5u);
    EXPECT_TRUE(eglTerminate(other));
    a.make_current();
    draw_triangles(2);
    EXPECT_EQ(client.read().at("Draw calls"), 7u);
  }
}

TEST(Displays, a_display_may_be_terminated_and_begun_again) {
  for (int i = 0; i < 3; i++) {
    const Display display;
    const Context context(display.handle(), Api::Gles3);
    context.make_current();
    Client client;
    client.choose_all("GPU");
    client.start();
    use_flat_program();
    use_positions({5, 5, 6, 5, 5, 6});
    draw_triangles(4);
    EXPECT_EQ(client.read().at("Primitives generated"), 4u);
  }
}

TEST(Displays, a_context_may_be_destroyed_while_it_is_current) {
  const Display display;
  Client client;
  const Context last(display.handle(), Api::Gles3);
  {
    const Context context(display.handle(), Api::Gles3);
    context.make_current();
    client.choose("GPU", "Primitives generated");
    client.start();
    use_flat_program();
    use_positions({5, 5, 6, 5, 5, 6});
    draw_triangles(2);
    EXPECT_TRUE(eglDestroyContext(display.handle(), context.handle()));
    draw_triangles(2);
    last.make_current();
  }
  eglGetError();
  EXPECT_EQ(client.read().at("Primitives generated"), 4u);
}

}  // namespace
}  // namespace tally::egl_test
