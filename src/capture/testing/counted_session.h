// Runs the client program under the capture layer above VK_LAYER_TALLY_counters.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capture/testing/session.h"

namespace tally::capture::testing {

inline constexpr const char* kLayers = "VK_LAYER_TALLY_run";
inline constexpr int64_t kGroup = 32;  // invocations of the client's compute shader

inline Session run(SessionOptions options, int exit_status = 0, const char* layers = kLayers) {
  options.layers = layers;
  options.environment.emplace("TALLY_VALIDATE_SPIRV", "1");
  options.environment.emplace("TALLY_STATIC_COSTS", "0");  // as `tally run` does
  Session session(options);
  EXPECT_EQ(session.exit_status(), exit_status) << session.errors();
  EXPECT_EQ(session.number("SELECT count(*) FROM message WHERE severity = 'error'"), 0)
      << session.text("SELECT text FROM message");
  return session;
}

}  // namespace tally::capture::testing
