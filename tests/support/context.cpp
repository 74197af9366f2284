#include "support/context.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "support/environment.h"

namespace tally::test {
namespace {

constexpr const char* kValidation = "VK_LAYER_KHRONOS_validation";

void print_error(const Message& error) {
  std::fprintf(stderr, "%s: %s\n", error.id.c_str(), error.text.c_str());
}

ErrorReport error_report = &print_error;

// After a failure the handle may be anything.
template <typename Handle>
void created(VkResult result, Handle& handle) {
  if (result != VK_SUCCESS) handle = VK_NULL_HANDLE;
  check(result);
}

std::vector<VkExtensionProperties> device_extensions(VkPhysicalDevice gpu) {
  uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(gpu, nullptr, &count, nullptr));
  std::vector<VkExtensionProperties> extensions(count);
  check(vkEnumerateDeviceExtensionProperties(gpu, nullptr, &count, extensions.data()));
  return extensions;
}

// A family for graphics and compute; on a device without graphics, one for compute.
uint32_t choose_family(VkPhysicalDevice gpu, uint32_t* queues) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &count, families.data());
  for (const VkQueueFlags wanted : {VkQueueFlags{VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT},
                                    VkQueueFlags{VK_QUEUE_COMPUTE_BIT}}) {
    for (uint32_t i = 0; i < count; ++i) {
      if ((families[i].queueFlags & wanted) != wanted) continue;
      *queues = families[i].queueCount;
      return i;
    }
  }
  throw std::runtime_error("the device has no queue family for compute");
}

// The features of Vulkan 1.0 to 1.3 that a device has, as one chain for VkDeviceCreateInfo.
struct CoreFeatures {
  VkPhysicalDeviceFeatures2 base = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};

  // `version` is the lower of the application's and the device's version; `next` is appended to the
  // chain.
  CoreFeatures(VkPhysicalDevice gpu, uint32_t version, void* next) {
    if (version >= VK_API_VERSION_1_2) base.pNext = &v11;
    v11.pNext = &v12;
    if (version >= VK_API_VERSION_1_3) v12.pNext = &v13;
    vkGetPhysicalDeviceFeatures2(gpu, &base);
    base.features.robustBufferAccess = VK_FALSE;
    v13.robustImageAccess = VK_FALSE;
    // Disabled: these two features forbid or slow down what the tests examine.
    v12.bufferDeviceAddressCaptureReplay = VK_FALSE;
    v12.bufferDeviceAddressMultiDevice = VK_FALSE;
    append(next);
  }

 private:
  void append(void* next) {
    auto* last = reinterpret_cast<VkBaseOutStructure*>(&base);
    while (last->pNext) last = last->pNext;
    last->pNext = static_cast<VkBaseOutStructure*>(next);
  }
};

}  // namespace

ErrorReport set_error_report(ErrorReport report) { return std::exchange(error_report, report); }

// Where a call fails, the destructor destroys what exists already.
Context::Context(const ContextOptions& options) : Context(Empty{}) {
  create_instance(options);
  choose_gpu();
  create_device(options);
  keep_libraries_loaded();
}

Context::~Context() {
  pool_.reset();
  if (device_) vkDestroyDevice(device_, nullptr);
  if (messenger_) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  if (instance_) vkDestroyInstance(instance_, nullptr);
  for (const Message& error : errors_) error_report(error);
}

void Context::create_instance(const ContextOptions& options) {
  std::vector<const char*> layers = options.layers;
  if (validation_wanted()) layers.push_back(kValidation);
  layers.insert(layers.end(), options.driver_layers.begin(), options.driver_layers.end());
  std::vector<const char*> extensions = options.instance_extensions;
  extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "tally tests";
  application.apiVersion = options.api_version;
  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.pNext = options.instance_next;
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                          VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                          VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = &Context::on_message;
  messenger.pUserData = this;
  VkValidationFeaturesEXT validation;
  if (options.validation_next) {
    validation = *options.validation_next;
    validation.pNext = messenger.pNext;
    messenger.pNext = &validation;
  }
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, &messenger};
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  created(vkCreateInstance(&info, nullptr, &instance_), instance_);

  messenger.pNext = nullptr;
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  created(create(instance_, &messenger, nullptr, &messenger_), messenger_);
}

void Context::choose_gpu() {
  uint32_t count = 1;
  const VkResult result = vkEnumeratePhysicalDevices(instance_, &count, &gpu_);
  if (result != VK_INCOMPLETE) check(result);
  if (count == 0) throw std::runtime_error("no Vulkan device");
  VkPhysicalDeviceSubgroupProperties subgroup = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            &subgroup};
  vkGetPhysicalDeviceProperties2(gpu_, &properties);
  properties_ = properties.properties;
  subgroup_size_ = subgroup.subgroupSize;
  vkGetPhysicalDeviceFeatures(gpu_, &features_);
}

