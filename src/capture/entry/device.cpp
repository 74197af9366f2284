// Instances, devices, and the functions that the layer returns to the loader. Hides extensions
// whose shaders cannot be counted, and those that the layer uses itself, and adds
// VK_EXT_frame_boundary, on devices that the layer would capture.
#include <fmt/format.h>
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "capture/entry/entry.h"
#include "capture/layer/device_setup.h"
#include "capture/record/region_capture.h"
#include "capture/send/packet_builder.h"
#include "platform/process.h"
#include "vk/chain.h"
#include "vk/layer.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// A command buffer has one user of these: an application that enabled all it finds could not be
// captured.
bool is_used(std::string_view extension) {
  return extension == VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME ||
         extension == VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME;
}

void hide_used(VkPhysicalDeviceFeatures2& features) {
  if (auto* blocks = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(
          features.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM)) {
    blocks->shaderInstrumentation = VK_FALSE;
  }
  if (auto* regions = vk::find_in_out_chain<VkPhysicalDevicePerformanceCountersByRegionFeaturesARM>(
          features.pNext,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM)) {
    regions->performanceCountersByRegion = VK_FALSE;
  }
}

VkResult enumerate_extensions(VkPhysicalDevice device, uint32_t* count,
                              VkExtensionProperties* properties) {
  const std::shared_ptr<Instance> instance = Instance::find(device);
  if (!instance) return VK_ERROR_INITIALIZATION_FAILED;
  const bool hides = hides_extensions(*instance, device);
  const bool adds = adds_boundaries(*instance, device);
  if (!hides && !adds) {
    return instance->table().EnumerateDeviceExtensionProperties(device, nullptr, count, properties);
  }
  std::vector<VkExtensionProperties> all =
      vk::list_extensions(instance->table().EnumerateDeviceExtensionProperties, device);
  if (hides) {
    vk::hide_extensions(all);
    std::erase_if(all, [](const auto& extension) { return is_used(extension.extensionName); });
  }
  if (adds) {
    all.push_back({VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME, VK_EXT_FRAME_BOUNDARY_SPEC_VERSION});
  }
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL
EnumerateDeviceExtensionProperties(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                   VkExtensionProperties* properties) {
  return vk::guarded([&] {
    if (!layer) return enumerate_extensions(device, count, properties);
    const std::shared_ptr<Instance> instance = Instance::find(device);
    return instance ? instance->table().EnumerateDeviceExtensionProperties(device, layer, count,
                                                                           properties)
                    : VK_ERROR_INITIALIZATION_FAILED;
  });
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                                      VkPhysicalDeviceFeatures2* features) {
  vk::guarded_void([&] {
    const std::shared_ptr<Instance> instance = Instance::find(device);
    if (!instance || !instance->table().GetPhysicalDeviceFeatures2) return;
    auto* boundary = vk::find_in_out_chain<VkPhysicalDeviceFrameBoundaryFeaturesEXT>(
        features->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT);
    if (boundary && adds_boundaries(*instance, device)) {
      const vk::UnlinkedStructs own(
          features, {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT});
      instance->table().GetPhysicalDeviceFeatures2(device, features);
      boundary->frameBoundary = VK_TRUE;
    } else {
      instance->table().GetPhysicalDeviceFeatures2(device, features);
    }
    if (!hides_extensions(*instance, device)) return;
    vk::hide_features(*features);
    hide_used(*features);
  });
}

}  // namespace

const vk::HookTable& physical_device_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const table = new vk::HookTable({
      vk::hook("vkEnumerateDeviceExtensionProperties", EnumerateDeviceExtensionProperties),
      vk::hook("vkGetPhysicalDeviceFeatures2", GetPhysicalDeviceFeatures2),
      vk::hook("vkGetPhysicalDeviceFeatures2KHR", GetPhysicalDeviceFeatures2),
  });
  return *table;
}

// The loader's link in the chain of a create info. Each layer advances the link when it calls down.
// A layer that calls down a second time must restore it first.

