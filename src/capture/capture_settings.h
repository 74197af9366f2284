// What the user may choose, from TALLY_* variables, VK_EXT_layer_settings and vk_layer_settings.txt
// ("tally_capture.<key>"). VkLayer_tally_capture.json describes the same keys to configuration
// tools.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/frame_range.h"
#include "base/settings.h"

namespace tally::capture {

inline constexpr const char* kLayerName = "VK_LAYER_TALLY_capture";
inline constexpr std::string_view kSettingsPrefix = "tally_capture";

struct CaptureSettings {
  std::string socket;          // capture_socket: where `tally run` listens; "" = nobody does
  bool live_counters = false;  // live_counters: counts for the EGL library, also without a receiver
  FrameRange frames;           // frames
  std::string shader_pattern;  // shader: glob over names and hashes, "" = all
  bool gpu_time = true;        // gpu_time: timestamps around passes and dispatches
  bool regions = false;        // regions: render passes by region
  size_t queue_bytes = 0;      // queue_mib: what may wait for the receiver
  // patience_ms: a receiver that takes nothing for so long is given up
  std::chrono::milliseconds patience{};

  // Whether the layer has anything to do.
  bool wants_anything() const { return !socket.empty() || live_counters; }

  static CaptureSettings from(const Settings& settings);
};

// Shell glob, upper and lower case alike: * ? [..]; an empty pattern matches everything.
bool matches_pattern(const std::string& pattern, const std::string& text);

}  // namespace tally::capture