void Context::create_device(const ContextOptions& options) {
  uint32_t queues = 0;
  queue_family_ = choose_family(gpu_, &queues);
  queues = std::min(queues, options.queue_count);
  const std::vector<float> priorities(queues, 1.0f);
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.flags = options.queue_flags;
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = queues;
  queue.pQueuePriorities = priorities.data();

  VkPhysicalDeviceShaderSMBuiltinsFeaturesNV sm_builtins = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_FEATURES_NV, options.device_next,
      VK_TRUE};
  std::vector<const char*> extensions = options.device_extensions;
  void* next = options.device_next;
  if (options.sm_builtins && has_extension(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
    extensions.push_back(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME);
    next = &sm_builtins;
    has_sm_builtins_ = true;
  }
  CoreFeatures core(gpu_, std::min(options.api_version, properties_.apiVersion), next);
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = options.core_features ? &core.base : next;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  created(vkCreateDevice(gpu_, &info, nullptr, &device_), device_);

  queues_.resize(queues);
  for (uint32_t i = 0; i < queues; ++i) {
    const VkDeviceQueueInfo2 place{VK_STRUCTURE_TYPE_DEVICE_QUEUE_INFO_2, nullptr,
                                   options.queue_flags, queue_family_, i};
    if (options.queue_flags != 0) {
      vkGetDeviceQueue2(device_, &place, &queues_[i]);
    } else {
      vkGetDeviceQueue(device_, queue_family_, i, &queues_[i]);
    }
  }
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = queue_family_;
  VkCommandPool handle = VK_NULL_HANDLE;
  check(vkCreateCommandPool(device_, &pool, nullptr, &handle));
  pool_ = CommandPool(device_, handle);
}

bool Context::has_extension(const char* name) const {
  const auto extensions = device_extensions(gpu_);
  return std::any_of(extensions.begin(), extensions.end(), [&](const auto& extension) {
    return !std::strcmp(extension.extensionName, name);
  });
}

PFN_vkVoidFunction Context::function_address(const char* name) const {
  PFN_vkVoidFunction address = vkGetDeviceProcAddr(device_, name);
  if (!address) address = vkGetInstanceProcAddr(instance_, name);
  if (!address) throw std::runtime_error(std::string("no function ") + name);
  return address;
}

VkCommandBuffer Context::begin(VkCommandBufferLevel level, const VkCommandBufferBeginInfo& info) {
  const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             nullptr, pool_, level, 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(device_, &allocate, &commands));
  check(vkBeginCommandBuffer(commands, &info));
  return commands;
}

VkCommandBuffer Context::begin_commands(VkCommandBufferUsageFlags usage) {
  return begin(VK_COMMAND_BUFFER_LEVEL_PRIMARY,
               {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, usage, nullptr});
}

VkCommandBuffer Context::begin_secondary(VkCommandBufferInheritanceInfo inheritance,
                                         VkCommandBufferUsageFlags usage) {
  inheritance.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO;
  return begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY,
               {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, usage, &inheritance});
}

void Context::submit_and_wait(std::span<const VkCommandBuffer> commands, uint32_t queue) {
  const VkFenceCreateInfo fence_info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence handle = VK_NULL_HANDLE;
  check(vkCreateFence(device_, &fence_info, nullptr, &handle));
  const Fence fence(device_, handle);
  VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = static_cast<uint32_t>(commands.size());
  submit.pCommandBuffers = commands.data();
  check(vkQueueSubmit(queues_.at(queue), 1, &submit, fence));
  check(vkWaitForFences(device_, 1, fence.address(), VK_TRUE, UINT64_MAX));
}

std::vector<Message> Context::take_errors() {
  const std::lock_guard lock(mutex_);
  return std::exchange(errors_, {});
}

std::vector<Message> Context::messages() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

VkBool32 Context::on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                             VkDebugUtilsMessageTypeFlagsEXT,
                             const VkDebugUtilsMessengerCallbackDataEXT* data, void* context) {
  Message message = {
      severity, data->pMessageIdName ? data->pMessageIdName : "", data->pMessage, {}};
  for (uint32_t i = 0; i < data->objectCount; ++i) {
    message.objects.emplace_back(data->pObjects[i].objectType, data->pObjects[i].objectHandle);
  }
  auto* self = static_cast<Context*>(context);
  const std::lock_guard lock(self->mutex_);
  if (severity == VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) self->errors_.push_back(message);
  self->messages_.push_back(std::move(message));
  return VK_FALSE;
}

}  // namespace tally::test
