#include "capture/recording/shader_objects.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace tally::capture {
namespace {

const char kUnknown[] = "it was created by a function that the capture does not know";

// Reasons are a part: equal shaders may be counted in one object and not in another.
Hash128 key_of(VkPipelineBindPoint bind_point, const BoundShaders& shaders) {
  std::vector<uint64_t> parts = {static_cast<uint64_t>(bind_point)};
  for (const auto& shader : shaders) {
    if (!shader) continue;
    parts.push_back(shader->draft.hash.high);
    parts.push_back(shader->draft.hash.low);
    parts.push_back(shader->not_instrumented.empty() ? 1 : 0);
  }
  return hash_bytes(std::as_bytes(std::span(parts)));
}

void add_line(std::string& text, const std::string& line) {
  if (line.empty() || text.find(line) != text.npos) return;
  if (!text.empty()) text += "; ";
  text += line;
}

}  // namespace

std::shared_ptr<const ShaderObject> ShaderObjectRegistry::find(VkShaderEXT handle) const {
  if (handle == VK_NULL_HANDLE) return nullptr;
  if (auto known = objects_.find(handle)) return known;
  static const auto* unknown =
      new std::shared_ptr<const ShaderObject>(std::make_shared<ShaderObject>(
          ShaderObject{{}, kUnknown, "", false}));  // outlives every thread
  return *unknown;
}

void ShaderObjectRegistry::select_named(VkShaderEXT handle, const std::string& name,
                                        const std::string& pattern) {
  if (pattern.empty() || !matches_pattern(pattern, name)) return;
  const auto known = objects_.find(handle);
  if (!known || !known->has_flag || known->not_instrumented.empty()) return;
  ShaderObject selected = *known;
  selected.not_instrumented.clear();
  add(handle, std::move(selected));
}

void ShaderObjectRegistry::add_binary(VkShaderEXT handle, std::span<const std::byte> binary) {
  auto known = objects_.find(handle);
  if (!known) return;
  const Hash128 hash = hash_bytes(binary);
  const std::unique_lock lock(mutex_);
  binaries_[hash] = std::move(known);
}

std::shared_ptr<const ShaderObject> ShaderObjectRegistry::find_binary(
    std::span<const std::byte> binary) const {
  const Hash128 hash = hash_bytes(binary);
  const std::shared_lock lock(mutex_);
  const auto found = binaries_.find(hash);
  return found == binaries_.end() ? nullptr : found->second;
}

std::shared_ptr<Pipeline> ShaderObjectRegistry::pipeline(VkPipelineBindPoint bind_point,
                                                         const BoundShaders& shaders) {
  if (std::ranges::none_of(shaders, [](const auto& shader) { return shader != nullptr; })) {
    return nullptr;
  }
  const Hash128 hash = key_of(bind_point, shaders);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = pipelines_.find(hash); found != pipelines_.end()) return found->second;
  }
  auto made = make_pipeline(bind_point, hash, shaders);
  const std::unique_lock lock(mutex_);
  return pipelines_.try_emplace(hash, std::move(made)).first->second;
}

// Instrumented if one of the shaders is. The reasons of the others tell why they have no counts.
std::shared_ptr<Pipeline> ShaderObjectRegistry::make_pipeline(VkPipelineBindPoint bind_point,
                                                              const Hash128& hash,
                                                              const BoundShaders& shaders) const {
  auto pipeline = std::make_shared<Pipeline>(connection_.new_id());
  pipeline->bind_point = bind_point;
  pipeline->hash = hash;
  bool instrumented = false;
  std::string reasons;
  for (const auto& shader : shaders) {
    if (!shader) continue;
    const auto& parts = shader->draft.shaders;
    pipeline->shaders.insert(pipeline->shaders.end(), parts.begin(), parts.end());
    instrumented = instrumented || shader->not_instrumented.empty();
    add_line(reasons, shader->not_instrumented);
    add_line(pipeline->diagnostics, shader->diagnostics);
  }
  if (instrumented) {
    add_line(pipeline->diagnostics, reasons);
  } else {
    pipeline->not_instrumented = reasons;
  }
  return pipeline;
}

}  // namespace tally::capture
