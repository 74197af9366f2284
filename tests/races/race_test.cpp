// Many short-lived devices, instances, pipelines and command buffers in one process, on several
// threads, captured by a receiver: for the sanitizers, and to check that the capture contains
// everything submitted.
// TALLY_TEST_SECONDS sets the duration of each test (default: 3).
#include <gtest/gtest.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "double.comp.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "store/read/reader.h"
#include "store/testing/test_capture.h"
#include "store/write/collector.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"
#include "support/render_target.h"

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
    setenv("TALLY_CAPTURE_SOCKET", collector_->name().c_str(), 1);
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

  // Runs a program to its end and returns its status.
  static int run(std::vector<std::string> arguments,
                 const std::vector<std::string>& variables = {}) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    std::vector<char*> environment;
    for (char** variable = environ; *variable; ++variable) environment.push_back(*variable);
    for (const std::string& variable : variables) {
      environment.push_back(const_cast<char*>(variable.c_str()));
    }
    environment.push_back(nullptr);
    pid_t child = -1;
    EXPECT_EQ(
        posix_spawn(&child, pointers[0], nullptr, nullptr, pointers.data(), environment.data()), 0);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  static int run_this_program(const std::string& test) {
    return run({"/proc/self/exe", "--gtest_filter=" + test, "--gtest_also_run_disabled_tests"});
  }

  uint64_t captured_commands() {
    EXPECT_TRUE(collector_->finish(0, std::chrono::seconds(60)).ok());
    auto reader = store::Reader::open(folder_.file("a.tally"));
    auto commands = reader->query("SELECT sum(size) FROM command_batch");
    EXPECT_TRUE(commands->step());
    return static_cast<uint64_t>(commands->integer(0));
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
    ASSERT_EQ(run_this_program("RacesAtExit.DISABLED_child"), 0)
        << "after " << children << " others";
  }
  EXPECT_EQ(captured_commands(), children * kThreads);
}

// exit() in one thread while another submits. A child process of the test below. Its own exit
// handler runs last, after the driver's: what is compiled meanwhile crashes. The submitting thread
// submits what it has submitted before, so it compiles nothing itself.
TEST(RacesAtExit, DISABLED_submitting_child) {
  static constexpr auto kLastMoments = std::chrono::milliseconds(20);
  std::atexit([] { std::this_thread::sleep_for(kLastMoments); });
  std::latch ready(2);
  std::thread([&ready] {
    constexpr size_t kPipelines = 16;
    Context context(both_layers());
    std::vector<std::unique_ptr<Work>> works;
    for (size_t i = 0; i < kPipelines; ++i) {
      works.push_back(std::make_unique<Work>(context));
      works.back()->run();
    }
    ready.count_down();
    for (size_t i = 0;; ++i) works[i % kPipelines]->run();
  }).detach();
  ready.arrive_and_wait();
  std::exit(0);
}

TEST_F(Races, a_second_thread_exits_during_a_submission) {
  const auto end = std::chrono::steady_clock::now() + test_time();
  uint64_t children = 0;
  for (; std::chrono::steady_clock::now() < end; ++children) {
    ASSERT_EQ(run_this_program("RacesAtExit.DISABLED_submitting_child"), 0)
        << "after " << children << " others";
  }
  EXPECT_GE(captured_commands(), children);
}

// --- pipeline libraries

// Shared by the threads: a device with pipeline libraries, and its queue.
struct LibraryDevice {
  LibraryDevice()
      : context({.layers = both_layers().layers,
                 .device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                       VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
                 .device_next = &feature}),
        layout(make_pipeline_layout(context)) {}

  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
  Context context;
  PipelineLayout layout;
  std::mutex queue;
};

// Makes libraries, whose shader modules are destroyed at once, draws with the pipeline that is
// linked fast, and then with the one that is linked with optimisation, in its place.
class LibraryThread {
 public:
  explicit LibraryThread(LibraryDevice& device)
      : device_(device), context_(device.context), target_(context_) {
    VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    info.queueFamilyIndex = context_.queue_family();
    VkCommandPool handle = VK_NULL_HANDLE;
    check(vkCreateCommandPool(context_.device(), &info, nullptr, &handle));
    pool_ = CommandPool(context_.device(), handle);
  }

