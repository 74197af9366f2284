// An instance that was created through the layer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>

#include "capture/capture_settings.h"
#include "capture/emit/stream_connection.h"
#include "capture/tables.h"
#include "vk/dispatch.h"

namespace tally::capture {

class Instance {
 public:
  Instance(VkInstance handle, const vk::NextInstance& next, CaptureSettings settings,
           ApplicationInfo info, bool debug_utils);
  ~Instance();

  VkInstance handle() const { return handle_; }
  const vk::NextInstance& next() const { return next_; }
  const InstanceTable& table() const { return table_; }
  const CaptureSettings& settings() const { return settings_; }
  uint32_t application_version() const { return info_.api_version; }
  // The connection, made when the first device asks for it; null when nobody listens.
  std::shared_ptr<StreamConnection> connection();

  static std::shared_ptr<Instance> find(const void* dispatchable_handle);
  static void add(std::shared_ptr<Instance> instance);
  static std::shared_ptr<Instance> take(VkInstance handle);

 private:
  const VkInstance handle_;
  const vk::NextInstance next_;
  const CaptureSettings settings_;
  const ApplicationInfo info_;
  InstanceTable table_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::shared_ptr<StreamConnection> connection_;
};

// While it exists, what layers and driver say on this thread through VK_EXT_debug_utils about a
// topic is kept: the reason why a pipeline is not instrumented, or a submission does not count.
class HeardReasons {
 public:
  static constexpr const char* kInstrumentation = "instrument";
  static constexpr const char* kRegions = "by region";

  // `topic`: words that messages about it have.
  explicit HeardReasons(const char* topic);
  ~HeardReasons();
  HeardReasons(const HeardReasons&) = delete;
  HeardReasons& operator=(const HeardReasons&) = delete;

  const std::string& text() const { return text_; }
  static void hear(const VkDebugUtilsMessengerCallbackDataEXT& data);

 private:
  const char* const topic_;
  HeardReasons* const outer_;
  std::string text_;
};

}  // namespace tally::capture
