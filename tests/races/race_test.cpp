// Many short-lived devices and instances in one process, on several threads, captured by a
// receiver: for the thread sanitizer, and to check that the capture contains everything submitted.
// TALLY_TEST_SECONDS sets the duration of each test (default: 3).
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "double.comp.h"
#include "store/collector.h"
#include "store/test_capture.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"

namespace tally::test {
namespace {

constexpr int kThreads = 4;
constexpr auto kCompute = VK_PIPELINE_BIND_POINT_COMPUTE;

std::chrono::seconds test_time() {
  const char* const text = std::getenv("TALLY_TEST_SECONDS");
  return std::chrono::seconds(text ? std::strtol(text, nullptr, 10) : 3);
}

ContextOptions both_layers() {
  return {.layers = {"VK_LAYER_TALLY_capture", "VK_LAYER_TALLY_counters"}};
}

// One dispatch.
class Work {
 public:
  explicit Work(Context& context)
      : context_(context),
        buffer_(context, 64 * sizeof(uint32_t)),
        set_(context, {buffer_}),
        layout_(make_pipeline_layout(context, {{set_.layout()}})),
        pipeline_(
            make_compute_pipeline(context, {.shader = {.code = double_comp}, .layout = layout_})) {}

  void run() const {
    context_.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kCompute, pipeline_);
      set_.bind(commands, layout_);
      vkCmdDispatch(commands, 1, 1, 1);
    });
  }

 private:
  Context& context_;
  const Buffer buffer_;
  const StorageSet set_;
  const PipelineLayout layout_;
  const Pipeline pipeline_;
};

class Races : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = store::Writer::create(folder_.file("a.tally"), {.tool_version = "test"});
    auto collector = store::Collector::start(std::move(*writer), folder_.path());
    collector_ = std::move(*collector);
    setenv("TALLY_CAPTURE_SOCKET", collector_->socket_path().c_str(), 1);
  }
  void TearDown() override { unsetenv("TALLY_CAPTURE_SOCKET"); }

  // Calls `body` repeatedly on several threads; returns the number of calls.
  static uint64_t repeat(const std::function<void()>& body) {
    const auto end = std::chrono::steady_clock::now() + test_time();
    std::atomic<uint64_t> calls = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        while (std::chrono::steady_clock::now() < end) {
          body();
          ++calls;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    RecordProperty("devices", std::to_string(calls));
    return calls;
  }

  uint64_t captured_commands() {
    EXPECT_TRUE(collector_->finish(0, std::chrono::seconds(60)).ok());
    return collector_->progress().commands;
  }

  store::TestDirectory folder_;
  std::unique_ptr<store::Collector> collector_;
};

TEST_F(Races, instances_and_devices_come_and_go_in_several_threads) {
  const uint64_t calls = repeat([] {
    Context context(both_layers());
    Work(context).run();
  });
  EXPECT_GT(calls, uint64_t{kThreads});
  EXPECT_EQ(captured_commands(), calls);
}

TEST_F(Races, devices_of_one_instance_come_and_go_in_several_threads) {
  Context context(both_layers());
  const uint64_t calls = repeat([&] {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = context.queue_family();
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    VkDevice device = VK_NULL_HANDLE;
    check(vkCreateDevice(context.gpu(), &info, nullptr, &device));
    VkQueue handle = VK_NULL_HANDLE;
    vkGetDeviceQueue(device, queue.queueFamilyIndex, 0, &handle);
    const VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
    check(vkQueueSubmit(handle, 1, &submit, VK_NULL_HANDLE));
    check(vkDeviceWaitIdle(device));
    vkDestroyDevice(device, nullptr);
  });
  EXPECT_GT(calls, uint64_t{kThreads});
}

// Devices that still exist at exit, one of them destroyed at that moment. A child process of the
// test below.
TEST(RacesAtExit, DISABLED_child) {
  std::latch ready(kThreads + 1);
  std::atomic<bool> exiting = false;
  for (int i = 0; i < kThreads; ++i) {
    std::thread([&ready, &exiting, i] {
      Context context(both_layers());
      Work(context).run();
      ready.count_down();
      while (i != 0 || !exiting) std::this_thread::yield();
    }).detach();
  }
  ready.arrive_and_wait();
  exiting = true;
  std::exit(0);
}

TEST_F(Races, a_device_is_destroyed_while_the_process_exits) {
  const auto end = std::chrono::steady_clock::now() + test_time();
  uint64_t children = 0;
  for (; std::chrono::steady_clock::now() < end; ++children) {
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=RacesAtExit.DISABLED_child";
    std::string also = "--gtest_also_run_disabled_tests";
    char* arguments[] = {program.data(), filter.data(), also.data(), nullptr};
    pid_t child = -1;
    ASSERT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ), 0);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0) << "after " << children << " others";
  }
  EXPECT_EQ(captured_commands(), children * kThreads);
}

}  // namespace
}  // namespace tally::test
