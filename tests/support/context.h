// A Vulkan instance, device and queue for one test, with the requested layers.
//
// If CTest asks for the Khronos validation layer, it is loaded *below* the layers under test and
// sees what they pass to the driver. Every error that it (or any layer) reports fails the test when
// the Context is destroyed, unless the test took the error with take_errors().
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "support/check.h"
#include "support/handle.h"

namespace tally::test {

struct ContextOptions {
  std::vector<const char*> layers;         // the layer nearest the application first
  std::vector<const char*> driver_layers;  // layers that simulate the driver: below validation
  std::vector<const char*> instance_extensions;
  std::vector<const char*> device_extensions;
  uint32_t api_version = VK_API_VERSION_1_3;
  // Enables every feature of Vulkan 1.0 to 1.3 that the device has, except robust access, which
  // changes the generated code.
  bool core_features = true;
  // Enables VK_NV_shader_sm_builtins if the device has it.
  bool sm_builtins = false;
  // Additional structs for VkDeviceCreateInfo::pNext, owned by the caller; no core feature structs
  // if core_features is set.
  void* device_next = nullptr;
  // Additional structs for VkInstanceCreateInfo::pNext.
  const void* instance_next = nullptr;
  // A struct for the validation layer below, if CTest asks for that layer.
  const VkValidationFeaturesEXT* validation_next = nullptr;
  // Number of queues of the graphics and compute family; fewer if the family has fewer.
  uint32_t queue_count = 1;
  VkDeviceQueueCreateFlags queue_flags = 0;
};

// A message that the debug-utils messenger received.
struct Message {
  VkDebugUtilsMessageSeverityFlagBitsEXT severity;
  std::string id;  // pMessageIdName, e.g. the VUID
  std::string text;
  std::vector<std::pair<VkObjectType, uint64_t>> objects;
};

// Sets the handler of errors that no test took; the default prints them to stderr. Returns the
// previous handler.
using ErrorReport = void (*)(const Message&);
ErrorReport set_error_report(ErrorReport report);

class Context {
 public:
  explicit Context(const ContextOptions& options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  VkInstance instance() const { return instance_; }
  VkPhysicalDevice gpu() const { return gpu_; }
  VkDevice device() const { return device_; }
  VkQueue queue(uint32_t index = 0) const { return queues_.at(index); }
  size_t queue_count() const { return queues_.size(); }
  uint32_t queue_family() const { return queue_family_; }
  const VkPhysicalDeviceProperties& properties() const { return properties_; }
  const VkPhysicalDeviceFeatures& features() const { return features_; }
  uint32_t subgroup_size() const { return subgroup_size_; }
  // Whether ContextOptions::sm_builtins took effect.
  bool has_sm_builtins() const { return has_sm_builtins_; }
  // True if the device offers the extension, as seen through the layers.
  bool has_extension(const char* name) const;

  // A device function by name, e.g. "vkCmdDraw" as PFN_vkCmdDraw. Throws if there is none.
  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(function_address(name));
  }

  // Records one primary command buffer with `record`, submits it and waits for its completion.
  template <typename Record>
  void run(Record&& record) {
    VkCommandBuffer commands = begin_commands();
    record(commands);
    check(vkEndCommandBuffer(commands));
    submit_and_wait(commands);
    vkFreeCommandBuffers(device_, pool_, 1, &commands);
  }

  // Begins recording a command buffer of the Context's own pool.
  VkCommandBuffer begin_commands(
      VkCommandBufferUsageFlags usage = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  // The same for a secondary command buffer; sets the sType.
  VkCommandBuffer begin_secondary(VkCommandBufferInheritanceInfo inheritance = {},
                                  VkCommandBufferUsageFlags usage = 0);
  void submit_and_wait(std::span<const VkCommandBuffer> commands, uint32_t queue = 0);
  void submit_and_wait(VkCommandBuffer commands) { submit_and_wait({&commands, 1}); }
  VkCommandPool command_pool() const { return pool_; }

  // Errors reported so far; they no longer fail the test.
  std::vector<Message> take_errors();
  // All messages so far, of any severity.
  std::vector<Message> messages() const;

 private:
  struct Empty {};
  explicit Context(Empty) {}
  VkCommandBuffer begin(VkCommandBufferLevel level, const VkCommandBufferBeginInfo& info);
  void create_instance(const ContextOptions& options);
  void choose_gpu();
  void create_device(const ContextOptions& options);
  PFN_vkVoidFunction function_address(const char* name) const;
  static VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                        VkDebugUtilsMessageTypeFlagsEXT type,
                                        const VkDebugUtilsMessengerCallbackDataEXT* data,
                                        void* context);

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice gpu_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  std::vector<VkQueue> queues_;
  uint32_t queue_family_ = 0;
  uint32_t subgroup_size_ = 0;
  bool has_sm_builtins_ = false;
  VkPhysicalDeviceProperties properties_ = {};
  VkPhysicalDeviceFeatures features_ = {};
  CommandPool pool_;

  mutable std::mutex mutex_;  // guards what follows; messages come from any thread
  std::vector<Message> messages_;
  std::vector<Message> errors_;
};

}  // namespace tally::test
