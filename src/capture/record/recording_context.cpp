#include "capture/record/recording_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/stream/clock.h"

namespace tally::capture {
namespace {

// Equal for sets with the same shaders at the same indices.
template <typename Entries>
Hash128 hash_of(VkPipelineBindPoint bind_point, const Entries& entries) {
  std::vector<uint64_t> parts = {static_cast<uint64_t>(bind_point)};
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].shaders.empty()) continue;
    parts.push_back(i);
    parts.push_back(entries[i].hash.high);
    parts.push_back(entries[i].hash.low);
    parts.push_back(entries[i].not_instrumented.empty() ? 1 : 0);
  }
  return hash_bytes(std::as_bytes(std::span(parts)));
}

}  // namespace

ExecutionSets::Entry ExecutionSets::entry_of(VkPipeline handle) const {
  const std::shared_ptr<Pipeline> pipeline = pipelines_.pipeline(handle);
  if (!pipeline) return {};
  return {pipeline->shaders, pipeline->hash, pipeline->not_instrumented, pipeline->diagnostics};
}

ExecutionSets::Entry ExecutionSets::entry_of(VkShaderEXT handle) const {
  const auto shader = shaders_.find(handle);
  if (!shader) return {};
  return {shader->draft.shaders, shader->draft.hash, shader->not_instrumented, shader->diagnostics};
}

void ExecutionSets::add(VkIndirectExecutionSetEXT handle,
                        const VkIndirectExecutionSetCreateInfoEXT& info) {
  Set set{};
  if (info.type == VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT) {
    const VkIndirectExecutionSetPipelineInfoEXT& of = *info.info.pPipelineInfo;
    const std::shared_ptr<Pipeline> initial = pipelines_.pipeline(of.initialPipeline);
    set.noun = "pipelines";
    set.bind_point = initial ? initial->bind_point : VK_PIPELINE_BIND_POINT_GRAPHICS;
    set.entries.resize(std::max(of.maxPipelineCount, 1u));
    set.entries.front() = entry_of(of.initialPipeline);
  } else {
    const VkIndirectExecutionSetShaderInfoEXT& of = *info.info.pShaderInfo;
    set.noun = "shader objects";
    set.bind_point = VK_PIPELINE_BIND_POINT_GRAPHICS;
    set.entries.resize(std::max(of.maxShaderCount, of.shaderCount));
    for (uint32_t i = 0; i < of.shaderCount; ++i) set.entries[i] = entry_of(of.pInitialShaders[i]);
    for (const Entry& entry : set.entries) {
      if (!entry.shaders.empty() && entry.shaders.front()->stage == VK_SHADER_STAGE_COMPUTE_BIT) {
        set.bind_point = VK_PIPELINE_BIND_POINT_COMPUTE;
      }
    }
  }
  const std::lock_guard lock(mutex_);
  sets_[handle] = std::move(set);
}

void ExecutionSets::remove(VkIndirectExecutionSetEXT handle) {
  const std::lock_guard lock(mutex_);
  sets_.erase(handle);
}

template <typename Write, typename Handle>
void ExecutionSets::write(VkIndirectExecutionSetEXT handle, std::span<const Write> writes,
                          Handle Write::*written) {
  const std::lock_guard lock(mutex_);
  const auto set = sets_.find(handle);
  if (set == sets_.end()) return;
  set->second.pipeline.reset();
  for (const Write& one : writes) {
    if (one.index < set->second.entries.size()) {
      set->second.entries[one.index] = entry_of(one.*written);
    }
  }
}

void ExecutionSets::update(VkIndirectExecutionSetEXT handle,
                           std::span<const VkWriteIndirectExecutionSetPipelineEXT> writes) {
  write(handle, writes, &VkWriteIndirectExecutionSetPipelineEXT::pipeline);
}

void ExecutionSets::update(VkIndirectExecutionSetEXT handle,
                           std::span<const VkWriteIndirectExecutionSetShaderEXT> writes) {
  write(handle, writes, &VkWriteIndirectExecutionSetShaderEXT::shader);
}

std::shared_ptr<Pipeline> ExecutionSets::pipeline(VkIndirectExecutionSetEXT handle) {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(handle);
  if (found == sets_.end()) return nullptr;
  Set& set = found->second;
  if (set.pipeline) return set.pipeline;
  const Hash128 hash = hash_of(set.bind_point, set.entries);
  std::shared_ptr<Pipeline>& made = made_[hash];
  if (!made) made = make_pipeline(set, hash);
  return set.pipeline = made;
}

// Instrumented if one of the entries is. The reasons of the others tell why they have no counts.
std::shared_ptr<Pipeline> ExecutionSets::make_pipeline(const Set& set, const Hash128& hash) const {
  auto pipeline = std::make_shared<Pipeline>(connection_.new_id());
  pipeline->bind_point = set.bind_point;
  pipeline->hash = hash;
  auto& ends = pipeline->ends_of_entries.emplace();
  size_t count = 0;
  bool instrumented = false;
  std::string reasons;
  for (const Entry& entry : set.entries) {
    ends.push_back(static_cast<uint32_t>(pipeline->shaders.size() + entry.shaders.size()));
    if (entry.shaders.empty()) continue;
    pipeline->shaders.insert(pipeline->shaders.end(), entry.shaders.begin(), entry.shaders.end());
    ++count;
    instrumented = instrumented || entry.not_instrumented.empty();
    add_reason(reasons, entry.not_instrumented);
    add_reason(pipeline->diagnostics, entry.diagnostics);
  }
  if (instrumented) {
    add_reason(pipeline->diagnostics, reasons);
  } else {
    pipeline->not_instrumented =
        reasons.empty() ? "the capture does not know the contents of the execution set" : reasons;
  }
  pipeline->set_name(fmt::format("execution set of {} {}", count, set.noun));
  return pipeline;
}

namespace {

bool captures_some_frames(const CaptureSettings& settings) {
  return !settings.frames || !settings.frames->contains_all();
}

}  // namespace

RecordingContext::RecordingContext(std::shared_ptr<StreamConnection> connection, VkDevice handle,
                                   const vk::NextDevice& next, RegionSetup regions,
                                   bool dynamic_rendering, bool marks_frames,
                                   TimestampRules timestamps, LaunchRules launch_rules)
    : connection_(std::move(connection)),
      handle_(handle),
      shaders_(*connection_),
      shader_objects_(*connection_),
      execution_sets_(*connection_, shaders_, shader_objects_),
      passes_(*connection_),
      timestamps_(handle, table_, timestamps),
      host_memory_(handle, table_, regions.memory, regions.enabled),
      regions_(std::move(regions)),
      dynamic_rendering_(dynamic_rendering),
      launch_rules_(launch_rules),
      frames_(connection_->settings().frames, connection_->settings().frame_ends, marks_frames,
              store::monotonic_ns()),
      set_loader_data_(next.set_device_loader_data),
      copies_(set_loader_data_ && captures_some_frames(connection_->settings())) {
  const auto get = [&](const char* name) { return next.get_device_proc_addr(handle, name); };
  table_.load(get);
  if (copies() || connection_->settings().times != Times::Off) commands_.load(get);
}

void RecordingContext::follow_images(const InstanceTable& table, VkPhysicalDevice physical_device) {
  if (regions_.enabled()) images_.emplace(table, physical_device);
}

void RecordingContext::destroy_all() {
  timestamps_.destroy_all();
  host_memory_.destroy_all();
}

}  // namespace tally::capture
