#include "counters/features/performance/clock.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "base/quiet_thread.h"
#include "counters/base/driver_profile.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kInterval{50};
constexpr int kReadings = 16;  // the best one is used
constexpr double kMinError = 0.005;

constexpr std::chrono::milliseconds kCoarsePeriod{500};
constexpr int kCoarseShift = 28;  // the same in glsl/query_timestamp.comp
constexpr uint32_t kCoarseBits = kCoarseShift + 32;

bool lacks_upper_half(const PhysicalDevice& gpu) { return driver_profile(gpu).loses_clock_bits; }

uint64_t timestamp_mask(const PhysicalDevice& gpu) {
  return ~uint64_t{0} >> (64 - timestamp_bits(gpu));
}

// A command buffer that reads the clock, with the objects that it needs.
class ClockReader {
 public:
  ClockReader(const MemoryContext& context, const ClockProgram& program)
      : context_(context), program_(program) {}
  ~ClockReader() {
    context_.next->DestroyFence(context_.device, fence_, nullptr);
    context_.next->DestroyCommandPool(context_.device, pool_, nullptr);
  }
  ClockReader(const ClockReader&) = delete;
  ClockReader& operator=(const ClockReader&) = delete;

  VkResult initialize(const QueuePlace& queue);

  struct Reading {
    uint64_t ticks = 0;
    Clock::time_point middle;
    Clock::duration error = Clock::duration::max();
  };
  // The reading with the smallest error.
  VkResult read(Reading& best);
  VkResult read_once(Reading& reading);

 private:
  VkResult record();

  const MemoryContext& context_;
  const ClockProgram& program_;
  std::unique_ptr<Chunk> memory_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
};

// The parameters follow the slot.
constexpr VkDeviceSize kParameters = 64, kBytes = 128;

VkResult ClockReader::initialize(const QueuePlace& queue) {
  const DeviceTable& next = *context_.next;
  VkResult result = VK_SUCCESS;
  memory_ = Chunk::create(context_, Chunk::Use::HostResults, kBytes, result);
  if (!memory_) return result;
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = queue.family};
  TALLY_TRY(vk::own("vkCreateCommandPool",
                    next.CreateCommandPool(context_.device, &pool, nullptr, &pool_), pool_));
  const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  TALLY_TRY(vk::own("vkCreateFence", next.CreateFence(context_.device, &fence, nullptr, &fence_),
                    fence_));
  const VkCommandBufferAllocateInfo buffers{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = pool_,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
  TALLY_TRY(vk::own("vkAllocateCommandBuffers",
                    next.AllocateCommandBuffers(context_.device, &buffers, &commands_)));
  queue_ = context_.find_queue(queue);
  if (context_.set_loader_data) context_.set_loader_data(context_.device, commands_);
  return record();
}

VkResult ClockReader::record() {
  const DeviceTable& next = *context_.next;
  const probe::QueryTimestamp parameters{memory_->address(), 1, 0};
  std::memset(memory_->host(), 0, kBytes);
  std::memcpy(memory_->host() + kParameters, &parameters, sizeof parameters);
  memory_->flush(0, kBytes);
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  TALLY_TRY(vk::own("vkBeginCommandBuffer", next.BeginCommandBuffer(commands_, &begin)));
  program_.write({commands_}, memory_->address() + kParameters);
  const VkMemoryBarrier to_host{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  next.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0, nullptr);
  return vk::own("vkEndCommandBuffer", next.EndCommandBuffer(commands_));
}

VkResult ClockReader::read_once(Reading& reading) {
  const DeviceTable& next = *context_.next;
  const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &commands_};
  const Clock::time_point before = Clock::now();
  TALLY_TRY(vk::own("vkQueueSubmit", next.QueueSubmit(queue_, 1, &submit, fence_)));
  TALLY_TRY(vk::wait_for_own_fence(next, context_.device, fence_, UINT64_MAX));
  reading.error = Clock::now() - before;
  reading.middle = before + reading.error / 2;
  memory_->invalidate(0, kBytes);
  std::memcpy(&reading.ticks, memory_->host() + probe::kQuerySlotHeader, sizeof reading.ticks);
  return vk::own("vkResetFences", next.ResetFences(context_.device, 1, &fence_));
}

VkResult ClockReader::read(Reading& best) {
  for (int i = 0; i < kReadings; ++i) {
    Reading reading;
    TALLY_TRY(read_once(reading));
    if (reading.error < best.error) best = reading;
  }
  return VK_SUCCESS;
}

// The scales that this process has measured. All devices of a GPU have the same one.
std::mutex& measured_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
using GpuKey = std::tuple<uint32_t, uint32_t, uint32_t>;
std::map<GpuKey, ClockScale>& measured() {
  static auto* scales = new std::map<GpuKey, ClockScale>;
  return *scales;
}

}  // namespace

