// The device extensions whose commands run shaders that Tally cannot count. `tally run` hides them
// from an application: what it cannot use is not missing from the counts. Where an application
// enables one all the same, its device is created, and a message names what runs uncounted.
// src/vk/layer.h hides them, `tally doctor` lists those of a driver, docs/reference/vulkan.md says
// when.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::catalogue {

// A feature struct of a hidden extension: all its members behind pNext are VkBool32.
struct HiddenFeatures {
  uint32_t structure_type = 0;  // VkStructureType; 0: none
  uint32_t count = 0;           // of the features
};

struct HiddenExtension {
  std::string_view name;
  std::string_view reason;
  std::array<HiddenFeatures, 2> features{};
  // All its commands that execute, bind or create something. Empty behind the last.
  std::array<std::string_view, 9> commands{};
};

// Ascending by name.
std::span<const HiddenExtension> hidden_extensions();
// Null for an extension that is not hidden.
const HiddenExtension* find_hidden_extension(std::string_view name);
bool is_hidden_command(std::string_view name);

// Those that an application enables on a device.
using EnabledHidden = std::vector<const HiddenExtension*>;
bool has_command(const EnabledHidden& enabled, std::string_view name);
// Says that what they run is not counted, and why. There must be one.
std::string describe_uncounted(const EnabledHidden& enabled);

}  // namespace tally::catalogue
