#include "egl/group/group_list.h"

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
}

GroupList::Offer GroupList::ask(GlContext& context) {
  return {context.try_query_kinds(), context.list_driver_counters()};
}

void GroupList::add_offer(Driver& driver, Offer offer) {
  gpu_->add_kinds(offer.kinds);
  if (unlisted_gpu_ && !gpu_->counters().empty()) groups_.push_back(std::move(unlisted_gpu_));
  // A driver's own counters are the same in all its contexts.
  if (offer.counters.groups.empty() || !driver.counters()->groups.empty()) return;
  driver.set_counters(std::move(offer.counters));
  for (size_t i = 0; i < driver.counters()->groups.size(); i++) {
    groups_.push_back(std::make_unique<DriverGroup>(driver, i));
  }
}

void GroupList::discover() {
  process_->discover();
  if (GlContext* const context = t_hot.context) {
    if (asked_.emplace(&context->driver(), context->is_es()).second) {
      add_offer(context->driver(), ask(*context));
    }
    return;
  }
  const auto known = latest_display();
  if (!known || !asked_.empty()) return;
  const EGLenum api = known->driver->current_api();
  Offer offer;
  if (with_own_context(*known->driver, known->display, api,
                       [&](GlContext& context) { offer = ask(context); })) {
    asked_.emplace(known->driver, api == EGL_OPENGL_ES_API);
    add_offer(*known->driver, std::move(offer));
  }
}

}  // namespace tally::egl
