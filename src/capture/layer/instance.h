// An instance created through the layer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>

#include "capture/base/capture_settings.h"
#include "capture/base/sender.h"
#include "capture/base/tables.h"
#include "vk/layer.h"

namespace tally::capture {

class Instance {
 public:
  Instance(VkInstance handle, const vk::NextInstance& next, CaptureSettings settings,
           ApplicationInfo info, bool debug_utils, bool sets_names);
  ~Instance();

  VkInstance handle() const { return handle_; }
  const vk::NextInstance& next() const { return next_; }
  const InstanceTable& table() const { return table_; }
  const CaptureSettings& settings() const { return settings_; }
  uint32_t application_version() const { return info_.api_version; }
  // True if the application enabled VK_EXT_debug_utils, with which it names objects.
  bool sets_names() const { return sets_names_; }
  // Returns the connection. It is opened when the first device needs it. Null if there is no
  // receiver.
  std::shared_ptr<StreamConnection> connection();
  // A warning of the counters layer, for the capture.
  void forward(const VkDebugUtilsMessengerCallbackDataEXT& data);

  static std::shared_ptr<Instance> find(const void* dispatchable_handle);
  static void add(std::shared_ptr<Instance> instance);
  static std::shared_ptr<Instance> take(VkInstance handle);

 private:
  const VkInstance handle_;
  const vk::NextInstance next_;
  const CaptureSettings settings_;
  const ApplicationInfo info_;
  const bool sets_names_;
  InstanceTable table_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::shared_ptr<StreamConnection> connection_;
};

// Collects the VK_EXT_debug_utils messages about a topic that layers and driver send on this thread
// during its lifetime. They tell why a pipeline is not instrumented, or why a submission is not
// counted.
class ReasonCollector {
 public:
  static constexpr const char* kInstrumentation = "instrument";
  static constexpr const char* kRegions = "by region";
  static constexpr const char* kPass = "a render pass is not counted by region";
  static constexpr const char* kExtensions = "what these extensions run is not counted";
  static constexpr const char* kCommands = "commands of a command buffer";

  // `topic`: text that the messages contain.
  explicit ReasonCollector(const char* topic);
  ~ReasonCollector();
  ReasonCollector(const ReasonCollector&) = delete;
  ReasonCollector& operator=(const ReasonCollector&) = delete;

  const std::string& text() const { return text_; }
  // Returns whether a collector of this thread takes the message.
  static bool collect(const VkDebugUtilsMessengerCallbackDataEXT& data);

 private:
  const char* const topic_;
  ReasonCollector* const outer_;
  std::string text_;
};

}  // namespace tally::capture
