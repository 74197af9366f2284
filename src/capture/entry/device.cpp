// Device creation and destruction. A device is captured if VK_ARM_shader_instrumentation is
// available below; otherwise it is left unchanged.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/log.h"
#include "capture/device_setup.h"
#include "capture/entry/debug_utils.h"
#include "capture/entry/entry.h"
#include "capture/entry/loader_link.h"
#include "capture/recording/region_setup.h"
#include "store/clock.h"
#include "vk/boundary.h"
#include "vk/core_versions.h"

namespace tally::capture {
namespace {

constexpr auto kExitPatience = std::chrono::seconds(1);

// A device that is not captured. It holds only what passing its calls through needs.
struct BystanderDevice {
  PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
  uint32_t application_version = 0;
};

vk::HandleMap<void*, BystanderDevice>& bystanders() {
  static auto* map = new vk::HandleMap<void*, BystanderDevice>;  // outlives every thread
  return *map;
}

// The process that created the last device. A child of fork() has none of its threads.
std::atomic<pid_t> device_owner = 0;

// Calls of vkDestroyDevice that have not returned.
std::atomic<int> destructions = 0;

// Handles exit() with live devices: sends what is complete, and ends our threads before the
// libraries are unloaded. Devices that other threads are destroying waited for that; the driver
// gets time for them before its own handlers run.
void at_exit() {
  if (device_owner != ::getpid()) return;
  vk::guarded_void([] { Device::stop_all(kExitPatience); });
  constexpr auto kStep = std::chrono::milliseconds(1);
  static const auto end = std::chrono::steady_clock::now() + kExitPatience;
  while (destructions != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kStep);
  }
}

// Again for each device: exit() calls first what was registered last, and the driver may have
// registered more since the device before.
void watch_exit() {
  constexpr int kMaxTimes = 1'000;
  static std::atomic<int> times = 0;
  device_owner = ::getpid();
  if (times.fetch_add(1) >= kMaxTimes) return;
  std::atexit(at_exit);
  std::at_quick_exit(at_exit);
}

void announce_not_captured(StreamConnection& connection, const stream::Device& description) {
  log_once(LogLevel::Warning, "{}: not captured: {}", description.name, description.not_captured);
  PacketBuilder(connection, description.id).add(description);
}

struct Creation {
  const std::shared_ptr<Instance>& instance;
  const vk::NextDevice& next;
  PFN_vkCreateDevice create;
  VkPhysicalDevice physical_device;
  const VkDeviceCreateInfo& info;
  const VkAllocationCallbacks* allocator;
  VkDevice* device;
};

// Structs that the application chains to its submissions on such a device reach the driver, which
// skips the structs that it does not know.
VkResult create_bystander(const Creation& creation) {
  std::optional<ChangedDeviceInfo> changed;
  if (enables_extension(creation.info, VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME) &&
      adds_boundaries(*creation.instance, creation.physical_device)) {
    changed.emplace(creation.info).remove_boundaries();
  }
  const VkResult result =
      creation.create(creation.physical_device, changed ? changed->get() : &creation.info,
                      creation.allocator, creation.device);
  if (result != VK_SUCCESS) return result;
  bystanders().insert(vk::dispatch_key(*creation.device),
                      BystanderDevice{creation.next.get_device_proc_addr,
                                      creation.instance->application_version()});
  add_debug_utils(creation.instance->handle(), *creation.device, creation.next);
  return result;
}

VkResult create_with(const Creation& creation, const DeviceSetup& setup) {
  ChangedDeviceInfo info(creation.info);
  info.enable_counters(setup);
  if (!setup.boundaries.native) info.remove_boundaries();
  const ReasonCollector said(ReasonCollector::kExtensions);  // tell_gaps() says it
  return creation.create(creation.physical_device, info.get(), creation.allocator, creation.device);
}

// Says what the capture of a device lacks.
void tell_gaps(StreamConnection& connection, const DeviceSetup& setup) {
  const auto tell = [&](const std::string& text) {
    connection.message(store::Severity::Warning,
                       fmt::format("{}: {}", setup.description.name, text));
  };
  if (!setup.regions.reason.empty())
    tell("render passes are not captured by region: " + setup.regions.reason);
  if (!setup.uncounted.empty()) tell(catalogue::describe_uncounted(setup.uncounted));
}

VkResult create_captured(const Creation& creation, std::shared_ptr<StreamConnection> connection) {
  DeviceSetup setup = inspect_device(*creation.instance, creation.physical_device, creation.info,
                                     connection->new_id());
  LoaderLink<VkLayerDeviceCreateInfo> link(creation.info.pNext,
                                           VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  std::string& reason = setup.description.not_captured;
  if (reason.empty()) {
    VkResult result = create_with(creation, setup);
    if (result != VK_SUCCESS && setup.regions.enabled) {
      link.put_back();
      setup.refuse_regions(fmt::format("the device could not be created with it (VkResult {})",
                                       static_cast<int>(result)));
      result = create_with(creation, setup);
    }
    if (result == VK_SUCCESS) {
      tell_gaps(*connection, setup);
      Device::add(std::make_shared<Device>(creation.instance, std::move(connection),
                                           *creation.device, creation.next, std::move(setup)));
      add_debug_utils(creation.instance->handle(), *creation.device, creation.next);
      watch_exit();
      return result;
    }
    link.put_back();
    reason = fmt::format("it could not be created with {} (VkResult {})",
                         VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME, static_cast<int>(result));
    setup.description.metrics.clear();
  }
  const VkResult result = create_bystander(creation);
  if (result == VK_SUCCESS) announce_not_captured(*connection, setup.description);
  return result;
}

// A command that the layer does not know would be missing from counting copies.
PFN_vkVoidFunction recorded_command(Device& device, std::string_view name,
                                    PFN_vkVoidFunction next) {
  if (const vk::Hook* hook = recorded_command_hooks().find(name)) return hook->function;
  if (!name.starts_with("vkCmd")) return next;
  stop_copies(device.context(), fmt::format("{} is not known", name));
  return next;
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical_device,
                                            const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator,
                                            VkDevice* device) {
  return vk::guarded([&] {
    const vk::NextDevice next = vk::take_next_device(*info);
    const std::shared_ptr<Instance> instance = Instance::find(physical_device);
    if (!instance || !next.get_instance_proc_addr) return VK_ERROR_INITIALIZATION_FAILED;
    const auto create = reinterpret_cast<PFN_vkCreateDevice>(
        next.get_instance_proc_addr(instance->handle(), "vkCreateDevice"));
    if (!create) return VK_ERROR_INITIALIZATION_FAILED;
    const Creation creation{instance, next, create, physical_device, *info, allocator, device};
    std::shared_ptr<StreamConnection> connection = instance->connection();
    return connection ? create_captured(creation, std::move(connection))
                      : create_bystander(creation);
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice handle, const VkAllocationCallbacks* allocator) {
  vk::guarded_void([&] {
    if (handle == VK_NULL_HANDLE) return;
    ++destructions;
    remove_debug_utils(handle);
    PFN_vkDestroyDevice destroy = nullptr;
    if (const std::shared_ptr<Device> device = Device::take(handle)) {
      destroy = device->table().DestroyDevice;
    } else if (const auto get = bystanders().take(vk::dispatch_key(handle)).get_device_proc_addr) {
      destroy = reinterpret_cast<PFN_vkDestroyDevice>(get(handle, "vkDestroyDevice"));
    }
    if (destroy) destroy(handle, allocator);
  });
  if (handle != VK_NULL_HANDLE) --destructions;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice handle, const char* name) {
  const std::string_view wanted = name;
  if (const vk::Hook* hook = any_device_hooks().find(wanted)) return hook->function;
  const std::shared_ptr<Device> device = Device::find(handle);
  if (!device) {
    const BystanderDevice known = bystanders().find(vk::dispatch_key(handle));
    const bool hidden = vk::is_newer_than(wanted, known.application_version);
    return known.get_device_proc_addr && !hidden ? known.get_device_proc_addr(handle, name)
                                                 : nullptr;
  }
  if (vk::is_newer_than(wanted, device->application_version())) return nullptr;
  if (!device->offers(wanted)) return nullptr;
  if (const vk::Hook* hook = debug_utils_hooks().find(wanted)) return hook->function;
  const PFN_vkVoidFunction next = device->next_get_device_proc_addr()(handle, name);
  if (!next) return nullptr;
  const DeviceHook* hook = device_hooks().find(wanted);
  if (hook && hook->condition.reachable(device->table()) &&
      (!hook->condition.for_pictures || device->images())) {
    return hook->function;
  }
  return device->context().copies() ? recorded_command(*device, wanted, next) : next;
}

}  // namespace tally::capture