// `Info` is VkLayerInstanceCreateInfo or VkLayerDeviceCreateInfo.
template <typename Info>
class LoaderLink {
 public:
  LoaderLink(const void* chain, VkStructureType type) {
    for (auto* node = static_cast<const VkBaseInStructure*>(chain); node; node = node->pNext) {
      auto* info = reinterpret_cast<const Info*>(node);
      if (node->sType != type || info->function != VK_LAYER_LINK_INFO) continue;
      info_ = const_cast<Info*>(info);  // the loader expects layers to write to it
      saved_ = info_->u.pLayerInfo;
    }
  }
  void put_back() {
    if (info_) info_->u.pLayerInfo = saved_;
  }

 private:
  Info* info_ = nullptr;
  decltype(Info::u.pLayerInfo) saved_ = nullptr;
};

// Instance creation and destruction.

namespace {

bool enables_debug_utils(const VkInstanceCreateInfo& info) {
  return std::any_of(
      info.ppEnabledExtensionNames, info.ppEnabledExtensionNames + info.enabledExtensionCount,
      [](const char* name) { return std::strcmp(name, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0; });
}

// The application's create info with the additions that the layer prefers: Vulkan 1.2, for buffer
// addresses (the application gets no functions that it did not ask for: vk/layer.h), and
// debug utils, through which the layers below report why they do not instrument.
class InstanceRequest {
 public:
  explicit InstanceRequest(const VkInstanceCreateInfo& info) : info_(info) {
    if (info.pApplicationInfo) application_ = *info.pApplicationInfo;
    application_.apiVersion = std::max(application_.apiVersion, VK_API_VERSION_1_2);
    info_.pApplicationInfo = &application_;
    extensions_.assign(info.ppEnabledExtensionNames,
                       info.ppEnabledExtensionNames + info.enabledExtensionCount);
    asked_for_debug_utils_ = enables_debug_utils(info);
    if (!asked_for_debug_utils_) extensions_.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
    info_.ppEnabledExtensionNames = extensions_.data();
  }

  // Tries all additions, then fewer, then the create info of the application.
  VkResult create(PFN_vkCreateInstance next, const VkInstanceCreateInfo& original,
                  const VkAllocationCallbacks* allocator, VkInstance* instance) {
    LoaderLink<VkLayerInstanceCreateInfo> link(original.pNext,
                                               VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    VkResult result = next(&info_, allocator, instance);
    debug_utils_ = true;
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT && !asked_for_debug_utils_) {
      link.put_back();
      --info_.enabledExtensionCount;
      debug_utils_ = false;
      result = next(&info_, allocator, instance);
    }
    if (result != VK_SUCCESS && result != VK_ERROR_OUT_OF_HOST_MEMORY) {
      link.put_back();
      debug_utils_ = asked_for_debug_utils_;
      result = next(&original, allocator, instance);
    }
    return result;
  }

  bool debug_utils() const { return debug_utils_; }

 private:
  VkInstanceCreateInfo info_;
  VkApplicationInfo application_{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  std::vector<const char*> extensions_;
  bool asked_for_debug_utils_ = false;
  bool debug_utils_ = false;
};

ApplicationInfo application_info(const VkInstanceCreateInfo& info) {
  ApplicationInfo result;
  if (const VkApplicationInfo* given = info.pApplicationInfo) {
    if (given->pApplicationName) result.application = given->pApplicationName;
    if (given->pEngineName) result.engine = given->pEngineName;
    result.api_version = given->apiVersion;
  }
  return result;
}

Settings load_settings(const VkInstanceCreateInfo& info) {
  Settings settings = Settings::load(kSettingsPrefix, vk::api_settings(info, kLayerName));
  configure_log("tally_capture", parse_log_level(settings.text("log_level", "")),
                settings.text("log_file", ""));
  return settings;
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* allocator,
                                              VkInstance* instance) {
  return vk::guarded([&] {
    const vk::NextInstance next = vk::take_next_instance(*info);
    if (!next.get_instance_proc_addr) return VK_ERROR_INITIALIZATION_FAILED;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(
        next.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
    if (!create) return VK_ERROR_INITIALIZATION_FAILED;
    const CaptureSettings settings = CaptureSettings::from(load_settings(*info));
    bool debug_utils = false;
    VkResult result = VK_SUCCESS;
    if (!settings.wants_anything()) {
      result = create(info, allocator, instance);
    } else {
      InstanceRequest request(*info);
      result = request.create(create, *info, allocator, instance);
      debug_utils = request.debug_utils();
    }
    if (result == VK_SUCCESS) {
      Instance::add(std::make_shared<Instance>(*instance, next, settings, application_info(*info),
                                               debug_utils, enables_debug_utils(*info)));
    }
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyInstance(VkInstance handle,
                                           const VkAllocationCallbacks* allocator) {
  vk::guarded_void([&] {
    if (handle == VK_NULL_HANDLE) return;
    std::shared_ptr<Instance> instance = Instance::take(handle);
    if (!instance) return;
    const PFN_vkDestroyInstance destroy = instance->table().DestroyInstance;
    instance.reset();
    destroy(handle, allocator);
  });
}

// Device creation and destruction. A device is captured if VK_ARM_shader_instrumentation is
// available below; otherwise it is left unchanged.

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
  platform::before_exit(at_exit, /*also_quickly=*/true);
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
  if (setup.statistics.missing)
    tell("pipelines have no statistics: the driver lacks VK_KHR_pipeline_executable_properties");
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
      setup.refuse_regions(fmt::format("vkCreateDevice with {} failed with {}",
                                       VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME,
                                       vk::result_name(result)));
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
    reason = fmt::format("vkCreateDevice with {} failed with {}",
                         VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME, vk::result_name(result));
    setup.description.metrics.clear();
  }
  const VkResult result = create_bystander(creation);
  if (result == VK_SUCCESS) announce_not_captured(*connection, setup.description);
  return result;
}

// A command that the layer does not know would be missing from counting copies. The time of one
// that is work is part of the next time.
PFN_vkVoidFunction recorded_command(Device& device, std::string_view name,
                                    PFN_vkVoidFunction next) {
  const bool copies = device.context().copies();
  if (!copies && device.connection().settings().times == Times::Off) return next;
  const vk::Hook* hook = recorded_command_hooks().find(name);
  const bool held = device.context().timestamps().rules().held_by_barriers;
  const uint32_t timed = held ? kEndsTimes | kHoldsTimestamps : kEndsTimes;
  if (hook) return copies || (hook->condition & timed) != 0 ? hook->function : next;
  if (!copies || !name.starts_with("vkCmd")) return next;
  stop_copies(device.context(), fmt::format("the capture does not know {}", name));
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
  if (hook && hook->condition.holds(*device)) return hook->function;
  return recorded_command(*device, wanted, next);
}

// The tables are intentionally leaked: applications call Vulkan from static destructors.
const vk::HookTable& instance_hooks() {
  static const auto* const table = new vk::HookTable({
      vk::hook("vkCreateDevice", CreateDevice),
      vk::hook("vkCreateInstance", CreateInstance),
      vk::hook("vkDestroyInstance", DestroyInstance),
      vk::hook("vkGetDeviceProcAddr", GetDeviceProcAddr),
      vk::hook("vkGetInstanceProcAddr", GetInstanceProcAddr),
  });
  return *table;
}

const vk::HookTable& any_device_hooks() {
  static const auto* const table = new vk::HookTable({
      vk::hook("vkDestroyDevice", DestroyDevice),
      vk::hook("vkGetDeviceProcAddr", GetDeviceProcAddr),
  });
  return *table;
}

const vk::BasicHookTable<DeviceCondition>& device_hooks() {
  static const auto* const table = [] {
    std::vector<DeviceHook> all;
    for (const auto& hooks : {action_hooks(), pass_hooks(), command_buffer_hooks(),
                              descriptor_hooks(), object_hooks(), image_hooks(), pipeline_hooks(),
                              shader_object_hooks(), execution_set_hooks(), queue_hooks()}) {
      all.insert(all.end(), hooks.begin(), hooks.end());
    }
    return new vk::BasicHookTable<DeviceCondition>(std::move(all));
  }();
  return *table;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance handle, const char* name) {
  if (const vk::Hook* hook = instance_hooks().find(name)) return hook->function;
  if (handle == VK_NULL_HANDLE) return nullptr;
  const std::shared_ptr<Instance> instance = Instance::find(handle);
  if (!instance) return nullptr;
  const PFN_vkVoidFunction next = instance->next().get_instance_proc_addr(handle, name);
  if (!next) return nullptr;
  const vk::Hook* hook = physical_device_hooks().find(name);
  if (!hook) hook = debug_utils_hooks().find(name);
  return hook ? hook->function : next;
}

}  // namespace tally::capture