  // Draws twice.
  void run() {
    GraphicsPipelineInfo vertex_info, fragment_info;
    vertex_info.layout = fragment_info.layout = device_.layout;
    vertex_info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}};
    fragment_info.stages = {{VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
    const Pipeline vertex =
        make_pipeline_library(context_,
                              VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                                  VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
                              vertex_info);
    const Pipeline fragment =
        make_pipeline_library(context_,
                              VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                                  VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
                              fragment_info);
    const VkPipeline libraries[] = {vertex, fragment};
    Pipeline linked = link_graphics_pipeline(context_, device_.layout, libraries, 0);
    draw(linked);
    linked = link_graphics_pipeline(context_, device_.layout, libraries,
                                    VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT);
    draw(linked);
  }

 private:
  void draw(VkPipeline pipeline) const {
    const VkDevice device = context_.device();
    const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               nullptr, pool_, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(device, &allocate, &commands));
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                         VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    check(vkBeginCommandBuffer(commands, &begin));
    target_.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    target_.set_viewport(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target_.end(commands);
    check(vkEndCommandBuffer(commands));
    const VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence handle = VK_NULL_HANDLE;
    check(vkCreateFence(device, &fence_info, nullptr, &handle));
    const Fence fence(device, handle);
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    {
      const std::lock_guard lock(device_.queue);
      check(vkQueueSubmit(context_.queue(), 1, &submit, fence));
    }
    check(vkWaitForFences(device, 1, &handle, VK_TRUE, UINT64_MAX));
    vkFreeCommandBuffers(device, pool_, 1, &commands);
  }

  LibraryDevice& device_;
  Context& context_;
  RenderTarget target_;
  CommandPool pool_;
};

TEST_F(Races, eight_threads_link_optimise_and_swap_pipeline_libraries) {
  if (!Context().has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME)) {
    GTEST_SKIP() << "no VK_EXT_graphics_pipeline_library";
  }
  constexpr int kLinkers = 8;
  std::atomic<uint64_t> draws = 0;
  {
    LibraryDevice device;
    std::vector<std::unique_ptr<LibraryThread>> linkers;
    for (int i = 0; i < kLinkers; ++i) linkers.push_back(std::make_unique<LibraryThread>(device));
    const auto end = std::chrono::steady_clock::now() + test_time();
    std::vector<std::thread> threads;
    for (const auto& linker : linkers) {
      threads.emplace_back([&] {
        do {
          linker->run();
          draws += 2;
        } while (std::chrono::steady_clock::now() < end);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_GE(draws, uint64_t{2 * kLinkers});
  EXPECT_EQ(captured_commands(), draws);
}

// --- command buffers

TEST_F(Races, secondaries_are_freed_before_their_primary) {
  {
    Context context(both_layers());
    const Buffer buffer(context, 64 * sizeof(uint32_t));
    const StorageSet set(context, {buffer});
    const PipelineLayout layout = make_pipeline_layout(context, {{set.layout()}});
    const Pipeline pipeline =
        make_compute_pipeline(context, {.shader = {.code = double_comp}, .layout = layout});
    const auto record_secondary = [&] {
      const VkCommandBuffer secondary = context.begin_secondary();
      vkCmdBindPipeline(secondary, kCompute, pipeline);
      set.bind(secondary, layout);
      vkCmdDispatch(secondary, 1, 1, 1);
      check(vkEndCommandBuffer(secondary));
      return secondary;
    };
    const auto free = [&](VkCommandBuffer commands) {
      vkFreeCommandBuffers(context.device(), context.command_pool(), 1, &commands);
    };
    for (int i = 0; i < 20; ++i) {
      const VkCommandBuffer executed = record_secondary(), dropped = record_secondary();
      const VkCommandBuffer primary = context.begin_commands(0);
      vkCmdExecuteCommands(primary, 1, &dropped);
      free(dropped);  // the primary is invalid now, and recorded again
      const VkCommandBufferBeginInfo again{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
      check(vkResetCommandBuffer(primary, 0));
      check(vkBeginCommandBuffer(primary, &again));
      vkCmdExecuteCommands(primary, 1, &executed);
      check(vkEndCommandBuffer(primary));
      context.submit_and_wait(primary);
      free(executed);
      if (i % 2 == 0) check(vkResetCommandBuffer(primary, 0));
      free(primary);
    }
  }
  EXPECT_EQ(captured_commands(), 20u);
}

// --- a small stack

TEST_F(Races, a_large_set_layout_is_made_on_a_small_stack) {
  constexpr uint32_t kDescriptors = 100'000;
  constexpr size_t kStack = size_t{128} << 10;
  Context context(both_layers());
  const auto make = [&] {
    VkDescriptorSetLayoutBinding bindings[2] = {};
    for (uint32_t i = 0; i < 2; ++i) {
      bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kDescriptors, VK_SHADER_STAGE_ALL,
                     nullptr};
    }
    const SetLayout set = make_set_layout(context, bindings);
    const PipelineLayout layout = make_pipeline_layout(context, {{set.get()}});
    return layout.get() != VK_NULL_HANDLE;
  };
  struct Job {
    const std::function<bool()> body;
    bool done = false;
  } job{make};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread{};
  const auto start = [](void* given) -> void* {
    Job& mine = *static_cast<Job*>(given);
    mine.done = mine.body();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, &job), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_TRUE(job.done);
}

// --- the loader

// RACES_UNLOAD opens the loader, submits once and closes the loader, several times.
TEST_F(Races, the_loader_is_closed_and_opened_again) {
  EXPECT_EQ(run({RACES_UNLOAD, "5"},
                {"VK_INSTANCE_LAYERS=VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters"}),
            0);
  EXPECT_EQ(captured_commands(), 5u);
}

}  // namespace
}  // namespace tally::test
