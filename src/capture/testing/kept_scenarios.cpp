#include "capture/testing/kept_scenarios.h"

#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include <array>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "capture/testing/painter.h"
#include "pushed.comp.h"

namespace tally::test {
namespace {

constexpr uint32_t kFrames = 12;
constexpr VkCommandBufferUsageFlags kReusable = 0;

// A shader doubles the first of two numbers; the second is a copy that a command makes.
class Numbers {
 public:
  explicit Numbers(Context& context)
      : buffer_(context, kBytes,
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                    VK_BUFFER_USAGE_TRANSFER_DST_BIT),
        set_(context, {buffer_}) {
    const VkDescriptorSetLayout layout = set_.layout();
    layout_ = make_pipeline_layout(context, {&layout, 1});
    pipeline_ =
        make_compute_pipeline(context, {{VK_SHADER_STAGE_COMPUTE_BIT, double_comp}, layout_});
    reset();
  }
  void reset() {
    buffer_.clear();
    buffer_.as<uint32_t>()[0] = expected_ = 1;
  }
  void record(VkCommandBuffer commands, uint32_t groups = 1) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    set_.bind(commands, layout_);
    vkCmdDispatch(commands, groups, 1, 1);
    full_barrier(commands);
    const VkBufferCopy copy{0, kBytes / 2, sizeof(uint32_t)};
    vkCmdCopyBuffer(commands, buffer_, buffer_, 1, &copy);
    full_barrier(commands);
  }
  // After `record` has been executed so many times.
  void check_after(uint32_t times) {
    expected_ <<= times;
    const auto values = buffer_.as<uint32_t>();
    if (values[0] != expected_ || values[values.size() / 2] != expected_) {
      throw std::runtime_error("wrong numbers");
    }
  }

 private:
  static constexpr VkDeviceSize kBytes = 4096;
  Buffer buffer_;
  StorageSet set_;
  PipelineLayout layout_;
  Pipeline pipeline_;
  uint32_t expected_ = 1;
};

CommandPool make_pool(const Context& context, VkCommandPoolCreateFlags flags) {
  const VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, flags,
                                     context.queue_family()};
  VkCommandPool created = VK_NULL_HANDLE;
  check(vkCreateCommandPool(context.device(), &info, nullptr, &created));
  return {context.device(), created};
}

VkCommandBuffer allocate(const Context& context, VkCommandPool pool) {
  const VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr,
                                         pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(context.device(), &info, &commands));
  return commands;
}

void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags usage = kReusable) {
  const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, usage};
  check(vkBeginCommandBuffer(commands, &info));
}

VkCommandBuffer secondary_of(Context& context, const Numbers& numbers,
                             VkCommandBufferUsageFlags usage) {
  const VkCommandBuffer commands = context.begin_secondary({}, usage);
  numbers.record(commands, 2);
  check(vkEndCommandBuffer(commands));
  return commands;
}

// A primary and the secondary that it executes.
void kept_numbers(Context& context) {
  Numbers numbers(context);
  const VkCommandBuffer secondary = secondary_of(context, numbers, kReusable);
  const VkCommandBuffer primary = context.begin_commands(kReusable);
  numbers.record(primary);
  vkCmdExecuteCommands(primary, 1, &secondary);
  numbers.record(primary, 3);
  check(vkEndCommandBuffer(primary));
  for (uint32_t frame = 0; frame < 10; ++frame) {
    context.submit_and_wait(primary);
    numbers.check_after(3);
  }
}

// The same, and the application knows a command of the driver that the layer does not know.
void kept_beside_unknown(Context& context) {
  context.function<void(VKAPI_PTR*)(VkCommandBuffer)>("vkCmdUnknownTALLY");
  kept_numbers(context);
}

// Primaries that are made for each frame execute a secondary that is kept, and one that is not.
void kept_in_new(Context& context) {
  Numbers numbers(context);
  const VkCommandBuffer kept = secondary_of(context, numbers, kReusable);
  for (uint32_t frame = 0; frame < 8; ++frame) {
    const std::array both{
        kept, secondary_of(context, numbers, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)};
    const VkCommandBuffer primary = context.begin_commands(kReusable);
    numbers.record(primary, frame + 3);
    vkCmdExecuteCommands(primary, 2, both.data());
    check(vkEndCommandBuffer(primary));
    context.submit_and_wait(primary);
    numbers.check_after(3);
    const std::array freed{primary, both[1]};
    vkFreeCommandBuffers(context.device(), context.command_pool(), 2, freed.data());
  }
}

