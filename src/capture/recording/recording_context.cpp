#include "capture/recording/recording_context.h"

#include <utility>

#include "store/clock.h"

namespace tally::capture {
namespace {

bool captures_some_frames(const CaptureSettings& settings) {
  return !settings.frames || !settings.frames->contains_all();
}

}  // namespace

RecordingContext::RecordingContext(std::shared_ptr<StreamConnection> connection, VkDevice handle,
                                   const vk::NextDevice& next, RegionSetup regions,
                                   bool dynamic_rendering, bool marks_frames)
    : connection_(std::move(connection)),
      handle_(handle),
      shaders_(*connection_),
      shader_objects_(*connection_),
      execution_sets_(*connection_, shaders_, shader_objects_),
      passes_(*connection_),
      timestamps_(handle, table_),
      host_memory_(handle, table_, regions.memory),
      regions_(std::move(regions)),
      dynamic_rendering_(dynamic_rendering),
      frames_(connection_->settings().frames, connection_->settings().frame_ends, marks_frames,
              store::monotonic_ns()),
      set_loader_data_(next.set_device_loader_data),
      copies_(set_loader_data_ && captures_some_frames(connection_->settings())) {
  const auto get = [&](const char* name) { return next.get_device_proc_addr(handle, name); };
  table_.load(get);
  if (copies()) commands_.load(get);
}

void RecordingContext::follow_images(const InstanceTable& table, VkPhysicalDevice physical_device) {
  if (regions_.enabled()) images_.emplace(table, physical_device);
}

void RecordingContext::destroy_all() {
  timestamps_.destroy_all();
  host_memory_.destroy_all();
}

}  // namespace tally::capture
