#include "stand_in/uncounted/driver.h"

#include <algorithm>
#include <memory>

#include "vk/layer.h"

namespace tally::test::uncounted {
namespace {

void add_features(VkPhysicalDeviceFeatures2& features) {
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    for (const catalogue::HiddenFeatures& known : extension.features) {
      auto* found = vk::find_in_out_chain<VkBaseOutStructure>(
          features.pNext, static_cast<VkStructureType>(known.structure_type));
      if (known.count == 0 || !found) continue;
      std::ranges::fill(vk::feature_flags(found, known.count), VK_TRUE);
    }
  }
}

// For the commands that do nothing. The callers of those without a result ignore it.
VKAPI_ATTR VkResult VKAPI_CALL nothing() { return VK_SUCCESS; }

Driver make() {
  Hooks hooks;
  add_command_hooks(hooks);
  add_pipeline_hooks(hooks);
  std::vector<VkExtensionProperties> extensions;
  std::vector<VkStructureType> structs;
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    VkExtensionProperties& added = extensions.emplace_back();
    extension.name.copy(added.extensionName, sizeof added.extensionName - 1);
    added.specVersion = 1;
    for (const catalogue::HiddenFeatures& known : extension.features) {
      if (known.count != 0) structs.push_back(static_cast<VkStructureType>(known.structure_type));
    }
    for (const std::string_view command : extension.commands) {
      const auto is_it = [&](const vk::Hook& hook) { return hook.name == command; };
      if (!command.empty() && std::ranges::none_of(hooks, is_it)) {
        hooks.push_back(vk::hook(command, nothing));
      }
    }
  }
  return {
      .extensions = std::move(extensions),
      .structs = std::move(structs),
      .add_features = add_features,
      .add_properties = nullptr,
      .make_device = []() -> std::unique_ptr<test::Device> { return std::make_unique<Device>(); },
      .hooks = vk::HookTable(std::move(hooks)),
  };
}

}  // namespace

void Device::begin(const VkDeviceCreateInfo& wanted) {
  enabled = vk::enabled_hidden_extensions(wanted);
}

bool Device::has_command(std::string_view name) const {
  return !catalogue::is_hidden_command(name) || catalogue::has_command(enabled, name);
}

const Driver& driver() {
  static const auto* all = new Driver(make());
  return *all;
}

}  // namespace tally::test::uncounted
