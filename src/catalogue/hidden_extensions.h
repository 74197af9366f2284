// The device extensions whose commands run shaders that Tally cannot count. They are hidden from an
// application whose commands are counted: what it cannot use is not missing from the counts.
// src/vk/hiding.h hides them, `tally doctor` lists those of a driver, docs/reference/vulkan.md says
// when.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

// The table in docs/reference/vulkan.md.
std::string hidden_extensions_markdown();

}  // namespace tally::catalogue
