#include "egl/group/vulkan_group.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "egl/gl/contexts.h"

namespace tally::egl {
namespace {

constexpr uint32_t kTimeoutMs = 5000;

// The path that the layer was loaded from; empty if it is not loaded.
std::string path_of_layer() {
  std::string path;
  const auto look = [](dl_phdr_info* info, size_t, void* found) {
    const std::string_view loaded = info->dlpi_name;
    if (loaded.substr(loaded.rfind('/') + 1) != kLiveCountersLibrary) return 0;
    *static_cast<std::string*>(found) = loaded;
    return 1;
  };
  dl_iterate_phdr(look, &path);
  return path;
}

// The pointer stays valid: the layer is never unloaded.
const TallyLiveCounters* find_layer() {
  const std::string path = path_of_layer();
  if (path.empty()) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<TallyGetLiveCounters*>(dlsym(library, kLiveCountersSymbol));
  dlclose(library);
  return get != nullptr ? get(kLiveCountersVersion) : nullptr;
}

}  // namespace

void VulkanGroup::discover() {
  if (layer_ == nullptr) layer_ = find_layer();
  if (layer_ == nullptr) return;
  const uint32_t count = layer_->count();
  for (auto i = static_cast<uint32_t>(counters_.size()); i < count; i++) {
    TallyLiveCounter listed{};
    if (!layer_->describe(i, &listed)) return;
    counters_.push_back({listed.name, listed.unit, CounterInfo::Kind::Total, listed.denominator, 0,
                         UINT64_MAX / listed.denominator});
  }
}

void VulkanGroup::collect(bool on) {
  if (layer_ == nullptr || on == collecting_) return;
  collecting_ = on;
  layer_->request(on ? 1 : 0);
}

void VulkanGroup::add_to_request(const std::vector<bool>& chosen,
                                 CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) != chosen.end()) request.vulkan = true;
}

void VulkanGroup::resolve_pending() {
  finish_current_context();
  if (layer_ != nullptr) layer_->wait(kTimeoutMs);
}

std::vector<uint64_t> VulkanGroup::read() {
  std::vector<uint64_t> values(counters_.size());
  if (layer_ != nullptr) layer_->read(values.data(), static_cast<uint32_t>(values.size()));
  return values;
}

}  // namespace tally::egl