uint32_t timestamp_bits(const PhysicalDevice& gpu) {
  return lacks_upper_half(gpu) ? kCoarseBits : 64;
}

float timestamp_period(const PhysicalDevice& gpu) {
  const float drivers = gpu.properties.limits.timestampPeriod;
  return drivers > 0 ? drivers : 1.0f;
}

ClockScale clock_scale(uint64_t ticks, double units, double error) {
  if (ticks == 0 || !(units > 0)) return {};
  const double scale = units / static_cast<double>(ticks);
  if (std::abs(scale - 1) <= std::max(error / units, kMinError)) return {};
  if (scale >= std::numeric_limits<uint32_t>::max()) return {};
  const double whole = std::floor(scale);
  return {static_cast<uint32_t>(whole), static_cast<uint32_t>((scale - whole) * 4294967296.0)};
}

CoarseTime::~CoarseTime() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

VkResult CoarseTime::start(const MemoryContext& context) {
  VkResult result = VK_SUCCESS;
  memory_ = Chunk::create(context, Chunk::Use::HostResults, sizeof(uint32_t), result);
  if (!memory_) return result;
  write_time();
  thread_ = quiet_thread("tally clock", [this] { run(); });
  return VK_SUCCESS;
}

void CoarseTime::write_time() const {
  const auto now = Clock::now().time_since_epoch();
  const auto ticks = static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
  auto* word = reinterpret_cast<uint32_t*>(memory_->host());
  std::atomic_ref(*word).store(static_cast<uint32_t>(ticks >> kCoarseShift),
                               std::memory_order_relaxed);
  memory_->flush(0, sizeof *word);
}

void CoarseTime::run() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, kCoarsePeriod, [this] { return stopped_; })) write_time();
}

VkResult DeviceClock::find_scale(const PhysicalDevice& gpu, const QueuePlace& queue,
                                 ClockReading& reading) {
  ClockReader reader(context_, program_);
  ClockReader::Reading first, second;
  TALLY_TRY(reader.initialize(queue));
  TALLY_TRY(reader.read(first));
  std::this_thread::sleep_for(kInterval);
  TALLY_TRY(reader.read(second));
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const double period = timestamp_period(gpu);
  const uint64_t ticks = (second.ticks - first.ticks) & timestamp_mask(gpu);
  reading.scale = clock_scale(ticks, Nanoseconds(second.middle - first.middle).count() / period,
                              Nanoseconds(first.error + second.error).count() / 2 / period);
  return VK_SUCCESS;
}

// Reads the driver's clock before and after the shader's: they are the same clock if the values are
// in order.
VkResult DeviceClock::find_start(const QueuePlace& queue,
                                 PFN_vkGetCalibratedTimestampsEXT calibrate,
                                 ClockReading& reading) {
  const VkCalibratedTimestampInfoEXT domain{
      .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
      .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT};
  ClockReader reader(context_, program_);
  VkResult result = reader.initialize(queue);
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < kReadings && result == VK_SUCCESS; ++i) {
    uint64_t before = 0, after = 0, deviation = 0;
    ClockReader::Reading between;
    result = calibrate(context_.device, 1, &domain, &before, &deviation);
    if (result == VK_SUCCESS) result = reader.read_once(between);
    if (result == VK_SUCCESS) result = calibrate(context_.device, 1, &domain, &after, &deviation);
    if (result != VK_SUCCESS || after - before >= shortest) continue;
    shortest = after - before;
    const bool same = between.ticks - before <= shortest;
    reading.start = same ? 0 : before + shortest / 2 - between.ticks;
  }
  return result;
}

VkResult DeviceClock::prepare(const PhysicalDevice& gpu, const QueuePlace& queue,
                              PFN_vkGetCalibratedTimestampsEXT calibrate) {
  ClockReading reading;
  if (lacks_upper_half(gpu)) {
    TALLY_TRY(coarse_time_.start(context_));
    reading.lately = coarse_time_.address();
  }
  const VkPhysicalDeviceProperties& properties = gpu.properties;
  const GpuKey key{properties.vendorID, properties.deviceID, properties.driverVersion};
  {
    const std::lock_guard lock(measured_mutex());
    auto known = measured().find(key);
    if (known == measured().end()) {
      TALLY_TRY(program_.make(reading));
      TALLY_TRY(find_scale(gpu, queue, reading));
      known = measured().emplace(key, reading.scale).first;
    }
    reading.scale = known->second;
  }
  TALLY_TRY(program_.make(reading));
  if (!calibrate) return VK_SUCCESS;
  TALLY_TRY(find_start(queue, calibrate, reading));
  return reading.start != 0 ? program_.make(reading) : VK_SUCCESS;
}

}  // namespace tally::counters