void submit_2(const Context& context, std::span<const VkCommandBuffer> buffers) {
  std::vector<VkCommandBufferSubmitInfo> infos;
  for (const VkCommandBuffer buffer : buffers) {
    infos.push_back({VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, nullptr, buffer, 0});
  }
  std::array<VkSubmitInfo2, 2> submits{};
  for (VkSubmitInfo2& submit : submits) submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
  submits[0].commandBufferInfoCount = 1;
  submits[0].pCommandBufferInfos = infos.data();
  submits[1].commandBufferInfoCount = static_cast<uint32_t>(infos.size() - 1);
  submits[1].pCommandBufferInfos = infos.data() + 1;
  check(vkQueueSubmit2(context.queue(), 2, submits.data(), VK_NULL_HANDLE));
}

// Two primaries in flight many times, each with a secondary. (Where both execute the same one, the
// validation layer of Debian 12 meets a deadlock of its own.)
void kept_simultaneous(Context& context) {
  Numbers numbers(context);
  const auto usage = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  std::array<VkCommandBuffer, 2> primaries{};
  for (VkCommandBuffer& primary : primaries) {
    const VkCommandBuffer secondary = secondary_of(context, numbers, usage);
    primary = context.begin_commands(usage);
    vkCmdExecuteCommands(primary, 1, &secondary);
    numbers.record(primary, 2);
    check(vkEndCommandBuffer(primary));
  }
  for (uint32_t frame = 0; frame < 8; ++frame) submit_2(context, primaries);
  check(vkQueueWaitIdle(context.queue()));
  numbers.reset();
  submit_2(context, primaries);
  check(vkQueueWaitIdle(context.queue()));
  numbers.check_after(4);
}

