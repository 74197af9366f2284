#include "egl/group/group_list.h"

#include <optional>

#include "egl/driver/driver.h"
#include "egl/front/displays.h"
#include "egl/gl/hot.h"
#include "egl/group/driver_group.h"
#include "egl/group/own_context.h"

namespace tally::egl {

GroupList::GroupList() {
  auto process = std::make_unique<ProcessGroup>();
  process_ = process.get();
  groups_.push_back(std::make_unique<ApiGroup>());
  groups_.push_back(std::make_unique<FrameGroup>());
  groups_.push_back(std::move(process));
  unlisted_gpu_ = std::make_unique<GpuGroup>();
  gpu_ = unlisted_gpu_.get();
  unlisted_vulkan_ = std::make_unique<VulkanGroup>();
  vulkan_ = unlisted_vulkan_.get();
}

void GroupList::add_capabilities(Driver& driver, Capabilities capabilities) {
  gpu_->add_kinds(capabilities.kinds);
  if (unlisted_gpu_ && !gpu_->counters().empty()) groups_.push_back(std::move(unlisted_gpu_));
  // All contexts of a driver have the same driver counters.
  if (capabilities.counters.groups.empty() || !driver.counters()->groups.empty()) return;
  driver.set_counters(std::move(capabilities.counters));
  for (size_t i = 0; i < driver.counters()->groups.size(); i++) {
    groups_.push_back(std::make_unique<DriverGroup>(driver, i));
  }
}

void GroupList::discover(bool gpu_usage) {
  if (gpu_usage) process_->discover();
  query_driver();
  discover_vulkan();
}

void GroupList::discover_vulkan() {
  vulkan_->discover();
  if (unlisted_vulkan_ && !vulkan_->counters().empty()) {
    groups_.push_back(std::move(unlisted_vulkan_));
  }
}

bool GroupList::is_left_to_capture(size_t index) const {
  if (groups_[index].get() == vulkan_) return vulkan_->is_captured_by_frame();
  const GlContext* const context = t_hot.context;
  return groups_[index].get() == gpu_ && !unlisted_vulkan_ && context && context->runs_on_vulkan();
}

void GroupList::query_driver() {
  std::optional<KnownDisplay> known;
  bool es = true;
  if (GlContext* const context = t_hot.context) {
    known = {&context->driver(), context->display()};
    es = context->is_es();
  } else if (queried_.empty()) {
    known = latest_display();
    es = known && known->driver->current_api() == EGL_OPENGL_ES_API;
  }
  if (!known || queried_.contains({known->driver, es})) return;
  Capabilities capabilities;
  const auto ask = [&capabilities](GlContext& context) {
    capabilities = {context.probe_query_kinds(), context.list_driver_counters()};
  };
  const EGLenum api = es ? EGL_OPENGL_ES_API : EGL_OPENGL_API;
  if (!with_own_context(*known->driver, known->display, api, ask)) {
    if (t_hot.context == nullptr) return;
    ask(*t_hot.context);  // visible only in the query names that the application gets next
  }
  queried_.emplace(known->driver, es);
  add_capabilities(*known->driver, std::move(capabilities));
}

}  // namespace tally::egl
