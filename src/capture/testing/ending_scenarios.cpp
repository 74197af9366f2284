#include "capture/testing/ending_scenarios.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "capture/testing/painter.h"

namespace tally::test {
namespace {

// Ends the process in the way that is asked for; returns where it is to end by itself.
void end_process(const std::string& how) {
  if (how == "_exit") ::_exit(3);
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "abort") std::abort();
  if (how == "exit") std::exit(4);
  if (how == "quick_exit") std::quick_exit(5);
  if (how == "segv") ::raise(SIGSEGV);
  if (how == "exec") ::execl("/bin/true", "true", nullptr);
  if (how == "fork" && ::fork() == 0) ::_exit(0);
}

// Small draws, TEST_DRAWS in each of TEST_FRAMES frames; every third frame is not waited for. The
// n-th draw of a frame has n % 3 + 1 instances.
void draws(Context& context, const std::string& how) {
  const uint32_t count = static_cast<uint32_t>(std::stoul(std::getenv("TEST_DRAWS")));
  const uint32_t frames = static_cast<uint32_t>(std::stoul(std::getenv("TEST_FRAMES")));
  RenderTargetInfo info;
  info.extent = {4, 4};
  const Painter painter(context, Painter::Passes::Objects, info);
  for (uint32_t frame = 0; frame < frames; ++frame) {
    const VkCommandBuffer commands = context.begin_commands();
    painter.target().begin_render_pass(commands);
    painter.draw(commands, 1);
    for (uint32_t i = 1; i < count; ++i) vkCmdDraw(commands, 3, i % 3 + 1, 0, 0);
    painter.target().end_render_pass(commands);
    check(vkEndCommandBuffer(commands));
    submit(context, {commands});
    if (frame % 3 != 0) check(vkQueueWaitIdle(context.queue()));
  }
  if (how != "unwaited") check(vkQueueWaitIdle(context.queue()));
  end_process(how == "unwaited" ? "exit" : how);
}

// One dispatch, then the end that is asked for.
void ending(Context& context, const std::string& how) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands();
  doubler.dispatch(commands, 7);
  check(vkEndCommandBuffer(commands));
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  check(vkCreateFence(context.device(), &info, nullptr, &fence));
  submit(context, {commands}, fence);
  check(vkWaitForFences(context.device(), 1, &fence, VK_TRUE, UINT64_MAX));
  end_process(how);
  vkDestroyFence(context.device(), fence, nullptr);
}

// fork() while a thread of the layer waits for its receiver, of which the labels ask too much. The
// child, which has no such thread, runs the exit handlers. quick_exit() runs none of the driver's,
// which may wait for its threads in vain.
void fork_while_sending(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands();
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::string(60'000, 'x') + std::to_string(i);
    const Label label(context, commands, name.c_str());
    doubler.dispatch(commands, 1);
  }
  check(vkEndCommandBuffer(commands));
  submit(context, {commands});
  ::usleep(500'000);
  const pid_t child = ::fork();
  if (child == 0) std::quick_exit(0);
  int status = 0;
  for (int i = 0; i < 1000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child) break;
    ::usleep(10'000);
    if (i != 999) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  if (status != 0) ::_exit(7);
  check(vkQueueWaitIdle(context.queue()));
}

// One dispatch. From TEST_SIGNAL_AFTER_MS on, the thread that waits for it gets a signal each
// millisecond, whose handler calls exit(). "late": the thread does not wait at once, so another
// reads the values.
void exit_in_handler(Context& context, const std::string& how) {
  constexpr unsigned kSecondsToEnd = 20;
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands();
  doubler.dispatch(commands, 7);
  check(vkEndCommandBuffer(commands));
  const auto after = std::chrono::milliseconds(std::stoul(std::getenv("TEST_SIGNAL_AFTER_MS")));
  ::signal(SIGUSR1, [](int) { std::exit(6); });
  ::alarm(kSecondsToEnd);
  std::thread([after, waiting = ::pthread_self()] {
    std::this_thread::sleep_for(after);
    for (;; ::usleep(1000)) ::pthread_kill(waiting, SIGUSR1);
  }).detach();
  submit(context, {commands});
  if (how == "late") ::usleep(50'000);
  check(vkQueueWaitIdle(context.queue()));
  for (;;) ::pause();
}

// exit() while a submission has not been waited for.
void exit_unwaited(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands();
  doubler.dispatch(commands, 7);
  check(vkEndCommandBuffer(commands));
  submit(context, {commands});
  std::exit(0);
}

}  // namespace

Scenarios ending_scenarios(const std::string& how) {
  return {{"draws", [=](Context& context) { draws(context, how); }},
          {"ending", [=](Context& context) { ending(context, how); }},
          {"exit_in_handler", [=](Context& context) { exit_in_handler(context, how); }},
          {"fork_while_sending", fork_while_sending},
          {"exit_unwaited", exit_unwaited}};
}

int forked() {
  const pid_t child = ::fork();
  {
    Context context;
    const Doubler doubler(context);
    context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, child == 0 ? 3 : 2); });
  }
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) != child) return 1;
  return status == 0 ? 0 : 1;
}

}  // namespace tally::test