// Recorded and kept, reset with their pool or by themselves, recorded again; some are freed.
void kept_and_reset(Context& context) {
  Numbers numbers(context);
  const CommandPool whole = make_pool(context, 0);
  const CommandPool each = make_pool(context, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  const VkCommandBuffer a = allocate(context, whole), b = allocate(context, each);
  for (uint32_t round = 0; round < 4; ++round) {
    const VkCommandBuffer freed = allocate(context, whole);
    for (const VkCommandBuffer commands : {a, freed, b}) {
      begin(commands);
      numbers.record(commands, round + 1);
      check(vkEndCommandBuffer(commands));
    }
    numbers.reset();
    for (uint32_t frame = 0; frame < 3; ++frame) {
      context.submit_and_wait(std::array{a, freed, b});
      numbers.check_after(3);
    }
    vkFreeCommandBuffers(context.device(), whole, 1, &freed);
    if (round % 2 == 0) {
      check(vkResetCommandPool(context.device(), whole, 0));
      begin(a);  // and it is reset in the middle of the recording
      numbers.record(a);
    }
    check(vkResetCommandPool(context.device(), whole, 0));
    begin(b);
    numbers.record(b);
    check(vkResetCommandBuffer(b, VK_COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT));
  }
}

// Used once per recording at first, then kept: with a copy, without, with one again.
void kept_now_and_then(Context& context) {
  Numbers numbers(context);
  const VkCommandBuffer commands = allocate(context, context.command_pool());
  for (uint32_t frame = 0; frame < 16; ++frame) {
    if (frame < 4 || frame % 4 == 0) {
      begin(commands);
      numbers.record(commands, frame + 1);
      check(vkEndCommandBuffer(commands));
    }
    context.submit_and_wait(commands);
    numbers.check_after(1);
  }
}

// The pixels that a kept primary and a kept secondary draw, read after each frame.
void kept_picture(Context& context) {
  const Painter painter(context, Painter::Passes::Objects);
  VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  inheritance.renderPass = painter.target().render_pass();
  const VkCommandBuffer secondary =
      context.begin_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
  painter.draw(secondary, 2);
  check(vkEndCommandBuffer(secondary));
  const VkCommandBuffer primary = context.begin_commands(kReusable);
  painter.target().begin_render_pass(primary, {1, 0, 0, 1},
                                     VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
  vkCmdExecuteCommands(primary, 1, &secondary);
  painter.target().end_render_pass(primary);
  check(vkEndCommandBuffer(primary));
  std::vector<uint32_t> first;
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    context.submit_and_wait(primary);
    const std::vector<uint32_t> texels = painter.target().read();
    if (first.empty()) first = texels;
    if (texels != first || texels[0] == 0) throw std::runtime_error("another picture");
  }
}

// Threads record command buffers of their own, which are kept for some frames.
void kept_by_threads(Context& context) {
  std::mutex queue;
  std::vector<std::thread> workers;
  std::array<bool, 4> failed{};
  for (uint32_t worker = 0; worker < failed.size(); ++worker) {
    workers.emplace_back([&, worker] {
      try {
        Numbers numbers(context);
        const CommandPool pool =
            make_pool(context, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
        for (uint32_t round = 0; round < 8; ++round) {
          const VkCommandBuffer commands = allocate(context, pool);
          begin(commands);
          numbers.record(commands, worker + 1);
          check(vkEndCommandBuffer(commands));
          for (uint32_t frame = 0; frame < 3; ++frame) {
            const std::lock_guard lock(queue);
            submit(context, {commands});
            check(vkQueueWaitIdle(context.queue()));
            numbers.check_after(1);
          }
          vkFreeCommandBuffers(context.device(), pool, 1, &commands);
        }
      } catch (const std::exception&) {
        failed[worker] = true;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (const bool one : failed) {
    if (one) throw std::runtime_error("a thread failed");
  }
}

// A resource heap that no shader reads. The layer that stands for a driver has no embedded
// samplers, and takes any buffer for a heap.
class ResourceHeap {
 public:
  explicit ResourceHeap(Context& context) {
    VkPhysicalDeviceDescriptorHeapPropertiesEXT heaps{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &heaps};
    vkGetPhysicalDeviceProperties2(context.gpu(), &all);
    reserved_ = heaps.minResourceHeapReservedRange;
    VkBufferUsageFlags usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    if (heaps.maxDescriptorHeapEmbeddedSamplers != 0)
      usage |= VK_BUFFER_USAGE_DESCRIPTOR_HEAP_BIT_EXT;
    buffer_ = Buffer(context, kBytes + reserved_, usage);
  }
  VkBindHeapInfoEXT info() const {
    return {VK_STRUCTURE_TYPE_BIND_HEAP_INFO_EXT,
            nullptr,
            {buffer_.address(), buffer_.size()},
            kBytes,
            reserved_};
  }

 private:
  static constexpr VkDeviceSize kBytes = 65536;
  Buffer buffer_;
  VkDeviceSize reserved_ = 0;
};

// Dispatches with descriptor heaps between others with descriptor sets, in a primary and in a
// secondary that inherits its heap, on a device of its own. Push data last for several dispatches.
void kept_heaps(Context&) {
  VkPhysicalDeviceDescriptorHeapFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT, nullptr, VK_TRUE};
  Context context(
      {.device_extensions = {VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME}, .device_next = &feature});
  const ResourceHeap heap(context);
  Numbers numbers(context);
  const VkPipelineCreateFlags2CreateInfoKHR flags{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
      VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT};
  const Pipeline pipeline = make_compute_pipeline(
      context, {{VK_SHADER_STAGE_COMPUTE_BIT, pushed_comp}, VK_NULL_HANDLE, {}, 0, &flags});
  Buffer sums(context, 4096,
              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  sums.clear();
  // Adds to 32 sums, then to 64.
  const auto add = [&](VkCommandBuffer commands, uint64_t summand) {
    const uint64_t words[] = {sums.address(), summand};
    const VkPushDataInfoEXT info{
        VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, 0, {words, sizeof words}};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    context.function<PFN_vkCmdPushDataEXT>("vkCmdPushDataEXT")(commands, &info);
    for (const uint32_t groups : {1, 2}) {
      vkCmdDispatch(commands, groups, 1, 1);
      full_barrier(commands);
    }
  };
  const VkBindHeapInfoEXT bound = heap.info();
  const VkCommandBufferInheritanceDescriptorHeapInfoEXT inherited{
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_DESCRIPTOR_HEAP_INFO_EXT, nullptr, nullptr,
      &bound};
  const VkCommandBuffer secondary = context.begin_secondary({.pNext = &inherited}, kReusable);
  add(secondary, 10);
  check(vkEndCommandBuffer(secondary));
  const auto bind_heap = context.function<PFN_vkCmdBindResourceHeapEXT>("vkCmdBindResourceHeapEXT");
  const VkCommandBuffer primary = context.begin_commands(kReusable);
  bind_heap(primary, &bound);
  add(primary, 1);
  numbers.record(primary);
  bind_heap(primary, &bound);
  vkCmdExecuteCommands(primary, 1, &secondary);
  add(primary, 100);
  check(vkEndCommandBuffer(primary));
  for (uint32_t frame = 1; frame <= kFrames; ++frame) {
    context.submit_and_wait(primary);
    numbers.check_after(1);
    for (uint32_t i = 0; i < 96; ++i) {
      const uint32_t times = (i < 32 ? 1 : 0) + (i < 64 ? 1 : 0);
      if (sums.as<uint32_t>()[i] != 111 * times * frame) throw std::runtime_error("wrong sums");
    }
  }
}

}  // namespace

const Scenarios& kept_scenarios() {
  static const Scenarios scenarios = {
      {"kept_numbers", kept_numbers},     {"kept_beside_unknown", kept_beside_unknown},
      {"kept_in_new", kept_in_new},       {"kept_simultaneous", kept_simultaneous},
      {"kept_and_reset", kept_and_reset}, {"kept_now_and_then", kept_now_and_then},
      {"kept_picture", kept_picture},     {"kept_by_threads", kept_by_threads},
      {"kept_heaps", kept_heaps},
  };
  return scenarios;
}

}  // namespace tally::test
