// The settings of the capture layer. They come from TALLY_* variables, VK_EXT_layer_settings and
// vk_layer_settings.txt ("tally_capture.<key>"). VkLayer_tally_capture.json describes the same keys
// to configuration tools.
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

// The work with GPU times: render passes, and dispatches and ray traces outside of them; with Draws
// each draw in a pass too.
enum class Times { Off, Passes, Draws };

struct CaptureSettings {
  std::string socket;          // capture_socket: where `tally run` listens; "" = no receiver
  bool live_counters = false;  // live_counters: counts for the EGL library, also without a receiver
  // frames, every: the frames to capture; trigger: none; they are captured on request
  std::optional<FrameChoice> frames = FrameChoice();
  FrameEnds frame_ends;         // frame_per, frame_label: what ends a frame
  std::string shader_pattern;   // shader: glob over names and hashes, "" = all
  std::string replacements;     // replace: list of the shaders to replace, "" = none
  Times times = Times::Passes;  // times: off, passes, draws; plain: passes, and counts is false
  bool counts = true;           // shaders are instrumented
  bool repeat_at_once = false;  // repeat_at_once: dispatches repeat others on CPU devices, too
  bool statistics = false;    // statistics: the numbers of the driver's compiler for each pipeline
  bool regions = false;       // regions: render passes by region
  bool region_draws = false;  // region_draws: and each of their draws
  // hide_extensions: those whose shaders cannot be counted
  bool hide_extensions = true;
  size_t queue_bytes = 0;  // queue_mib: limit of data queued for the receiver
  // patience_ms: the layer disconnects a receiver that accepts no data for this long
  std::chrono::milliseconds patience{};

  // True if the layer has anything to do.
  bool wants_anything() const { return !socket.empty() || live_counters; }

  static CaptureSettings from(const Settings& settings);
};

// A case-insensitive shell glob: * ? [..]. An empty pattern matches everything.
bool matches_pattern(const std::string& pattern, const std::string& text);
// Also the start of a hash, at least 4 digits, as reports show it.
bool matches_hash(const std::string& pattern, const std::string& hash);

}  // namespace tally::capture
